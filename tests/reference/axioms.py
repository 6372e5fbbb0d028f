"""TSO and PSO by conditions on traces: docs/explanation/monitors.md, Lemma 1. The machines of models/ agree with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product

from monitor_reference import kept
from teetotal.answers.events import Event, EventId, Kind, ModelName, Semantics

Sources = Mapping[EventId, EventId | None]
Orders = Mapping[str, Sequence[EventId]]
Edge = tuple[EventId, EventId]


def candidates(threads: Sequence[Sequence[Event]]) -> Iterator[tuple[Sources, Orders]]:
    """Every way to give each read a source and each address an order of its writes, sensible or not."""
    events = [event for thread in threads for event in thread]
    writes: dict[str, list[EventId]] = {}
    for event in events:
        if event.writes:
            writes.setdefault(str(event.address), []).append(event.id)
    reads = [event for event in events if event.reads]
    sources = [[None, *(w for w in writes.get(str(r.address), []) if w != r.id)] for r in reads]
    for chosen in product(*sources):
        for orders in product(*(permutations(order) for order in writes.values())):
            yield dict(zip((r.id for r in reads), chosen, strict=True)), dict(zip(writes, orders, strict=True))


def program_order_kept(threads: Sequence[Sequence[Event]], model: ModelName, semantics: Semantics) -> set[Edge]:
    """ppo."""
    pairs = ((thread, f, e) for thread in threads for e in range(len(thread)) for f in range(e))
    return {(thread[f].id, thread[e].id) for thread, f, e in pairs if kept(thread, f, e, model, semantics)}


def allowed(threads: Sequence[Sequence[Event]], src: Sources, co: Orders, ppo: set[Edge]) -> bool:
    """Conditions (a), (b) and (c)."""
    events = {event.id: event for thread in threads for event in thread}
    position: dict[EventId | None, int] = {w: i for order in co.values() for i, w in enumerate(order)}
    position[None] = -1
    edges = {(order[i], order[j]) for order in co.values() for j in range(len(order)) for i in range(j)}
    for read, source in src.items():
        reader = events[read]
        order = co.get(str(reader.address), ())
        if source is not None and source.thread == read.thread and source.index > read.index:
            return False  # (b), second half
        own = [w for w in order if w.thread == read.thread and w.index < read.index]
        if any(position[w] > position[source] for w in own):
            return False  # (b), first half
        if reader.writes and position[read] != position[source] + 1:
            return False  # (c)
        edges |= {(read, w) for w in order[position[source] + 1 :] if w != read}
        if source is not None and not _forwarded(events[source], reader):
            edges.add((source, read))
    return _acyclic(set(events), edges | ppo)


def _forwarded(source: Event, reader: Event) -> bool:
    return source.thread == reader.thread and source.kind is Kind.ST and reader.kind is Kind.LD


def _acyclic(left: set[EventId], edges: set[Edge]) -> bool:
    while left:
        first = left - {b for _, b in edges}
        if not first:
            return False
        left = left - first
        edges = {(a, b) for a, b in edges if a not in first}
    return True
