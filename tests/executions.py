"""SC executions of small programs, by plain enumeration."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from teetotal.events import Event, Semantics
from teetotal.models import Issue, ProgramLike, Run, executions


def in_order(run: Run) -> list[Event]:
    """The events of an SC run in the order in which they happened."""
    counts = [0] * len(run.events)
    events = []
    for step in run.schedule:
        assert isinstance(step, Issue)
        events.append(run.events[step.thread][counts[step.thread]])
        counts[step.thread] += 1
    return events


def classes(program: ProgramLike, semantics: Semantics) -> list[list[Event]]:
    """One execution of each Mazurkiewicz class."""
    return [in_order(run) for run in executions(program, "sc", semantics)]


def interleavings(program: ProgramLike, semantics: Semantics) -> Iterator[list[Event]]:
    """Every SC execution."""
    stack = [Run(program, "sc", semantics)]
    while stack:
        run = stack.pop()
        steps = run.steps()
        if not steps:
            yield in_order(run)
        for step in steps:
            successor = run.copy()
            successor.take(step)
            stack.append(successor)


def conflict(a: Event, b: Event) -> bool:
    return a.address is not None and a.address == b.address and (a.writes or b.writes)


def dependent(a: Event, b: Event) -> bool:
    return a.thread == b.thread or conflict(a, b)


def shuffled(events: Sequence[Event], rng: random.Random) -> list[Event]:
    """Another execution of the same class: any order that keeps dependent events as they are."""
    waiting = list(events)
    order = []
    while waiting:
        ready = [i for i, e in enumerate(waiting) if not any(dependent(f, e) for f in waiting[:i])]
        order.append(waiting.pop(rng.choice(ready)))
    return order
