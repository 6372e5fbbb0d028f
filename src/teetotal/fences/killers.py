"""Candidates: which fences and stronger orders, each by itself, would make a violating execution impossible.

A fence restores what the machine did not keep: an mfence between a store and a later access of its thread for which the
store still waited in the buffer, an sfence (PSO) between two stores that became visible in the other order. Linden,
Wolper (TACAS 2013), section 4, look at such relaxations on the path to a bad state; Burnim, Sen, Stergiou (TACAS 2011)
at the program-order edges of the happens-before cycle that the model does not keep. An execution tells both.

A stronger order is a candidate by the fences that it amounts to (``kinds``): a site is passed as an sfence before its
store and, where it is full, as an mfence after it. It is a killer if one of the two is.

Why this gives exact minimum sets. A fence that is no killer of an execution can be added to the program, or taken away,
and the execution stays possible, with the same reads, the same order of writes and so the same violation: an mfence
finds its buffer empty, an sfence forbids no commit that happened. This holds for any number of them at once. So every set
of fences that repairs the program contains a killer of every execution that violates under any other set.

The same holds for orders. Release and seq_cst are fences. A store W that becomes an rmw has to find the buffer empty and
to become visible where it is issued. If the site is no killer, every older store of the thread was visible when W became
so, and W was visible at the thread's next event. So between issue and commit of W the thread did nothing, and W may as
well be issued where it was committed: the threads read the same, writes keep their order, and no other condition gets
harder, since a later issue finds less in the buffer. That the rmw also reads adds nothing to happens-before: it reads from
the write just before it, with which, as a write, it is in order anyway. Conversely an rmw that is taken back is a store
that commits at once. Whoever is named too often (a store behind the mfence could have been issued later) makes a fact
weaker, never wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from teetotal.answers.events import Event, EventId, Kind, ModelName
from teetotal.answers.violation import StoryStep

Passed = Mapping[EventId, Sequence[tuple[int, Kind]]]
"""What each event's thread passed since its event before: the sites, and as which fence each would stand there."""


def killers(model: ModelName, events: Sequence[Event], steps: Sequence[StoryStep], passed: Passed) -> frozenset[int]:
    """The sites that would not let the execution happen."""
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
        for site, kind in passed.get(event.id, ()):
            if kind is Kind.SFENCE:
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
