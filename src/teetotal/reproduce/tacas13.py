"""Table 1 of Linden, Wolper (TACAS 2013): fence insertion for PSO with unbounded buffers, ours beside theirs.

The programs are those of ``benchmarks/promela/``, which are installed with the package, or of ``TEETOTAL_PROMELA``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from teetotal.answers.events import Kind
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.verify import verify
from teetotal.fences.linden_wolper import insert_fences
from teetotal.programs.promela import compile_text, load
from teetotal.reproduce.programs import folder

TITLE = "Fences inserted for PSO with unbounded buffers; `robust` are ours for that other goal, mfence+sfence"
COLUMNS = (
    "program", "entry", "processes", "sets", "accelerate: states", "iterations", "mfence", "sfence", "seconds", "robust",
    "paper: processes", "states", "iterations", "mfence", "sfence", "seconds",
)  # fmt: skip


class PaperRow(NamedTuple):
    """entry-vers, #St, #it, #mfence, #sfence and t of the paper (Java, on a 2.7 GHz laptop)."""

    title: str
    program: str
    entry: str
    states: int
    iterations: int
    mfences: int
    sfences: int
    seconds: float


PAPER = [
    PaperRow("Dekker", "dekker", "repeated", 381, 6, 4, 0, 1.9),
    PaperRow("Peterson", "peterson", "repeated", 219, 6, 2, 2, 1.4),
    PaperRow("Generalized Peterson", "peterson_n", "repeated", 28544, 8, 3, 3, 56.7),
    PaperRow("Lamport's bakery", "bakery", "single", 727, 8, 4, 2, 3.2),
    PaperRow("Burns", "burns", "repeated", 123, 4, 2, 0, 1.2),
    PaperRow("Szymanski", "szymanski", "repeated", 221, 8, 6, 0, 2.2),
    PaperRow("Dijkstra", "dijkstra", "repeated", 879, 4, 2, 0, 3.9),
    PaperRow("Lamport's fast mutex", "lamport_fast", "repeated", 5654, 10, 4, 4, 11.3),
    PaperRow("Alternating bit", "alternating_bit", "-", 1184, 1, 0, 0, 2.3),
    PaperRow("CLH queue lock", "clh", "-", 3004, 1, 0, 0, 2.8),
    PaperRow("Increasing sequence (10)", "increasing_sequence", "-", 59570, 1, 0, 0, 140.0),
]

THREE = {"Generalized Peterson": 3}
"""Processes; the others have two."""

NOTES = [
    "sets: the states of saturate, which finds the fences; one of them holds many control states of each process",
    "accelerate: states of the fenced program under PSO by their own method, to be compared with theirs",
    "iterations: ours are counted once for each place in the text, which several processes may share",
    "Szymanski: their set has fences that are not needed, as they say; ours needs each of its fences",
    "Lamport's fast mutex: the same; the sfence is needed between y = 0 and b[i] = 0",
]


class Row(msgspec.Struct, frozen=True):
    title: str
    entry: str
    processes: int
    sets: int
    states: tuple[str | int, int]
    iterations: tuple[int, int]
    mfences: tuple[int, int]
    sfences: tuple[int, int]
    seconds: tuple[float, float]
    robust: str
    proof_seconds: float


def programs() -> Path:
    """Where the programs lie."""
    return Path(os.environ["TEETOTAL_PROMELA"]) if "TEETOTAL_PROMELA" in os.environ else folder("promela")


def measured() -> list[Row]:
    """Each pair is ours, theirs. ``sets`` are saturate's states, ``states`` accelerate's, or its verdict where it does not
    prove the program. ``robust`` are the fences for the other goal, which the paper does not have."""
    result = []
    for paper in PAPER:
        program = load(programs() / f"{paper.program}.pml")
        started = time.process_time()
        found = insert_fences(program)
        seconds = time.process_time() - started
        strong = insert_fences(program, goal="robust")
        proof = found.proofs[-1]
        fenced = compile_text(found.text, paper.program)
        theirs = verify(fenced, "pso", engine="accelerate", budget=Budget(seconds=20))
        result.append(
            Row(
                paper.title,
                paper.entry,
                len(program.processes),
                proof.states,
                (theirs.states if theirs.verdict is Verdict.SAFE else str(theirs.verdict), paper.states),
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
        yield (
            row.title,
            row.entry,
            row.processes,
            row.sets,
            *ours,
            round(row.seconds[0], 3),
            row.robust,
            THREE.get(row.title, 2),
            *theirs,
            row.seconds[1],
        )
