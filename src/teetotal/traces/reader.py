"""What every reader of recorded traces does: read, check, and give all that is good before it complains.

Everything before the first damage, or before the first event that cannot be, comes out; then TraceFileError.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import BinaryIO, Protocol, Self

from teetotal import _core
from teetotal.answers.errors import ParseError
from teetotal.answers.events import ORDERS, Event, Kind, Location
from teetotal.answers.numbers import TraceFault
from teetotal.traces.batch import UNSAID, Batch, Tables
from teetotal.traces.trace import MAX_THREADS, event_at


class TraceFileError(ParseError):
    """A trace that cannot be read on. ``events`` is the number of good events before."""

    def __init__(self, message: str, location: Location | None = None, events: int = 0) -> None:
        super().__init__(message, location)
        self.events = events

    def __reduce__(self) -> tuple[type[TraceFileError], tuple[str, Location | None, int]]:  # type: ignore[override]
        return type(self), (self.message, self.location, self.events)


class Source(Protocol):
    """Bytes from a file or a pipe: ``take`` gives exactly as many as asked unless the end comes first."""

    name: str
    size: int | None
    position: int

    def take(self, count: int) -> memoryview: ...
    def some(self) -> bytes: ...


class Stream:
    """A pipe, or any file read from its front to its end. ``prefix`` was read already."""

    def __init__(self, name: str, file: BinaryIO, prefix: bytes = b"", size: int | None = None) -> None:
        self.name = name
        self.size = size
        self.position = 0
        self._prefix = prefix
        self._read: Callable[[int], bytes] = getattr(file, "read1", file.read)

    def some(self) -> bytes:
        """What is there now, at least one byte; empty at the end."""
        block = self._prefix or self._read(1 << 18)
        self._prefix = b""
        self.position += len(block)
        return block

    def take(self, count: int) -> memoryview:
        blocks, missing = [self._prefix[:count]], count - len(self._prefix[:count])
        self._prefix = self._prefix[count:]
        while missing and (block := self._read(missing)):
            blocks.append(block)
            missing -= len(block)
        self.position += count - missing
        return memoryview(b"".join(blocks))


class Mapped:
    """A file in memory as the system maps it: nothing is copied, and only what is looked at is read. What has been read
    is handed back now and then; the system reads it again should anybody still look."""

    KEPT = 1 << 25

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name = name
        self.size: int | None = os.fstat(file.fileno()).st_size
        self.position = 0
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.size else None
        self._bytes = memoryview(b"" if self._map is None else self._map)
        self._handed_back = 0

    def take(self, count: int) -> memoryview:
        part = self._bytes[self.position : self.position + count]
        self.come_to(self.position + len(part))
        return part

    @property
    def whole(self) -> memoryview:
        """For those who find their way by themselves, and tell where they have ``come_to``."""
        return self._bytes

    def come_to(self, position: int) -> None:
        self.position = position
        if self.position - self._handed_back > self.KEPT and self._map is not None:
            end = self.position // mmap.PAGESIZE * mmap.PAGESIZE
            self._map.madvise(mmap.MADV_DONTNEED, self._handed_back, end - self._handed_back)
            self._handed_back = end

    def some(self) -> bytes:
        return bytes(self.take(1 << 18))


class TraceReader:
    """The base of all readers. ``tables`` grow as batches come."""

    format: str

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tables = Tables()
        self.events = 0
        self.close: Callable[[], None] = lambda: None

    def batches(self) -> Iterator[Batch]:
        """All good events, in batches; then, if the trace is damaged or impossible, TraceFileError."""
        check = _core.TraceCheck(MAX_THREADS)
        for batch in self.read():
            names, places = len(self.tables.addresses), len(self.tables.locations)
            event, fault, other, expected = check.feed(*batch.columns, names, places)
            good = batch if fault == 0 else batch.head(event - batch.first)
            self.events += good.size
            if good.size:
                yield good
            if fault:
                raise self.error(describe(batch, event, fault, other, expected, self.tables), event)

    def read(self) -> Iterator[Batch]:
        """As the file has them, decoded but not checked."""
        raise NotImplementedError

    def error(self, message: str, event: int | None = None) -> TraceFileError:
        """With the place: of that event, or of what is being read."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def describe(batch: Batch, event: int, fault: int, other: int, expected: int, tables: Tables) -> str:
    """What is wrong with an event, for each fault that the core finds."""
    i = event - batch.first
    thread, kind, address = int(batch.thread[i]), int(batch.kind[i]), int(batch.address[i])
    name = tables.addresses[address] if 0 <= address < len(tables.addresses) else str(address)
    what = f"T{thread}'s {Kind(kind)}" if kind in list(Kind) else f"T{thread}'s event"
    match fault:
        case TraceFault.KIND:
            return f"kind {kind} is none of {', '.join(f'{k.value} ({k})' for k in Kind)}"
        case TraceFault.THREAD:
            return f"thread {thread}; threads are numbered from 0 to {MAX_THREADS - 1}"
        case TraceFault.ADDRESS_MISSING:
            return f"{what} has no address"
        case TraceFault.ADDRESS_UNKNOWN:
            return f"{what} has address number {address}, and there are {len(tables.addresses)} addresses so far"
        case TraceFault.ADDRESS_OF_FENCE:
            return f"{what} has an address, {name}; a fence has none"
        case TraceFault.LOCATION:
            return f"{what} has location number {batch.location[i]}, and there are {len(tables.locations)} so far"
        case TraceFault.MUST_WRITE:
            return f"{what} of {name} wrote nothing" + (
                "; record a lock that failed as an rmw that wrote nothing" if kind == Kind.LOCK else ""
            )
        case TraceFault.CANNOT_WRITE:
            return f"{what} cannot write"
        case TraceFault.LOCKED:
            return f"T{thread} locks {name}, which T{other} holds"
        case TraceFault.NOT_LOCKED:
            return f"T{thread} unlocks {name}, which nobody holds"
        case TraceFault.LOCKED_BY_OTHER:
            return f"T{thread} unlocks {name}, which T{other} holds"
        case TraceFault.VALUE:
            return (
                f"{what} of {name} saw {batch.read[i]}, but {name} held {expected} since event {other}: "
                "not a sequentially consistent execution in the order in which it happened"
            )
    raise AssertionError(f"fault {fault}")


def event_of(batch: Batch, i: int, tables: Tables) -> Event:
    """The ``i``-th event of a batch. Its ``index`` is its number in the whole trace, not in its thread."""
    order = UNSAID if batch.order is None else int(batch.order[i])
    return event_at(batch, i, batch.first + i, tables, "na" if order == UNSAID else ORDERS[order])
