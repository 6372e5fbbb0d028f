"""What readers of histories meet in the wild: numbers at the edge, control characters, bytes that are no text, files cut
off, operations that failed; and what must never reach a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_history_readers import SAMPLES, operations

from teetotal.answers.errors import ParseError
from teetotal.answers.verdict import Verdict
from teetotal.cli.history import say
from teetotal.histories.check import check
from teetotal.histories.formats import FORMATS
from teetotal.histories.generate import random_history, to_axe
from teetotal.histories.history import NIL, History, to_text
from teetotal.histories.readers import read, read_text

LEAST, MOST = -(2**63), 2**63 - 1


def written_and_read(format: str, value: int) -> str:
    """One thread writes the value, another reads it."""
    edn = "{{:process {} :type {} :f {} :value {}}}\n"
    steps = [(process, type, f) for process, f in ((0, ":write"), (1, ":read")) for type in (":invoke", ":ok")]
    gem5 = "{}: cpu{} T0 : @f : {} : {} : D=0x{} A=0x80\n"
    word = f"{value % 2**64:016x}"
    return {
        "axe": f"0: M[0] := {value}\n1: M[0] == {value}\n",
        "text": f"T0: st x = {value}\nT1: ld x -> {value}\n",
        "json": f'{{"data":[[{{"events":[{{"Write":{{"variable":0,"version":{value}}}}}]}}],\n'
        f'[{{"events":[{{"Read":{{"variable":0,"version":{value}}}}}]}}]]}}\n',
        "dbcop": f"[x:={value}]\n---\n[x=={value}]\n",
        "polysi": f"w(0,{value},0,0)\nr(0,{value},1,1)\n",
        "edn": "".join(edn.format(*step, value) for step in steps),
        "jepsen": "".join("INFO  jepsen.util - {}\t{}\t{}\t{}\n".format(*step, value) for step in steps),
        "tracegen": f"0: store-req {value} 0x80 #0 @1\n0: resp 0 #0 @2\n1: load-req 0x80 #0 @3\n1: resp {value} #0 @4\n",
        "gem5": gem5.format(1, 0, "sd", "MemWrite", word) + gem5.format(2, 1, "ld", "MemRead", word),
    }[format]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("value", [LEAST, LEAST + 1, -1, 0, MOST])
def test_every_number_of_64_bits(format: str, value: int) -> None:
    (history,) = read_text(written_and_read(format, value), format=format)
    write, load = history
    assert (write.written, load.read) == (value, value)
    assert check(history, use_order=False).verdict is Verdict.SAFE
    (again,) = read_text(to_text(history), format="text")
    assert [op._replace(line=0) for op in again] == [
        op._replace(line=0, thread=f"T{op.thread}" if op.thread.isdigit() else op.thread) for op in history
    ]


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "gem5"])
@pytest.mark.parametrize("value", [LEAST - 1, MOST + 1, 2**64, 10**400])
def test_a_number_beyond_is_refused_with_its_line(format: str, value: int) -> None:
    with pytest.raises(ParseError, match="does not fit into 64 bits") as caught:
        read_text(written_and_read(format, value), format=format)
    assert caught.value.location is not None
    assert caught.value.location.line == 1


def test_hexadecimal_numbers_are_words() -> None:
    (history,) = read_text("T0: st x = 0xffffffffffffffff\nT0: st y = -0x8000000000000000\n")
    assert [op.written for op in history] == [-1, LEAST]
    for text, message in (("0x10000000000000000", "more than 64 bits"), ("-0x8000000000000001", "below -2\\^63")):
        with pytest.raises(ParseError, match=message):
            read_text(f"T0: st x = {text}\n")


def test_nil_is_not_the_least_number() -> None:
    (history,) = read_text("init x = nil\nT0: ld x -> nil\nT0: rmw x: nil -> 1\nfinal x = 1\n")
    assert [str(op) for op in history] == ["T0: ld x -> nil", "T0: rmw x: nil -> 1"]
    assert history.initial == {"x": NIL}
    assert to_text(read_text(to_text(history))[0]) == to_text(history)
    assert check(history).verdict is Verdict.SAFE
    (history,) = read_text(f"init x = {LEAST}\nT0: ld x -> {LEAST}\n")
    assert str(history[0]) == f"T0: ld x -> {LEAST}"
    with pytest.raises(ParseError, match="in a file that has nil"):
        read_text(f"init x = nil\nT0: st x = {LEAST}\n")
    with pytest.raises(ParseError, match="expected a number"):
        read_text("T0: st x = nil\n")
    with pytest.raises(ParseError, match="expected a number"):
        read_text("0: M[nil] := 1\n", format="axe")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("piece", "message"),
    [
        (b"\x1b[31m", "control character 27"),
        (b"\x00", "control character 0"),
        (b"\x07", "control character 7"),
        (b"\x7f", "control character 127"),
        ("\x9b31m".encode(), "control character 155"),
        (b"\xff", "not UTF-8"),
        (b"\xc3\n", "not UTF-8"),
        (b"\xed\xa0\x80", "not UTF-8"),
    ],
)
def test_what_is_no_text_is_refused_with_its_line(format: str, piece: bytes, message: str) -> None:
    """Wherever it stands: such a name would change what the terminal shows of the verdict."""
    text = SAMPLES[format][0].encode()
    for lines in range(text.count(b"\n") + 1):
        at = sum(len(line) for line in text.splitlines(keepends=True)[:lines])
        with pytest.raises(ParseError, match=message) as caught:
            read_text(text[:at] + piece + text[at:], format=format)
        assert caught.value.location is not None
        assert caught.value.location.line == lines + 1


def test_a_byte_order_mark_is_skipped() -> None:
    for format, (text, expected) in SAMPLES.items():
        (history,) = read_text("\ufeff" + text)
        assert operations(history) == expected, format


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_cut_off(format: str, tmp_path: Path) -> None:
    """Read as far as it is whole, or refused with file and line: never anything else. (In dbcop's text the "!" after a
    transaction that did not commit may be what is cut off.)"""
    text = SAMPLES[format][0].encode()
    path = tmp_path / "cut"
    refused = []
    for length in range(0, len(text), 5):
        path.write_bytes(text[:length])
        try:
            histories = read(path, format=format)
        except ParseError as error:
            refused.append(str(error))
        else:
            for history in histories:
                assert len(history) <= len(SAMPLES[format][1]) + (format == "dbcop")
    assert all(message.startswith(f"{path}:") for message in refused)
    assert len(refused) > (0 if format in ("gem5", "jepsen") else len(text) // 50)  # those skip what they do not know


def test_what_controls_a_terminal_is_shown_as_an_escape(capsys: pytest.CaptureFixture[str]) -> None:
    say(["a\x1b[2Jb\x9bc\u202ed\ne"])
    assert capsys.readouterr().out == "a\\x1b[2Jb\\x9bc\\u202ed\ne\n"


# ---- operations that failed, or may have


def test_a_failed_read_of_dbcop_has_no_version() -> None:
    text = (
        '{"data": [[{"events": [{"write": false, "variable": 0, "version": 7, "success": false}], "success": true}],'
        '[{"events": [{"write": true, "variable": 0, "version": 7, "success": false}], "success": true}]]}'
    )
    (history,) = read_text(text)
    assert operations(history) == ["T0: ld x0 -> ?"]  # and the failed write is none
    assert check(history).verdict is Verdict.SAFE


@pytest.mark.parametrize("text", [
    '{"data": [[{"events": [{"Write": {"variable": 0, "version": %d}}], "committed": true},'
    ' {"events": [{"Read": {"variable": 0, "version": null}}], "committed": true}]]}',
    "[x0:=%d]\n[x0==?]\n",
])  # fmt: skip
def test_no_version_of_dbcop_is_what_was_there_before_all_writes(text: str) -> None:
    """It is `None represents uninitialized version` in dbcop's own types, and not a result that nobody knows."""
    (history,) = read_text(text % 1)
    assert operations(history) == ["T0: st x0 = 1", "T0: ld x0 -> 0"]
    assert check(history).verdict is Verdict.VIOLATION
    with pytest.raises(ParseError, match="cannot be told apart"):
        read_text(text % 0)


