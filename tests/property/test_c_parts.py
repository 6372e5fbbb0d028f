"""C programs explored in parts, each part by a process of its own, tell what one process tells."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from amounts import some
from c_letters import INTERPRETER
from c_programs import compiled, translate
from random_programs import ATOMIC, LOCKED, MIXED, PLAIN, seeded
from teetotal.answers.strategies import Strategy
from teetotal.budget import Budget
from teetotal.engines.runtime import driver, exploring
from teetotal.engines.runtime.messages import End, Progress, Restart
from teetotal.programs.c.build import Source, build
from teetotal.scale.crew import Crew
from teetotal.scale.here import Here
from teetotal.scale.scale import Scale, Slice

WAITING = Path(__file__).parents[2] / "benchmarks" / "waiting.c"
ALL = Strategy("all")
MONITORS = ["monitor=exact-tso", "monitor=exact-pso"]
REQUEST = ["strategy=all", *MONITORS]
PRIVATE = {"seconds", "cpu", "fresh", "restored", "restarts"}
"""Of an end: what is about the processes, and not about the program."""


class Several(Here[Any, Any]):
    """As many as that, who take turns."""

    def __init__(self, work: Any, size: int) -> None:
        super().__init__(work)
        self.size = size
        self.chance = random.Random(size)

    @property
    def free(self) -> int:
        return self.size - len(self.waiting)

    def receive(self, seconds: float | None = None) -> Any:
        self.waiting.rotate(self.chance.randrange(len(self.waiting) or 1))
        return super().receive(seconds)


class InTurns(Scale):
    def crew(self, work: Any, *limits: Any) -> Crew[Any, Any]:
        return Several(work, self.workers)


def told(messages: Any) -> list[Any]:
    found: list[Any] = []
    for message in messages:
        if isinstance(message, Restart):
            found = found[:1]
        elif isinstance(message, End):
            found.append({name: value for name, value in asdict(message).items() if name not in PRIVATE})
        elif not isinstance(message, Progress):
            found.append(message)
    return found


def in_parts(
    program: Path,
    arguments: list[str],
    workers: int,
    executions: int,
    explore: Strategy = ALL,
    model: str = "sc",
    more: Sequence[str] = (),
) -> tuple[list[Any], list[str]]:
    scale = InTurns(workers, slice=Slice(60.0, executions))
    source = Source((), arguments=tuple(arguments))
    asked = [*request(explore, model), *more]
    found = told(exploring.answers(program, asked, source, Budget(scale=scale), explore))
    return found, scale.notes


def request(explore: Strategy, model: str = "sc") -> list[str]:
    asked = [f"model={model}", f"strategy={explore.name}", f"count={explore.count}", f"depth={explore.depth}", "seed=7"]
    return [*asked, *(MONITORS if explore.is_reduced else ["monitor=burnim-tso"] if model == "sc" else [])]


def test_random_programs() -> None:
    programs = [program for shape in (PLAIN, ATOMIC, LOCKED, MIXED) for program in seeded(51, some(10, least=4), shape)]
    with compiled(translate(programs)) as program:
        for number in range(len(programs)):
            expected = told(driver.answers(program, REQUEST, [str(number)]))
            found, notes = in_parts(program, [str(number)], 1 + number % 3, 1 + number % 4)
            assert found == expected, number
            assert not notes, number


def test_threads_that_nothing_tells_apart() -> None:
    chance = random.Random(63)
    more = ["monitor=exact-c11", "symmetry=on"]
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
            expected = told(driver.answers(program, [*REQUEST, *more, "executions=400"], arguments))
            if not expected[-1]["complete"]:
                continue
            found, notes = in_parts(program, arguments, 1 + number % 3, 1 + number % 7, more=more)
            assert found == expected, arguments
            assert not notes, arguments
            divided += expected[-1]["executions"] > 8
    assert divided


@pytest.mark.parametrize("model", ["sc", "pso"])
@pytest.mark.parametrize("explore", [Strategy("random", 150), Strategy("pct", 150, 3)], ids=str)
def test_random_walks(explore: Strategy, model: str) -> None:
    """By any number of processes, in slices of any size: those of one process, found in the same order."""
    programs = [program for shape in (PLAIN, LOCKED) for program in seeded(52, some(6, least=3), shape)]
    with compiled(translate(programs)) as program:
        for number in range(len(programs)):
            expected = told(driver.answers(program, request(explore, model), [str(number)]))
            found, notes = in_parts(program, [str(number)], 1 + number % 3, (40, 7, 90)[number % 3], explore, model)
            assert found == expected, number
            assert not notes, number
            assert not found[-1]["complete"]
            assert found[-1]["executions"] == 150


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Source((str(WAITING),), (), None), tmp_path_factory.mktemp("waiting"))


@pytest.mark.parametrize(
    ("name", "threads", "rounds"),
    [("dekker", 2, 2), ("peterson", 2, 2), ("bakery", 3, 1), ("ttas", 3, 1), ("mcs", 3, 1)],
)
def test_programs_that_wait(waiting: Path, name: str, threads: int, rounds: int) -> None:
    arguments = [name, str(threads), str(rounds)]
    found, notes = in_parts(waiting, arguments, 3, 10)
    assert found == told(driver.answers(waiting, REQUEST, arguments))
    assert not notes
    assert found[-1]["executions"] > 10


@pytest.mark.parametrize("explore", [Strategy("random", 300), Strategy("pct", 300, 3)], ids=str)
def test_random_walks_of_different_lengths(waiting: Path, explore: Strategy) -> None:
    """Those by which pct measures how long they are, each process has to take first."""
    arguments = ["dekker", "2", "3"]
    found, notes = in_parts(waiting, arguments, 3, 50, explore)
    assert found == told(driver.answers(waiting, request(explore), arguments))
    assert not notes
