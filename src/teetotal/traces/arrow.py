"""Traces as Arrow tables: Parquet files, Arrow files and Arrow streams. Needs the extra ``arrow`` (pyarrow).

One row per event, with the keys of the JSON-lines format as columns; only ``thread``, ``kind`` and ``address`` must be
there. pyarrow checks what these formats check; everything before a damaged record batch or row group is read.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.events import Kind
from teetotal.traces.batch import Batch, Tables, parse_location, refuse_orders
from teetotal.traces.reader import Mapped, Source, TraceFileError, TraceReader
from teetotal.traces.trace import MAX_THREADS

PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
VERSION = b"1"
METADATA = b"teetotal-trace"
ROWS = 1 << 16
MAX_READ = 1 << 28
"""No message of an Arrow stream in a pipe is larger than this."""
KINDS = {str(kind): kind.value for kind in Kind}
REQUIRED, OPTIONAL = ("thread", "kind", "address"), ("value", "read", "wrote", "location")


def pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        message = "Parquet and Arrow traces need pyarrow: pip install 'pyarrow>=15'"
        raise TeetotalError(message) from None
    return pyarrow


class ArrowReader(TraceReader):
    """A file is mapped into memory, so that a length that lies makes no room; ``pipe`` is for Arrow streams only."""

    def __init__(self, source: Source, pipe: Pipe | None, beginning: bytes) -> None:
        super().__init__(source)
        self._pa = pyarrow()
        self._pipe = pipe
        self.format = "parquet" if beginning.startswith(PARQUET) else "arrow"
        self._stream = beginning.startswith(ARROW_STREAM)
        self._first = 0
        self._problem: tuple[int, str] | None = None  # the first row of a batch that cannot be read, and why

    def read(self) -> Iterator[Batch]:
        damage = (self._pa.ArrowException, OSError, ValueError, NotImplementedError, MemoryError)
        try:
            schema, tables = self._open()
            self._check(schema)
        except damage as error:
            raise self.error(str(error)) from None
        while True:
            try:
                following = next(tables, None)
                if following is None:
                    return
                table, position = following
                for part in range(0, table.num_rows, ROWS):
                    self._problem = None
                    batch = self._batch(table.slice(part, ROWS))
                    if self._problem is None:
                        yield batch
                    else:
                        row, message = self._problem
                        yield batch.head(row)
                        raise self.error(message, batch.first + row)
                if isinstance(self.source, Mapped):
                    self.source.come_to(position)
            except TraceFileError:
                raise
            except damage as error:
                raise self.error(str(error)) from None

    def error(self, message: str, event: int | None = None) -> TraceFileError:
        good = self.events if event is None else event
        return TraceFileError(f"{self.source.name}: event {good}: {message}", None, good)

    def _open(self) -> tuple[Any, Iterator[tuple[Any, int]]]:
        """The schema, and tables with about the place in the file where each ends."""
        file: Any = self._pipe
        if isinstance(self.source, Mapped):
            file = self._pa.BufferReader(self._pa.py_buffer(self.source.whole))
        size = self.source.size or 0
        if self.format == "parquet":
            parquet = self._pa.parquet.ParquetFile(file)
            rows = max(1, parquet.metadata.num_rows)
            tables = parquet.iter_batches(ROWS)
            return parquet.schema_arrow, ((table, min(self._first + ROWS, rows) * size // rows) for table in tables)
        if self._stream:
            stream = self._pa.ipc.open_stream(file)
            return stream.schema, ((table, file.tell() if self._pipe is None else 0) for table in stream)
        whole = self._pa.ipc.open_file(file)
        count = whole.num_record_batches
        return whole.schema, ((whole.get_batch(i), (i + 1) * size // count) for i in range(count))

    def _check(self, schema: Any) -> None:
        version = (schema.metadata or {}).get(METADATA, VERSION)
        if version != VERSION:
            raise self.error(f"version {version!r} of the trace format; this teetotal reads version {VERSION!r}")
        for name in REQUIRED:
            if schema.names.count(name) != 1:
                raise self.error(f"the table has no column {name}, or several")
        for name in schema.names:
            if name not in REQUIRED + OPTIONAL:
                raise self.error(f"the table has an unknown column {name}")

    def _batch(self, table: Any) -> Batch:
        table.validate(full=True)
        kinds = self._numbers(table, "kind", self._kind)
        thread = self._integers(table, "thread")
        numbered = ~thread.nulls & (thread.values >= 0) & (thread.values < MAX_THREADS)
        self._note(~numbered, f"an event whose thread is not a number from 0 to {MAX_THREADS - 1}")
        self._note(kinds < 0, "an event without a kind")
        value, read = self._integers(table, "value"), self._integers(table, "read")
        atomic = np.isin(kinds, [k.value for k in Kind if k.is_atomic])
        wrote = np.isin(kinds, [Kind.ST.value]) | (atomic & self._flags(table, "wrote"))
        load = kinds == Kind.LD
        known = np.where(load | (kinds == Kind.ST), ~value.nulls, ~read.nulls & (~value.nulls | ~wrote))
        first, self._first = self._first, self._first + table.num_rows
        return Batch(
            first=first,
            thread=np.where(numbered, thread.values, 0).astype(np.int32),
            kind=np.maximum(kinds, 0).astype(np.uint8),
            address=self._numbers(table, "address", self.tables.address),
            location=self._numbers(table, "location", self._place),
            wrote=wrote,
            read=np.where(load, value.values, read.values),
            written=np.where(wrote, value.values, 0),
            valued=known,
        )

    def _note(self, where: NDArray[np.bool_], message: str) -> None:
        """A problem of some rows; the first row of all is told."""
        if where.any():
            row = int(np.flatnonzero(where)[0])
            if self._problem is None or row < self._problem[0]:
                self._problem = row, message

    def _column(self, table: Any, name: str) -> Any:
        return table.column(table.schema.get_field_index(name)) if name in table.schema.names else None

    def _integers(self, table: Any, name: str) -> Integers:
        column = self._column(table, name)
        if column is None:
            return Integers(np.zeros(table.num_rows, np.int64), np.ones(table.num_rows, np.bool_))
        if not (self._pa.types.is_integer(column.type) or self._pa.types.is_null(column.type)):
            raise self.error(f"column {name} is of type {column.type}, not a number")
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        return Integers(column.cast(self._pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), nulls)

    def _flags(self, table: Any, name: str) -> NDArray[np.bool_]:
        column = self._column(table, name)
        if column is None:
            return np.ones(table.num_rows, np.bool_)
        flags: NDArray[np.bool_] = column.cast(self._pa.bool_()).fill_null(True).to_numpy(zero_copy_only=False)
        return flags

    def _numbers(self, table: Any, name: str, number: Callable[[str], int]) -> NDArray[np.int32]:
        """A column of names as numbers; -1 where there is none."""
        column = self._column(table, name)
        if column is None or self._pa.types.is_null(column.type):
            return np.full(table.num_rows, -1, np.int32)
        if not self._pa.types.is_dictionary(column.type):
            column = column.cast(self._pa.string()).dictionary_encode()
        names = column.dictionary.cast(self._pa.string()).to_pylist()
        indices = column.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
        used = np.unique(indices)
        if used.size and not 0 <= int(used[0]) <= int(used[-1]) <= len(names):
            raise self.error(f"column {name} has a number outside its dictionary")
        numbers = np.full(len(names) + 1, -1, np.int32)
        for index in used.tolist():
            if index < len(names) and names[index] is not None:
                try:
                    numbers[index] = number(names[index])
                except ParseError as error:
                    self._note(indices == index, error.message)
        result: NDArray[np.int32] = numbers[indices]
        return result

    def _kind(self, name: str) -> int:
        if name not in KINDS:
            raise ParseError(f"kind {name!r} is none of {', '.join(KINDS)}")
        return KINDS[name]

    def _place(self, text: str) -> int:
        return self.tables.location(parse_location(text))


class Integers:
    def __init__(self, values: NDArray[np.int64], nulls: NDArray[np.bool_]) -> None:
        self.values = values
        self.nulls = nulls


class ArrowWriter:
    """To a Parquet file, an Arrow file or an Arrow stream."""

    def __init__(self, file: BinaryIO, tables: Tables, format: str) -> None:
        pa = self._pa = pyarrow()
        self._tables = tables
        fields = {
            "thread": pa.int32(), "kind": pa.string(), "address": pa.string(), "value": pa.int64(), "read": pa.int64(),
            "wrote": pa.bool_(), "location": pa.string(),
        }  # fmt: skip
        self._schema = pa.schema(list(fields.items()), metadata={METADATA: VERSION})
        makers = {"parquet": pa.parquet.ParquetWriter, "arrow": pa.ipc.new_file, "arrow-stream": pa.ipc.new_stream}
        self._writer = makers[format](file, self._schema)

    def write(self, batch: Batch) -> None:
        refuse_orders(batch, "an Arrow table")
        pa = self._pa
        atomic = np.isin(batch.kind, [k.value for k in Kind if k.is_atomic])
        load = batch.kind == Kind.LD
        value = np.where(load, batch.read, batch.written)
        columns = {
            "thread": pa.array(batch.thread),
            "kind": self._names([str(kind) for kind in Kind], batch.kind),
            "address": self._names(self._tables.addresses, batch.address),
            "value": pa.array(value, mask=~(batch.valued & (load | batch.wrote))),
            "read": pa.array(batch.read, mask=~(batch.valued & atomic)),
            "wrote": pa.array(batch.wrote, mask=~atomic),
            "location": self._names([str(place) for place in self._tables.locations], batch.location),
        }
        self._writer.write(pa.RecordBatch.from_arrays(list(columns.values()), schema=self._schema))

    def close(self) -> None:
        self._writer.close()

    def _names(self, names: list[str], numbers: NDArray[Any]) -> Any:
        """Only the names in use are looked up."""
        pa = self._pa
        used, indices = np.unique(numbers, return_inverse=True)
        table = pa.array([names[number] if number >= 0 else None for number in used.tolist()], pa.string())
        return table.take(pa.array(indices.astype(np.int64)))


class Pipe(io.RawIOBase):
    """A pipe whose beginning has been looked at already. A length that lies is refused before room is made for it."""

    def __init__(self, beginning: bytes, file: BinaryIO) -> None:
        self._beginning = beginning
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if size > MAX_READ:
            raise OSError(f"a message of {size} bytes; at most {MAX_READ} are allowed")
        head = self._beginning if size < 0 else self._beginning[:size]
        self._beginning = self._beginning[len(head) :]
        return head + self._file.read(size if size < 0 else size - len(head))

    def readable(self) -> bool:
        return True
