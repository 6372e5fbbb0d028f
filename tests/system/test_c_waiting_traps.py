"""What is easily got wrong about threads of C programs that wait (docs/explanation/waiting.md), each with the smallest
program that shows it; and loops that do not wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import teetotal
from c_programs import COMPILERS, explore, reported
from teetotal.answers.verdict import Verdict
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
    end["reported"] = reported(told)
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
    assert tuple(count == 0 for count in end["reported"]) == robust


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
    assert [loop[1] for loop in end["loops"]] == [rounds]


KEPT = """
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *often(void *u) {
  for (int i = 0; i < 3; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
  return u;
}
static void *keeps(void *u) { pthread_mutex_lock(&m); return u; }
int main(void) {
  pthread_t t, v;
  pthread_create(&t, 0, often, 0); pthread_create(&v, 0, keeps, 0);
  pthread_join(t, 0); pthread_join(v, 0);
}
"""


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_who_is_cut_before_a_lock_does_not_wait_for_it(model: str, tmp_path: Path) -> None:
    """The search planned to let him have it earlier, which his bound does not allow, and gave up: an internal error."""
    file = tmp_path / "kept.c"
    file.write_text(KEPT)
    program = build(Source((str(file),)), tmp_path)
    end, _ = explore(program, f"model={model}", "loop-bound=1")
    assert not end["redundant"]
    assert end["cut"]  # there are executions in which he has it once more
    assert not end["complete"]


def test_the_strict_notion_counts_rounds(program: Path) -> None:
    end, found = run(program, "stale", "waiting=count", "loop-bound=100")
    assert end["complete"]
    assert not found
    assert end["executions"] == 5
    assert [count == 0 for count in end["reported"]] == [False, False]


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
    "a register that the program names": """
static void *count(void *p) { register long n __asm__("r12") = 0; while (!go) if (++n == 3) assert(0); return 0; }
""",
    "its own memory of the heap": """
static void *count(void *p) { int *n = calloc(1, 4); while (!go) if (++*n == 3) assert(0); free(n); return 0; }
""",
    "a variable that somebody else counts": """
struct counter { int n; };
static void next(struct counter *c) { c->n++; }
static void *count(void *p) { struct counter c = {0}; while (!go) { next(&c); if (c.n == 3) assert(0); } return 0; }
""",
    "a word beside one that somebody else has the address of": """
static void look(int *p) {}
static void *count(void *p) { struct { int seen, n; } c = {0, 0}; look(&c.seen); while (!go) if (++c.n == 3) assert(0);
  look(&c.seen); return 0; }
""",
    "what lies before an address": """
static int next(int *end) { return ++end[-1]; }
static void *count(void *p) { int n[4] = {0, 0, 0, 0}; while (!go) if (next(n + 4) == 3) assert(0); return 0; }
""",
    "a pointer to it that is kept in the frame": """
static void *count(void *p) { int n = 0, *to = &n; while (!go) if (++*to == 3) assert(0); return 0; }
""",
    "what has no name and more room than what has one in the same place": """
struct small { long a[8]; }; struct large { long a[16], n; };
static void look(struct small *p) {}
static long next(struct large *p) { return ++p->n; }
static void *count(void *p) {
  { struct small s = {{0}}; look(&s); }
  { struct large *l = &(struct large){{0}}; while (!go) if (next(l) == 3) assert(0); }
  return 0; }
""",
    "a number of calls": """
static void next(int n) { if (go) return; if (n == 3) assert(0); next(n + 1); }
static void *count(void *p) { next(0); return 0; }
""",
}


def counting(tmp_path: Path, count: str) -> str:
    file = tmp_path / "hidden.c"
    file.write_text(f"""
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int go;
{count}
int main(void) {{
  pthread_t t;
  pthread_create(&t, 0, count, 0);
  go = 1;
  pthread_join(t, 0);
}}
""")
    return str(file)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("state", HIDDEN)
def test_a_loop_that_remembers_its_rounds_does_not_wait(state: str, compiler: str, tmp_path: Path) -> None:
    """The first of these was called safe: what the assembly keeps was not part of the thread's state."""
    assert teetotal.check(counting(tmp_path, HIDDEN[state]), compiler=compiler).models["sc"].safe is False


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_loop_that_counts_in_a_vector_register_of_all_functions_is_not_proved(compiler: str, tmp_path: Path) -> None:
    """It was called safe. Hooks may overwrite what assembly keeps there from one call to the next, so it is named."""
    count = """
static int next(void) { int n; __asm__ volatile("movd %%xmm15, %%eax; incl %%eax; movd %%eax, %%xmm15; movl %%eax, %0"
                                                : "=r"(n) :: "eax"); return n; }
static void *count(void *p) {
  __asm__ volatile("pxor %%xmm15, %%xmm15" ::); while (!go) if (next() == 3) assert(0); return 0; }
"""
    answer = teetotal.check(counting(tmp_path, count), compiler=compiler, loop_bound=9)
    assert answer.verdict is not Verdict.SAFE
    assert any("%xmm15 in next()" in note for note in answer.notes)


TRIED = """
#include <pthread.h>
#include <semaphore.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t places;
static int how;
static void take(void) {
  if (how == 0) while (pthread_mutex_trylock(&mutex)) {}
  else if (how == 1) while (pthread_rwlock_trywrlock(&lock)) {}
  else if (how == 2) while (pthread_spin_trylock(&spin)) {}
  else while (sem_trywait(&places)) {}
}
static void give(void) {
  if (how == 0) pthread_mutex_unlock(&mutex);
  else if (how == 1) pthread_rwlock_unlock(&lock);
  else if (how == 2) pthread_spin_unlock(&spin);
  else sem_post(&places);
}
static int deep(int n) { int here[32]; for (int i = 0; i < 32; i++) here[i] = n; return n ? deep(n - 1) : here[5]; }
static void *twice(void *p) { take(); give(); deep(3); take(); give(); return 0; }
int main(int argc, char **argv) {
  pthread_t one, other; how = argv[1][0] - '0'; pthread_spin_init(&spin, 0); sem_init(&places, 0, 1);
  pthread_create(&one, 0, twice, &one); pthread_create(&other, 0, twice, &other);
  pthread_join(one, 0); pthread_join(other, 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_who_only_tries_waits(compiler: str, tmp_path: Path) -> None:
    """Two threads take a lock twice each, by trying until they have it: there are six orders. What earlier calls had left
    on a stack, in what is now the frame of the call that tries, was taken for a part of the thread's state: a round more
    was part of executions, and of violations. So was errno, which nobody reads here."""
    file = tmp_path / "tried.c"
    file.write_text(TRIED)
    program = build(Source((str(file),), (), compiler), tmp_path)
    for how in ("0", "1", "2", "3"):
        end, _ = explore(program, arguments=[how])
        assert (end["executions"], end["blocked"], end["complete"]) == (6, 0, True), how


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
#include <stdlib.h>
#include <string.h>
#include <time.h>
static atomic_int x;
static _Thread_local int own;
static pthread_key_t key;
// Who counts returns, and what it leaves below is written over: the number stays where it belongs alone.
static long calm(int a, int b, int c, int d, int e, int f) { long n[64]; for (a = 0; a < 64; ++a) n[a] = 0; return n[b]; }
#define LOOK calm(0, 0, 0, 0, 0, 0); (void)x
static void *stack(void *p) { int n = 0; while (++n < 8) { LOOK; } assert(0); }
static int next_tls(void) { int n = own + 1; if (n & 15) own = n; return n < 8; }  // as if it might store nothing
static void *tls(void *p) { while (next_tls()) { LOOK; } assert(0); }
static int next_error(void) { int n = errno + 1; if (n & 15) errno = n; return n < 8; }
static void *error(void *p) { errno = 0; while (next_error()) { LOOK; } assert(0); }
static int next_keyed(void) {
  pthread_setspecific(key, (char *)pthread_getspecific(key) + 1); return (long)pthread_getspecific(key) < 8;
}
static void *keyed(void *p) { while (next_keyed()) { LOOK; } assert(0); }
static pthread_attr_t *heap; static size_t *out;  // the library's to write, and nobody else's
static int next_library(void) {
  pthread_attr_getstacksize(heap, out); pthread_attr_setstacksize(heap, *out + 1); return *out < 1000008;
}
static void *library(void *p) {
  heap = malloc(sizeof *heap); out = malloc(sizeof *out); pthread_attr_init(heap); pthread_attr_setstacksize(heap, 1000000);
  while (next_library()) { LOOK; } assert(0);
}
static void *timed(void *p) { long end = clock() + 8; while (clock() < end) { LOOK; } assert(0); }
#define CHOICE(name) if (strcmp(argv[1], #name) == 0) f = name;
int main(int argc, char **argv) {
  pthread_t t; void *(*f)(void *) = 0;
  CHOICE(stack) CHOICE(tls) CHOICE(error) CHOICE(keyed) CHOICE(library) CHOICE(timed)
  pthread_key_create(&key, 0); pthread_create(&t, 0, f, 0); x = 1; pthread_join(t, 0);
}
"""


@pytest.mark.parametrize("waiting", ["count", "skip"])
@pytest.mark.parametrize("where", ["stack", "tls", "error", "keyed", "library", "timed"])
def test_a_round_that_counts_is_no_waiting_one(where: str, waiting: str, tmp_path: Path) -> None:
    """Wherever the number of rounds is kept: who takes them for waiting never sees the end. With ``--waiting count`` a
    thread is looked at after its third round at the earliest.
    """
    file = tmp_path / "counted.c"
    file.write_text(COUNTED)
    options = [f"waiting={waiting}", "loop-bound=20", "idle-bound=20"]
    end, failures = run(build(Source((str(file),)), tmp_path), where, *options)
    assert failures == {"assertion"}
    assert end["complete"] or where == "timed"


WOKEN = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *f(void *p) { while (!x) {} return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 1; pthread_join(t, 0); }
"""


@pytest.mark.parametrize("strategy", ["all", "interleavings"])
def test_who_could_go_on_is_not_stuck_where_rounds_count(strategy: str, tmp_path: Path) -> None:
    """What the thread has waited for is there when all others have ended: nothing hangs."""
    file = tmp_path / "woken.c"
    file.write_text(WOKEN)
    end, failures = run(build(Source((str(file),)), tmp_path), "", "waiting=count", f"strategy={strategy}")
    assert failures == set()
    assert end["complete"]


ASSEMBLED = """
#include <pthread.h>
#include <stdlib.h>
static volatile int l; static int n; static double sum; static pthread_key_t key;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
WHO static void *add(void *p) {
  BEFORE
  int v;
  do { v = 1; __asm__ volatile("xchgl %0, %1" : "+r"(v), "+m"(l) : : "memory"); } while (v);
  n++; ALSO
  __sync_lock_release(&l);
  return 0;
}
int main(void) {
  pthread_t t[2];
  pthread_key_create(&key, 0);
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, add, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return n != 2;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("who", ["", '__attribute__((no_sanitize("thread")))'])
@pytest.mark.parametrize(
    "before",
    ["", "free(malloc(8));", "pthread_setspecific(key, &key);", "pthread_rwlock_rdlock(&rw);", "double d = 1.5;"],
)
def test_a_lock_of_assembly_waits_whatever_was_called_before_it(
    before: str, who: str, compiler: str, tmp_path: Path
) -> None:
    """What the scheduler, a call, or nobody, left in registers and where these are put by does not tell where it is."""
    file = tmp_path / "assembled.c"
    text = ASSEMBLED.replace("WHO", who).replace("BEFORE", before)
    file.write_text(text.replace("ALSO", "sum += d;" if "double" in before else ""))
    answer = teetotal.check(str(file), models="tso", compiler=compiler, symmetry="off")
    assert answer.verdict is Verdict.SAFE
    assert who or (answer.executions, answer.blocked) == (2, 0)


PATIENT = """
#define _GNU_SOURCE
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>
static volatile int x; static int d;
static void load(int *to) { *to = x; }
static void *waits(void *p) { LOOP assert(d == 1); return 0; }
static void *sets(void *p) { d = 1; __atomic_store_n(&x, 1, __ATOMIC_RELEASE); return 0; }
int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, waits, 0);
  pthread_create(&t[1], 0, sets, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "loop",
    [
        "while (!x) usleep(10);",
        "while (!x) sleep(1);",
        "while (!x) { struct timespec t = {0, 1000}; nanosleep(&t, &t); }",
        "while (!x) poll(0, 0, 1);",
        "while (!x) { struct timespec t = {0, 1000}; ppoll(0, 0, &t, 0); }",
        "while (!x) { struct timeval t = {0, 1000}; select(0, 0, 0, 0, &t); assert(t.tv_sec + t.tv_usec == 0); }",
        "while (!x) { struct timespec t = {0, 1000}; pselect(1, 0, 0, 0, &t, 0); }",
        "int v; do load(&v); while (!v);",
        "int v, *to = &v; do { *to = x; } while (!v);",
        "while (!x) { volatile int i = 0; i++; }",
        "while (!x) for (volatile int i = 0; i < 3; i++) {}",
        "while (!x) for (volatile int i = 0; i < 3000; i++) {}",
    ],
)
def test_who_sleeps_or_stores_to_variables_of_its_own_waits(loop: str, compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "patient.c"
    file.write_text(PATIENT.replace("LOOP", loop))
    answer = teetotal.check(str(file), models="tso,pso", compiler=compiler)
    assert answer.verdict is Verdict.SAFE
    assert answer.executions <= 4


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("struct pollfd f = {0, POLLIN, 0}; poll(&f, 1, 0);", "poll"),
        ("struct pollfd f = {0, POLLIN, 0}; struct timespec t = {0, 1}; ppoll(&f, 1, &t, 0);", "ppoll"),
        ("fd_set f; FD_ZERO(&f); FD_SET(0, &f); struct timeval t = {0, 1}; select(1, &f, 0, 0, &t);", "select"),
        ("struct timespec t = {0, 1}; sigset_t s; sigemptyset(&s); pselect(0, 0, 0, 0, &t, &s);", "pselect"),
    ],
)
def test_who_waits_for_the_outside_does_not_only_sleep(call: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "outside.c"
    file.write_text(PATIENT.replace("LOOP", call).replace("assert(d == 1);", ""))
    answer = teetotal.check(str(file), models="tso")
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert any(f"what cannot be seen: {name} of libc.so.6" in note for note in answer.notes)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_who_sleeps_and_looks_at_the_clock_does_not_wait(compiler: str, tmp_path: Path) -> None:
    """It fails in the third round."""
    file = tmp_path / "impatient.c"
    file.write_text(PATIENT.replace("LOOP", "time_t s = time(0); while (!x) sleep(1); assert(time(0) - s < 3);"))
    answer = teetotal.check(str(file), models="tso", compiler=compiler, seconds=20)
    assert any("< 3" in violation.message for violation in answer.violations)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "loop",
    [
        "volatile int n = 0; while (!x) { n++; assert(n < 3); }",
        "volatile int n[2] = {0}; while (!x) { n[p == 0]++; assert(n[1] < 3); }",
        "volatile int n = 0; int v; do { n++; assert(n < 3); load(&v); } while (!v);",
    ],
)
def test_who_counts_in_a_volatile_variable_does_not_wait(loop: str, compiler: str, tmp_path: Path) -> None:
    """It fails in the third round."""
    file = tmp_path / "counts.c"
    file.write_text(PATIENT.replace("LOOP", loop))
    answer = teetotal.check(str(file), models="tso", compiler=compiler)
    assert any("< 3" in violation.message for violation in answer.violations)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_stale_half_that_only_leads_round_again_is_no_violation(compiler: str, tmp_path: Path) -> None:
    """The two halves are loaded by hooks that keep all registers; one of them may be overtaken under PSO, and is 0 then."""
    file = tmp_path / "halves.c"
    text = PATIENT.replace("static volatile int x;", "static volatile __int128 x;").replace("*to = x", "*to = (int)x")
    text = text.replace("__atomic_store_n(&x, 1, __ATOMIC_RELEASE)", "__sync_synchronize(); x = 1")
    file.write_text(text.replace("LOOP", "while (!x) {}"))
    answer = teetotal.check(str(file), models="tso,pso", compiler=compiler)
    assert answer.verdict is Verdict.SAFE
