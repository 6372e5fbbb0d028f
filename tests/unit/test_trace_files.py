"""Trace files: what goes in comes out, whatever the format and however it is read."""

from __future__ import annotations

import io
import os
import random
import sys
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from recorded import recorded_events
from teetotal import traces
from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.events import Kind, Location
from teetotal.traces import Batch, Tables
from teetotal.traces.batch import batches_of
from teetotal.traces.binary import BinaryWriter
from teetotal.traces.trace import Trace
from trace_outcomes import ARROW, OWN, encoded, formats, outcome, outcome_of

FORMATS = formats("binary", "jsonl", "parquet", "arrow", "arrow-stream")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("valued", [True, False])
def test_what_goes_in_comes_out(format: traces.Format, valued: bool, tmp_path: Path) -> None:
    rng = random.Random(10)
    for size in (0, 1, 2, 7, 100):
        events = recorded_events(rng, size, valued)
        data = encoded(events, format)
        assert outcome_of(data, tmp_path) == (events, None)
        if format in OWN:
            assert outcome_of(data, tmp_path, "pipe") == (events, None)


@ARROW
def test_arrow_streams_can_be_piped(tmp_path: Path) -> None:
    events = recorded_events(random.Random(11), 50)
    reading, writing = os.pipe()

    def feed() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(encoded(events, "arrow-stream"))

    feeder = threading.Thread(target=feed)
    feeder.start()
    with os.fdopen(reading, "rb") as pipe:
        assert outcome(traces.open_trace("-", pipe)) == (events, None)
    feeder.join()
    with pytest.raises(ParseError, match="cannot be read from a pipe"):
        traces.open_trace("-", io.BytesIO(encoded(events, "parquet")))


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_conversion_keeps_everything(source: traces.Format, target: traces.Format, tmp_path: Path) -> None:
    suffix = {format: suffix for suffix, format in traces.SUFFIXES.items()}
    events = recorded_events(random.Random(12), 60)
    first, second = tmp_path / f"first{suffix[source]}", tmp_path / f"second{suffix[target]}"
    traces.write(Trace.from_events(events), first)
    assert traces.convert(first, second) == 60
    assert list(traces.read(second)) == events
    with traces.open_trace(second) as reader:
        assert reader.format == target.removesuffix("-stream")


def test_the_format_shows_in_the_content_not_in_the_name(tmp_path: Path) -> None:
    events = recorded_events(random.Random(13), 20)
    path = tmp_path / "wrong.parquet"
    path.write_bytes(encoded(events, "jsonl"))
    assert list(traces.read(path)) == events


def test_big_endian_files_are_read(tmp_path: Path) -> None:
    trace = Trace.from_events(recorded_events(random.Random(14), 80))
    file = io.BytesIO()
    writer = BinaryWriter(file, Tables(trace.addresses, trace.locations), ">")
    for batch in batches_of(trace):
        writer.write(batch)
    writer.close()
    assert outcome_of(file.getvalue(), tmp_path) == (list(trace), None)


def test_tables_may_grow_between_batches(tmp_path: Path) -> None:
    """A recorder meets new names as it goes."""
    tables = Tables()
    path = tmp_path / "grows.trace"
    with traces.create(path, tables) as writer:
        for i in range(5):
            address, place = tables.address(f"a{i}"), tables.location(Location("f.c", i))
            writer.write(Batch.of_rows(i, [(0, Kind.ST, address, place, True, 0, i, True)]))
    assert [str(event) for event in traces.read(path)] == [f"T0: st a{i} = {i}" for i in range(5)]


def test_a_large_file_in_many_chunks(tmp_path: Path) -> None:
    n = 300_000
    rng = np.random.default_rng(15)
    kind = rng.choice(np.array([0, 0, 1, 2, 3], np.uint8), n)
    address = np.where(kind == 3, -1, rng.integers(0, 1000, n))
    trace = Trace.from_sc(thread=rng.integers(0, 8, n), kind=kind, address=address)
    path = tmp_path / "large.trace"
    traces.write(trace, path)
    again = traces.read(path)
    for name in ("thread", "kind", "address", "wrote", "src", "co"):
        assert np.array_equal(getattr(again, name), getattr(trace, name))
    assert path.stat().st_size < 12 * n


def test_only_traces_in_their_own_order_are_written(tmp_path: Path) -> None:
    relaxed = Trace(thread=[0, 1], kind=[1, 0], address=[0, 0], src=[-1, -1], co=[0, -1])
    with pytest.raises(TeetotalError, match="src and co follow from the order"):
        traces.write(relaxed, tmp_path / "x.trace")
    with pytest.raises(TeetotalError, match="no known format"):
        traces.write(Trace.from_events([]), tmp_path / "x.bin")


def test_an_unfinished_writer_leaves_a_file_that_says_so(tmp_path: Path) -> None:
    for suffix in (".trace", ".jsonl"):
        path = tmp_path / f"unfinished{suffix}"
        tables = Tables(["x"])
        with suppress(RuntimeError), traces.create(path, tables) as writer:
            writer.write(Batch.of_rows(0, [(0, Kind.LD, 0, -1, False, 0, 0, False)]))
            raise RuntimeError
        events, error = outcome(traces.open_trace(path))
        assert len(events) == 1
        assert "it is truncated" in str(error)


def test_memory_stays_flat(tmp_path: Path) -> None:
    for suffix in (".trace", ".jsonl"):
        path = tmp_path / f"long{suffix}"
        tables = Tables(["x", "y"])
        block = Batch.of_rows(0, [(i % 3, i % 2, i % 2, -1, bool(i % 2), 0, 0, False) for i in range(2000)])
        with traces.create(path, tables) as writer:
            for _ in range(60):
                writer.write(block)
        tracemalloc.start()
        with traces.open_trace(path) as reader:
            assert sum(batch.size for batch in reader.batches()) == 120_000
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 6_000_000


def test_without_pyarrow_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1....PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TeetotalError, match="pip install 'pyarrow>=15'"):
        traces.open_trace(path)


@pytest.mark.parametrize("make", [lambda p: p / "missing.trace", lambda p: p])
def test_what_is_not_a_file(make: Callable[[Path], Path], tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=str(tmp_path)):
        traces.open_trace(make(tmp_path))
