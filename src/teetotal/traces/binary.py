"""The compact trace file: a header, then chunks of columns with lengths and checksums, then an end mark.

``docs/reference/trace-format.md`` describes it byte by byte. It is written as a stream (a program that records can
append and never look back) and read from a pipe or mapped into memory. Each chunk says where it belongs, so that a
chunk that is missing, doubled or out of place is noticed as surely as one that is damaged.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from teetotal.answers.events import Location
from teetotal.traces.batch import Batch, Tables, refuse_orders
from teetotal.traces.reader import Source, TraceFileError, TraceReader

MAGIC = b"\x89TEETOT\n"
VERSION = 1
ORDER_MARK = 0x01020304
HEADER = "IHHII"  # after the magic: byte order, version, 0, 0, checksum
CHUNK = "4sIQQQII"  # tag, columns, first, count, length, checksum of the payload, checksum of this header
HEADER_SIZE = 8 + struct.calcsize("<" + HEADER)
CHUNK_SIZE = struct.calcsize("<" + CHUNK)
MAX_PAYLOAD = 1 << 26
"""A longer chunk is refused, so that a reader never needs more memory than this for one."""

VALUES = 1  # in ``columns``: the payload has what was read and written
WROTE, VALUED = 0x10, 0x20  # beside the kind in its byte


class Chunk(NamedTuple):
    tag: bytes
    columns: int
    first: int
    size: int
    payload: memoryview


def padded(size: int) -> int:
    """Columns start at multiples of 8 bytes."""
    return (size + 7) // 8 * 8


def layout(count: int, columns: int) -> list[tuple[str, int]]:
    """The columns of a chunk of events: type and offset; the last entry is the end."""
    types = ["u2", "u1", "i4", "i4", *(["i8", "i8"] if columns & VALUES else [])]
    places, offset = [], 0
    for dtype in types:
        places.append((dtype, offset))
        offset += padded(count * int(dtype[1]))
    return [*places, ("", offset)]


class BinaryReader(TraceReader):
    format = "binary"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._order: Literal["<", ">"] = "<"
        self._start = 0  # of the chunk being read
        self._read = 0  # events decoded so far

    def read(self) -> Iterator[Batch]:
        self._read_header()
        ended = False
        while (chunk := self._chunk()) is not None:
            if ended:
                raise self.error("something follows the end mark")
            match chunk.tag:
                case b"EVNT":
                    yield self._events(chunk)
                case b"ADDR":
                    self._addresses(chunk)
                case b"LOCS":
                    self._locations(chunk)
                case b"END.":
                    if chunk.size != self._read or chunk.payload:
                        raise self.error(f"the end mark speaks of {chunk.size} events, and {self._read} were read")
                    ended = True
                case tag:
                    raise self.error(f"a chunk of unknown kind {bytes(tag)!r}")
        if not ended:
            raise self.error("the file ends without its end mark: it is truncated, or was never finished")

    def error(self, message: str, event: int | None = None) -> TraceFileError:
        good = self.events if event is None else event
        return TraceFileError(f"{self.source.name}: byte {self._start}, event {good}: {message}", None, good)

    def _read_header(self) -> None:
        header = bytes(self.source.take(HEADER_SIZE))
        if len(header) < HEADER_SIZE or not header.startswith(MAGIC):
            raise self.error("not a whole header of a trace file")
        if struct.unpack_from("<I", header, 8)[0] != ORDER_MARK:
            self._order = ">"
        mark, version, _, _, checksum = struct.unpack_from(self._order + HEADER, header, 8)
        if mark != ORDER_MARK or checksum != zlib.crc32(header[:-4]):
            raise self.error("the header is damaged")
        if version != VERSION:
            raise self.error(f"version {version} of the trace format; this teetotal reads version {VERSION}")

    def _chunk(self) -> Chunk | None:
        """The next one, whole and undamaged; None at the end of the file."""
        self._start = self.source.position
        header = bytes(self.source.take(CHUNK_SIZE))
        if not header:
            return None
        if len(header) < CHUNK_SIZE:
            raise self.error("the file ends in the middle of a chunk's header: it is truncated")
        tag, columns, first, count, length, payload_sum, header_sum = struct.unpack(self._order + CHUNK, header)
        if header_sum != zlib.crc32(header[:-4]):
            raise self.error("a chunk's header is damaged: its checksum does not agree")
        if length > MAX_PAYLOAD:
            raise self.error(f"a chunk of {length} bytes; at most {MAX_PAYLOAD} are allowed")
        payload = self.source.take(length)
        if len(payload) < length:
            raise self.error(f"the file ends after {len(payload)} of a chunk's {length} bytes: it is truncated")
        if payload_sum != zlib.crc32(payload):
            raise self.error("a chunk is damaged: its checksum does not agree")
        expected = {b"ADDR": len(self.tables.addresses), b"LOCS": len(self.tables.locations)}.get(tag, self._read)
        if tag != b"END." and first != expected:
            raise self.error(
                f"a chunk starts at number {first}, and {expected} was expected: one is missing or doubled"
            )
        return Chunk(tag, columns, first, count, payload)

    def _events(self, chunk: Chunk) -> Batch:
        count, columns = chunk.size, chunk.columns
        if columns & ~VALUES:
            raise self.error(f"a chunk with unknown columns {columns:#x}")
        if count > MAX_PAYLOAD or layout(count, columns)[-1][1] != len(chunk.payload):
            raise self.error(f"{len(chunk.payload)} bytes are not the columns of {count} events")
        *places, _ = layout(count, columns)
        decoded = [
            np.frombuffer(chunk.payload, self._order + dtype, count, offset).astype("=" + dtype, copy=False)
            for dtype, offset in places
        ]
        thread, packed, address, location, *values = decoded
        if (strange := np.flatnonzero(packed & 0xC0)).size:
            raise self.error(f"event {self._read + int(strange[0])} has unknown flags")
        read, written = values if values else (zeros(count), zeros(count))
        self._read += count
        return Batch(
            first=chunk.first,
            thread=thread.astype(np.int32),
            kind=packed & np.uint8(0x0F),
            address=address,
            location=location,
            wrote=(packed & WROTE) != 0,
            read=read,
            written=written,
            valued=((packed & VALUED) != 0) if values else np.zeros(count, np.bool_),
        )

    def _addresses(self, chunk: Chunk) -> None:
        for name in self._strings(chunk, 0):
            new = len(self.tables.addresses)
            if self.tables.address(name) != new:
                raise self.error(f"address {name} is in the table twice")

    def _locations(self, chunk: Chunk) -> None:
        lines = np.frombuffer(chunk.payload, self._order + "u4", self._table_size(chunk, 1))
        for name, line in zip(self._strings(chunk, 1), lines.tolist(), strict=True):
            new = len(self.tables.locations)
            if self.tables.location(Location(name, line)) != new:
                raise self.error(f"location {name}:{line} is in the table twice")

    def _table_size(self, chunk: Chunk, columns_before: int) -> int:
        if chunk.size * 4 * (columns_before + 1) > len(chunk.payload):
            raise self.error(f"{len(chunk.payload)} bytes cannot be a table of {chunk.size} names")
        return chunk.size

    def _strings(self, chunk: Chunk, columns_before: int) -> Iterator[str]:
        count = self._table_size(chunk, columns_before)
        lengths = np.frombuffer(chunk.payload, self._order + "u4", count, 4 * count * columns_before)
        start = 4 * count * (columns_before + 1)
        if padded(start + int(lengths.sum(dtype=np.uint64))) != len(chunk.payload):
            raise self.error("the lengths of a table's names do not add up")
        for length in lengths.tolist():
            try:
                yield str(chunk.payload[start : start + length], "utf-8")
            except UnicodeDecodeError:
                raise self.error("a name is not valid UTF-8") from None
            start += length


class BinaryWriter:
    """Appends to any binary stream. Only ``close`` writes the end mark: a file without one was not finished."""

    def __init__(self, file: BinaryIO, tables: Tables, order: Literal["<", ">"] = "<") -> None:
        self._file = file
        self._tables = tables
        self._order = order
        self._events = self._addresses = self._locations = 0
        header = MAGIC + struct.pack(order + HEADER, ORDER_MARK, VERSION, 0, 0, 0)[:-4]
        file.write(header + struct.pack(order + "I", zlib.crc32(header)))

    def write(self, batch: Batch) -> None:
        """The events of a batch, after the names that are new."""
        refuse_orders(batch, "a binary trace")
        self._write_tables()
        for start in range(0, batch.size, 1 << 16):
            self._write_events(batch.part(start, 1 << 16))

    def close(self) -> None:
        self._write_tables()
        self._write_chunk(b"END.", 0, 0, self._events, b"")
        self._file.flush()

    def _write_events(self, batch: Batch) -> None:
        if batch.size and (int(batch.thread.min()) < 0 or int(batch.thread.max()) > 0xFFFF):
            raise ValueError("a thread's number does not fit in 16 bits")
        valued = bool(batch.valued.any())
        packed = batch.kind | np.where(batch.wrote, WROTE, 0) | np.where(batch.valued & valued, VALUED, 0)
        columns = [batch.thread, packed, batch.address, batch.location, batch.read, batch.written]
        places = layout(batch.size, VALUES if valued else 0)
        payload = bytearray(places[-1][1])
        for (dtype, offset), column in zip(places[:-1], columns, strict=False):
            encoded = column.astype(self._order + dtype).tobytes()
            payload[offset : offset + len(encoded)] = encoded
        self._write_chunk(b"EVNT", VALUES if valued else 0, self._events, batch.size, bytes(payload))
        self._events += batch.size

    def _write_tables(self) -> None:
        while names := self._tables.addresses[self._addresses : self._addresses + (1 << 12)]:
            self._write_chunk(b"ADDR", 0, self._addresses, len(names), self._strings(names))
            self._addresses += len(names)
        while places := self._tables.locations[self._locations : self._locations + (1 << 12)]:
            lines = np.array([place.line for place in places], self._order + "u4").tobytes()
            payload = self._strings([place.file for place in places], lines)
            self._write_chunk(b"LOCS", 0, self._locations, len(places), payload)
            self._locations += len(places)

    def _strings(self, names: list[str], before: bytes = b"") -> bytes:
        encoded = [name.encode() for name in names]
        lengths = np.array([len(name) for name in encoded], self._order + "u4").tobytes()
        payload = b"".join((before, lengths, *encoded))
        return payload.ljust(padded(len(payload)), b"\0")

    def _write_chunk(self, tag: bytes, columns: int, first: int, count: int, payload: bytes) -> None:
        if len(payload) > MAX_PAYLOAD:
            raise ValueError(f"names of {len(payload)} bytes do not fit in one chunk")
        header = struct.pack(
            self._order + CHUNK, tag, columns, first, count, len(payload), zlib.crc32(payload), 0
        )[:-4]  # fmt: skip
        self._file.write(header + struct.pack(self._order + "I", zlib.crc32(header)) + payload)


def zeros(count: int) -> NDArray[np.int64]:
    return np.zeros(count, np.int64)
