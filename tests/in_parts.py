"""C programs explored in parts by workers who take turns in this process, in any order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from teetotal.answers.strategies import Strategy
from teetotal.budget import Budget
from teetotal.engines.runtime import exploring
from teetotal.engines.runtime.messages import End, Failed, Found, Progress, Restart
from teetotal.programs.c.build import Source
from teetotal.scale.crew import Crew
from teetotal.scale.here import Here
from teetotal.scale.processes import keeping
from teetotal.scale.scale import Scale, Slice

PRIVATE = {"seconds", "cpu", "fresh", "restored", "restarts", "shown"}
"""Of an end: what is about the processes, and not about the program."""


class Several(Here[Any, Any]):
    """As many as that, who take turns."""

    def __init__(self, work: Any, size: int) -> None:
        super().__init__(work)
        self.size = size
        self.chance = random.Random(size)

    @property
    def free(self) -> int:
        return self.size - len(self.waiting)

    def receive(self, seconds: float | None = None) -> Any:
        self.waiting.rotate(self.chance.randrange(len(self.waiting) or 1))
        return super().receive(seconds)


class InTurns(Scale):
    def crew(self, work: Any, *limits: Any) -> Crew[Any, Any]:
        return Several(work, self.workers)


def told(messages: Any) -> list[Any]:
    """All but how far it is and what measures, without what was told before a restart."""
    found: list[Any] = []
    for message in messages:
        if isinstance(message, Restart):
            found = found[:1]
        elif isinstance(message, End):
            ended = {name: value for name, value in asdict(message).items() if name not in PRIVATE}
            found.append({**ended, "evaluated": sorted(message.evaluated)})
        elif isinstance(message, Found | Failed):  # each process numbers cells as it comes across them
            where = {number: cell.address for number, cell in message.cells.items()}
            steps = [replace(step, cell=where.get(step.cell, -1)) for step in message.steps]
            waiting = [(*row[:3], where.get(row[3], -1), *row[4:]) for row in getattr(message, "waiting", ())]
            cells = sorted(message.cells.values(), key=lambda cell: (cell.region, cell.address, cell.tag))
            found.append({**asdict(message), "steps": steps, "waiting": waiting, "cells": cells})
        elif not isinstance(message, Progress):
            found.append(message)
    return found


def in_parts(
    program: Path,
    request: Sequence[str],
    arguments: Sequence[str],
    workers: int,
    executions: int,
    explore: Strategy = Strategy("all"),
) -> tuple[list[Any], list[str]]:
    """What is told, and notes on why it was not explored in parts. Where slices are even, one process explores them all, in
    the order in which they are given away; otherwise each has a process of its own."""
    scale = InTurns(workers, slice=Slice(60.0, executions))
    source = Source((), arguments=tuple(arguments))
    keeping.stays = executions % 2 == 0
    try:
        found = told(exploring.answers(program, request, source, Budget(scale=scale), explore))
    finally:
        keeping.stays = False
        keeping.let_go()
    return found, scale.notes
