"""Burnim, Sen, Stergiou: technical report UCB/EECS-2010-31, Table 1.

Their monitors in the report's version on 1,000 random executions; violations with the same three places (delayed store,
event before, deciding event) count once. A dash in the paper's table is a 0 here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from teetotal.answers.strategies import Strategy
from teetotal.reproduce import programs
from teetotal.reproduce.causes import Numbers, Test, differences
from teetotal.reproduce.tacas11 import FLAGS

TITLE = "1,000 random executions: those with a violation, and distinct violations by three places"
COLUMNS = (
    "bench", "LOC", "length", "TSO: with", "distinct", "ms a run", "PSO: with", "distinct", "ms a run", "seconds",
    "paper: LOC", "length", "TSO: with", "distinct", "ms a run", "PSO: with", "distinct", "ms a run", "differences",
)  # fmt: skip
NOTES = [
    "ms a run: what the monitor adds to an execution, on average; at so few events a run it is within what is measured",
    "the harnesses are not printed in the report: ours do each operation a few times, as often as makes executions about as"
    " long as the report's; the other numbers follow",
    "distinct: by machine instruction here; differences says what else was tried, and which number became the paper's"
    " by that",
]

_PAPER = {
    "dekker": (23, 140, 973, 10, 10, 977, 15, 10), "bakery": (31, 515, 992, 3, 40, 1000, 4, 50),
    "msn": (83, 337, 0, 0, 10, 943, 3, 20), "ms2": (78, 193, 0, 0, 10, 73, 2, 10),
    "harris": (155, 1332, 0, 0, 60, 976, 2, 70), "lazylist": (121, 443, 0, 0, 20, 18, 2, 20),
    "snark": (150, 376, 0, 0, 10, 951, 10, 20),
}  # fmt: skip
RUNS = 1000
_MONITORS = ["burnim-tso-report", "burnim-pso-report"]
_ROUNDS = {"dekker": 5, "bakery": 21, "msn": 10, "ms2": 7, "harris": 62, "lazylist": 10, "snark": 8}


def rows() -> Iterator[tuple[object, ...]]:
    for name, paper in _PAPER.items():
        tso, pso = _MONITORS
        strategy, flags = Strategy("random", RUNS), (*FLAGS.get(name, ()), f"-DROUNDS={_ROUNDS[name]}")
        counts = programs.count(name, strategy, [tso, pso], flags=flags)
        alone = programs.count(name, strategy, [], flags=flags).seconds
        added = {
            monitor: round(
                max(programs.count(name, strategy, [monitor], flags=flags).seconds - alone, 0) * 1000 / RUNS, 4
            )
            for monitor in (tso, pso)
        }
        yield (
            name, programs.lines_of_code(name), round(counts.length),
            counts.reporting[tso], counts.distinct(tso), added[tso],
            counts.reporting[pso], counts.distinct(pso), added[pso],
            round(counts.seconds, 2), *paper,
            differences(_numbers(counts), dict(zip(_NAMES, (paper[i] for i in (2, 3, 5, 6)), strict=True)),
                        _tests(name, strategy, flags, counts)),
        )  # fmt: skip


_NAMES = ("TSO: with", "TSO: distinct", "PSO: with", "PSO: distinct")


def _numbers(counts: programs.Counts, *, by_line: bool = False) -> Numbers:
    tso, pso = _MONITORS
    with_, distinct = counts.reporting, (counts.distinct(monitor, by_line=by_line) for monitor in _MONITORS)
    return dict(zip(_NAMES, (with_[tso], next(distinct), with_[pso], next(distinct)), strict=True))


def _tests(name: str, strategy: Strategy, flags: tuple[str, ...], counts: programs.Counts) -> Iterator[Test]:
    def measured(**settings: Any) -> Callable[[], Numbers]:
        return lambda: _numbers(programs.count(name, strategy, _MONITORS, flags=flags, **settings))

    yield "violations told apart by line", lambda: _numbers(counts, by_line=True)
    yield "other random executions", measured(seed=1)
    yield "an rmw that empties all buffers", measured(semantics=replace(programs.PAPERS, rmw="all"))
    yield "an unlock that is a fence", measured(semantics=replace(programs.PAPERS, mutex="fence"))
