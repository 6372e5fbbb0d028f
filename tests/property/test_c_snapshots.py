"""Going back to a snapshot is going back to the beginning and running again: everything that is told stays the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amounts import some
from c_programs import COMPILERS, compiled, explore, translate
from random_programs import ATOMIC, LOCKED, MIXED, seeded

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "programs"
MONITORS = ("monitor=exact-tso", "monitor=exact-pso")
HEAD = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n#include <assert.h>\n"
RUN = """
int main(void) { pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0); }
"""
C = {
    "heap": """
struct node { struct node *next; int value; };
_Atomic(struct node *) top;
void *f(void *p) {
  for (int i = 0; i < 2; i++) {
    struct node *n = malloc(sizeof *n);
    n->value = i;
    n->next = atomic_load(&top);
    while (!atomic_compare_exchange_weak(&top, &n->next, n)) {}
  }
  struct node *n = atomic_exchange(&top, 0);
  while (n) { struct node *next = n->next; assert(n->value < 2); free(n); n = next; }
  return 0;
}""",
    "thread-local": """
static _Thread_local int mine = 5;
atomic_int x;
void *f(void *p) {
  for (int i = 0; i < 2; i++) { mine += atomic_fetch_add(&x, 1); }
  assert(mine <= 5 + 2 + 3);
  return 0;
}""",
    "recursion": """
volatile int x[2];
static int down(int n, long me) { int here = x[1 - me]; return n == 0 ? 0 : here + down(n - 1, me); }
void *f(void *p) { long me = (long)p; x[me] = 1; down(3, me); x[me] = 2; return 0; }""",
    "spinning": """
volatile int flag[2], turn;
void *f(void *p) {
  long me = (long)p;
  for (int round = 0; round < 1; round++) {
    flag[me] = 1; turn = 1 - me;
    while (flag[1 - me] && turn == 1 - me) {}
    flag[me] = 0;
  }
  return 0;
}""",
    "conditions": """
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
long full;
void *f(void *p) {
  long me = (long)p;
  for (int round = 0; round < 3; round++) {
    pthread_mutex_lock(&m);
    while (full != me) pthread_cond_wait(&c[me], &m);
    full = 1 - me;
    pthread_cond_signal(&c[1 - me]);
    pthread_mutex_unlock(&m);
  }
  return 0;
}""",
    "names-and-locks": """
int pthread_setname_np(pthread_t, const char *);
int pthread_getname_np(pthread_t, char *, size_t);
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
atomic_int x;
void *f(void *p) {
  for (int i = 0; i < 2; i++) {
    int seen = atomic_fetch_add(&x, 1);
    char given[16] = {'a' + seen}, told[16];
    pthread_setname_np(pthread_self(), given);
    if (seen % 2) pthread_mutex_lock(&m);
    if (seen % 2) pthread_rwlock_rdlock(&l); else pthread_rwlock_wrlock(&l);
    pthread_getname_np(pthread_self(), told, sizeof told);
    assert(told[0] == 'a' + seen);
    pthread_rwlock_unlock(&l);
    if (seen % 2) pthread_mutex_unlock(&m);
  }
  return 0;
}""",
    "assertion": """
