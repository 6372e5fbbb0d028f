"""What is easily got wrong about threads of C programs that wait (docs/explanation/waiting.md), each with the smallest
program that shows it; and loops that do not wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import teetotal
from c_programs import COMPILERS, explore
from teetotal.programs.c.build import Source, build

SOURCE = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define RELAXED memory_order_relaxed
#define LD(x) atomic_load_explicit(&x, RELAXED)
#define ST(x, v) atomic_store_explicit(&x, v, RELAXED)
static atomic_int x, y, z;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

#define PROGRAM(name, first, second) \\
  static void *name##_0(void *p) { first; return 0; } \\
  static void *name##_1(void *p) { second; return 0; }

PROGRAM(hang, ST(x, 1), while (LD(x) == 1) {})
PROGRAM(counted, int n; for (n = 0; n < 2 && !LD(x); n++) {} assert(n < 2), ST(x, 1))
PROGRAM(partial, int r; int s; do { r = LD(x); s = LD(y); } while (r && s); assert(!(r && !s)), ST(x, 0); ST(y, 0))
PROGRAM(stale, ST(x, 1); while (!LD(y)) {}, ST(y, 1); int r = LD(x))
PROGRAM(beyond, int r = LD(y); if (r) while (LD(x) == 1) {}, ST(x, 1); ST(y, 1))
PROGRAM(older, while (!LD(z)) {} while (LD(x) != 1) {}, ST(x, 2); ST(x, 3); ST(z, 1))
PROGRAM(silent, while (!LD(x)) ST(y, 1); int r = LD(z); assert(!(r == 0 && LD(y) == 1)), ST(x, 1); ST(z, 1); ST(y, 2))
PROGRAM(fenced, while (!LD(x)) atomic_thread_fence(memory_order_seq_cst);, ST(x, 1))
PROGRAM(locked, int r; do { pthread_mutex_lock(&m); r = LD(x); pthread_mutex_unlock(&m); } while (!r),
        pthread_mutex_lock(&m); ST(x, 1); pthread_mutex_unlock(&m))
PROGRAM(idle, int n = 0; while (!LD(x)) n++;, ST(x, 1))
PROGRAM(long_loop, for (int i = 0; i < 34; i++) ST(x, i), for (int i = 0; i < 34; i++) ST(y, i))
PROGRAM(quiet, long s = 0; for (int i = 0; i < 1000000; i++) s += i; ST(x, (int)s), while (!LD(x)) {})
PROGRAM(endless, for (;;) ST(x, 1), ST(y, 1))
PROGRAM(tried, while (pthread_mutex_trylock(&m)) {} pthread_mutex_unlock(&m),
        pthread_mutex_lock(&m); ST(x, 1); pthread_mutex_unlock(&m))

static void *set(void *p) { for (int i = 1; i < 4; i++) atomic_store((atomic_int *)p, i); return 0; }
static void on_stack(void) {
  pthread_t t; atomic_int done = 0;
  pthread_create(&t, 0, set, &done);
  while (atomic_load(&done) != 3) {}
  pthread_join(t, 0);
}

#define CHOICE(name) if (strcmp(argv[1], #name) == 0) { f[0] = name##_0; f[1] = name##_1; }
int main(int argc, char **argv) {
  void *(*f[2])(void *); pthread_t t[2];
  if (strcmp(argv[1], "on_stack") == 0) { on_stack(); return 0; }
  CHOICE(hang) CHOICE(counted) CHOICE(partial) CHOICE(stale) CHOICE(beyond) CHOICE(older) CHOICE(silent) CHOICE(fenced)
  CHOICE(locked) CHOICE(idle) CHOICE(long_loop) CHOICE(quiet) CHOICE(endless) CHOICE(tried)
  if (f[0] == partial_0) { x = 1; y = 1; }
  if (f[0] == older_0) x = 1;
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f[i], 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
"""


