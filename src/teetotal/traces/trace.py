"""A trace in columns: what happened in one execution, with po, src and co, for any number of events up to 2^31 - 1.

Burnim, Sen, Stergiou (TACAS 2011), section 4. ``models.Trace`` is the same thing as plain tuples, for small programs
and for tests; this one holds a number per event and column, and leaves all loops to the core (``core/graph.hpp``).

=====================================  ==================================================================
paper                                  here
=====================================  ==================================================================
``E``                                  the columns; event ``i`` is the ``i``-th in the order of appearance
``→_p``                                the order of appearance within a thread
``src``                                ``src``: the number of the write that a read saw, -1 for the initial value
``→_st``                               ``co``: the position of a write among those of its address, -1 for others
Definition 3, happens-before           ``Relations::successors`` of the core: reduced edges, with the same closure
Proposition 1                          ``is_sc``
=====================================  ==================================================================

The order of appearance of events of different threads means nothing to the relations. But the nearer it is to the
order in which things happened, the faster a cycle is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from teetotal import _core
from teetotal.answers.because import because
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Event, Kind, Location, MemoryOrder
from teetotal.answers.violation import REASONS, Edge, Reason

if TYPE_CHECKING:
    from teetotal.traces.batch import Batch, Tables

COLUMNS = {
    "thread": np.int32,
    "kind": np.uint8,
    "address": np.int32,
    "location": np.int32,
    "wrote": np.bool_,
    "read": np.int64,
    "written": np.int64,
    "valued": np.bool_,
}
"""Of an event, in a trace and in a batch of one; src and co, which a trace has too, are no event's own."""

MAX_THREADS = 1 << 16
"""A trace's threads are numbered from 0; a number beyond this is refused instead of making room for all below it."""


class TraceError(TeetotalError):
    """Columns that no execution can have."""


class Trace:
    """Columns, never changed once made. ``valued`` is False where the recorder did not say the values."""

    def __init__(
        self,
        *,
        thread: ArrayLike,
        kind: ArrayLike,
        address: ArrayLike,
        src: ArrayLike,
        co: ArrayLike,
        wrote: ArrayLike | None = None,
        read: ArrayLike | None = None,
        written: ArrayLike | None = None,
        valued: ArrayLike | None = None,
        location: ArrayLike | None = None,
        addresses: Sequence[str] | None = None,
        locations: Sequence[Location] = (),
    ) -> None:
        """``wrote`` defaults to every store, rmw, lock and unlock; values to unknown; names to the numbers.

        TraceError names the first event that cannot be.
        """
        self.thread = column(thread, np.int32)
        size = len(self.thread)
        self.kind = column(kind, np.uint8)
        self.address = column(address, np.int32)
        self.src = column(src, np.int64)
        self.co = column(co, np.int64)
        self.wrote = writing(self.kind) if wrote is None else column(wrote, np.bool_)
        self.read = np.zeros(size, np.int64) if read is None else column(read, np.int64)
        self.written = np.zeros(size, np.int64) if written is None else column(written, np.int64)
        given = read is not None or written is not None
        self.valued = np.full(size, given) if valued is None else column(valued, np.bool_)
        self.location = np.full(size, -1, np.int32) if location is None else column(location, np.int32)
        self.addresses = default_names(self.address) if addresses is None else addresses
        self.locations = locations
        for name in ("kind", "address", "src", "co", "wrote", "read", "written", "valued", "location"):
            if len(getattr(self, name)) != size:
                raise TraceError(f"column {name} has {len(getattr(self, name))} events, column thread has {size}")
        if size and int(self.location.max()) >= len(locations):
            raise TraceError(f"a location is numbered {self.location.max()}, and there are {len(locations)}")
        if self.thread_count > MAX_THREADS:
            raise TraceError(f"a thread is numbered {self.thread_count - 1}; at most {MAX_THREADS - 1} is supported")
        self._graph = self._make_graph()  # refuses what cannot be

    # -- other ways to make one ---------------------------------------------------------------------------------------

    @classmethod
    def from_sc(cls, *, kind: ArrayLike, address: ArrayLike, wrote: ArrayLike | None = None, **columns: Any) -> Trace:
        """The columns of an SC execution in the order in which its events happened: src and co follow from it."""
        kinds, numbers = column(kind, np.uint8), column(address, np.int32)
        wrotes = writing(kinds) if wrote is None else column(wrote, np.bool_)
        names = columns.get("addresses")
        count = len(names) if names is not None else int(numbers.max(initial=-1)) + 1
        try:
            src, co = _core.order_of_sc(kinds, numbers, wrotes, count)
        except _core.MalformedError as error:
            raise malformed(error) from None
        return cls(kind=kinds, address=numbers, wrote=wrotes, src=src, co=co, **columns)

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> Trace:
        """The events of an SC execution in the order in which they happened."""
        columns = EventColumns(events)
        return cls.from_sc(**columns.arrays())

    # -- events -------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.thread)

    def __iter__(self) -> Iterator[Event]:
        return (self.event(i) for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} events, {self.thread_count} threads, {len(self.addresses)} addresses>"

    def event(self, i: int) -> Event:
        if not -len(self) <= i < len(self):
            raise IndexError(f"event {i} of {len(self)}")
        return event_at(self, i, int(self.index[i]), self)

    @property
    def thread_count(self) -> int:
        return int(self.thread.max(initial=-1)) + 1

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """The position of each event within its thread."""
        return _core.positions_in_thread(self.thread, self.thread_count)

    # -- order --------------------------------------------------------------------------------------------------------

    def is_sc(self) -> bool:
        """Whether some sequentially consistent execution has this trace: happens-before is acyclic."""
        return self._graph.is_acyclic()

    def cycle(self) -> list[Edge]:
        """A cycle of happens-before with the fewest edges, each with its reason; empty if there is none.

        Positions are those of this trace. One edge of po, co or fr may leap over events
        of its thread or address. The cycle starts at its event that appeared first.
        """
        return self._edges(self._graph.shortest_cycle())

    def path(self, source: int, target: int) -> list[Edge]:
        """From one event to another along happens-before with the fewest edges, counted as in ``cycle``; empty if
        there is no way, or if both are the same."""
        return self._edges(self._graph.shortest_path(source, target))

    def is_sequential(self) -> bool:
        """Whether src and co are those of an SC execution whose events happened in the order of appearance."""
        src, co = _core.order_of_sc(self.kind, self.address, self.wrote, len(self.addresses))
        return bool(np.array_equal(src, self.src) and np.array_equal(co, self.co))

    def _edges(self, steps: Iterable[tuple[int, int, int]]) -> list[Edge]:
        return [Edge(a, b, REASONS[reason], self.why(a, b, REASONS[reason])) for a, b, reason in steps]

    def why(self, source: int, target: int, reason: Reason) -> str:
        """A sentence for an edge of happens-before."""
        seen = self.event(int(self.src[source])) if reason == "fr" and self.src[source] >= 0 else None
        return because(reason, self.event(source), self.event(target), seen)

    def _make_graph(self) -> _core.Graph:
        try:
            return _core.Graph(
                self.thread, self.kind, self.address, self.wrote, self.src, self.co,
                self.thread_count, len(self.addresses),
            )  # fmt: skip
        except _core.MalformedError as error:
            raise malformed(error) from None


