"""An execution of a C program as the machines of ``models/`` run it.

A violation is confirmed by those machines, which run programs: the paper's ``(s_0, next, update)``. What a thread of a C
program computes between two accesses is not known there, and need not be. The events that were recorded are such a program
themselves: a thread's state is how many of its events have happened, its next request is the next event, with the value
that it wrote. That is enough, because the relaxed execution behind a report has the same events up to the last.
"""

from __future__ import annotations

from collections.abc import Sequence

from teetotal.answers.events import Event, Issue, Kind, Request, Step
from teetotal.engines.runtime.events import Execution


class Recorded:
    """``models.ProgramLike``, of an execution that a schedule is to be run on: its own, or one that differs from it in
    when stores reach memory and in what the last event sees."""

    def __init__(self, execution: Execution, schedule: Sequence[Step]) -> None:
        self.thread_count = max((event.thread for event in execution.events), default=0) + 1
        self.events: list[list[Event]] = [[] for _ in range(self.thread_count)]
        for event in execution.events:
            self.events[event.thread].append(event)
        self.initial_memory = self._memory(execution.initial, schedule)

    def _memory(self, initial: dict[str, int], schedule: Sequence[Step]) -> dict[str, int]:
        """Locations come in the order in which the schedule first stores to them, and tokens number them so: whoever runs
        the schedule on the real program knows that order, and no names."""
        stored: dict[str, int] = {}
        following = [iter(events) for events in self.events]
        for step in schedule:
            if isinstance(step, Issue):
                event = next(following[step.thread])
                if event.kind is Kind.ST and event.address is not None:
                    stored[event.address] = initial[event.address]
        return stored | initial

    @property
    def locations(self) -> list[str]:
        return list(self.initial_memory)

    def start(self, thread: int) -> int:
        return 0

    def next(self, thread: int, state: int) -> Request | None:
        if self.halted(thread, state):
            return None
        event = self.events[thread][state]
        kind, address, place, order = event.kind, event.address, event.location, event.order
        match kind:
            case Kind.ST:
                return Request(kind, address, event.value, location=place, order=order)
            case Kind.RMW:
                return Request(kind, address, None, lambda _: event.value, place, order, order)
            case Kind.LOCK | Kind.UNLOCK:
                return Request(kind, address, location=place)
            case Kind.LD:
                return Request(kind, address, location=place, order=order)
            case _:
                return Request(kind, location=place, order=order)

    def update(self, thread: int, state: int, response: int | None) -> int:
        return state + 1

    def halted(self, thread: int, state: int) -> bool:
        return state == len(self.events[thread])
