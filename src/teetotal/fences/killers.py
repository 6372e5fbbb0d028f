"""Candidates: which fences, each by itself, would make a violating execution impossible.

A fence restores what the machine did not keep: an mfence between a store and a later access of its thread for which the
store still waited in the buffer, an sfence (PSO) between two stores that became visible in the other order. Linden,
Wolper (TACAS 2013), section 4, look at such relaxations on the path to a bad state; Burnim, Sen, Stergiou (TACAS 2011)
at the program-order edges of the happens-before cycle that the model does not keep. An execution tells both.

Why this gives exact minimum sets. A fence that is no killer of an execution can be added to the program, or taken away,
and the execution stays possible, with the same reads, the same order of writes and so the same violation: an mfence
finds its buffer empty, an sfence forbids no commit that happened. This holds for any number of them at once. So every set
of fences that repairs the program contains a killer of every execution that violates under any other set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from teetotal.events import Event, Kind, ModelName
from teetotal.verdicts import StoryStep

Passed = Callable[[Event], Iterable[int]]
"""The sites that an event's thread passed since its event before: places where a fence could stand."""


def killers(
    model: ModelName, events: Sequence[Event], steps: Sequence[StoryStep], passed: Passed, kind: Callable[[int], Kind]
) -> frozenset[int]:
    """The sites whose fence would not let the execution happen."""
    found: set[int] = set()
    pending: defaultdict[int, dict[int, int]] = defaultdict(dict)  # thread → waiting store → its number in the thread
    issued: defaultdict[int, int] = defaultdict(int)  # thread → how many stores and atomics so far
    barriers: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # thread → (stores before it, sfence site)

    def visible(thread: int, number: int) -> None:
        """A store becomes visible: older ones that still wait are overtaken."""
        oldest = min(pending[thread].values(), default=number)
        if model == "pso":
            found.update(site for before, site in barriers[thread] if oldest < before <= number)

    flushed: list[tuple[int, int]] = []
    for step in steps:
        thread, event = step.thread, events[step.event]
        if step.action == "commit":
            number = pending[thread].pop(step.event)
            if step.buffers:
                visible(thread, number)
            else:
                flushed.append((thread, number))  # by the atomic or the fence that follows, all in one step
            continue
        for who, number in flushed:
            visible(who, number)
        flushed.clear()
        for site in passed(event):
            if kind(site) is Kind.SFENCE:
                barriers[thread].append((issued[thread], site))
            elif pending[thread]:
                found.add(site)
        if event.kind is Kind.ST:
            if model == "sc":
                continue
            pending[thread][step.event] = issued[thread]
            issued[thread] += 1
        elif event.kind.is_atomic:
            visible(thread, issued[thread])
            issued[thread] += 1
    return frozenset(found)
