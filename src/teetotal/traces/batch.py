"""Events in columns, and the tables of names that their numbers refer to: what readers give and writers take.

A recorded trace is an SC trace: events in the order in which they happened. So there is no src and no co in it; they
follow from the order (``Trace.from_sc``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.events import ORDERS, Location, MemoryOrder
from teetotal.traces.trace import COLUMNS, Trace, columns_of

UNSAID = 255
"""The order of an event that does not say which it has."""


class Batch(NamedTuple):
    """Events ``first``, ``first + 1``, … The columns are those of ``Trace``; and C11's orders by number, None where no
    event says its own."""

    first: int
    thread: NDArray[np.int32]
    kind: NDArray[np.uint8]
    address: NDArray[np.int32]
    location: NDArray[np.int32]
    wrote: NDArray[np.bool_]
    read: NDArray[np.int64]
    written: NDArray[np.int64]
    valued: NDArray[np.bool_]
    order: NDArray[np.uint8] | None = None

    @property
    def size(self) -> int:
        return len(self.thread)

    @property
    def columns(
        self,
    ) -> tuple[
        NDArray[np.int32], NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_],
        NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_],
    ]:  # fmt: skip
        """Those of ``Trace``."""
        return self[1:9]

    def part(self, start: int, size: int) -> Batch:
        columns: Any = (None if column is None else column[start : start + size] for column in self[1:])
        return Batch(self.first + start, *columns)

    def ordered(self, orders: Sequence[MemoryOrder]) -> Batch:
        return self._replace(order=np.array([ORDERS.index(order) for order in orders], np.uint8))

    def head(self, size: int) -> Batch:
        return self.part(0, size)

    @classmethod
    def of_rows(cls, first: int, rows: Sequence[tuple[Any, ...]], orders: Sequence[int] | None = None) -> Batch:
        """From tuples in the order of ``COLUMNS``."""
        order = None if orders is None else np.array(orders, np.uint8)
        return cls(first, **columns_of(rows), order=order)


def refuse_orders(batch: Batch, what: str) -> None:
    """Of a format that has no room for them."""
    if batch.order is not None:
        raise TeetotalError(f"{what} has no room for C11's orders; JSON lines have")


class Tables:
    """Names of addresses and places in the source, by number. They grow while a trace is read, at their end only."""

    def __init__(self, addresses: Sequence[str] = (), locations: Sequence[Location] = ()) -> None:
        self.addresses = list(addresses)
        self.locations = list(locations)
        self._address_numbers = {name: number for number, name in enumerate(self.addresses)}
        self._location_numbers = {place: number for number, place in enumerate(self.locations)}

    def address(self, name: str) -> int:
        """Its number, a new one if it is new."""
        number = self._address_numbers.setdefault(name, len(self.addresses))
        if number == len(self.addresses):
            self.addresses.append(name)
        return number

    def location(self, place: Location) -> int:
        number = self._location_numbers.setdefault(place, len(self.locations))
        if number == len(self.locations):
            self.locations.append(place)
        return number


def parse_location(text: str) -> Location:
    """``file:line``, as ``str`` of a location gives it."""
    file, _, line = text.rpartition(":")
    if not file or not (line.isascii() and line.isdigit()) or len(line) > 9:
        raise ParseError(f'location {text!r} is not of the form "file:line"')
    return Location(file, int(line))


def batches_of(trace: Trace, size: int = 1 << 16) -> Iterator[Batch]:
    for first in range(0, len(trace), size):
        part = slice(first, first + size)
        yield Batch(first, *(getattr(trace, name)[part] for name in COLUMNS))


def to_trace(batches: Sequence[Batch], tables: Tables, compact: bool = False) -> Trace:
    """All of them as one trace. ``compact``: with only the addresses that occur, for a short part of a long trace."""
    empty: Any = (np.empty(0, dtype) for dtype in COLUMNS.values())
    columns = zip(*(batch.columns for batch in batches), strict=True) if batches else ((c,) for c in empty)
    whole: dict[str, Any] = {name: np.concatenate(parts) for name, parts in zip(COLUMNS, columns, strict=True)}
    addresses: Sequence[str] = tables.addresses
    if compact:
        used, numbers = np.unique(whole["address"], return_inverse=True)
        fences = int(np.count_nonzero(used < 0))  # they have no address: -1, which comes first
        whole["address"] = numbers.astype(np.int32) - fences
        addresses = [tables.addresses[number] for number in used[fences:].tolist()]
    return Trace.from_sc(**whole, addresses=addresses, locations=tables.locations)
