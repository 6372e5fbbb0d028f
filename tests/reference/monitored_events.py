"""The monitors over one SC execution that is a list of events."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from teetotal.answers.events import ORDERS, Event, Semantics
from teetotal.engines.executions.monitors import Report, Stream
from teetotal.engines.executions.monitors.columns import Columns


def run(name: str, events: Sequence[Event] | Columns, semantics: Semantics = Semantics()) -> list[Report]:
    """Every report of the monitor ``name``. The events are in the order in which they happened."""
    table = events if isinstance(events, Columns) else columns(events)
    return Stream(name, semantics, threads=table.threads).observe(table)


def columns(events: Sequence[Event]) -> Columns:
    """Addresses and locations are numbered as they appear. Events without a location get one each, by thread and index:
    that is where they stand in a straight-line thread."""
    addresses: dict[str, int] = {}
    places: dict[Hashable, int] = {}
    address, location = [], []
    for event in events:
        address.append(0 if event.address is None else addresses.setdefault(event.address, len(addresses)))
        place = event.id if event.location is None else event.location
        location.append(places.setdefault(place, len(places)))
    return Columns(
        np.array([event.thread for event in events], np.uint32),
        np.array([event.kind for event in events], np.uint8),
        np.array([event.writes for event in events], np.uint8),
        np.array(address, np.uint32),
        np.array(location, np.uint32),
        1 + max((event.thread for event in events), default=0),
        np.array([ORDERS.index(event.order) for event in events], np.uint8),
    )


def part(table: Columns, chosen: slice) -> Columns:
    """Some of its rows."""
    thread, kind, writes, address, location, _ = (column[chosen] for column in table.arrays())
    order = None if table.order is None else table.order[chosen]
    return Columns(thread, kind, writes, address, location, table.threads, order)
