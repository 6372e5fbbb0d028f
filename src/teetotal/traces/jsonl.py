"""The readable trace file: a header line, then one event per line, as JSON. See ``docs/reference/trace-format.md``.

A header that promises an end line makes a file that was cut off between two lines noticeable; ours do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO, Literal

import msgspec

from teetotal.answers.errors import ParseError
from teetotal.answers.events import ORDERS, Event, Kind, Location, MemoryOrder
from teetotal.traces.batch import UNSAID, Batch, Tables, parse_location
from teetotal.traces.reader import Source, TraceFileError, TraceReader, event_of
from teetotal.traces.trace import MAX_THREADS

FORMAT = "teetotal-trace"
VERSION = 1
MAX_LINE = 1 << 16
"""A longer line is refused, so that a reader never needs more memory than this for one."""

KINDS = {str(kind): kind for kind in Kind}
Value = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Header(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    end: bool = False


class Line(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One event. ``value`` is what it wrote or, for a load, read; ``read`` what an atomic operation saw before."""

    thread: Annotated[int, msgspec.Meta(ge=0, lt=MAX_THREADS)]
    kind: Literal["ld", "st", "rmw", "mfence", "sfence", "lock", "unlock", "fence"]
    address: str | None = None
    value: Value | None = None
    read: Value | None = None
    wrote: bool | None = None
    location: str | None = None
    order: MemoryOrder | None = None


class End(msgspec.Struct, forbid_unknown_fields=True):
    end: int


class JsonlReader(TraceReader):
    format = "jsonl"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._line = 0
        self._lines: list[int] = []  # of the events of the latest batch
        self._orders: list[int] = []  # the same
        self._first = 0
        self._places: dict[str, int] = {}

    def read(self) -> Iterator[Batch]:
        decode = msgspec.json.Decoder(Line).decode
        promised, ended = False, False
        rows: list[tuple[Any, ...]] = []
        self._lines = []
        for text in self._texts():
            if text is None:  # nothing more to be had just now
                yield self._flush(rows)
                rows, self._lines = [], []
                continue
            try:
                if len(text) > MAX_LINE:
                    raise self.error(f"a line of more than {MAX_LINE} bytes")
                if ended:
                    raise self.error("something follows the end line")
                if self._line == 1:
                    promised = self._header(text)
                elif text.strip():
                    rows.append(self._row(decode(text)))
                    self._lines.append(self._line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TraceFileError) as error:
                end = self._end(text)
                total = self._first + len(rows)
                if end is not None and end == total and not ended:
                    ended = True
                    continue
                message = error.message if isinstance(error, TraceFileError) else str(error)
                if end is not None and not ended:
                    message = f"the end line speaks of {end} events, and {total} were read"
                yield self._flush(rows)
                raise self.error(message) from None
        yield self._flush(rows)
        if self._line == 0:
            raise self.error("an empty file is not a trace")
        if promised and not ended:
            raise self.error("the file ends without the end line that its header promises: it is truncated")

    def error(self, message: str, event: int | None = None) -> TraceFileError:
        start = self._first - len(self._lines)
        line = self._line if event is None or event < start else self._lines[event - start]
        good = self.events if event is None else event
        return TraceFileError(message, Location(self.source.name, max(line, 1)), good)

    def _texts(self) -> Iterator[bytes | None]:
        """Line by line, and None between what came in one piece and the next."""
        rest = b""
        while block := self.source.some():
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                self._line += 1
                yield line
            if len(rest) > MAX_LINE:
                break
            yield None
        if rest:
            self._line += 1
            yield rest

    def _header(self, text: bytes) -> bool:
        try:
            header = msgspec.json.decode(text, type=Header)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.error(f'not the header {{"format": "{FORMAT}", "version": {VERSION}}}: {error}') from None
        if header.format != FORMAT:
            raise self.error(f"the header's format is {header.format!r}, not {FORMAT!r}")
        if header.version != VERSION:
            raise self.error(f"version {header.version} of the trace format; this teetotal reads version {VERSION}")
        return header.end

    def _end(self, text: bytes) -> int | None:
        try:
            return None if self._line == 1 else msgspec.json.decode(text, type=End).end
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _row(self, line: Line) -> tuple[Any, ...]:
        kind = KINDS[line.kind]
        read, written, wrote, valued = self._values(line, kind)
        if line.order is not None and kind in (Kind.LOCK, Kind.UNLOCK):
            raise self.error(f"{kind} has no order of its own: a lock acquires, an unlock releases")
        address = -1 if line.address is None else self.tables.address(line.address)
        self._orders.append(UNSAID if line.order is None else ORDERS.index(line.order))
        return line.thread, kind, address, self._place(line.location), wrote, read, written, valued

    def _values(self, line: Line, kind: Kind) -> tuple[int, int, bool, bool]:
        """What was read and written, whether anything was, and whether the line says the values."""
        value, read, wrote = line.value, line.read, line.wrote
        if not kind.is_atomic:
            if read is not None or wrote is not None:
                raise self.error(f'"read" and "wrote" belong to atomic operations, not to {kind}')
            if kind.is_fence and value is not None:
                raise self.error(f"{kind} has no value")
            return (value or 0, 0, False, value is not None) if kind is Kind.LD else (
                0, value or 0, kind is Kind.ST, value is not None or kind.is_fence)  # fmt: skip
        if wrote is False and value is not None:
            raise self.error(f'{kind} that wrote nothing ("wrote": false) has no "value"')
        if kind is not Kind.RMW and value is None and read is None:  # a mutex is 0 or 1
            return int(kind is Kind.UNLOCK), int(kind is Kind.LOCK), wrote is not False, True
        if wrote is not False and (value is None) != (read is None):
            raise self.error(f'{kind} has both "read" and "value", or neither; "wrote": false if it wrote nothing')
        return read or 0, value or 0, wrote is not False, read is not None

    def _place(self, text: str | None) -> int:
        if text is None:
            return -1
        number = self._places.get(text)
        if number is None:
            try:
                number = self._places[text] = self.tables.location(parse_location(text))
            except ParseError as error:
                raise self.error(error.message) from None
        return number

    def _flush(self, rows: list[tuple[Any, ...]]) -> Batch:
        orders, self._orders = self._orders[: len(rows)], []
        batch = Batch.of_rows(self._first, rows, orders if any(order != UNSAID for order in orders) else None)
        self._first += len(rows)
        return batch


