"""``teetotal monitor``: recorded traces through the monitors, in one pass, with all that can go wrong on the way."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from interrupts import PATIENCE, hear_interrupts
from recorded import STORE_BUFFERING, saved
from teetotal import traces
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Event, Kind, Location
from teetotal.cli import teetotal
from teetotal.traces.trace import Trace
from terminals import on_a_terminal
from trace_outcomes import ARROW, OWN, formats


def run(*arguments: str, stdin: bytes | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(teetotal, ["monitor", *arguments], standalone_mode=False, input=stdin)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.stdout, result.stderr


# -- the command ------------------------------------------------------------------------------------------------------

TEXT = """\
{path}: violation (2 distinct)
4 events, 2 threads, 0.000 s

monitor    model  reports  distinct (pairs)
exact-tso  TSO          1                 1
exact-pso  PSO          1                 1

TSO, exact-tso: dekker.c:25 can overtake dekker.c:12 (once)
  Under TSO, T1's ld x → 1 at dekker.c:25 (event 3) may take effect before T0's st x = 1 at dekker.c:12 (event 0), \
which happens before it in this trace.
  No sequentially consistent execution does that:
    T0: st x = 1  comes before  T0: ld y → 0  in program order
    T0: ld y → 0  comes before  T1: st y = 1  because T0's load of y saw the initial value, which T1's st y = 1 \
overwrites
    T1: st y = 1  comes before  T1: ld x → 1  in program order
    T1: ld x → 1  comes before  T0: st x = 1  because under TSO T1's load of x may see the value that T0's st x = 1 \
overwrites later
  so T0: st x = 1 would come before itself: a contradiction.

PSO, exact-pso: dekker.c:25 can overtake dekker.c:12 (once): as exact-tso says