TRACEGEN = "0: load-reserve-req 0x80 #0 @1\n0: resp 0 #0 @2\n0: store-cond-req 1 0x80 #1 @3\n0: resp {} #1 @4\n"


def test_a_store_conditional_that_failed_wrote_nothing() -> None:
    for answer in (1, 2, -1):
        (history,) = read_text(TRACEGEN.format(answer))
        assert operations(history) == ["T0: ld 0x80 -> 0"]
    (history,) = read_text(TRACEGEN.format(0))
    assert operations(history) == ["T0: ld 0x80 -> 0", "T0: rmw 0x80: 0 -> 1"]


@pytest.mark.parametrize("answer", [0, 1])
def test_a_store_conditional_ends_the_reservation(answer: int) -> None:
    with pytest.raises(ParseError, match="without a load-reserve of its address"):
        read_text(TRACEGEN.format(answer) + "0: store-cond-req 2 0x80 #2 @5\n0: resp 0 #2 @6\n")


def jepsen(*events: tuple[int, str, str, str]) -> str:
    return "".join(f"{{:process {p} :type :{t} :f :{f} :key :x :value {v}}}\n" for p, t, f, v in events)


def test_what_failed_in_jepsen_did_not_happen() -> None:
    text = jepsen((0, "invoke", "write", "1"), (0, "fail", "write", "1"), (1, "invoke", "cas", "[0 2]"),
                  (1, "fail", "cas", "[0 2]"), (2, "invoke", "read", "nil"), (2, "fail", "read", "nil"),
                  (2, "invoke", "read", "nil"), (2, "ok", "read", "0"))  # fmt: skip
    assert operations(read_text(text)[0]) == ["T2: ld :x -> 0"]


