"""SC executions of small programs, by plain enumeration."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Protocol

from teetotal.answers.events import Event, Issue, Semantics
from teetotal.models import ProgramLike, Run, executions


class Remembered:
    """A program that computes each of its steps once: brute force asks for the same ones again and again."""

    def __init__(self, program: ProgramLike) -> None:
        self.program = program
        self.initial_memory = program.initial_memory
        self.thread_count = program.thread_count
        self.start = cache(program.start)
        self.next = cache(program.next)
        self.update = cache(program.update)
        self.halted = cache(program.halted)


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


class Watcher(Protocol):
    """Is told of every SC execution, event by event, depth first."""

    def event(self, event: Event) -> None: ...
    def end(self) -> None: ...
    def back(self) -> None: ...


def watch_interleavings(program: ProgramLike, semantics: Semantics, watcher: Watcher) -> None:
    """Walks the tree of all SC executions: ``end`` at each leaf, ``back`` when the latest event is taken back."""

    def walk(run: Run) -> None:
        steps = run.steps()
        if not steps:
            watcher.end()
        for step in steps:
            successor = run.copy()
            successor.take(step)
            watcher.event(successor.events[step.thread][-1])
            walk(successor)
            watcher.back()

    walk(Run(program, "sc", semantics))


class _Collector:
    def __init__(self) -> None:
        self.now: list[Event] = []
        self.all: list[list[Event]] = []

    def event(self, event: Event) -> None:
        self.now.append(event)

    def end(self) -> None:
        self.all.append(list(self.now))

    def back(self) -> None:
        self.now.pop()


def interleavings(program: ProgramLike, semantics: Semantics) -> list[list[Event]]:
    """Every SC execution."""
    collector = _Collector()
    watch_interleavings(program, semantics, collector)
    return collector.all


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
