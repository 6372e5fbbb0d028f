"""Burckhardt, Musuvathi: Effective Program Verification for Relaxed Memory Models (MSR-TR-2008-12), Fig. 4.

Their monitor as printed on every interleaving up to a bound on preemptions, or on all; a borderline execution is one in
which it reports something. The times to verify are those of the fixed programs (``-DFENCED``), as in the paper. The
program of their Fig. 1(b) is store buffering.
"""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.events import Kind
from teetotal.answers.strategies import Strategy
from teetotal.reproduce import programs
from teetotal.reproduce.causes import PREEMPTED, Numbers, Test, differences

TITLE = (
    "Interleavings up to a bound on preemptions, borderline ones, seconds to falsify and to verify the fixed program"
)
COLUMNS = (
    "bench", "LOC", "bound", "interleavings", "borderline", "falsified", "fixed: all", "borderline", "SoBeR", "unmonitored",
    "paper: LOC", "interleavings", "borderline", "falsified", "SoBeR", "CHESS alone", "differences",
)  # fmt: skip
NOTES = [
    "falsified: seconds until the first report, the start of the explorer included; SoBeR and unmonitored: seconds for all"
    " interleavings of the fixed program with and without the monitor",
    "a thread can be preempted before every operation here, and starting a thread is one; the programs are ours."
    " differences says what else was tried, and which number became the paper's by that",
    "the fixed program is not run where the other one has more than a million interleavings: it has more, and takes"
    " minutes",
]

_FLAGS = {"sb": (), "dekker": ("-DROUNDS=2",), "bakery": ("-DROUNDS=3",), "takequeue": ("-DSIX",)}
MOST = 1_000_000
FEW = 200_000
"""Interleavings of a program that is run in other ways, to see why it has so many."""
Paper = tuple[int, int, str, float, float]
_PAPER: dict[str, tuple[int, dict[int | None, Paper]]] = {
    "sb": (42, {None: (10, 4, "< 0.1", 0.2, 0.2)}),
    "dekker": (82, {1: (5, 4, "< 0.1", 0.2, 0.2), 2: (36, 23, "< 0.1", 0.39, 0.37), 3: (183, 50, "< 0.1", 1.9, 1.8),
                    4: (1219, 124, "< 0.1", 13.2, 13.0), 5: (8472, 349, "< 0.1", 106.0, 100.6)}),
    "bakery": (122, {0: (1, 1, "< 0.1", 0.2, 0.2), 1: (25, 20, "< 0.1", 0.47, 0.43), 2: (742, 533, "< 0.1", 10.3, 9.8),
                     3: (12436, 8599, "< 0.1", 189.0, 181.0)}),
    "takequeue": (374, {0: (3, 0, "not found", 0.3, 0.3), 1: (47, 14, "0.34", 0.72, 0.69),
                        2: (402, 189, "0.43", 5.2, 4.9), 3: (2318, 1197, "0.74", 28.9, 27.8),
                        4: (9147, 5321, "0.84", 125.5, 118.9), 5: (29821, 17922, "0.86", 481.5, 461.6)}),
}  # fmt: skip


def rows() -> Iterator[tuple[object, ...]]:
    for name, (lines, bounds) in _PAPER.items():
        for bound, paper in bounds.items():
            strategy = Strategy("interleavings") if bound is None else Strategy("preemptions", bound)
            flags = _FLAGS[name]
            counts = programs.count(name, strategy, ["sober"], flags=flags)
            falsified = programs.first_report(name, strategy, "sober", flags=flags)
            verified = _fixed(name, strategy) if counts.executions <= MOST else ("not run",) * 4
            yield (
                name, programs.lines_of_code(name), "∞" if bound is None else bound,
                counts.executions, counts.reporting["sober"], "not found" if falsified is None else round(falsified, 2),
                *verified, lines, *paper,
                differences(_numbers(counts), {"interleavings": paper[0], "borderline": paper[1]},
                            _tests(name, strategy, counts)),
            )  # fmt: skip


def _numbers(counts: programs.Counts) -> Numbers:
    return {"interleavings": counts.executions, "borderline": counts.reporting["sober"]}


def _tests(name: str, strategy: Strategy, counts: programs.Counts) -> Iterator[Test]:
    if counts.executions > FEW:
        return
    for words, kinds in PREEMPTED.items():

        def measure(kinds: tuple[Kind, ...] = kinds) -> Numbers:
            return _numbers(programs.count(name, strategy, ["sober"], flags=_FLAGS[name], preempted=kinds))

        yield words, measure


def _fixed(name: str, strategy: Strategy) -> tuple[object, ...]:
    flags = (*_FLAGS[name], "-DFENCED")
    fixed = programs.count(name, strategy, ["sober"], flags=flags)
    alone = programs.count(name, strategy, [], flags=flags)
    return fixed.executions, fixed.reporting["sober"], round(fixed.seconds, 2), round(alone.seconds, 2)
