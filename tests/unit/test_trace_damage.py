"""Trace files that are damaged, or tell of what cannot be: refused with the place, after everything before it."""

from __future__ import annotations

import io
import json
import pickle
import random
import struct
import sys
import tracemalloc
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorded import recorded_events
from teetotal import traces
from teetotal.answers.events import Event, Kind
from teetotal.traces import Batch, Tables, TraceFileError
from teetotal.traces.batch import batches_of
from teetotal.traces.binary import CHUNK, CHUNK_SIZE, HEADER_SIZE, MAGIC, MAX_PAYLOAD, BinaryReader, BinaryWriter
from teetotal.traces.jsonl import MAX_LINE, JsonlReader
from teetotal.traces.reader import Stream
from teetotal.traces.trace import Trace
from trace_outcomes import encoded, formats, outcome, outcome_of


def small() -> list[Event]:
    return recorded_events(random.Random(16), 12)


def in_chunks(events: list[Event]) -> bytes:
    """A binary file with a chunk for every four events."""
    trace = Trace.from_events(events)
    file = io.BytesIO()
    writer = BinaryWriter(file, Tables(trace.addresses, trace.locations))
    for batch in batches_of(trace, 4):
        writer.write(batch)
    writer.close()
    return file.getvalue()


@pytest.mark.parametrize("how", ["file", "pipe"])
def test_a_binary_file_cut_anywhere(how: str, tmp_path: Path) -> None:
    events = small()
    data = in_chunks(events)
    seen = set()
    for length in range(len(data)):
        found, error = outcome_of(data[:length], tmp_path, how)
        assert error is not None
        assert found == events[: len(found)]
        seen.add(len(found))
    assert seen == {0, 4, 8, 12}
    assert outcome_of(data, tmp_path, how) == (events, None)


def test_a_binary_file_with_any_bit_flipped(tmp_path: Path) -> None:
    events = small()
    data = in_chunks(events)
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        found, error = outcome_of(bytes(damaged), tmp_path, "whole pipe")
        assert error is not None, f"bit {bit} makes no difference"
        assert found == events[: len(found)]


def test_a_jsonl_file_cut_anywhere(tmp_path: Path) -> None:
    events = small()
    data = encoded(events, "jsonl")
    for length in range(len(data) - 1):
        found, error = outcome_of(data[:length], tmp_path)
        assert error is not None
        assert found == events[: max(0, data[: length + 1].count(b"\n") - 1)]
    assert outcome_of(data[:-1], tmp_path) == (events, None), "the last line needs no line end"


def test_a_jsonl_file_with_any_byte_changed_is_read_or_refused(tmp_path: Path) -> None:
    data = encoded(small(), "jsonl")
    rng = random.Random(17)
    refused = 0
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] = rng.randrange(256)
        refused += outcome_of(bytes(damaged), tmp_path)[1] is not None
    assert refused > len(data) / 2


@pytest.mark.parametrize("format", formats("parquet", "arrow", "arrow-stream"))
def test_a_damaged_arrow_file_is_read_or_refused(format: traces.Format, tmp_path: Path) -> None:
    data = encoded(small(), format)
    rng = random.Random(18)
    for _ in range(150):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        for bad in (data[: rng.randrange(len(data))], bytes(damaged)):
            outcome_of(bad, tmp_path)
            if format == "arrow-stream":
                outcome_of(bad, tmp_path, "whole pipe")


@given(st.binary(max_size=300), st.sampled_from([b"", MAGIC, b"{", b'{"format":"teetotal-trace","version":1}\n']))
def test_any_bytes_are_read_or_refused(data: bytes, beginning: bytes) -> None:
    """Whatever follows the right beginning."""
    for make in (BinaryReader, JsonlReader):
        outcome(make(Stream("junk", io.BytesIO(beginning + data))))
    with suppress(TraceFileError):
        outcome(traces.open_trace("-", io.BytesIO(beginning + data)))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"thread": JUNK | st.integers(0, 3), "kind": st.sampled_from([*map(str, Kind), "??"]) | JUNK},
            optional={
                "address": st.sampled_from("xy") | JUNK,
                "value": st.integers(0, 2) | JUNK,
                "read": st.integers(0, 2) | JUNK,
                "wrote": st.booleans() | JUNK,
                "location": st.sampled_from(["a.c:1", "a.c", ":", "a.c:-1", "a.c:99999999999"]) | JUNK,
                "more": JUNK,
            },
        ),
        max_size=6,
    )
)
def test_any_json_is_read_or_refused(lines: list[dict[str, object]]) -> None:
    text = "\n".join(['{"format":"teetotal-trace","version":1}', *map(json.dumps, lines)])
    found, error = outcome(JsonlReader(Stream("junk", io.BytesIO(text.encode()))))
    assert len(found) == len(lines) or error is not None


