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
    "bench", "LOC", "length", "TSO: with", "distinct", "PSO: with", "distinct", "seconds",
    "paper: LOC", "length", "TSO: with", "distinct", "PSO: with", "distinct",
)  # fmt: skip

_PAPER = {
    "dekker": (23, 140, 973, 10, 977, 15), "bakery": (31, 515, 992, 3, 1000, 4), "msn": (83, 337, 0, 0, 943, 3),
    "ms2": (78, 193, 0, 0, 73, 2), "harris": (155, 1332, 0, 0, 976, 2), "lazylist": (121, 443, 0, 0, 18, 2),
    "snark": (150, 376, 0, 0, 951, 10),
}  # fmt: skip


def rows() -> Iterator[tuple[object, ...]]:
    for name, paper in _PAPER.items():
        tso, pso = "burnim-tso-report", "burnim-pso-report"
        counts = programs.count(name, Strategy("random", 1000), [tso, pso], flags=FLAGS.get(name, ()))
        yield (
            name, programs.lines_of_code(name), round(counts.length),
            counts.reporting[tso], len(counts.triples[tso]), counts.reporting[pso], len(counts.triples[pso]),
            round(counts.seconds, 2), *paper,
        )  # fmt: skip
