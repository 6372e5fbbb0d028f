"""C programs explored in parts, each part by a process of its own, tell what one process tells."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import pytest

from amounts import some
from c_letters import INTERPRETER
from c_programs import compiled, translate
from in_parts import in_parts, told
from random_programs import ATOMIC, LOCKED, MIXED, PLAIN, seeded
from small_programs import ld, st
from small_programs import program as of_threads
from teetotal.answers.strategies import Strategy
from teetotal.engines.runtime import driver
from teetotal.programs.c.build import Source, build

WAITING = Path(__file__).parents[2] / "benchmarks" / "waiting.c"
MONITORS = ["monitor=exact-tso", "monitor=exact-pso"]
REQUEST = ["strategy=all", *MONITORS]


def request(explore: Strategy, model: str = "sc") -> list[str]:
    asked = [f"model={model}", f"strategy={explore.name}", f"count={explore.count}", f"depth={explore.depth}", "seed=7"]
    return [*asked, *(MONITORS if explore.is_reduced else ["monitor=burnim-tso"] if model == "sc" else [])]


def test_random_programs() -> None:
    the_same_in_parts(51, 4, REQUEST)


def the_same_in_parts(seed: int, least: int, asked: list[str]) -> None:
    shapes = (PLAIN, ATOMIC, LOCKED, MIXED)
    programs = [program for shape in shapes for program in seeded(seed, some(10, least=least), shape)]
    with compiled(translate(programs)) as program:
        for number in range(len(programs)):
            expected = told(driver.answers(program, asked, [str(number)]))
            found, notes = in_parts(program, asked, [str(number)], 1 + number % 3, 1 + number % 4)
            assert found == expected, number
            assert not notes, number


def test_threads_that_nothing_tells_apart() -> None:
    chance = random.Random(63)
    asked = [*REQUEST, "monitor=exact-c11", "symmetry=on"]
    divided = 0
    with compiled(INTERPRETER) as program:
        for number in range(some(30, least=12)):
            letters = chance.choice(["ajv", "kl", "PVpg", "fFj", "rwl", "ukl", "CSsB"])
            own = "".join(chance.choices(letters, k=2))
            arguments = [
                str(chance.randint(0, 2)),
                chance.choice(letters),
                *[own] * 3,
                *chance.choices(letters, k=number % 2),
            ]
            expected = told(driver.answers(program, [*asked, "executions=400"], arguments))
            if not expected[-1]["complete"]:
                continue
            found, notes = in_parts(program, asked, arguments, 1 + number % 3, 1 + number % 7)
            assert found == expected, arguments
            assert not notes, arguments
            divided += expected[-1]["executions"] > 8
    assert divided


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_store_buffers(model: str) -> None:
    """They commit in an order, and under names, that are the same in every process."""
    the_same_in_parts(53, 3, ["strategy=all", f"model={model}"])


def test_commits_above_a_part_are_known_when_it_is_merged() -> None:
    """Each thread loads what it stored to y: once that is committed, the other's store to y conflicts with the load. Where
    a merge knew of no commits it took the two for independent, and up to three classes of eighty were lost."""
    crossing = of_threads(
        [st("y", 1), st("x", 1), ld("r", "y"), st("x", 2), st("x", 1)],
        [st("y", 2), st("x", 1), st("x", 1), ld("r", "y"), st("y", 2)],
    )
    asked = ["strategy=all", "model=pso"]
    crossing = msgspec.structs.replace(crossing, memory={"x": 0, "y": 0})  # they lie in this order
    with compiled(translate([crossing])) as program:
        expected = told(driver.answers(program, asked, ["0"]))
        assert expected[-1]["executions"] == 80
        for workers, executions in ((2, 1), (3, 2)):
            assert in_parts(program, asked, ["0"], workers, executions) == (expected, [])


@pytest.mark.parametrize("model", ["sc", "pso"])
@pytest.mark.parametrize("explore", [Strategy("random", 150), Strategy("pct", 150, 3)], ids=str)
def test_random_walks(explore: Strategy, model: str) -> None:
    """By any number of processes, in slices of any size: those of one process, found in the same order."""
    programs = [program for shape in (PLAIN, LOCKED) for program in seeded(52, some(6, least=3), shape)]
    with compiled(translate(programs)) as program:
        for number in range(len(programs)):
            asked = request(explore, model)
            expected = told(driver.answers(program, asked, [str(number)]))
            found, notes = in_parts(program, asked, [str(number)], 1 + number % 3, (40, 7, 90)[number % 3], explore)
            assert found == expected, number
            assert not notes, number
            assert not found[-1]["complete"]
            assert found[-1]["executions"] == 150


CROSSED = """
#include <pthread.h>
static int x, y;
static void *left(void *unused) { x = 1; y = 1; return unused; }
static void *right(void *unused) { y = 2; x = 2; return unused; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, left, 0);
  pthread_create(&b, 0, right, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
}
"""


@pytest.mark.parametrize("model", ["tso", "pso"])
@pytest.mark.parametrize("strategy", ["random", "pct"])
def test_a_random_walk_depends_on_no_walk_before_it(strategy: str, model: str, tmp_path: Path) -> None:
    """Buffers are chosen from in the order in which that walk meets them, not in the one in which its process did."""
    asked = [f"strategy={strategy}", "count=40", "depth=3", "seed=7", f"model={model}", "tell-all=1", "slice=1000"]
    part = tmp_path / "part"

    def walks(first: int) -> list[list[list[int]]]:
        part.write_text(f"{first} 0 40 ")
        lines = (json.loads(line) for line, _ in driver.lines(program, [*asked, f"part={part}"], []))
        return [[step[:3] for step in told["steps"]] for told in lines if told["type"] == "execution"]

    with compiled(CROSSED) as program:
        whole = walks(0)
        assert len(whole) == 40
        assert [walks(first) for first in (7, 20)] == [whole[7:], whole[20:]]


DIES = """
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
atomic_int x;
void *f(void *unused) {
  int last = 0;
  for (int i = 0; i < 3; i++) last = x++;
  if (last == 4) syscall(SYS_kill, getpid(), SIGKILL);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
"""


@pytest.mark.parametrize("executions", [3, 4])
def test_a_program_that_takes_its_process_down(executions: int) -> None:
    """Six of the twenty executions do. Each process finds out for itself, whether or not it stays for other parts."""
    with compiled(DIES) as program:
        expected = told(driver.answers(program, REQUEST, []))
        assert expected[-1]["executions"] == 20
        assert [answer["what"] for answer in expected[1:-1]] == ["crash"]
        found, notes = in_parts(program, REQUEST, [], 2, executions)
        assert found == expected
        assert not notes


FAILS = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x;
void *f(void *unused) {
  int last = 0;
  for (int i = 0; i < 4; i++) { last = atomic_load(&x); atomic_store(&x, last + 1); }
  assert(last != 4);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
"""


def test_a_process_that_stays_tells_of_each_part_as_if_it_were_the_first() -> None:
    """Later parts come first at times, and fail: those before them tell of that again, and what they tell counts."""
    with compiled(FAILS) as program:
        found, notes = in_parts(program, REQUEST, [], 4, 2)
        assert found == told(driver.answers(program, REQUEST, []))
        assert not notes
        assert found[-1]["executions"] == 3334


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Source((str(WAITING),), (), None), tmp_path_factory.mktemp("waiting"))


@pytest.mark.parametrize(
    ("name", "threads", "rounds"),
    [("dekker", 2, 2), ("peterson", 2, 2), ("bakery", 3, 1), ("ttas", 3, 1), ("mcs", 3, 1)],
)
def test_programs_that_wait(waiting: Path, name: str, threads: int, rounds: int) -> None:
    arguments = [name, str(threads), str(rounds)]
    found, notes = in_parts(waiting, REQUEST, arguments, 3, 10)
    assert found == told(driver.answers(waiting, REQUEST, arguments))
    assert not notes
    assert found[-1]["executions"] > 10


@pytest.mark.parametrize("explore", [Strategy("random", 300), Strategy("pct", 300, 3)], ids=str)
def test_random_walks_of_different_lengths(waiting: Path, explore: Strategy) -> None:
    """Those by which pct measures how long they are, each process has to take first."""
    arguments = ["dekker", "2", "3"]
    found, notes = in_parts(waiting, request(explore), arguments, 3, 50, explore)
    assert found == told(driver.answers(waiting, request(explore), arguments))
    assert not notes