def test_what_may_have_happened_in_jepsen() -> None:
    text = jepsen((0, "invoke", "write", "1"), (0, "info", "write", "1"), (1, "invoke", "read", "nil"),
                  (1, "info", "read", "nil"), (2, "invoke", "read", "nil"), (2, "ok", "read", "1"),
                  (3, "invoke", "write", "4"))  # fmt: skip
    assert operations(read_text(text)[0]) == ["T0: st :x = 1", "T2: ld :x -> 1", "T3: st :x = 4"]
    cas = jepsen((0, "invoke", "cas", "[0 2]"), (0, "info", "cas", "[0 2]"), (1, "invoke", "read", "nil"))
    assert operations(read_text(cas + jepsen((1, "ok", "read", "0")))[0]) == ["T1: ld :x -> 0"]
    assert operations(read_text(cas + jepsen((1, "ok", "read", "2")))[0]) == ["T1: ld :x -> 2", "T0: rmw :x: 0 -> 2"]
    with pytest.raises(ParseError, match="goes on after :info") as caught:
        read_text(cas + jepsen((0, "invoke", "read", "nil")))
    assert caught.value.location is not None
    assert caught.value.location.line == 4


def test_a_cas_that_another_needs_has_happened_in_jepsen() -> None:
    events = [(p, t, "cas", v) for p, v in ((0, "[0 1]"), (1, "[1 2]"), (2, "[2 3]")) for t in ("invoke", "info")]
    read = jepsen((3, "invoke", "read", "nil"), (3, "ok", "read", "2"))
    (history,) = read_text(jepsen(*events) + read)
    assert operations(history) == ["T3: ld :x -> 2", "T0: rmw :x: 0 -> 1", "T1: rmw :x: 1 -> 2"]
    assert check(history).verdict is Verdict.SAFE


@pytest.mark.parametrize("value", ["0", "5"])
def test_a_cas_of_a_value_that_was_there_without_it_cannot_be_told(value: str) -> None:
    """Both may have written 5, and 0 may be the initial value: to take them for done would be a false alarm."""
    text = jepsen(*((p, t, "cas", f"[{p} {value}]") for p in (7, 8) for t in ("invoke", "info")))
    with pytest.raises(ParseError, match="cannot be told whether it happened"):
        read_text(text + jepsen((3, "invoke", "read", "nil"), (3, "ok", "read", value)))


# ---- times and final values


