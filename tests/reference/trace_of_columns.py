"""A trace in columns as the specification has traces."""

from __future__ import annotations

from teetotal import models
from teetotal.answers.events import Event, EventId
from teetotal.traces.trace import Trace


def to_model(trace: Trace) -> models.Trace:
    """The same trace as the specification has it, made from the columns alone."""
    events = list(trace)
    threads: list[list[Event]] = [[] for _ in range(trace.thread_count)]
    for event in events:
        threads[event.thread].append(event)
    orders: dict[str, list[tuple[int, EventId]]] = {}
    for i, event in enumerate(events):
        if trace.co[i] >= 0:
            assert event.address is not None
            orders.setdefault(event.address, []).append((int(trace.co[i]), event.id))
    seen = [events[source].id if source >= 0 else None for source in trace.src]
    sources = {event.id: seen[i] for i, event in enumerate(events) if event.reads}
    return models.Trace(
        tuple(map(tuple, threads)),
        tuple(sorted(sources.items())),
        tuple((address, tuple(event for _, event in sorted(order))) for address, order in sorted(orders.items())),
    )
