"""Burckhardt, Musuvathi: Effective Program Verification for Relaxed Memory Models (MSR-TR-2008-12), Fig. 4.

Their monitor as printed on every interleaving up to a bound on preemptions, or on all; a borderline execution is one in
which it reports something. The program of their Fig. 1(b) is store buffering.
"""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.strategies import Strategy
from teetotal.reproduce import programs

TITLE = "Interleavings up to a bound on preemptions, and those that are borderline; seconds to go through all"
COLUMNS = (
    "bench", "LOC", "bound", "interleavings", "borderline", "seconds",
    "paper: LOC", "interleavings", "borderline", "SoBeR", "CHESS alone",
)  # fmt: skip

_FLAGS = {"sb": (), "dekker": ("-DROUNDS=2",), "bakery": ("-DROUNDS=3",), "takequeue": ()}
_PAPER: dict[str, tuple[int, dict[int | None, tuple[int, int, float, float]]]] = {
    "sb": (42, {None: (10, 4, 0.2, 0.2)}),
    "dekker": (82, {1: (5, 4, 0.2, 0.2), 2: (36, 23, 0.39, 0.37), 3: (183, 50, 1.9, 1.8), 4: (1219, 124, 13.2, 13.0),
                    5: (8472, 349, 106.0, 100.6)}),
    "bakery": (122, {0: (1, 1, 0.2, 0.2), 1: (25, 20, 0.47, 0.43), 2: (742, 533, 10.3, 9.8),
                     3: (12436, 8599, 189.0, 181.0)}),
    "takequeue": (374, {0: (3, 0, 0.3, 0.3), 1: (47, 14, 0.72, 0.69), 2: (402, 189, 5.2, 4.9),
                        3: (2318, 1197, 28.9, 27.8), 4: (9147, 5321, 125.5, 118.9), 5: (29821, 17922, 481.5, 461.6)}),
}  # fmt: skip


def rows() -> Iterator[tuple[object, ...]]:
    for name, (lines, bounds) in _PAPER.items():
        for bound, paper in bounds.items():
            strategy = Strategy("interleavings") if bound is None else Strategy("preemptions", bound)
            counts = programs.count(name, strategy, ["sober"], flags=_FLAGS[name])
            yield (
                name, programs.lines_of_code(name), "∞" if bound is None else bound,
                counts.executions, counts.reporting["sober"], round(counts.seconds, 2), lines, *paper,
            )  # fmt: skip