def chunk(tag: bytes, columns: int, first: int, count: int, payload: bytes, length: int | None = None) -> bytes:
    """With checksums that agree, whatever it says."""
    fields = (tag, columns, first, count, len(payload) if length is None else length, zlib.crc32(payload), 0)
    header = struct.pack("<" + CHUNK, *fields)[:-4]
    return header + struct.pack("<I", zlib.crc32(header)) + payload


HEADER = in_chunks([])[:HEADER_SIZE]
HUGE = 2**63 + 5


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (HEADER + chunk(b"EVNT", 0, 0, HUGE, b""), "are not the columns of"),
        (HEADER + chunk(b"EVNT", 0, 0, 5, b"", HUGE), "at most 67108864 are allowed"),
        (HEADER + chunk(b"EVNT", 0, 0, 5, b"", MAX_PAYLOAD), "the file ends after 0 of a chunk's 67108864 bytes"),
        (HEADER + chunk(b"EVNT", 2, 0, 0, b""), "unknown columns 0x2"),
        (HEADER + chunk(b"EVNT", 0, 1, 0, b""), "starts at number 1, and 0 was expected"),
        (HEADER + chunk(b"WHAT", 0, 0, 0, b""), "unknown kind b'WHAT'"),
        (HEADER + chunk(b"END.", 0, 0, 5, b""), "speaks of 5 events, and 0 were read"),
        (HEADER + chunk(b"END.", 0, 0, 0, b"") * 2, "something follows the end mark"),
        (HEADER + chunk(b"ADDR", 0, 0, HUGE, b"\0" * 8), "cannot be a table of"),
        (HEADER + chunk(b"LOCS", 0, 0, HUGE, b"\0" * 8), "cannot be a table of"),
        (HEADER + chunk(b"ADDR", 0, 0, 2, b"\xff" * 8), "do not add up"),
        (HEADER + chunk(b"ADDR", 0, 0, 1, b"\1\0\0\0\xff\0\0\0"), "not valid UTF-8"),
        (HEADER + chunk(b"ADDR", 0, 0, 2, b"\1\0\0\0\1\0\0\0xx\0\0\0\0\0\0"), "address x is in the table twice"),
        (HEADER + chunk(b"LOCS", 0, 0, 2, b"\7\0\0\0" * 2 + b"\1\0\0\0" * 2 + b"xx\0\0\0\0\0\0"), "location x:7 is in"),
        (HEADER + chunk(b"EVNT", 0, 0, 1, b"\0\0".ljust(8) + b"\x40".ljust(8) + b"\xff" * 16), "unknown flags"),
        (HEADER[:-12] + b"\2\0" + HEADER[-10:], "the header is damaged"),
        (MAGIC, "not a whole header"),
        (b"", "it is empty"),
        (b"\x7fELF\2\1\1\0", "begins with b'\\x7fELF"),
    ],
)
def test_chunks_that_lie_are_refused_without_making_room(data: bytes, message: str, tmp_path: Path) -> None:
    tracemalloc.start()
    found, error = outcome_of(data, tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == []
    assert message in str(error)
    assert "some.trace" in str(error)
    assert peak < 2_000_000


def test_another_version_is_refused(tmp_path: Path) -> None:
    header = HEADER[:12] + struct.pack("<H", 9) + HEADER[14:-4]
    _, error = outcome_of(header + struct.pack("<I", zlib.crc32(header)), tmp_path)
    assert "version 9 of the trace format; this teetotal reads version 1" in str(error)
    _, error = outcome_of(b'{"format":"teetotal-trace","version":9}\n', tmp_path)
    assert "version 9 of the trace format; this teetotal reads version 1" in str(error)


def test_a_missing_or_doubled_chunk_is_noticed(tmp_path: Path) -> None:
    events = small()
    data = in_chunks(events)
    starts = [i for i in range(len(data)) if data[i : i + 4] == b"EVNT"]
    first, second, third = (data[a:b] for a, b in zip(starts, [*starts[1:], len(data) - CHUNK_SIZE], strict=True))
    before, after = data[: starts[0]], data[-CHUNK_SIZE:]
    for parts, good in (((first, third), 4), ((first, first, second, third), 4), ((second, first, third), 0)):
        found, error = outcome_of(before + b"".join(parts) + after, tmp_path)
        assert len(found) == good
        assert "one is missing or doubled" in str(error)


# -- what cannot be ---------------------------------------------------------------------------------------------------

LINES: list[tuple[str, str]] = [
    ('{"thread":0,"kind":"jump","address":"x"}', "Invalid enum value 'jump' - at `$.kind`"),
    ('{"thread":-1,"kind":"ld","address":"x"}', "Expected `int` >= 0 - at `$.thread`"),
    ('{"thread":65536,"kind":"ld","address":"x"}', "Expected `int` <= 65535 - at `$.thread`"),
    ('{"thread":1e400,"kind":"ld","address":"x"}', "out of range"),
    ('{"thread":0,"kind":"ld"}', "T0's ld has no address"),
    ('{"thread":0,"kind":"mfence","address":"x"}', "T0's mfence has an address, x; a fence has none"),
    ('{"thread":0,"kind":"mfence","value":1}', "mfence has no value"),
    (
        '{"thread":0,"kind":"st","address":"x","wrote":true}',
        '"read" and "wrote" belong to atomic operations, not to st',
    ),
    ('{"thread":0,"kind":"rmw","address":"x","read":0}', 'rmw has both "read" and "value", or neither'),
    ('{"thread":0,"kind":"rmw","address":"x","value":1,"wrote":false}', 'has no "value"'),
    ('{"thread":0,"kind":"lock","address":"m","wrote":false}', "record a lock that failed as an rmw"),
    ('{"thread":0,"kind":"lock","address":"held"}', "T0 locks held, which T1 holds"),
    ('{"thread":0,"kind":"unlock","address":"m"}', "T0 unlocks m, which nobody holds"),
    ('{"thread":0,"kind":"unlock","address":"held"}', "T0 unlocks held, which T1 holds"),
    ('{"thread":0,"kind":"ld","address":"seven","value":8}', "T0's ld of seven saw 8, but seven held 7 since event 1"),
    ('{"thread":0,"kind":"rmw","address":"seven","read":8,"value":9}', "T0's rmw of seven saw 8"),
    ('{"thread":0,"kind":"ld","address":"nine","value":8}', "nine held 9 since event 2"),
    ('{"thread":0,"kind":"ld","address":"x","location":"here"}', "location 'here' is not of the form"),
    ('{"thread":0,"kind":"ld","address":"x","value":99999999999999999999}', "Expected `int` <= 9223372036854775807"),
    ('{"thread":0,"kind":"ld","address":"x","colour":1}', "unknown field `colour`"),
    ('{"thread":0,"kind":"ld","address":"x"', "Input data was truncated"),
    ("[" * 5000, "Expected `object`, got `array`"),
    ('{"end":7}', "the end line speaks of 7 events, and 3 were read"),
    ('{"end":3}\n{"end":3}', "something follows the end line"),
    ("x" * (MAX_LINE + 1), "a line of more than 65536 bytes"),
]
GOOD = """{"format":"teetotal-trace","version":1}
{"thread":1,"kind":"lock","address":"held"}

{"thread":1,"kind":"st","address":"seven","value":7}
{"thread":1,"kind":"ld","address":"nine","value":9}
"""


@pytest.mark.parametrize(("line", "message"), LINES)
@pytest.mark.parametrize("how", ["file", "pipe"])
def test_an_impossible_line_is_told_with_its_number(line: str, message: str, how: str, tmp_path: Path) -> None:
    after = '\n{"thread":1,"kind":"mfence"}\n'
    found, error = outcome_of((GOOD + line + after).encode(), tmp_path, how)
    assert len(found) == 3
    assert message in str(error)
    number = 7 if message.startswith("something follows") else 6
    assert error is not None
    assert error.location is not None
    assert error.location.line == number
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_hand_written_files_need_no_end_line(tmp_path: Path) -> None:
    found, error = outcome_of(GOOD.encode(), tmp_path)
    assert error is None
    assert [event.text for event in found] == ["lock held", "st seven = 7", "ld nine → 9"]


@pytest.mark.parametrize("header", ["{}", '{"format":"x","version":1}', '{"format":"teetotal-trace"}', "{", '{"a":1}'])
def test_a_wrong_header_is_refused(header: str, tmp_path: Path) -> None:
    found, error = outcome_of(f'{header}\n{{"thread":0,"kind":"mfence"}}\n'.encode(), tmp_path)
    assert found == []
    assert error is not None
    assert str(error.location).endswith("some.trace:1")


ROW = {
    "thread": 0,
    "kind": Kind.LD,
    "address": 0,
    "location": -1,
    "wrote": False,
    "read": 0,
    "written": 0,
    "valued": False,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": 9}, "kind 9 is none of 0 (ld), 1 (st)"),
        ({"address": -1}, "T0's ld has no address"),
        ({"address": 5}, "T0's ld has address number 5, and there are 1 addresses so far"),
        ({"address": -7}, "T0's ld has address number -7"),
        ({"location": 3}, "T0's ld has location number 3, and there are 0 so far"),
        ({"location": -2}, "T0's ld has location number -2"),
        ({"wrote": True}, "T0's ld cannot write"),
        ({"kind": Kind.ST}, "T0's st of x wrote nothing"),
        ({"kind": Kind.SFENCE}, "T0's sfence has an address, x"),
        ({"kind": Kind.UNLOCK, "wrote": True}, "T0 unlocks x, which nobody holds"),
    ],
)
def test_an_impossible_event_of_a_binary_file(change: dict[str, int], message: str, tmp_path: Path) -> None:
    """The events before it in the same chunk still come out."""
    file = io.BytesIO()
    writer = BinaryWriter(file, Tables(["x"]))
    rows = [tuple(ROW.values())] * 3 + [tuple({**ROW, **change}.values())] + [tuple(ROW.values())]
    writer.write(Batch.of_rows(0, rows))
    writer.close()
    found, error = outcome_of(file.getvalue(), tmp_path)
    assert len(found) == 3
    assert message in str(error)
    assert f"some.trace: byte {HEADER_SIZE + CHUNK_SIZE + 8}, event 3: " in str(error)


