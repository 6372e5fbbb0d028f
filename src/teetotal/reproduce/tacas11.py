"""Burnim, Sen, Stergiou: Sound and Complete Monitoring of Sequential Consistency (TACAS 2011), Tables 1 and 2.

Their monitors (Figs 4, 5) on every interleaving with at most 1 or 2 preemptions; violations with the same pair of places
(delayed store, deciding event) count once. The figures under ``paper`` are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from teetotal.answers.strategies import Strategy
from teetotal.reproduce import programs
from teetotal.reproduce.causes import PREEMPTED, Numbers, Test, differences

TITLE = "All interleavings with at most 1 (then 2) preemptions; distinct violations by pair of places"
COLUMNS = (
    "bench", "preemptions", "LOC", "interleavings", "seconds", "unmonitored", "overhead", "TSO", "PSO",
    "paper: LOC", "interleavings", "seconds", "overhead", "TSO", "PSO", "differences",
)  # fmt: skip
NOTES = [
    "LOC: without the harness, as the papers count",
    "the harnesses are not printed in the paper: ours do each operation a few times, as often as makes the number of"
    " interleavings with one preemption nearest to the paper's; the numbers beside it, and those for two, follow",
    "a thread can be preempted before every operation here, starting a thread is one, and violations are told apart by"
    " machine instruction; differences says what else was tried, and which number became the paper's by that",
    "a compare-and-swap that fails writes, as footnote 1 says",
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

FLAGS = {"msn": ("-DLONG",), "snark": ("-DFOUR",)}
_ROUNDS = {"dekker": 3, "bakery": 5, "msn": 2, "ms2": 3, "harris": 4, "lazylist": 2, "snark": 2}
_MONITORS = ["burnim-tso", "burnim-pso"]


def rows() -> Iterator[tuple[object, ...]]:
    for preemptions, table in _PAPER.items():
        for name, paper in table.items():
            strategy = Strategy("preemptions", preemptions)
            flags = (*FLAGS.get(name, ()), f"-DROUNDS={_ROUNDS[name]}")
            counts = programs.count(name, strategy, _MONITORS, flags=flags)
            alone = programs.count(name, strategy, [], flags=flags).seconds
            lines, interleavings, seconds, tso, pso = paper
            yield (
                name, preemptions, programs.lines_of_code(name), counts.executions, round(counts.seconds, 2),
                round(alone, 2), programs.overhead(counts.seconds, alone),
                counts.pairs("burnim-tso"), counts.pairs("burnim-pso"),
                lines, interleavings, seconds, "100 %" if name in ("dekker", "bakery") else "20 %", tso, pso,
                differences(_numbers(counts), {"interleavings": interleavings, "TSO": tso, "PSO": pso},
                            _tests(name, strategy, flags, counts)),
            )  # fmt: skip


def _numbers(counts: programs.Counts, *, by_line: bool = False) -> Numbers:
    tso, pso = (counts.pairs(monitor, by_line=by_line) for monitor in _MONITORS)
    return {"interleavings": counts.executions, "TSO": tso, "PSO": pso}


def _tests(name: str, strategy: Strategy, flags: tuple[str, ...], counts: programs.Counts) -> Iterator[Test]:
    def measured(**settings: Any) -> Callable[[], Numbers]:
        return lambda: _numbers(programs.count(name, strategy, _MONITORS, flags=flags, **settings))

    yield "violations told apart by line", lambda: _numbers(counts, by_line=True)
    for words, kinds in PREEMPTED.items():
        yield words, measured(preempted=kinds)
    yield "an rmw that empties all buffers", measured(semantics=replace(programs.PAPERS, rmw="all"))
    yield "an unlock that is a fence", measured(semantics=replace(programs.PAPERS, mutex="fence"))
