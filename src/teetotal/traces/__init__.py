"""Recorded traces in files and pipes: ``open_trace``, ``read``, ``write``, ``convert``.

A recorded trace is an SC trace, its events in the order in which they happened. Formats: ``binary`` (compact, with
checksums), ``jsonl`` (readable), and ``parquet``, ``arrow``, ``arrow-stream`` where pyarrow is installed. Readers
recognise them by their first bytes, never by name. ``docs/reference/trace-format.md`` describes them.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol

from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.events import MemoryOrder
from teetotal.traces.batch import Batch, Tables, batches_of, to_trace
from teetotal.traces.binary import MAGIC, BinaryReader, BinaryWriter
from teetotal.traces.jsonl import JsonlReader, JsonlWriter
from teetotal.traces.reader import Mapped, Source, Stream, TraceFileError, TraceReader, event_of

if TYPE_CHECKING:
    from teetotal.traces.trace import Trace

Format = Literal["binary", "jsonl", "parquet", "arrow", "arrow-stream"]
SUFFIXES: dict[str, Format] = {
    ".trace": "binary", ".jsonl": "jsonl", ".parquet": "parquet", ".arrow": "arrow", ".arrows": "arrow-stream",
}  # fmt: skip
BEGINNING = 8


class Writer(Protocol):
    """Takes batches whose numbers refer to the tables that it was made with. ``close`` says that this was all."""

    def write(self, batch: Batch) -> None: ...
    def close(self) -> None: ...


def open_trace(path: str | Path, stdin: BinaryIO | None = None) -> TraceReader:
    """A reader for a file, or for standard input if the path is ``-``. The format shows in the first bytes."""
    if str(path) == "-":
        return _reader("<stdin>", stdin or sys.stdin.buffer, regular=False)
    try:
        file = open(path, "rb")  # noqa: SIM115 - the reader closes it
    except OSError as error:
        raise ParseError(f"{path}: {error.strerror}") from None
    try:
        reader = _reader(str(path), file, regular=stat.S_ISREG(os.fstat(file.fileno()).st_mode))
    except BaseException:
        file.close()
        raise
    reader.close = file.close
    return reader


def _reader(name: str, file: BinaryIO, regular: bool) -> TraceReader:
    beginning = b""
    while len(beginning) < BEGINNING and (more := file.read(BEGINNING - len(beginning))):
        beginning += more
    source: Source = Mapped(name, file) if regular else Stream(name, file, beginning)
    if beginning == MAGIC or MAGIC.startswith(beginning or b"-"):
        return BinaryReader(source)
    if beginning.lstrip()[:1] == b"{":
        return JsonlReader(source)
    from teetotal.traces import arrow

    if beginning.startswith((arrow.PARQUET, arrow.ARROW_FILE, arrow.ARROW_STREAM)):
        if not regular and not beginning.startswith(arrow.ARROW_STREAM):
            raise ParseError(f"{name}: Parquet and Arrow files cannot be read from a pipe; use an Arrow stream")
        return arrow.ArrowReader(source, None if regular else arrow.Pipe(beginning, file), beginning)
    what = f"begins with {beginning!r}" if beginning else "is empty"
    raise TraceFileError(f"{name}: not a trace: it {what}", None, 0)


def read(path: str | Path) -> Trace:
    """The whole trace in memory. TraceFileError if any of it is damaged."""
    with open_trace(path) as reader:
        return to_trace([*reader.batches()], reader.tables)


@contextmanager
def create(target: str | Path | BinaryIO, tables: Tables, format: Format | None = None) -> Iterator[Writer]:
    """A writer to a file, or to an open binary stream. Without a format, the file's suffix decides.

    What is written when the body ends with an exception lacks the end mark, so that readers see that it is not whole.
    """
    if isinstance(target, str | Path):
        chosen = format or SUFFIXES.get(Path(target).suffix)
        if chosen is None:
            raise TeetotalError(f"{target}: no known format; give one, or use {', '.join(SUFFIXES)}")
        with open(target, "wb") as file, create(file, tables, chosen) as writer:
            yield writer
        return
    writer = _writers()[format or "binary"](target, tables)
    yield writer
    writer.close()


def _writers() -> dict[str, Callable[[BinaryIO, Tables], Writer]]:
    def through_arrow(format: Format) -> Callable[[BinaryIO, Tables], Writer]:
        def make(file: BinaryIO, tables: Tables) -> Writer:
            from teetotal.traces.arrow import ArrowWriter

            return ArrowWriter(file, tables, format)

        return make

    arrows: dict[str, Any] = {f: through_arrow(f) for f in ("parquet", "arrow", "arrow-stream")}
    return {"binary": BinaryWriter, "jsonl": JsonlWriter, **arrows}


def write(
    trace: Trace,
    target: str | Path | BinaryIO,
    format: Format | None = None,
    *,
    orders: Sequence[MemoryOrder] | None = None,
) -> None:
    """A trace whose events are in the order in which they happened: src and co follow from it and are not written.
    ``orders``: C11's, of each event, where the format has room for them."""
    if not trace.is_sequential():
        raise TeetotalError("only a trace whose src and co follow from the order of its events can be written")
    tables = Tables(trace.addresses, trace.locations)
    with create(target, tables, format) as writer:
        for batch in batches_of(trace):
            writer.write(batch if orders is None else batch.ordered(orders[batch.first : batch.first + batch.size]))


def convert(source: str | Path, target: str | Path | BinaryIO, format: Format | None = None) -> int:
    """From one format to another, batch by batch; the number of events."""
    with open_trace(source) as reader, create(target, reader.tables, format) as writer:
        for batch in reader.batches():
            writer.write(batch)
        return reader.events


__all__ = [
    "Batch", "Format", "Tables", "TraceFileError", "TraceReader", "Writer", "convert", "create", "event_of",
    "open_trace", "read", "to_trace", "write",
]  # fmt: skip