"""


@pytest.mark.parametrize(
    "suffix",
    [pytest.param(suffix, marks=() if format in OWN else ARROW) for suffix, format in traces.SUFFIXES.items()],
)
def test_the_text(suffix: str, tmp_path: Path) -> None:
    path = saved(STORE_BUFFERING, tmp_path / f"sb{suffix}")
    status, output, errors = run(path)
    assert (status, errors) == (1, "")
    assert re.sub(r"\d+\.\d{3} s", "0.000 s", output) == TEXT.format(path=path)


def test_the_json(tmp_path: Path) -> None:
    path = saved(STORE_BUFFERING, tmp_path / "sb.trace")
    status, output, errors = run("--json", "--monitor", "exact-tso", "--group", "triple", path)
    assert (status, errors) == (1, "")
    answer = json.loads(output)
    assert {"input", "command", "models", "verdict", "complete", "seconds", "violations"} <= set(answer)
    assert (answer["input"], answer["command"], answer["verdict"]) == (path, "monitor", "violation")
    assert answer["complete"] is True
    assert answer["models"] == {"tso": {"verdict": "violation", "robust": False, "reports": {"exact-tso": 1}}}
    (violation,) = answer["violations"]
    assert {"model", "monitor", "events", "cycle", "locations"} <= set(violation)
    assert violation["locations"] == ["dekker.c:12", "dekker.c:24", "dekker.c:25"]
    assert [edge["reason"] for edge in violation["cycle"]] == ["po", "fr", "po", "fr"]


def test_a_trace_in_which_nothing_can_be_seen(tmp_path: Path) -> None:
    fence = [Event(thread, 2, Kind.MFENCE) for thread in (0, 1)]
    fenced = [*STORE_BUFFERING[:1], fence[0], *STORE_BUFFERING[1:3], fence[1], STORE_BUFFERING[3]]
    status, output, _ = run(saved(fenced, tmp_path / "sb.trace"))
    assert status == 0
    assert "no violation can be seen in this trace" in output
    status, output, _ = run("--json", saved([], tmp_path / "empty.trace"))
    assert status == 0
    assert json.loads(output)["verdict"] == "safe"


def test_options_reach_the_monitors(tmp_path: Path) -> None:
    """Message passing with an rmw between the stores: it flushes all buffers, or only its own address."""
    events = [
        Event(0, 0, Kind.ST, "x", 1),
        Event(0, 1, Kind.RMW, "z", 1, 0),
        Event(0, 2, Kind.ST, "y", 1),
        Event(1, 0, Kind.LD, "y", 1),
        Event(1, 1, Kind.LD, "x", 1),
    ]
    path = saved(events, tmp_path / "mp.trace")
    assert run(path)[0] == 0
    assert run("--rmw", "address", path)[0] == 1
    locked = [Event(0, 0, Kind.LOCK, "m", 1, 0), events[0], Event(0, 2, Kind.UNLOCK, "m", 0, 1),
              Event(0, 3, Kind.ST, "y", 1), *events[3:]]  # fmt: skip
    path = saved(locked, tmp_path / "locked.trace")
    assert run("--rmw", "address", path)[0] == 0
    assert run("--rmw", "address", "--mutex", "rmw", path)[0] == 1


@pytest.mark.parametrize("format", formats("binary", "jsonl", "arrow-stream"))
def test_standard_input(format: traces.Format) -> None:
    file = io.BytesIO()
    file.close = lambda: None  # type: ignore[method-assign]
    traces.write(Trace.from_events(STORE_BUFFERING), file, format)
    status, output, _ = run("--json", "-", stdin=file.getvalue())
    assert status == 1
    assert json.loads(output)["input"] == "<stdin>"


def test_damage_is_told_after_what_came_before_it(tmp_path: Path) -> None:
    path = tmp_path / "sb.jsonl"
    saved(STORE_BUFFERING, path)
    good = saved(STORE_BUFFERING, tmp_path / "good.trace")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + b'{"thread":0,"kind":"unlock","address":"m"}\n')
    status, output, errors = run(str(path), good, str(tmp_path / "missing.trace"))
    assert status == 2
    assert output.count("T1: ld x → 1  comes before  T0: st x = 1") == 2
    assert "violation (2 distinct), not everything read" in output
    assert f"{path}:6: T0 unlocks m, which nobody holds" in errors
    assert f"{tmp_path}/missing.trace: No such file or directory" in errors
    answer = json.loads(run("--json", str(path))[1])
    assert (answer["verdict"], answer["complete"]) == ("violation", False)
    assert answer["error"].endswith("sb.jsonl:6: T0 unlocks m, which nobody holds")
    path.write_bytes(b"".join(lines[:2]))
    status, output, _ = run("--json", str(path))
    answer = json.loads(output)
    assert (status, answer["verdict"], answer["complete"]) == (2, "inconclusive", False)


def test_bad_usage(tmp_path: Path) -> None:
    path = saved(STORE_BUFFERING, tmp_path / "sb.trace")
    for arguments, message in (
        (["--monitor", "exact-sc", path], "no monitor is called exact-sc"),
        (["--monitor", ",", path], "--monitor names no monitor"),
        (["-", "-"], "standard input can be read only once"),
        ([], "Missing argument"),
        ([str(tmp_path)], "Is a directory"),
    ):
        done = subprocess.run([sys.executable, "-m", "teetotal", "monitor", *arguments], capture_output=True, text=True)
        assert done.returncode == 2
        assert message in done.stderr


def test_many_violations_are_counted_and_listed(tmp_path: Path) -> None:
    events = []
    for i in range(8):
        for e in STORE_BUFFERING * 3:
            place = Location("d.c", 100 * i + e.location.line) if e.location else None
            events.append(Event(e.thread, 0, e.kind, f"{e.address}{i}", None, None, place))
    path = saved(events, tmp_path / "many.trace")
    _, output, _ = run("--monitor", "exact-tso", path)
    assert "13 more of exact-tso, the most frequent first (--violations tells them all):" in output
    assert "  … and 3 more" in output
    heads = {line.strip() for line in output.splitlines() if "can overtake" in line}
    assert (len(heads), output.count("a contradiction.")) == (13, 3)
    _, output, _ = run("--monitor", "exact-tso", "--violations", path)
    told = [line for line in output.splitlines() if "can overtake" in line]
    assert (len(told), output.count("a contradiction.")) == (16, 16)
    assert heads <= set(told)
    assert any("times)" in head for head in heads)


@pytest.mark.parametrize(("events", "status", "verdict"), [(STORE_BUFFERING, 1, "violation"), ([], 3, "inconclusive")])
def test_an_interrupt_keeps_what_was_found(events: list[Event], status: int, verdict: str) -> None:
    """A recorder that never ends, stopped with Ctrl-C."""
    command = [sys.executable, "-m", "teetotal", "monitor", "--json", "-"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hear_interrupts,
    )
    assert process.stdin is not None
    file = io.BytesIO()
    traces.write(Trace.from_events(events), file, "jsonl")
    process.stdin.write(b"".join(file.getvalue().splitlines(keepends=True)[:-1]))
    process.stdin.write(
        b'{"thread":0,"kind":"mfence"}\n' * 40_000
    )  # more than a pipe and a reader hold: the rest is read
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    # What it reads has no end: were that closed now, it could be done before it hears of it.
    process.wait(timeout=PATIENCE)
    output, errors = process.communicate()
    answer = json.loads(output)
    assert (process.returncode, answer["verdict"], answer["complete"]) == (status, verdict, False)
    assert len(events) <= answer["events"] <= len(events) + 40_000
    assert b"Traceback" not in errors


def test_progress_shows_on_a_terminal_only(tmp_path: Path) -> None:
    n = 400_000
    path = tmp_path / "long.trace"
    columns: dict[str, Any] = {"thread": np.zeros(n, int), "kind": np.zeros(n, int), "address": np.zeros(n, int)}
    traces.write(Trace.from_sc(**columns), path)
    command = [sys.executable, "-m", "teetotal", "monitor", str(path)]
    done = subprocess.run(command, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"no violation can be seen" in done.stdout
    assert "events" in on_a_terminal("monitor", str(path))


def test_memory_does_not_grow_with_the_trace(tmp_path: Path) -> None:
    """Peak memory of the whole command, for a trace and for one eight times as long."""
    peaks = []
    for n in (250_000, 2_000_000):
        rng = np.random.default_rng(22)
        kind = rng.choice(np.array([0, 0, 1, 3], np.uint8), n)
        address = np.where(kind == 3, -1, rng.integers(0, 50, n))
        path = tmp_path / f"{n}.trace"
        places = {"location": np.zeros(n, int), "locations": [Location("a.c", 1)]}
        traces.write(Trace.from_sc(thread=rng.integers(0, 4, n), kind=kind, address=address, **places), path)
        script = (
            "from teetotal.cli import teetotal\n"
            f"teetotal.main(['monitor', '--json', '--window', '1000', {str(path)!r}], standalone_mode=False)\n"
            "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
        )
        output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        result, peak = output.splitlines()
        assert json.loads(result)["events"] == n
        peaks.append(int(peak))
    assert peaks[1] < peaks[0] + 40_000, "kilobytes; what is read is handed back every 32 MiB"


# -- C11: traces that say which order each event has --------------------------------------------------------------------

HEADER = '{"format": "teetotal-trace", "version": 1}\n'


def message(first: str, second: str, third: str) -> str:
    lines = [
        f'{{"thread": 0, "kind": "st", "address": "x", "value": 1, "location": "mp.c:1", {first}}}',
        f'{{"thread": 0, "kind": "st", "address": "y", "value": 1, "location": "mp.c:2", {second}}}',
        f'{{"thread": 1, "kind": "ld", "address": "y", "value": 1, "location": "mp.c:3", {third}}}',
        f'{{"thread": 1, "kind": "ld", "address": "x", "value": 1, "location": "mp.c:4", {first}}}',
    ]
    return HEADER + "\n".join(lines) + "\n"


RELAXED, RELEASE, ACQUIRE, PLAIN = (f'"order": "{word}"' for word in ("relaxed", "release", "acquire", "na"))


@pytest.mark.parametrize(
    ("orders", "status", "told"),
    [
        ((RELAXED, RELAXED, ACQUIRE), 1, "mp.c:4 can overtake mp.c:1 (once)"),
        ((RELAXED, RELEASE, ACQUIRE), 0, "no violation can be seen"),
        ((PLAIN, RELEASE, ACQUIRE), 0, "no violation can be seen"),
        ((PLAIN, RELAXED, ACQUIRE), 1, "mp.c:4 races with mp.c:1 (once)"),
    ],
)
def test_orders_of_c11(orders: tuple[str, str, str], status: int, told: str, tmp_path: Path) -> None:
    path = tmp_path / "mp.jsonl"
    path.write_text(message(*orders))
    again = tmp_path / "again.jsonl"
    traces.convert(path, again)
    for written in (path, again):
        result = CliRunner().invoke(teetotal, ["monitor", "--model", "c11", str(written)], standalone_mode=False)
        assert (result.return_value, told in result.output) == (status, True), result.output


def test_what_has_no_orders_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mp.jsonl"
    path.write_text(message(RELAXED, RELEASE, '"location": "mp.c:3"').replace('"mp.c:3", "location": ', ""))
    result = CliRunner().invoke(teetotal, ["monitor", "--monitor", "exact-c11", str(path)], standalone_mode=False)
    assert result.return_value == 2
    assert "event 2: T1: ld y → 1 does not say which order of C11 it has" in result.output
    with pytest.raises(TeetotalError, match="a binary trace has no room for C11's orders; JSON lines have"):
        traces.convert(path, tmp_path / "mp.tet", "binary")
    path.write_text(HEADER + '{"thread": 0, "kind": "lock", "address": "m", "order": "acquire"}\n')
    result = CliRunner().invoke(teetotal, ["monitor", str(path)], standalone_mode=False)
    assert result.return_value == 2
    assert "mp.jsonl:2: lock has no order of its own" in result.output


def test_models_or_monitors(tmp_path: Path) -> None:
    for arguments, problem in (
        (["--model", "c11", "--monitor", "exact-tso"], "not both"),
        (["--model", "arm"], "there are tso, pso and c11"),
    ):
        result = CliRunner().invoke(teetotal, ["monitor", *arguments, str(tmp_path)])
        assert result.exit_code == 2
        assert problem in result.output