def test_the_recorded_times_are_an_order() -> None:
    """Threads one after the other in the file; the times tell how they ran. Either time alone is tried as well."""
    text = "0: M[0] := 1 @ {}:{}\n0: M[0] := 2 @ {}:{}\n1: M[0] == 1 @ {}:{}\n1: M[0] == 2 @ {}:{}\n"
    for times in ((1, 2, 5, 6, 3, 4, 7, 8), (1, 9, 5, 9, 3, 9, 7, 9), (0, 2, 0, 6, 0, 4, 0, 8)):
        (history,) = read_text(text.format(*times))
        assert check(history).decided_by == "order"
    (history,) = read_text(text.format(1, 2, 3, 4, 5, 6, 7, 8))  # the times of another run
    outcome = check(history)
    assert (outcome.verdict, outcome.decided_by) == (Verdict.SAFE, "search")


@pytest.mark.parametrize("text", ["final x = {}\n", "T0: st x = 1\nT1: st x = 2\nfinal x = {}\n"])
def test_final_lines(text: str) -> None:
    for value in (0, 1, 2):
        (history,) = read_text(text.format(value))
        written = (1, 2) if "st" in text else (0,)
        if value in (*written, 0):
            assert (check(history).verdict is Verdict.SAFE) == (value in written)


def test_many_threads_and_addresses() -> None:
    """A quarter of a million pairs of a thread and an address, each used once."""
    text = "".join(f"{i}: M[{i * 7919}] := {i}\n{i}: M[{i * 7919}] == {i}\n" for i in range(500))
    (history,) = read_text(text, format="axe")
    assert (len(history.threads), len(history.addresses)) == (500, 500)
    for model in ("sc", "tso", "pso"):
        assert check(history, model, use_order=False).verdict is Verdict.SAFE  # type: ignore[arg-type]
    assert isinstance(history, History)


def test_a_file_that_no_memory_holds_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "endless.axe"
    path.write_text("0: M[0] := 1\n" * 10_000)
    os.truncate(path, 1 << 43)  # without a block more on the disk
    with pytest.raises(ParseError, match=r"too large for this machine's memory: it needs \d+\.\d GB, and there are"):
        read(path)


DECIDED = """
import resource, sys
from teetotal import _core
from teetotal.histories.check import check
from teetotal.histories.readers import read
(history,) = read(sys.argv[1])
needed, share = _core.memory_to_saturate(history.columns, 2), float(sys.argv[2])
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + int(share * needed), resource.RLIM_INFINITY))
outcome = check(history, "pso", use_order=False)
print(needed, outcome.verdict.value, outcome.decided_by, outcome.effort.get("visits", 0), outcome.learned)
"""


@pytest.mark.parametrize(("share", "decided_by"), [(0.9, "memory"), (2.0, "search")])
def test_a_history_that_cannot_be_decided_here_is_refused_before_it_is(
    share: float, decided_by: str, tmp_path: Path
) -> None:
    """Under PSO a row has a number for each thread and address: what it needs is known before anything is done, and for
    so short a history twice that is enough."""
    path = tmp_path / "wide.axe"
    path.write_text(to_axe(random_history(threads=8, addresses=64, operations=8000, seed=3)))
    command = [sys.executable, "-c", DECIDED, str(path), str(share)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(maxsplit=4)
    assert int(told[0]) > 1 << 24
    assert told[2] == decided_by
    if decided_by == "memory":
        assert told[1] == "inconclusive"
        assert told[3] == "0"
        assert re.match(r"nothing: it needs 0\.0\d\d GB, and there are 0\.0\d\d GB to spare", told[4])


@pytest.mark.parametrize("text", ["", "# nothing\n\n", "; EDN's\n", " \t\n; one\n# another\n"])
def test_comments_alone_are_no_history(text: str) -> None:
    with pytest.raises(ParseError, match="there is no history in it"):
        read_text(text)


def test_a_store_conditional_needs_the_reservation_of_its_own_address() -> None:
    text = "0: load-reserve-req 0x80 #0 @1\n0: resp 0 #0 @2\n0: store-cond-req 5 0x88 #1 @3\n0: resp 0 #1 @4\n"
    with pytest.raises(ParseError, match="without a load-reserve of its address"):
        read_text(text, format="tracegen")
    assert len(read_text(text.replace("0x88", "0x80"), format="tracegen")[0]) == 2
