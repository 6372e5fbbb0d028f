"""Burnim, Sen, Stergiou: Sound and Complete Monitoring of Sequential Consistency (TACAS 2011), Tables 1 and 2.

Their monitors (Figs 4, 5) on every interleaving with at most 1 or 2 preemptions; violations with the same pair of places
(delayed store, deciding event) count once. The figures under ``paper`` are theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.strategies import Strategy
from teetotal.reproduce import programs

TITLE = "All interleavings with at most 1 (then 2) preemptions; distinct violations by pair of places"
COLUMNS = (
    "bench", "preemptions", "LOC", "interleavings", "seconds", "unmonitored", "overhead", "TSO", "PSO",
    "paper: LOC", "interleavings", "seconds", "overhead", "TSO", "PSO",
)  # fmt: skip
NOTES = [
    "LOC: without the harness, as the papers count",
    "interleavings: the harnesses are not printed in the paper, and ours are other ones; a thread can be preempted at every"
    " access here, and starting a thread is a step; how much each of these makes is not explained row by row",
    "TSO, PSO: violations are told apart by machine instruction here, of which a line of C has several",
    "overhead: what the monitors add to the time without them; the paper's text says roughly 20 % and about 100 %",
]

_PAPER = {
    1: {
        "dekker": (20, 79, 6.4, 3, 5), "bakery": (30, 197, 42.4, 3, 4), "msn": (80, 92, 7.5, 0, 3),
        "ms2": (80, 123, 11.0, 0, 2), "harris": (160, 161, 18.8, 0, 2), "lazylist": (120, 139, 14.0, 0, 4),
        "snark": (150, 172, 15.4, 0, 4),
    },
    2: {
        "dekker": (20, 1714, 180.0, 9, 11), "bakery": (30, 13632, 3992.4, 3, 4), "msn": (80, 2300, 196.1, 0, 3),
        "ms2": (80, 3322, 300.0, 0, 2), "harris": (160, 5646, 661.7, 0, 2), "lazylist": (120, 4045, 428.4, 0, 4),
        "snark": (150, 6510, 609.9, 0, 10),
    },
}  # fmt: skip

FLAGS = {"dekker": ("-DROUNDS=2",), "msn": ("-DLONG",), "snark": ("-DFOUR",)}


def rows() -> Iterator[tuple[object, ...]]:
    for preemptions, table in _PAPER.items():
        for name, paper in table.items():
            monitors = ["burnim-tso", "burnim-pso"]
            strategy, flags = Strategy("preemptions", preemptions), FLAGS.get(name, ())
            counts = programs.count(name, strategy, monitors, flags=flags)
            alone = programs.count(name, strategy, [], flags=flags).seconds
            lines, interleavings, seconds, tso, pso = paper
            yield (
                name, preemptions, programs.lines_of_code(name), counts.executions, round(counts.seconds, 2),
                round(alone, 2), programs.overhead(counts.seconds, alone),
                counts.pairs("burnim-tso"), counts.pairs("burnim-pso"),
                lines, interleavings, seconds, "100 %" if name in ("dekker", "bakery") else "20 %", tso, pso,
            )  # fmt: skip
