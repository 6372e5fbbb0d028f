"""Counts over the benchmark programs: executions, violations by places, time."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from teetotal import _core
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Semantics
from teetotal.answers.strategies import Strategy
from teetotal.engines.runtime import driver
from teetotal.engines.runtime.messages import End, Found, Restart
from teetotal.programs.c.build import Source, built

PAPERS = Semantics(rmw="address", mutex="rmw", failed_cas="read")
"""The papers' PSO: an atomic operation flushes its own address, and a mutex is nothing more than such operations."""


class Counts(NamedTuple):
    executions: int
    seconds: float
    length: float
    reporting: dict[str, int]
    """Executions in which each monitor reports something."""
    triples: dict[str, set[tuple[int, int, int]]]
    """The places of the delayed store, of the event before, and of the deciding event."""

    def pairs(self, monitor: str) -> int:
        return len({(delayed, deciding) for delayed, _, deciding in self.triples[monitor]})


def folder(kind: Literal["programs", "promela"]) -> Path:
    """Of benchmark programs: in the source tree, or installed beside the compiled core."""
    in_tree = Path(__file__).parents[3] / "benchmarks" / kind
    installed = Path(_core.__file__).parent / "benchmarks" / kind
    for directory in (in_tree, installed):
        if directory.is_dir():
            return directory
    raise TeetotalError(f"{installed}: the benchmark programs are not installed")


def program(name: str) -> Path:
    path = folder("programs") / f"{name}.c"
    if not path.exists():
        raise TeetotalError(f"the benchmark program {name} is not installed")
    return path


def lines_of_code(name: str) -> int:
    """Without blank lines and comments, with the test harness."""
    lines = program(name).read_text().splitlines()
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("//"))


def count(
    name: str,
    strategy: Strategy,
    monitors: list[str],
    *,
    flags: tuple[str, ...] = (),
    seed: int = 0,
) -> Counts:
    options = [
        f"strategy={strategy.name}", f"count={strategy.count}", f"depth={strategy.depth}", f"seed={seed}",
        *driver.semantics_options(PAPERS), "loop-bound=100",
        *(f"monitor={monitor}" for monitor in monitors),
    ]  # fmt: skip
    triples: dict[str, set[tuple[int, int, int]]] = {monitor: set() for monitor in monitors}
    with built(Source((str(program(name)),), flags)) as object_file:
        for answer in driver.answers(object_file, options):
            match answer:
                case Restart():
                    triples = {monitor: set() for monitor in monitors}
                case Found():
                    places = [answer.steps[event].place for event in answer.report]
                    triples[answer.monitor].add((places[0], places[1], places[2]))
                case End():
                    return Counts(
                        executions=answer.executions,
                        seconds=answer.cpu or 0.0,
                        length=answer.steps / max(answer.executions, 1),
                        reporting=dict(zip(monitors, answer.reporting, strict=True)),
                        triples=triples,
                    )
    raise TeetotalError(f"{name}: the exploration did not come to its end")
