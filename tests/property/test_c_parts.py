"""C programs explored in parts, each part by a process of its own, tell what one process tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from amounts import some
from c_programs import compiled, translate
from in_parts import in_parts, told
from random_programs import ATOMIC, LOCKED, MIXED, PLAIN, seeded
from teetotal.engines.runtime import driver
from teetotal.programs.c.build import Source, build

WAITING = Path(__file__).parents[2] / "benchmarks" / "waiting.c"
REQUEST = ["strategy=all", "monitor=exact-tso", "monitor=exact-pso"]


def test_random_programs() -> None:
    programs = [program for shape in (PLAIN, ATOMIC, LOCKED, MIXED) for program in seeded(51, some(10, least=4), shape)]
    with compiled(translate(programs)) as program:
        for number in range(len(programs)):
            expected = told(driver.answers(program, REQUEST, [str(number)]))
            found, notes = in_parts(program, REQUEST, [str(number)], 1 + number % 3, 1 + number % 4)
            assert found == expected, number
            assert not notes, number


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