def test_what_is_good_of_a_later_chunk_comes_out_and_nothing_else(tmp_path: Path) -> None:
    file = io.BytesIO()
    writer = BinaryWriter(file, Tables(["x"]))
    good, bad = tuple(ROW.values()), tuple({**ROW, "wrote": True}.values())
    writer.write(Batch.of_rows(0, [good] * 3))
    writer.write(Batch.of_rows(3, [good, bad, good]))
    writer.close()
    found, error = outcome_of(file.getvalue(), tmp_path)
    assert len(found) == 4
    assert "event 4: T0's ld cannot write" in str(error)


def _pyarrow() -> Any:
    """With Parquet, which importing pyarrow alone does not bring."""
    pytest.importorskip("pyarrow.parquet")
    return sys.modules["pyarrow"]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("kind", ["ld", "ld", "jump"], "kind 'jump' is none of ld"),
        ("kind", ["ld", "ld", None], "an event without a kind"),
        ("thread", [0, 0, -1], "thread is not a number from 0 to 65535"),
        ("thread", [0, 0, 2**40], "thread is not a number from 0 to 65535"),
        ("thread", [0, 0, None], "thread is not a number from 0 to 65535"),
        ("address", ["x", "x", None], "T0's ld has no address"),
        ("location", ["a:1", "a:1", "a"], "location 'a' is not of the form"),
        ("value", [1, 1, 2], "T0's ld of x saw 2, but x held 1"),
    ],
)
def test_an_impossible_row_of_an_arrow_table(column: str, values: list[object], message: str, tmp_path: Path) -> None:
    pyarrow = _pyarrow()
    table = pyarrow.table({"thread": [0, 0, 0], "kind": ["ld"] * 3, "address": ["x"] * 3} | {column: values})
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(table, path)
    found, error = outcome(traces.open_trace(path))
    assert len(found) == 2
    assert f"t.parquet: event 2: {message}" in str(error) or message in str(error)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"thread": [0], "kind": ["ld"]}, "the table has no column address"),
        ({"thread": [0], "kind": ["ld"], "address": ["x"], "colour": [1]}, "unknown column colour"),
        ({"thread": ["zero"], "kind": ["ld"], "address": ["x"]}, "column thread is of type string"),
    ],
)
def test_a_wrong_arrow_table_is_refused(columns: dict[str, object], message: str, tmp_path: Path) -> None:
    pyarrow = _pyarrow()
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    found, error = outcome(traces.open_trace(path))
    assert found == []
    assert message in str(error)