class JsonlWriter:
    """Appends to any binary stream. Only ``close`` writes the end line."""

    def __init__(self, file: BinaryIO, tables: Tables) -> None:
        self._file = file
        self._tables = tables
        self._encode = msgspec.json.Encoder().encode
        self._events = 0
        self._put(Header(FORMAT, VERSION, end=True))

    def write(self, batch: Batch) -> None:
        said = [batch.order is not None and batch.order[i] != UNSAID for i in range(batch.size)]
        lines = [self._encode(line_of(event_of(batch, i, self._tables), said[i])) for i in range(batch.size)]
        self._file.write(b"".join(line + b"\n" for line in lines))
        self._events += batch.size

    def close(self) -> None:
        self._put(End(self._events))
        self._file.flush()

    def _put(self, line: msgspec.Struct) -> None:
        self._file.write(self._encode(line) + b"\n")


def line_of(event: Event, ordered: bool = False) -> Line:
    mutex = event.kind in (Kind.LOCK, Kind.UNLOCK)
    usual = mutex and (event.read, event.value) == (int(event.kind is Kind.UNLOCK), int(event.kind is Kind.LOCK))
    return Line(
        thread=event.thread,
        kind=str(event.kind),  # type: ignore[arg-type]
        address=event.address,
        value=None if usual else event.value,
        read=None if usual else event.read,
        wrote=False if event.kind.is_atomic and not event.writes else None,
        location=None if event.location is None else str(event.location),
        order=event.order if ordered and not mutex else None,
    )
