"""Reads-from, coherence and from-read of one execution, as the pages draw them: reduced, between positions in its events.

``core/graph`` says the same of columns (tests compare them); here are few events, and no numpy to load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from teetotal.answers.events import Event, EventId
from teetotal.answers.violation import Reason
from teetotal.models import Run
from teetotal.models.c11 import Graph

Relation = tuple[int, int, Reason]


def relations(run: Run, events: Sequence[Event]) -> list[Relation]:
    """Of a run whose stores have all reached memory, between these events of it."""
    orders: dict[str, list[EventId]] = {}
    for write in run.memory.visible:
        if write.event is not None:
            orders.setdefault(write.address, []).append(write.event)
    return sorted(_reduced(events, run.src, orders))


def of_sc(events: Sequence[Event]) -> list[Relation]:
    """Of an SC execution, by its events in the order in which they happened."""
    orders: dict[str, list[EventId]] = {}
    sources: dict[EventId, EventId | None] = {}
    for event in events:
        if event.address is None:
            continue
        written = orders.setdefault(event.address, [])
        if event.reads:
            sources[event.id] = written[-1] if written else None
        if event.writes:
            written.append(event.id)
    return sorted(_reduced(events, sources, orders))


def of_graph(graph: Graph, events: Sequence[Event]) -> list[Relation]:
    """Of a graph of C11 with these events; the initial writes are not among them."""
    sources = {read: source if source.thread >= 0 else None for read, source in graph.source.items()}
    return sorted(_reduced(events, sources, {address: order[1:] for address, order in graph.order.items()}))


def _reduced(
    events: Sequence[Event], sources: Mapping[EventId, EventId | None], orders: Mapping[str, Sequence[EventId]]
) -> Iterator[Relation]:
    """Each read's source, each write's next one, and from a read the write that comes after its source."""
    number = {event.id: position for position, event in enumerate(events)}
    after: dict[tuple[str, EventId | None], EventId] = {}
    for address, order in orders.items():
        for first, second in zip((None, *order), order, strict=False):
            after[address, first] = second
            if first is not None:
                yield number[first], number[second], "co"
    for event in events:
        if event.id not in sources or event.address is None:
            continue
        source = sources[event.id]
        if source is not None:
            yield number[source], number[event.id], "src"
        following = after.get((event.address, source))
        if following is not None and following != event.id:  # an atomic operation overwrites what it read: that is co
            yield number[event.id], number[following], "fr"
