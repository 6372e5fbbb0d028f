"""For tests of trace files: bytes in a format, and what comes out of bytes however they are read."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from teetotal import traces
from teetotal.answers.events import Event
from teetotal.traces import Batch, TraceFileError
from teetotal.traces.trace import Trace

OWN: list[traces.Format] = ["binary", "jsonl"]
ARROW = pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")


def formats(*names: traces.Format) -> list[Any]:
    """As parameters of a test: without pyarrow its formats are skipped."""
    return [name if name in OWN else pytest.param(name, marks=ARROW) for name in names]


def encoded(events: list[Event], format: traces.Format) -> bytes:
    file = io.BytesIO()
    file.close = lambda: None  # type: ignore[method-assign]  # pyarrow closes what it is given
    traces.write(Trace.from_events(events), file, format)
    return file.getvalue()


def opened(data: bytes, folder: Path, how: str) -> traces.TraceReader:
    """From a file (mapped), from a pipe, or from a pipe that gives a few bytes at a time."""
    if how == "whole pipe":
        return traces.open_trace("-", io.BytesIO(data))
    if how == "file":
        path = folder / "some.trace"
        path.write_bytes(data)
        return traces.open_trace(path)
    return traces.open_trace("-", Dribble(data))  # type: ignore[arg-type]


class Dribble(io.RawIOBase):
    """Gives what is asked for in odd little pieces."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._data.read(min(size, 7) if size >= 0 else 7)

    read1 = read


def outcome(reader: traces.TraceReader) -> tuple[list[Event], TraceFileError | None]:
    """All events that come out, and the complaint after them."""
    batches: list[Batch] = []
    error = None
    with reader:
        try:
            batches.extend(reader.batches())
        except TraceFileError as complaint:
            error = complaint
            assert error.events == reader.events == sum(batch.size for batch in batches)
    return list(traces.to_trace(batches, reader.tables)), error


def outcome_of(data: bytes, folder: Path, how: str = "file") -> tuple[list[Event], TraceFileError | None]:
    try:
        reader = opened(data, folder, how)
    except TraceFileError as error:
        return [], error
    return outcome(reader)
