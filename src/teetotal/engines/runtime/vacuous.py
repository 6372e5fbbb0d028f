"""Proofs about nothing, told as such: programs in which nothing can happen, and assertions that say nothing.

An assertion that no execution comes to is known from the runtime, which says what was evaluated (``End.evaluated``). One
that the compiler made no code of, since it cannot fail or nothing can come to it, stands in the preprocessed text alone.
Those of the system's headers are not the user's to mend.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from teetotal.answers.events import Location
from teetotal.engines.runtime.messages import End
from teetotal.programs.c import assertions
from teetotal.programs.c.assembly import SYSTEM
from teetotal.programs.c.build import Source
from teetotal.programs.c.symbols import Symbols


def proof(end: End) -> list[str]:
    """Of an exploration that came to its end and found nothing."""
    if end.threads < 2:
        return ["the program starts no second thread: there is nothing that could be seen out of order"]
    if end.blocked == end.executions:
        return ["no execution comes to its end: what is proved holds up to where each of them stops"]
    return []


def asserted(source: Source, program: Path, symbols: Symbols, evaluated: set[int]) -> Iterator[str]:
    """Where every execution of every model was visited, and nothing fails."""
    met: dict[Location, bool] = {}
    for decision in assertions.decisions(program):
        at = symbols.line(decision.call)
        if at is None:  # built without debugging information: which is which is not known
            return
        met[at] = met.get(at, False) or decision.place in evaluated
    for at, was in sorted(met.items()):
        if not was and not at.file.startswith(SYSTEM):
            yield f"the assertion at {at} is never evaluated: nothing is known about it"
    for at, *lines in assertions.written(source):
        if met.keys().isdisjoint([at, *lines]) and not at.file.startswith(SYSTEM):
            yield f"the assertion at {at} has no code: the compiler found that it cannot fail, or that nothing comes to it"
