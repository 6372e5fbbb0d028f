"""A trace in columns as the specification has traces, and the other way round; and its relations, edge by edge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from teetotal import models
from teetotal.answers.events import Event, EventId, Issue
from teetotal.answers.violation import REASONS, Reason
from teetotal.traces.trace import EventColumns, Trace


def happens_before(trace: Trace) -> Iterator[tuple[int, int, Reason]]:
    """As the core has it: each event's next of its thread (po), its readers (src), the next write in co, and from a read
    the first write after its source (fr)."""
    return _edges(trace, True)


def conflict_edges(trace: Trace) -> Iterator[tuple[int, int, Reason]]:
    """``happens_before`` without po."""
    return _edges(trace, False)


def _edges(trace: Trace, with_program_order: bool) -> Iterator[tuple[int, int, Reason]]:
    offsets, targets, reasons = trace._graph.edges(with_program_order)
    for event in range(len(offsets) - 1):
        for place in range(offsets[event], offsets[event + 1]):
            yield event, int(targets[place]), REASONS[reasons[place]]


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


def of_run(run: models.Run) -> Trace:
    """A run on a machine of any model, in the order in which its events were issued; co from what was visible."""
    rest = [iter(thread) for thread in run.events]
    order = [next(rest[step.thread]) for step in run.schedule if isinstance(step, Issue)]
    return _of_relations(order, dict(run.src), run.trace().co)


def of_model(trace: models.Trace) -> Trace:
    """The specification's trace: a thread after the other."""
    return _of_relations(list(trace.events()), dict(trace.src), trace.co)


def _of_relations(
    events: list[Event],
    sources: Mapping[EventId, EventId | None],
    orders: Iterable[tuple[str, Sequence[EventId]]],
) -> Trace:
    number = {event.id: i for i, event in enumerate(events)}
    src = np.full(len(events), -1, np.int64)
    co = np.full(len(events), -1, np.int64)
    for reader, source in sources.items():
        if source is not None:
            src[number[reader]] = number[source]
    for _, order in orders:
        for position, event in enumerate(order):
            co[number[event]] = position
    return Trace(src=src, co=co, **EventColumns(events).arrays())
