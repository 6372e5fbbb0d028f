"""What the semantics options mean for C programs, what waiting is, and that only everything explored is a proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import compiled, explore, translate
from notation import program
from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import Semantics
from teetotal.answers.options import CheckOptions
from teetotal.answers.strategies import parse
from teetotal.answers.verdict import Goal, Verdict
from teetotal.checking import check
from teetotal.engines.runtime import driver as runtime
from teetotal.programs.c.build import Source

HEAD = """#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#define GET(a) atomic_load_explicit(&a, memory_order_relaxed)
#define SET(a) atomic_store_explicit(&a, 1, memory_order_relaxed)
atomic_int x, y;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
sem_t s;
pthread_key_t k;
static void over(void) { volatile char b[512]; for (int i = 0; i < 512; i++) b[i] = 0; }
"""


def run(tmp_path: Path, text: str, options: CheckOptions = CheckOptions()) -> CheckAnswer:
    file = tmp_path / "program.c"
    file.write_text(HEAD + text)
    return check(Source((str(file),)), options)


def two(first: str, second: str) -> str:
    return (
        f"void *f(void *p) {{ {first} return 0; }}\nvoid *g(void *p) {{ {second} return 0; }}\n"
        "int main(void) { pthread_t t, u; sem_init(&s, 0, 0); pthread_key_create(&k, 0);\n"
        "  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);\n"
        "  pthread_join(t, 0); pthread_join(u, 0); return 0; }\n"
    )


# -- PSO where an rmw flushes its own address only ---------------------------------------------------------------------

READER = "if (GET(y)) assert(GET(x) == 1);"
ORDERED = {
    "an sfence before an rmw": (
        "SET(x); atomic_thread_fence(memory_order_release); atomic_exchange_explicit(&y, 1, memory_order_relaxed);",
        READER,
    ),
    "an rmw that releases": ("SET(x); atomic_exchange_explicit(&y, 1, memory_order_release);", READER),
    "a compare-and-swap that releases": (
        "int e = 0; SET(x); atomic_compare_exchange_strong_explicit(&y, &e, 1, memory_order_release, "
        "memory_order_relaxed);",
        READER,
    ),
    "an unlock": ("pthread_mutex_lock(&m); SET(x); pthread_mutex_unlock(&m); SET(y);", READER),
    "an unlock of a writer": ("pthread_rwlock_wrlock(&l); SET(x); pthread_rwlock_unlock(&l); SET(y);", READER),
    "an unlock of a lock that others try": (
        "pthread_rwlock_wrlock(&l); SET(x); pthread_rwlock_unlock(&l); SET(y);",
        f"if (pthread_rwlock_tryrdlock(&l) == 0) pthread_rwlock_unlock(&l); {READER}",
    ),
    "a semaphore": ("SET(x); sem_post(&s);", "sem_wait(&s); assert(GET(x) == 1);"),
}
UNORDERED = {
    "an rmw that does not release": ("SET(x); atomic_exchange_explicit(&y, 1, memory_order_relaxed);", READER),
    "nothing": ("SET(x); SET(y);", READER),
}
ADDRESS = Semantics(rmw="address")


@pytest.mark.parametrize("goal", ["robust", "safe"])
@pytest.mark.parametrize("name", [*ORDERED, *UNORDERED])
def test_what_keeps_stores_in_order_where_an_rmw_does_not(tmp_path: Path, name: str, goal: Goal) -> None:
    text = two(*(ORDERED | UNORDERED)[name])
    result = run(tmp_path, text, CheckOptions(models=("pso",), semantics=ADDRESS, goal=goal))
    assert result.verdict is (Verdict.SAFE if name in ORDERED else Verdict.VIOLATION)


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_creating_and_ending_threads_flushes_whatever_a_mutex_is(tmp_path: Path, goal: Goal) -> None:
    text = """
void *idle(void *p) { return 0; }
void *child(void *p) { assert(GET(x) == 1); SET(y); return 0; }
int main(void) { pthread_t t, u; pthread_create(&t, 0, idle, 0); SET(x); pthread_create(&u, 0, child, 0);
  pthread_join(u, 0); assert(GET(y) == 1); pthread_join(t, 0); return 0; }