volatile int x, y;
void *f(void *p) {
  if (p) { x = 1; y = 1; } else { int r = y; assert(!r || !x); }
  return 0;
}""",
}
EXCEPTIONS = """
#include <atomic>
#include <cassert>
#include <string>
#include <thread>
std::atomic<int> x, caught;
struct Guard { ~Guard() { x.fetch_add(1); } };
static void risky(int n) {
  Guard guard;
  if (x.load() >= n) throw std::string("a text that is longer than what fits into the object itself");
}
static void work() {
  try {
    risky(0);
  } catch (const std::string &s) {
    assert(s.size() == 62);
    try { risky(1); } catch (...) { caught.fetch_add(1); }
    x.fetch_add(1);
    try { throw; } catch (const std::string &again) { assert(&again == &s); }
  }
}
int main() { std::thread a(work), b(work); a.join(); b.join(); assert(caught.load() == 2); }
"""
OUTSIDE = {
    "strtok": '#include <string.h>\natomic_int x;\nvoid *f(void *p) { char text[] = "a b c d"; '
    'if (!p) strtok(text, " "); x++; if (!p) assert(*strtok(0, " ") == 98); x++; return 0; }',
    "keys": "atomic_int x;\nvoid *f(void *p) { pthread_key_t key; pthread_key_create(&key, 0);"
    " pthread_setspecific(key, p); x++; assert(pthread_getspecific(key) == p); x++; return 0; }",
    "large": "static volatile char many[1 << 20]; atomic_int x;\n"
    "void *f(void *p) { many[(long)p * 5000] = 1; x++; x++; return 0; }",
}
LOCKS = {
    "cas": "static int taken(void) { int free = 0; return !atomic_compare_exchange_strong(&l, &free, 1); }\n"
    "static void leave(void) { atomic_store(&l, 0); }",
    "assembly": "static int taken(void) { int old = 0; "
    '__asm__ volatile("lock; cmpxchgl %2, %1" : "+a"(old), "+m"(l) : "r"(1) : "memory"); return old; }\n'
    "static void leave(void) { *(volatile int *)&l = 0; }",
    "trylock": "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
    "static int taken(void) { return pthread_mutex_trylock(&m); }\n"
    "static void leave(void) { pthread_mutex_unlock(&m); }",
}
NOT_BEGUN = """
static _Thread_local int mine MODEL;
static atomic_int x, y;
static void *idle(void *p) { y++; y++; return 0; }
static void *f(void *p) { mine += x; mine += x; assert(mine <= 2); return 0; }
int main(void) { pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, i < 2 ? idle : f, 0);
  x = 1;
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0); }
"""
MEASURES = ("cpu", "seconds", "restored", "shown")


def told_by(program: Path, *options: str, arguments: tuple[str, ...] = ()) -> tuple[Any, int]:
    """Everything that does not measure, and how often a snapshot was used."""
    end, told = explore(program, *options, arguments=arguments)
    kept = [answer for answer in told if answer["type"] not in ("loaded", "progress")]
    return [kept, {key: value for key, value in end.items() if key not in MEASURES}], end["restored"]


def same(program: Path, *options: str, arguments: tuple[str, ...] = ()) -> int:
    plain, never = told_by(program, "snapshots=0", *options, arguments=arguments)
    assert never == 0
    used = 0
    for every in (1, 2, 5):
        kept, restored = told_by(program, f"snapshots={every}", *options, arguments=arguments)
        assert without_base(kept) == without_base(plain)
        used += restored
    return used


def without_base(told: Any) -> Any:
    """Addresses of code and variables differ from one process to the next."""
    if isinstance(told, dict):
        return {key: without_base(value) for key, value in told.items() if key not in ("place", "cells", "waiting")}
    if isinstance(told, list):
        return [without_base(part) for part in told]
    return None if isinstance(told, int) and told > 1 << 40 else told


@pytest.mark.parametrize("name", C)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_programs_tell_the_same(name: str, compiler: str) -> None:
    with compiled(HEAD + C[name] + RUN, compiler=compiler) as program:
        used = same(program, *MONITORS) + same(program, "model=tso") + same(program, "model=pso", "executions=3000")
        assert used > 0


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_same_threads_stop_whatever_is_left_on_their_stacks(compiler: str) -> None:
    """Peterson's lock, taken twice: with the remains of the runtime's calls, the count depended on the snapshots."""
    lock = (PROGRAMS / "peterson.c").read_text()
    with compiled(lock, flags=(f"-I{PROGRAMS}", "-DROUNDS=2"), compiler=compiler) as program:
        counts = set()
        for every in (0, 1, 5, 12, 30):
            end, _ = explore(program, f"snapshots={every}", "classes=1")
            assert end["complete"]
            assert end["classes"] == end["executions"]
            counts.add((end["executions"], end["blocked"]))
        assert len(counts) == 1


@pytest.mark.parametrize("name", LOCKS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_lock_counts_the_same_however_it_is_taken(name: str, compiler: str) -> None:
    """Loops on locks that are equal have equally many executions. Those on assembly and trylock had more, and how many
    depended on the snapshots: what the scheduler had left in registers and on stacks made equal states look different.
    """
    loop = "void *f(void *p) { for (int i = 0; i < 2; i++) { while (taken()) {} d++; leave(); } return 0; }"
    with compiled(f"{HEAD}atomic_int l; int d;\n{LOCKS[name]}\n{loop}{RUN}", compiler=compiler) as program:
        for every in (0, 1, 5, 12):
            end, _ = explore(program, f"snapshots={every}")
            assert (end["executions"], end["blocked"], end["restarts"]) == (6, 0, 0)


PADDED = """
volatile int x, y, own;
static int steps;
static void *first(void *p) { x = 1; x = 2; (void)y; return 0; }
static void *second(void *p) { x = 3; return 0; }
static void *reader(void *p) {
  for (int i = 0; i < steps; i++) own = i;
  y = 1;
  while (x < 2) {}
  own = 8; own = 9;
  return 0;
}
int main(int n, char **given) { pthread_t r, s, t;
  steps = atoi(given[1]);
  pthread_create(&r, 0, first, 0); pthread_create(&s, 0, second, 0); pthread_create(&t, 0, reader, 0);
  pthread_join(r, 0); pthread_join(s, 0); pthread_join(t, 0); }
