"""Table 1 of Linden, Wolper (TACAS 2013): fence insertion for PSO with unbounded buffers, ours beside theirs.

The programs are those of ``benchmarks/promela/`` in a checkout, or of ``TEETOTAL_PROMELA``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from teetotal.errors import TeetotalError
from teetotal.events import Kind
from teetotal.fences.linden_wolper import insert_fences
from teetotal.programs.promela import load

TITLE = "Fences inserted for PSO with unbounded buffers; `robust` are ours for that other goal, mfence+sfence"
COLUMNS = (
    "program", "states", "iterations", "mfence", "sfence", "seconds", "robust",
    "paper: states", "iterations", "mfence", "sfence", "seconds",
)  # fmt: skip


class PaperRow(NamedTuple):
    """#St, #it, #mfence, #sfence and t of the paper (Java, on a 2.7 GHz laptop)."""

    title: str
    program: str
    states: int
    iterations: int
    mfences: int
    sfences: int
    seconds: float


PAPER = [
    PaperRow("Dekker", "dekker", 381, 6, 4, 0, 1.9),
    PaperRow("Peterson", "peterson", 219, 6, 2, 2, 1.4),
    PaperRow("Generalized Peterson (3)", "peterson_n", 28544, 8, 3, 3, 56.7),
    PaperRow("Lamport's bakery (single)", "bakery", 727, 8, 4, 2, 3.2),
    PaperRow("Burns", "burns", 123, 4, 2, 0, 1.2),
    PaperRow("Szymanski", "szymanski", 221, 8, 6, 0, 2.2),
    PaperRow("Dijkstra", "dijkstra", 879, 4, 2, 0, 3.9),
    PaperRow("Lamport's fast mutex", "lamport_fast", 5654, 10, 4, 4, 11.3),
    PaperRow("Alternating bit", "alternating_bit", 1184, 1, 0, 0, 2.3),
    PaperRow("CLH queue lock", "clh", 3004, 1, 0, 0, 2.8),
    PaperRow("Increasing sequence (10)", "increasing_sequence", 59570, 1, 0, 0, 140.0),
]

NOTES = [
    "states: ours are sets, one automaton for each process; theirs have one control state for each process",
    "iterations: ours are counted once for each place in the text, which several processes may share",
    "Szymanski: their set has fences that are not needed, as they say; ours needs each of its fences",
    "Lamport's fast mutex: the same; the sfence is needed between y = 0 and b[i] = 0",
]


class Row(msgspec.Struct, frozen=True):
    title: str
    states: tuple[int, int]
    iterations: tuple[int, int]
    mfences: tuple[int, int]
    sfences: tuple[int, int]
    seconds: tuple[float, float]
    robust: str
    proof_seconds: float


def programs() -> Path:
    """Where the programs lie."""
    found = Path(os.environ.get("TEETOTAL_PROMELA", Path(__file__).parents[3] / "benchmarks" / "promela"))
    if not found.is_dir():
        raise TeetotalError(f"{found}: no such folder; the programs are in benchmarks/promela of a checkout")
    return found


def measured() -> list[Row]:
    """Each pair is ours, theirs. ``robust`` are the fences for the other goal, which the paper does not have."""
    result = []
    for paper in PAPER:
        program = load(programs() / f"{paper.program}.pml")
        started = time.process_time()
        found = insert_fences(program)
        seconds = time.process_time() - started
        strong = insert_fences(program, goal="robust")
        proof = found.proofs[-1]
        result.append(
            Row(
                paper.title,
                (proof.states, paper.states),
                (found.iterations, paper.iterations),
                (found.count(Kind.MFENCE), paper.mfences),
                (found.count(Kind.SFENCE), paper.sfences),
                (seconds, paper.seconds),
                f"{strong.count(Kind.MFENCE)}+{strong.count(Kind.SFENCE)}",
                max(p.seconds for p in found.proofs),
            )
        )
    return result


def rows() -> Iterator[tuple[object, ...]]:
    for row in measured():
        ours, theirs = zip(row.states, row.iterations, row.mfences, row.sfences, strict=True)
        yield (row.title, *ours, round(row.seconds[0], 3), row.robust, *theirs, row.seconds[1])