"""
    papers = Semantics(rmw="address", mutex="rmw")
    assert run(tmp_path, text, CheckOptions(models=("pso",), semantics=papers, goal=goal)).verdict is Verdict.SAFE


# -- a compare-and-swap that fails -------------------------------------------------------------------------------------

FAILS = "T0: y=1; r=x || T1: r2=cas(x,5,6); r3=y"


@pytest.mark.parametrize(("failed_cas", "robust"), [("read", True), ("write", False)])
def test_a_failed_compare_and_swap_reads_or_writes(failed_cas: str, robust: bool) -> None:
    semantics = Semantics(failed_cas=failed_cas)  # type: ignore[arg-type]
    with compiled(translate([program(FAILS)])) as object_file:
        options = ["monitor=exact-tso", "monitor=exact-pso", *runtime.semantics_options(semantics)]
        _, told = explore(object_file, *options, arguments=["0"])
    assert {answer["monitor"] for answer in told if answer["type"] == "violation"} == (
        set() if robust else {"exact-tso", "exact-pso"}
    )


@pytest.mark.parametrize("operation", ["int e = 5; atomic_compare_exchange_strong(&x, &e, 6);",
                                       "pthread_mutex_trylock(&m);"])  # fmt: skip
def test_the_choice_holds_for_every_compare_and_swap(tmp_path: Path, operation: str) -> None:
    """A mutex that somebody holds, tried, is one too. With --failed-cas write two of them conflict."""
    text = two(operation, operation).replace("int main(void) {", "int main(void) { pthread_mutex_lock(&m);")
    counts = [
        run(tmp_path, text, CheckOptions(semantics=Semantics(failed_cas=choice))).executions
        for choice in ("read", "write")
    ]
    assert counts == [1, 2]


# -- mutexes -------------------------------------------------------------------------------------------------------------


def test_a_recursive_mutex_counts_what_was_tried(tmp_path: Path) -> None:
    """The first unlock gives back what trylock took, and the mutex is still held."""
    text = two(
        "pthread_mutex_lock(&r); assert(pthread_mutex_trylock(&r) == 0); pthread_mutex_unlock(&r); x = 1; x = 0; "
        "pthread_mutex_unlock(&r);",
        "pthread_mutex_lock(&r); assert(x == 0); pthread_mutex_unlock(&r);",
    )
    text = f"pthread_mutex_t r = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;\n{text}"
    result = check_with(tmp_path, text, "-D_GNU_SOURCE")
    assert (result.models["sc"].safe, result.complete) == (True, True)


def check_with(tmp_path: Path, text: str, *flags: str) -> CheckAnswer:
    file = tmp_path / "program.c"
    file.write_text(HEAD + text)
    return check(Source((str(file),), flags), CheckOptions(models=("tso",)))


# -- what is waiting, and what is not ----------------------------------------------------------------------------------


COUNTED = "while (!GET(x)) { if (counted()) assert(0); over(); }"
"""And nothing of what is counted stays on the stack."""


@pytest.mark.parametrize(
    ("declared", "body"),
    [
        pytest.param(
            "static __thread int n;\nstatic int counted(void) { return ++n == 5; }", COUNTED, id="a thread-local counts"
        ),
        pytest.param(
            "static __thread char n;\nstatic int counted(void) { return ++n == 5; }", COUNTED, id="one of a byte counts"
        ),
        pytest.param("static int counted(void) { return ++errno == 5; }", COUNTED, id="errno counts"),
        pytest.param(
            "static int counted(void) {\n"
            "  pthread_setspecific(k, (char *)pthread_getspecific(k) + 1); return pthread_getspecific(k) == (void *)5; }",
            COUNTED,
            id="the thread's data by a key counts",
        ),
        pytest.param("", "while (!GET(x)) if (rand() % 7 == 3) assert(0);", id="rand"),
    ],
)
def test_a_loop_with_a_state_of_its_own_does_not_wait(tmp_path: Path, declared: str, body: str) -> None:
    """Each round sees the same and writes nothing that others see, but it does come to an end."""
    result = run(tmp_path, f"{declared}\n{two(body, 'SET(x);')}", CheckOptions(models=("tso",)))
    assert [violation.kind for violation in result.violations] == ["assertion"]


# -- searches that leave something out ---------------------------------------------------------------------------------

BUFFERING = {
    "not robust": ("SET(x); int r = GET(y);", "SET(y); int r = GET(x);"),
    "robust": (
        "SET(x); atomic_thread_fence(memory_order_seq_cst); int r = GET(y);",
        "SET(y); atomic_thread_fence(memory_order_seq_cst); int r = GET(x);",
    ),
    "not safe": ("SET(x); SET(x);", "int r = GET(x); assert(r == GET(x));"),
}


@pytest.mark.parametrize("how", ["preemptions:2", "preemptions:0..2", "random:60", "pct:60:3"])
@pytest.mark.parametrize("name", BUFFERING)
def test_what_leaves_executions_out_finds_and_never_proves(tmp_path: Path, name: str, how: str) -> None:
    for goal in ("robust", "safe"):
        result = run(tmp_path, two(*BUFFERING[name]), CheckOptions(explore=parse(how), goal=goal))  # type: ignore[arg-type]
        violated = name == "not safe" or (name == "not robust" and goal == "robust")
        assert result.verdict is (Verdict.VIOLATION if violated else Verdict.INCONCLUSIVE)
        assert not result.complete
        for model in result.models.values():
            assert model.safe is not True
            assert model.verdict is not Verdict.SAFE
        relaxed = [found.robust for model, found in result.models.items() if model != "sc"]
        assert relaxed == [False if name == "not robust" and goal == "robust" else None] * 2
        assert any("leaves executions out" in note for note in result.notes)