"""


def test_a_read_is_tried_from_where_it_stood_wherever_the_snapshots_are() -> None:
    """What a read that may wait would lead to with an older value is tried in the middle of an execution: from no snapshot
    that was taken behind it. How far they lie apart depends on what is in them: so it comes after more and more steps.
    """
    with compiled(HEAD + PADDED) as program:
        for steps in range(24):
            counts = set()
            for every in (0, 1):
                options = (f"snapshots={every}", *MONITORS, "reporting=1")
                end, _ = explore(program, *options, arguments=(str(steps),))
                counts.add((end["executions"], end["blocked"], end["complete"], *end["reporting"]))
            assert len(counts) == 1, steps


@pytest.mark.parametrize("compiler", COMPILERS)
def test_exceptions_are_among_what_a_snapshot_holds(compiler: str) -> None:
    with compiled(EXCEPTIONS, suffix=".cpp", compiler=compiler) as program:
        assert same(program, *MONITORS, "executions=3000") > 0


CAUGHT = """
#include <atomic>
#include <cassert>
#include <thread>
std::atomic<int> x;
static void work() {
  try { x.fetch_add(1); throw 5; } catch (int n) {
    x.fetch_add(1); x.fetch_add(1);
    try { throw; } catch (int again) { assert(again == 5); }
  }
  x.fetch_add(1);
}
int main() { std::thread a(work), b(work); a.join(); b.join(); }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_snapshot_inside_of_a_handler_knows_what_was_caught(compiler: str) -> None:
    """What is thrown again is what was caught: otherwise the program ends there, and the snapshots with it."""
    with compiled(CAUGHT, suffix=".cpp", compiler=compiler) as program:
        end, told = explore(program, "snapshots=1")
    assert [answer for answer in told if answer["type"] == "failure"] == []
    assert end["restored"] > end["executions"] / 2


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_snapshot_where_something_lies_outside_of_it(name: str) -> None:
    with compiled(HEAD + OUTSIDE[name] + RUN) as program:
        answer, restored = told_by(program, "snapshots=1", *MONITORS)
        assert restored == 0 or name == "strtok"  # one that was taken after the last call may be used
        assert answer[-1]["complete"]
        assert not any(told["type"] == "failure" for told in answer[0])


def test_random_programs_tell_the_same() -> None:
    programs = [program for shape in (ATOMIC, LOCKED, MIXED) for program in seeded(73, 6, shape)]
    with compiled(translate(programs)) as object_file:
        used = 0
        for number in range(len(programs)):
            used += same(object_file, *MONITORS, arguments=(str(number),))
            used += same(object_file, "model=pso", "executions=500", arguments=(str(number),))
    assert used > 200


def test_both_exact_monitors_at_once_report_what_each_does_by_itself() -> None:
    programs = [program for shape in (ATOMIC, LOCKED, MIXED) for program in seeded(74, some(40), shape)]
    with compiled(translate(programs)) as object_file:
        reports = 0
        for number in range(len(programs)):
            arguments = (str(number),)
            _, both = explore(object_file, *MONITORS, arguments=arguments)
            for monitor in ("exact-tso", "exact-pso"):
                _, one = explore(object_file, f"monitor={monitor}", arguments=arguments)
                expected = [told["report"] for told in one if told["type"] == "violation"]
                assert [told["report"] for told in both if told.get("monitor") == monitor] == expected
                reports += len(expected)
    assert reports > 5


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("model", ["global-dynamic", "initial-exec"])
def test_a_thread_that_had_not_begun_begins_with_its_thread_local_variables(model: str, compiler: str) -> None:
    """They were as it had left them, where the C library needs no memory for them: an assertion failed that holds, or the
    search planned a step that is not possible."""
    flags = (f'-DMODEL=__attribute__((tls_model("{model}")))',)
    with compiled(HEAD + NOT_BEGUN, flags=flags, compiler=compiler) as program:
        for interval in (1, 2, 4, 12, 0):
            end, told = explore(program, f"snapshots={interval}")
            assert (end["executions"], end["complete"]) == (18, True), interval
            assert not [answer for answer in told if answer["type"] == "failure"], interval
