"""Recordings: from this machine's processors; and what is kept of one that ends early."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

import teetotal
from interrupts import PATIENCE, hear_interrupts, members
from teetotal import record
from teetotal.answers.errors import OutputError, TeetotalError
from teetotal.answers.events import Kind
from teetotal.answers.record import Seen, StressAnswer
from teetotal.answers.verdict import Verdict
from teetotal.histories import readers
from teetotal.programs import litmus
from teetotal.record import harness
from teetotal.record.clients import Client, Recorded
from teetotal.record.recording import Recording
from teetotal.report.schema import schema
from teetotal.report.stress import render

CORPUS = Path(__file__).parents[1] / "corpus"
x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="what other processors do is not known here")


def run(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "teetotal", "record", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **settings)  # type: ignore[call-overload,no-any-return]


def test_a_client_writes_each_value_once_and_does_as_much_as_was_asked() -> None:
    shape = record.Shape(threads=3, operations=2000, addresses=5, writes=0.4, rmws=0.2, fences=0.1)
    client = Client(shape, 7, body=50)
    accesses = [access for thread in client.threads for access in thread]
    written = [access.value for access in accesses if access.kind in (Kind.ST, Kind.RMW)]
    assert [len(thread) for thread in client.threads] == [667, 667, 666]
    assert len(set(written)) == len(written)
    assert 0 not in written
    kinds = {kind: sum(access.kind is kind for access in accesses) / 2000 for kind in Kind}
    assert kinds[Kind.MFENCE] == pytest.approx(0.1, abs=0.06)
    assert kinds[Kind.RMW] == pytest.approx(0.2, abs=0.06)
    assert kinds[Kind.ST] == pytest.approx(0.28, abs=0.08)
    assert client.threads == Client(shape, 7, body=50).threads
    assert client.threads != Client(shape, 8, body=50).threads


@pytest.mark.parametrize("format", ["axe", "text"])
def test_both_formats_say_the_same(format: str) -> None:
    client = Client(record.Shape(operations=40, rmws=0.2, fences=0.2), 1)
    results = iter(range(1000, 2000))
    recorded = Recorded("r", client, [next(results) for _ in range(sum(client.reads))])
    (read,) = readers.read_text(recorded.text(format))  # type: ignore[arg-type]
    results = iter(recorded.results)
    assert [(op.kind, op.written, op.read) for op in read] == [
        (
            access.kind,
            access.value if access.kind in (Kind.ST, Kind.RMW) else None,
            next(results) if access.reads else None,
        )
        for thread in client.threads
        for access in thread
    ]


@x86
def test_histories_of_this_machine_are_tso() -> None:
    shape = record.Shape(threads=2, operations=60, addresses=2, rmws=0.1, fences=0.1)
    for lines in ("separate", "shared"):
        histories = list(record.hardware(shape, clients=2, rounds=20, lines=lines))  # type: ignore[arg-type]
        assert len(histories) == 40
        for one in histories:
            assert teetotal.check_history(one.history, "tso").verdict is Verdict.SAFE, one.text("text")


@x86
def test_a_long_history_of_this_machine_is_tso() -> None:
    (one,) = record.hardware(record.Shape(operations=100_001, addresses=8), rounds=1)
    assert len(one.history) == 100_001
    assert teetotal.check_history(one.history, "tso").verdict is Verdict.SAFE


def test_each_round_has_fresh_memory_and_none_is_added() -> None:
    """Of several batches: what one leaves behind would look like values that nobody wrote."""
    code = """