def event_at(rows: Trace | Batch, i: int, index: int, names: Trace | Tables, order: MemoryOrder = "na") -> Event:
    """The ``i``-th row as the event that it is, the ``index``-th of whatever it is counted in."""
    kind, address, place = Kind(rows.kind[i]), int(rows.address[i]), int(rows.location[i])
    wrote, valued = bool(rows.wrote[i]), bool(rows.valued[i])
    value = rows.written[i] if wrote else rows.read[i] if kind is Kind.LD else None
    return Event(
        thread=int(rows.thread[i]),
        index=index,
        kind=kind,
        address=None if address < 0 else names.addresses[address],
        value=int(value) if valued and value is not None else None,
        read=int(rows.read[i]) if valued and kind.is_atomic else None,
        location=None if place < 0 else names.locations[place],
        wrote=kind.is_atomic and wrote and not valued,
        order=order,
    )


def columns_of(rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """From tuples in the order of ``COLUMNS``."""
    columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
    return {name: np.array(c, dtype) for (name, dtype), c in zip(COLUMNS.items(), columns, strict=True)}


class EventColumns:
    """Events one by one into columns: for events that are Python objects anyway."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.addresses: dict[str, int] = {}
        self.locations: dict[Location, int] = {}
        self.rows = [self._row(event) for event in events]

    def _row(self, event: Event) -> tuple[int, int, int, int, bool, int, int, bool]:
        address = -1 if event.address is None else self.addresses.setdefault(event.address, len(self.addresses))
        place = -1 if event.location is None else self.locations.setdefault(event.location, len(self.locations))
        read = event.value if event.kind is Kind.LD else event.read
        written = event.value if event.writes else None
        valued = (read is not None or not event.reads) and (written is not None or not event.writes)
        return event.thread, event.kind, address, place, event.writes, read or 0, written or 0, valued

    def arrays(self) -> dict[str, Any]:
        """The arguments of ``Trace`` and ``Trace.from_sc``."""
        return {**columns_of(self.rows), "addresses": tuple(self.addresses), "locations": tuple(self.locations)}


def column(values: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """As a contiguous array of that type; TraceError where a number does not fit in it."""
    array = np.asarray(values)
    if array.dtype != dtype and array.size:
        wanted = np.dtype(dtype)
        if wanted.kind != "b" and array.dtype.kind in "iu":
            limits = np.iinfo(wanted)
            if int(array.min()) < limits.min or int(array.max()) > limits.max:
                raise TraceError(f"a number in a column of {wanted} does not fit: {array.min()} to {array.max()}")
        elif not (array.dtype.kind == wanted.kind or (wanted.kind == "b" and array.dtype.kind in "iu")):
            raise TraceError(f"a column of {wanted} cannot be made from {array.dtype}")
    if array.ndim != 1:
        raise TraceError(f"a column has one dimension, not {array.ndim}")
    return np.ascontiguousarray(array, dtype)


def writing(kind: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which events write where nothing else is said: stores, and every atomic operation."""
    return np.isin(kind, (Kind.ST, Kind.RMW, Kind.LOCK, Kind.UNLOCK))


def default_names(address: NDArray[np.int32]) -> Sequence[str]:
    return [f"a{number}" for number in range(int(address.max(initial=-1)) + 1)]


def malformed(error: _core.MalformedError) -> TraceError:
    event, what = error.args
    return TraceError(what if event < 0 else f"event {event}: {what}")
