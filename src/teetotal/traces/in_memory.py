"""A trace in memory, read as a file would be."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from teetotal.answers.events import Event
from teetotal.traces.batch import Batch, Tables, batches_of
from teetotal.traces.reader import Stream, TraceFileError, TraceReader
from teetotal.traces.trace import Trace


class TraceInMemory(TraceReader):
    format = "memory"

    def __init__(self, trace: Trace | Iterable[Event]) -> None:
        super().__init__(Stream("<memory>", io.BytesIO()))
        self.trace = trace if isinstance(trace, Trace) else Trace.from_events(trace)
        self.tables = Tables(self.trace.addresses, self.trace.locations)

    def read(self) -> Iterator[Batch]:
        return batches_of(self.trace)

    def error(self, message: str, event: int | None = None) -> TraceFileError:
        return TraceFileError(f"<memory>: {message}", None, event or 0)