static void set_up(char *memory) { memory[1] += 2; }
static void run_0(char *memory, int64_t *log) { log[0] += memory[0] += memory[1]; }
static void tell(char *memory, int64_t *log) { putchar('0' + memory[0] + (int)log[0]); }
static void finish(void) {}
"""
    test = harness.Test(threads=1, memory_bytes=2, log_words=1, code=code)
    with harness.running(test, 2500) as out:
        assert out.read() == b"4" * 2500


def test_what_runs_ends_with_whoever_started_it() -> None:
    code = (
        "from teetotal.record import harness\n"
        "code = 'static void set_up(char *m) {} static void run_0(char *m, int64_t *l) { for (;;); }'\n"
        "code += 'static void tell(char *m, int64_t *l) {} static void finish(void) {}'\n"
        "with harness.running(harness.Test(threads=1, memory_bytes=1, log_words=1, code=code), 1) as out:\n"
        "    print('runs', flush=True)\n    out.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"runs\n"
        assert len(members(process.pid)) >= 2
        process.kill()
    end = time.monotonic() + PATIENCE
    while members(process.pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not members(process.pid)


@x86
@pytest.mark.parametrize("name", ["SB", "SB+mfences", "MP-pointer", "MP-spin+relaxed", "C-SB+fences", "MP+xchgs"])
def test_a_litmus_test_shows_what_tso_allows(name: str) -> None:
    answer = record.stress(litmus.read_file(CORPUS / f"{name}.litmus"), rounds=2000)
    assert answer.verdict is Verdict.INCONCLUSIVE  # what was not seen is not proved
    ended = sum(seen.count for seen in answer.histogram)
    assert ended == answer.positive + answer.negative
    assert ended + answer.unfinished == answer.rounds == 2000
    assert not answer.unfinished or "spin" in name  # whose writer may be kept from running for too long
    assert all(seen.model for seen in answer.histogram)


def test_what_a_model_forbids_is_told() -> None:
    seen = [
        Seen(outcome={"0:rax": 0}, count=2, sc=False, model=True, positive=True),
        Seen(outcome={"0:rax": 7}, count=3, sc=False, model=False, positive=False),
    ]
    answer = StressAnswer(
        input="t", command="record hardware", verdict=Verdict.VIOLATION, complete=True, seconds=1.0, name="T",
        model="tso", rounds=5, histogram=seen, observation="Sometimes", positive=2, negative=3,
    )  # fmt: skip
    text = render(answer)
    assert "2         *>0:rax=0;  not SC" in text
    assert "3         :>0:rax=7;  TSO forbids this!" in text
    assert "3 rounds ended in states that TSO forbids" in text


def test_without_a_compiler() -> None:
    done = run("hardware", "--cc", "no-such-compiler")
    assert done.returncode == 2
    assert "needs a C compiler" in done.stderr


# -- what is kept ----------------------------------------------------------------------------------------------------


def test_what_was_held_back_and_could_not_be_written_is_not_called_whole() -> None:
    client = Client(record.Shape(operations=5), 0)
    file = Recording("/dev/full", may_begin_again=True)
    for number in range(3):
        file.add(Recorded(f"r{number}", client, [0] * sum(client.reads)).text())
    with pytest.raises(OutputError, match="the 0 histories before are whole"):
        file.__exit__(None, None, None)


def test_a_full_disk_keeps_whole_histories(tmp_path: Path) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    path = tmp_path / "h.axe"
    client = Client(record.Shape(operations=50), 0)
    done = subprocess.run(
        [
            sys.executable,
            "-B",  # or else it would leave bytecode that ends where the file is full
            "-c",
            "import sys; from teetotal.record import *\n"
            "client = Client(Shape(operations=50), 0)\n"
            "with Recording(sys.argv[1]) as file:\n"
            "    for number in range(100): file.add(Recorded(f'r{number}', client, [0] * sum(client.reads)).text())\n",
            str(path),
        ],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=little_room,
        timeout=60,
    )
    assert "OutputError: cannot write" in done.stderr
    assert "File too large" in done.stderr
    histories = teetotal.read_histories(path)
    size = len(Recorded("r1", client, [0] * sum(client.reads)).text())
    assert len(histories) == 5000 // size
    assert all(len(history) == 50 for history in histories)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "source",
    [
        ("hardware", "--rounds", "100000000", "--operations", "5000"),
        ("simulate", "--count", "10000000", "--operations", "500"),
        ("program", str(Path(__file__).parents[2] / "examples" / "dekker.c"), "--count", "1000000"),
    ],
    ids=lambda source: source[0],
)
def test_an_interrupt_keeps_whole_histories(tmp_path: Path, number: int, source: tuple[str, ...]) -> None:
    """From a source without end, which goes on writing while it is asked to end."""
    path, page = tmp_path / "h.axe", tmp_path / "h.json"
    command = [sys.executable, "-m", "teetotal", "record", *source, "--output", f"json:{page}"]
    with subprocess.Popen(
        [*command, "--output", str(path)], stderr=subprocess.PIPE, text=True, preexec_fn=hear_interrupts
    ) as process:
        end = time.monotonic() + PATIENCE
        while not path.exists() or path.stat().st_size == 0:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    histories = teetotal.read_histories(path)
    assert histories
    if source[0] != "program":  # whose executions are of different lengths
        assert {len(history) for history in histories} == {int(source[-1])}
    operations = sum(map(len, histories))
    assert re.search(f"^{len(histories):,} histor\\w+ of {operations:,} operations recorded", said)
    told = json.loads(page.read_text())
    assert (told["histories"], told["operations"], told["complete"]) == (len(histories), operations, False)


def test_what_is_written_when_an_interrupt_comes_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next one is heard again."""
    write = os.write

    def interrupted(file: int, data: bytes) -> int:
        signal.raise_signal(signal.SIGINT)
        return write(file, data)

    with Recording(str(tmp_path / "h")) as file:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                file.add("whole\n", 2)
        assert (file.histories, file.operations) == (1, 2)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        file.add("another\n", 3)
    assert (file.histories, file.operations, (tmp_path / "h").read_text()) == (2, 5, "whole\nanother\n")


