"""What happened in one run of a machine, small enough for Python objects: its events as they were issued, and a shortest
cycle of happens-before through them.

The same as ``traces.trace.Trace`` says in columns (tests compare them), without numpy, which takes longer to load than a
short story takes to tell.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from teetotal import _core, models
from teetotal.answers.events import Event
from teetotal.answers.violation import REASONS, Edge, Reason
from teetotal.engines.telling import PLAINLY, Telling


class Happened(NamedTuple):
    """``cycle`` is empty where the run is sequentially consistent; its ends are positions in ``events``."""

    events: list[Event]
    cycle: list[Edge]


def happened(run: models.Run, telling: Telling = PLAINLY) -> Happened:
    """Of a run whose stores have all reached memory."""
    events = [telling.event(event) for event in run.issued()]
    number = {event.id: position for position, event in enumerate(events)}
    src, co = (array("q", [-1] * len(events)) for _ in range(2))
    for reader, source in dict(run.src).items():
        if source is not None:
            src[number[reader]] = number[source]
    for _, order in run.trace().co:
        for position, event in enumerate(order):
            co[number[event]] = position
    names: dict[str, int] = {}
    addresses = [-1 if e.address is None else names.setdefault(e.address, len(names)) for e in events]
    graph = _core.Graph(
        array("i", (event.thread for event in events)),
        array("B", (event.kind for event in events)),
        array("i", addresses),
        memoryview(bytes(event.writes for event in events)).cast("?"),
        src,
        co,
        max((event.thread for event in events), default=-1) + 1,
        len(names),
    )

    def edge(source: int, target: int, reason: Reason) -> Edge:
        seen = events[src[source]] if reason == "fr" and src[source] >= 0 else None
        return Edge(source, target, reason, telling.because(reason, events[source], events[target], seen))

    return Happened(events, [edge(a, b, REASONS[reason]) for a, b, reason in graph.shortest_cycle()])
