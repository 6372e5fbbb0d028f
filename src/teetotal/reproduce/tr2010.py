"""Burnim, Sen, Stergiou: technical report UCB/EECS-2010-31, Table 1.

Their monitors in the report's version on 1,000 random executions; violations with the same three places (delayed store,
event before, deciding event) count once. A dash in the paper's table is a 0 here.
"""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.strategies import Strategy
from teetotal.reproduce import programs
from teetotal.reproduce.tacas11 import FLAGS

TITLE = "1,000 random executions: those with a violation, and distinct violations by three places"
COLUMNS = (
    "bench", "LOC", "length", "TSO: with", "distinct", "ms a run", "PSO: with", "distinct", "ms a run", "seconds",
    "paper: LOC", "length", "TSO: with", "distinct", "ms a run", "PSO: with", "distinct", "ms a run",
)  # fmt: skip
NOTES = [
    "ms a run: what the monitor adds to an execution, on average; at so few events a run it is within what is measured",
    "length: the harnesses are not printed in the report, and ours are shorter, so that fewer runs have a violation",
    "distinct: by machine instruction here, of which a line of C has several",
]

_PAPER = {
    "dekker": (23, 140, 973, 10, 10, 977, 15, 10), "bakery": (31, 515, 992, 3, 40, 1000, 4, 50),
    "msn": (83, 337, 0, 0, 10, 943, 3, 20), "ms2": (78, 193, 0, 0, 10, 73, 2, 10),
    "harris": (155, 1332, 0, 0, 60, 976, 2, 70), "lazylist": (121, 443, 0, 0, 20, 18, 2, 20),
    "snark": (150, 376, 0, 0, 10, 951, 10, 20),
}  # fmt: skip
RUNS = 1000


def rows() -> Iterator[tuple[object, ...]]:
    for name, paper in _PAPER.items():
        tso, pso = "burnim-tso-report", "burnim-pso-report"
        strategy, flags = Strategy("random", RUNS), FLAGS.get(name, ())
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
            counts.reporting[tso], len(counts.triples[tso]), added[tso],
            counts.reporting[pso], len(counts.triples[pso]), added[pso],
            round(counts.seconds, 2), *paper,
        )  # fmt: skip