@pytest.mark.parametrize("pipe", [False, True])
def test_what_does_not_count_is_taken_back(
    tmp_path: Path, pipe: bool, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A pipe gets nothing that may have to be taken back."""
    path = tmp_path / "h"
    with Recording("-" if pipe else str(path), may_begin_again=True) as file:
        file.add("lacks something\n", 1)
        file.begin_again()
        assert pipe or path.read_text() == ""
        file.add("whole\n", 2)
    assert (capfdbinary.readouterr().out if pipe else path.read_bytes()) == b"whole\n"
    assert (file.histories, file.operations) == (1, 2)


def test_a_recording_is_told_like_any_answer(tmp_path: Path) -> None:
    done = run("simulate", "--count", "3", "--output", "h.axe", "--json", "--html", "h.html", cwd=tmp_path)
    told = json.loads(done.stdout)
    jsonschema.validate(told, schema())
    assert (told["command"], told["histories"], told["operations"]) == ("record simulate", 3, 300)
    (first, *_) = teetotal.read_histories(tmp_path / "h.axe")
    assert len(told["first"]["events"]) == len(first) == 100
    assert told["first"]["threads"] == [f"T{operation.thread}" for operation in first]
    assert "mesi-0" in (tmp_path / "h.html").read_text()
    assert "can be written as json and html" in run("simulate", "--output", "junit:h.xml", cwd=tmp_path).stderr
    assert "standard output is for the histories" in run("simulate", "--json").stderr
    for twice in (("--output", "a", "--output", "b"), ("--output", "a", "--output", "json:a")):
        assert run("simulate", *twice, cwd=tmp_path).returncode == 2


def test_a_test_on_standard_input_and_on_a_page(tmp_path: Path) -> None:
    test = (CORPUS / "SB.litmus").read_text()
    done = run("hardware", "-", "--rounds", "1000", "--html", "h.html", input=test, cwd=tmp_path)
    assert done.stdout.startswith("Test SB\n"), done.stderr
    assert '"rounds":1000' in (tmp_path / "h.html").read_text()


def test_a_recording_that_fails_at_once_leaves_an_older_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "h.axe"
    path.write_text("0: M[1] := 1\n" * 100)
    assert run("hardware", "--cc", "no-such-compiler", "--output", str(path)).returncode == 2
    assert len(path.read_text()) > 1000
    with Recording(str(path)) as file:
        file.add("0: sync\ncheck\n")
    assert path.read_text() == "0: sync\ncheck\n"


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        Recording(str(tmp_path / "no" / "such"))


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"operations": -1}, {"writes": 1.5}, {"rmws": 0.6, "fences": 0.6}])
def test_a_client_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(TeetotalError):
        record.Shape(**wrong)  # type: ignore[arg-type]
