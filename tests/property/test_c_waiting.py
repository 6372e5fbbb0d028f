"""Threads of C programs that wait: no round in which nothing happens is part of an execution, and nothing else is left
out. Counts are those of docs/explanation/waiting.md, of other tools, and of the interpreter on the same programs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from amounts import some
from c_programs import COMPILERS, compiled, explore, translate
from looping_programs import looping_program
from teetotal.engines.executions.robustness import robustness
from teetotal.programs.c.build import Source, build

WAITING = Path(__file__).parents[2] / "benchmarks" / "waiting.c"
MONITORS = ("monitor=exact-tso", "monitor=exact-pso")
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
        assert end["reporting"] == [0, 0], name
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


@pytest.mark.parametrize("seed", range(some(5)))
def test_random_loops_as_the_interpreter_has_them(seed: int) -> None:
    """The same numbers of executions, the same that end in vain, and robust alike."""
    rng = random.Random(seed)
    programs = [looping_program(rng) for _ in range(30)]
    with compiled(translate(programs, observed=True), compiler=("gcc", "clang")[seed % 2]) as object_file:
        for number, program in enumerate(programs):
            end, _ = explore(object_file, *MONITORS, arguments=[str(number)])
            expected = robustness(program, ["tso", "pso"])
            if not expected.complete:  # a loop that has no end: where it is cut is another matter
                assert end["cut"], number
                continue
            assert end["complete"], number
            assert not end["redundant"], number
            assert (end["executions"], end["blocked"]) == (expected.executions, expected.blocked), number
            robust = [not expected.violations["tso"], not expected.violations["pso"]]
            assert [count == 0 for count in end["reporting"]] == robust, number
