"""Threads of C programs that wait: no round in which nothing happens is part of an execution, and nothing else is left
out. Counts are those of docs/explanation/waiting.md and of other tools; random programs have those of brute force."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from amounts import some
from c_programs import COMPILERS, compiled, explore, reported
from in_parts import in_parts, told
from looping_programs import looping_program
from teetotal.engines.runtime import driver
from teetotal.programs.c.build import Source, build
from waiting_checks import MONITORS, Definition, in_one_object
from waitless import TooMany

REQUEST = ["strategy=all", *MONITORS]
WAITING = Path(__file__).parents[2] / "benchmarks" / "waiting.c"
COUNTS = {
    ("await", 2, 4): (1, 0),
    ("await", 2, 200): (1, 0),
    ("dekker", 2, 1): (4, 5),
    ("dekker", 2, 2): (71, 111),
    ("dekker", 2, 3): (1_344, 2_122),
    ("peterson", 2, 1): (4, 4),
    ("peterson", 2, 2): (48, 48),
    ("peterson", 2, 3): (588, 588),
    ("bakery", 2, 1): (9, 0),
    ("bakery", 3, 1): (254, 0),
    ("tas", 2, 1): (2, 0),
    ("tas", 4, 1): (24, 0),
    ("cas", 3, 1): (6, 0),
    ("ticket", 4, 1): (24, 0),
    ("ttas", 2, 1): (4, 0),
    ("ttas", 3, 1): (36, 0),
    ("ttas", 4, 1): (576, 0),
    ("mcs", 2, 1): (6, 0),
    ("mcs", 3, 1): (66, 0),
    ("mcs", 4, 1): (1_080, 0),
    ("clh", 4, 1): (24, 0),
    ("barrier", 2, 1): (1, 0),
    ("barrier", 5, 1): (1, 0),
    ("barrier", 8, 1): (1, 0),
}
"""Complete executions, and those in which a thread waits in a round that it began in vain."""


@pytest.fixture(scope="module", params=COMPILERS)
def waiting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Source((str(WAITING),), (), request.param), tmp_path_factory.mktemp("waiting"))


def test_as_many_executions_as_there_are_classes(waiting: Path) -> None:
    for (name, threads, rounds), (complete, vain) in COUNTS.items():
        end, told = explore(waiting, *MONITORS, arguments=[name, str(threads), str(rounds)])
        assert (end["executions"] - end["blocked"], end["blocked"]) == (complete, vain), name
        assert end["complete"]
        assert not end["redundant"]
        assert reported(told) == [0, 0], name
        assert not [answer for answer in told if answer["type"] == "failure"], name


def test_snapshots_change_nothing(waiting: Path) -> None:
    for name, threads, rounds in (
        ("dekker", 2, 2),
        ("ttas", 3, 1),
        ("mcs", 3, 1),
        ("seqlock", 3, 2),
        ("barrier", 4, 1),
    ):
        ends = [
            explore(waiting, f"snapshots={every}", arguments=[name, str(threads), str(rounds)])[0]
            for every in (0, 1, 5, 12)
        ]
        assert len({(end["executions"], end["blocked"], end["steps"]) for end in ends}) == 1, name


def test_store_buffers_wait_alike(waiting: Path) -> None:
    """With fences all over, TSO itself has the executions that SC has."""
    for name, threads, rounds in (("peterson", 2, 2), ("tas", 3, 1), ("ticket", 3, 1), ("mcs", 3, 1)):
        end, told = explore(waiting, "model=tso", arguments=[name, str(threads), str(rounds)])
        complete, vain = COUNTS.get((name, threads, rounds), (6, 0))
        assert (end["executions"] - end["blocked"], end["blocked"]) == (complete, vain), name
        assert not [answer for answer in told if answer["type"] == "failure"], name


@pytest.mark.parametrize("compiler", COMPILERS)
def test_random_loops_as_by_definition(compiler: str) -> None:
    """Under SC, TSO and PSO: each class once, with its end; robust, failures and hangs; `make fuzz` draws more."""
    rng = random.Random(f"waiting: {compiler}")
    definitions = []
    for _ in range(some(100, least=20)):
        with suppress(TooMany):
            definitions.append(Definition(looping_program(rng, mutexes=rng.random() < 0.1, alike=rng.random() < 0.2)))
    with in_one_object(definitions, compiler) as together:
        for number, definition in enumerate(definitions):
            together.agrees(definition, number)
            if number % 10 == 0:
                together.agrees_in_parts(number)


LATE_LOCK = """
#include <pthread.h>
#include <stdatomic.h>
#define R memory_order_relaxed
static atomic_int x, y;
static void *stores(void *unused) {
  for (int n = 0; n < 2; n++) { atomic_store_explicit(&x, 1, R); (void)atomic_load_explicit(&x, R); }
  return 0;
}
static void *takes(void *unused) {
  atomic_store_explicit(&y, 0, R);
  while (atomic_exchange_explicit(&x, 1, R)) {}
  return 0;
}
int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, stores, 0); pthread_create(&t[1], 0, takes, 0);
  pthread_join(t[0], 0); pthread_join(t[1], 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_comes_next_is_asked_of_the_program_where_it_stands(compiler: str) -> None:
    """To find out where the exchange leads with 0, the thread is run on; then it was asked what it stands before, and
    that was taken for the exchange: a step was planned that is not possible."""
    with compiled(LATE_LOCK, compiler=compiler) as program:
        for model in ("sc", "tso", "pso"):
            end, _ = explore(program, f"model={model}")
            assert (end["executions"], end["blocked"], end["redundant"]) == (2, 1, 0), model


FAILS_ONCE = """
#include <assert.h>
#include <pthread.h>
volatile int x, y, early, seen;
static void *first(void *unused) { x = 1; early = y; return 0; }
static void *second(void *unused) { while (x == 0) {} x = 5; return 0; }
static void *third(void *unused) { int mine; y = 1; while ((mine = x) == 0) {} seen = mine; return 0; }
int main(void) {
  pthread_t t[3];
  pthread_create(&t[0], 0, first, 0); pthread_create(&t[1], 0, second, 0); pthread_create(&t[2], 0, third, 0);
  for (int i = 0; i < 3; ++i) pthread_join(t[i], 0);
  assert(early != 0 || seen != 5);
}
"""


def test_a_failure_is_told_though_monitors_have_run_the_program_elsewhere() -> None:
    """The first execution alone fails, and in it a monitor asks what the third thread would do with x = 0, which is found
    out by running it. It is robust: nothing else would be told. The same where each execution is one of a new process."""
    with compiled(FAILS_ONCE) as program:
        for found in (told(driver.answers(program, REQUEST, [])), in_parts(program, REQUEST, [], 1, 1)[0]):
            failed = [(answer["what"], answer["thread"]) for answer in found[1:-1]]
            assert failed == [("assertion", 0)]


LEARNS_BEHIND_A_FENCE = """
#include <pthread.h>
#include <stdatomic.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int flag;
static void *thread(void *unused) {
  pthread_rwlock_wrlock(&lock); pthread_rwlock_unlock(&lock);
  while (!atomic_load_explicit(&flag, memory_order_relaxed)) {}
  atomic_thread_fence(memory_order_acquire);
  if (!pthread_rwlock_tryrdlock(&lock)) pthread_rwlock_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  atomic_store(&flag, 1);
  pthread_join(t, 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_is_learnt_while_looking_ahead_begins_the_search_anew(compiler: str) -> None:
    """That somebody tries to take the lock is learnt where the thread is run on through the fence behind its read. Its
    first lock is another operation from then on, and was so at once, when it was run again: the program was said to depend
    on something that cannot be controlled."""
    with compiled(LEARNS_BEHIND_A_FENCE, compiler=compiler) as program:
        end, _ = explore(program, "model=sc")
        assert (end["complete"], end["oddities"]) == (True, [])