@pytest.fixture(scope="module", params=COMPILERS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("traps")
    file = directory / "program.c"
    file.write_text(SOURCE)
    return build(Source((str(file),), (), request.param), directory)


def run(program: Path, name: str, *options: str) -> tuple[dict[str, Any], set[str]]:
    end, told = explore(program, "monitor=exact-tso", "monitor=exact-pso", *options, arguments=[name])
    return end, {answer["what"] for answer in told if answer["type"] == "failure"}


@pytest.mark.parametrize(
    ("name", "executions", "failures", "robust"),
    [
        ("hang", 2, {"livelock"}, (True, True)),
        ("counted", 3, {"assertion"}, (True, True)),
        ("stale", 2, set(), (True, True)),
        ("beyond", None, {"livelock"}, (True, False)),
        ("older", None, {"livelock"}, (True, False)),
        ("fenced", 1, set(), (True, True)),
        ("long_loop", 1, set(), (True, True)),
        ("quiet", 1, set(), (True, True)),
        ("tried", 2, set(), (True, True)),
        ("on_stack", None, set(), (True, True)),
    ],
)
def test_what_waits_is_decided(
    program: Path, name: str, executions: int | None, failures: set[str], robust: tuple[bool, bool]
) -> None:
    end, found = run(program, name)
    assert end["complete"]
    assert found == failures
    assert executions in (None, end["executions"])
    assert tuple(count == 0 for count in end["reporting"]) == robust


@pytest.mark.parametrize("name", ["partial", "silent"])
def test_rounds_in_progress_are_part_of_executions(program: Path, name: str) -> None:
    model = "model=tso" if name == "silent" else "model=sc"
    end, found = run(program, name, model)
    assert end["complete"] or end["cut"]
    assert "assertion" in found


@pytest.mark.parametrize(("name", "rounds"), [("idle", 102), ("locked", 10), ("endless", 10)])
def test_loops_that_go_on_are_cut_and_named(program: Path, name: str, rounds: int) -> None:
    end, found = run(program, name)
    assert not end["complete"]
    assert not found
    assert [often for _, often in end["loops"]] == [rounds]


def test_the_strict_notion_counts_rounds(program: Path) -> None:
    end, found = run(program, "stale", "waiting=count", "loop-bound=100")
    assert end["complete"]
    assert not found
    assert end["executions"] == 5
    assert [count == 0 for count in end["reporting"]] == [False, False]


def test_what_a_thread_waits_for_at_the_end_is_told(tmp_path: Path) -> None:
    """SC waits for ever where PSO may read the old value and leave: the read never runs under SC, and is reported."""
    file = tmp_path / "beyond.c"
    file.write_text(
        "#include <pthread.h>\n#include <stdatomic.h>\natomic_int x, y;\n"
        "#define LD(x) atomic_load_explicit(&x, memory_order_relaxed)\n"
        "#define ST(x, v) atomic_store_explicit(&x, v, memory_order_relaxed)\n"
        "void *a(void *p) { if (LD(y)) while (LD(x) == 1) {} return 0; }\n"
        "void *b(void *p) { ST(x, 1); ST(y, 1); return 0; }\n"
        "int main(void) { pthread_t t[2]; pthread_create(&t[0], 0, a, 0); pthread_create(&t[1], 0, b, 0);\n"
        "  pthread_join(t[0], 0); pthread_join(t[1], 0); return 0; }\n"
    )
    answer = teetotal.check(str(file))
    assert answer.models["tso"].robust
    assert not answer.models["pso"].robust
    assert "livelock" in {violation.kind for violation in answer.models["sc"].violations}


HIDDEN = {
    "a vector register that assembly keeps": """
static int next(void) { int n; __asm__ volatile("movd %%xmm15, %%eax; incl %%eax; movd %%eax, %%xmm15; movl %%eax, %0"
                                                : "=r"(n) :: "eax"); return n; }
static void *count(void *p) {
  __asm__ volatile("pxor %%xmm15, %%xmm15" ::); while (!go) if (next() == 3) assert(0); return 0; }
""",
    "what assembly pushes": """
static void *count(void *p) { long n = 3;
  __asm__ volatile("1: push %0; movl go(%%rip), %%eax; pop %0; test %%eax, %%eax; jnz 2f; dec %0; jnz 1b; 2:"
                   : "+r"(n) :: "eax", "memory", "cc"); assert(n); return 0; }
""",
    "a bit that is counted from another slot": """
static void *count(void *p) { struct { unsigned long a, b; } bits; bits.a = bits.b = 0; long n = 65;
  while (!go) { unsigned char c; __asm__("btq %2, %1; setc %0" : "=q"(c) : "m"(bits), "r"(n) : "cc");
    assert(!c); bits.b = 2; } return 0; }
""",
    "its own memory of the heap": """
static void *count(void *p) { int *n = calloc(1, 4); while (!go) if (++*n == 3) assert(0); free(n); return 0; }
""",
    "a variable that somebody else counts": """
struct counter { int n; };
static void next(struct counter *c) { c->n++; }
static void *count(void *p) { struct counter c = {0}; while (!go) { next(&c); if (c.n == 3) assert(0); } return 0; }
""",
    "a number of calls": """
static void next(int n) { if (go) return; if (n == 3) assert(0); next(n + 1); }
static void *count(void *p) { next(0); return 0; }
""",
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("state", HIDDEN)
def test_a_loop_that_remembers_its_rounds_does_not_wait(state: str, compiler: str, tmp_path: Path) -> None:
    """The first of these was called safe: what the assembly keeps was not part of the thread's state."""
    file = tmp_path / "hidden.c"
    file.write_text(f"""
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int go;
{HIDDEN[state]}
int main(void) {{
  pthread_t t;
  pthread_create(&t, 0, count, 0);
  go = 1;
  pthread_join(t, 0);
}}
""")
    assert teetotal.check(str(file), compiler=compiler).models["sc"].safe is False


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_a_livelock_among_the_executions_of_a_relaxed_machine_is_told(model: str, tmp_path: Path) -> None:
    """It ended in an internal error: the schedule alone, without the loop, goes on."""
    file = tmp_path / "hang.c"
    file.write_text(
        "#include <pthread.h>\n#include <stdatomic.h>\natomic_int x, y;\n"
        "void *a(void *p) { x = 1; while (!y) {} return 0; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, a, 0); while (x != 2) {} pthread_join(t, 0); }\n"
    )
    found = teetotal.check(str(file), models=model, goal="safe").models[model]
    assert found.safe is False
    assert "livelock" in {violation.kind for violation in found.violations}


COUNTED = """
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
static atomic_int x;
static _Thread_local int own;
static pthread_key_t key;
static int calm(int a, int b, int c, int d, int e, int f) { return a; }  // nothing of a number stays in a register
#define LOOK calm(0, 0, 0, 0, 0, 0); (void)x
static void *stack(void *p) { int n = 0; while (++n < 8) { LOOK; } assert(0); }
static void *tls(void *p) { while (++own < 8) { LOOK; } assert(0); }
static void *error(void *p) { errno = 0; while (++errno < 8) { LOOK; } assert(0); }
static void *keyed(void *p) {
  do {
    pthread_setspecific(key, (char *)pthread_getspecific(key) + 1); LOOK;
  } while ((long)pthread_getspecific(key) < 8);
  assert(0);
}
static void *timed(void *p) { long end = clock() + 8; while (clock() < end) { LOOK; } assert(0); }
#define CHOICE(name) if (strcmp(argv[1], #name) == 0) f = name;
int main(int argc, char **argv) {
  pthread_t t; void *(*f)(void *) = 0;
  CHOICE(stack) CHOICE(tls) CHOICE(error) CHOICE(keyed) CHOICE(timed)
  pthread_key_create(&key, 0); pthread_create(&t, 0, f, 0); x = 1; pthread_join(t, 0);
}
"""


@pytest.mark.parametrize("where", ["stack", "tls", "error", "keyed", "timed"])
def test_a_round_that_counts_is_no_waiting_one_where_those_count(where: str, tmp_path: Path) -> None:
    """With ``--waiting count``, wherever the number of rounds is kept: who takes them for waiting never sees the end. A
    thread is looked at after its third round at the earliest.
    """
    file = tmp_path / "counted.c"
    file.write_text(COUNTED)
    end, failures = run(build(Source((str(file),)), tmp_path), where, "waiting=count", "loop-bound=20", "idle-bound=20")
    assert failures == {"assertion"}
    assert end["complete"] or where == "timed"
