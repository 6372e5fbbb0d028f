"""Simulated multiprocessors: SC without store buffers, TSO with them, and every bug is caught.

``tests/fuzz_simulator.py`` looks at 10,000 histories of each protocol; here is a sample.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import teetotal
from teetotal import record
from teetotal.answers.errors import TeetotalError
from teetotal.answers.verdict import Verdict
from teetotal.histories.check import check

SAMPLE = 60
CAUGHT_WITHIN = 100
"""Histories of 100 operations that show each bug."""
SHAPE = record.Shape(threads=4, operations=100, addresses=8, rmws=0.05, fences=0.05)


@pytest.mark.parametrize("buffer", [0, 4])
@pytest.mark.parametrize("protocol", record.PROTOCOLS)
def test_a_correct_protocol_keeps_its_promise(protocol: str, buffer: int) -> None:
    model = "tso" if buffer else "sc"
    weak = 0
    for one in record.simulate(record.Machine(protocol=protocol, buffer=buffer), SHAPE, count=SAMPLE):
        history = one.history
        assert check(history, model).verdict is Verdict.SAFE, one.text("text")
        weak += bool(buffer) and check(history, "sc").verdict is Verdict.VIOLATION
    assert weak > SAMPLE // 4 if buffer else weak == 0


@pytest.mark.parametrize(
    "machine",
    [
        record.Machine(sets=1, ways=1, words=1, home_lines=1),
        record.Machine(sets=1, ways=4, words=8, home_lines=1, delay=0),
        record.Machine(protocol="hammer", sets=1, ways=2, words=1, delay=500),
        record.Machine(protocol="amd", sets=4, ways=2, words=4, delay=3),
        record.Machine(protocol="mi", sets=1, ways=1, words=8, delay=1),
    ],
)
def test_whatever_the_caches(machine: record.Machine) -> None:
    for one in record.simulate(machine, record.Shape(threads=6, operations=150, addresses=5), count=15):
        assert check(one.history, "sc").verdict is Verdict.SAFE, one.text("text")


@pytest.mark.parametrize(
    ("protocol", "bug"), [(protocol, bug) for bug, protocols in record.BUGS.items() for protocol in protocols]
)
def test_every_bug_is_caught(protocol: str, bug: str) -> None:
    buffer = 4 if bug in record.NEED_BUFFERS else 0
    machine = record.Machine(protocol=protocol, bug=bug, buffer=buffer)
    histories = record.simulate(machine, SHAPE, count=CAUGHT_WITHIN)
    model = "tso" if buffer else "sc"
    caught = next(one for one in histories if check(one.history, model).verdict is Verdict.VIOLATION)
    answer = teetotal.check_history(caught.history, model)
    assert answer.violations  # told, with a proof that was checked
    assert answer.violations[0].proof


def test_each_protocol_has_three_bugs_of_its_own() -> None:
    for protocol in record.PROTOCOLS:
        assert sum(protocol in used for bug, used in record.BUGS.items() if bug not in record.NEED_BUFFERS) >= 3


def test_the_same_seed_is_the_same_history() -> None:
    first = [one.text() for one in record.simulate(record.Machine(protocol="amd"), SHAPE, count=3, seed=5)]
    assert first == [one.text() for one in record.simulate(record.Machine(protocol="amd"), SHAPE, count=3, seed=5)]
    assert len(set(first)) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol": "dragon"},
        {"bug": "nonsense"},
        {"protocol": "mi", "bug": "silent-recall"},
        {"bug": "weak-fence"},
        {"words": 9},
    ],
)
def test_machines_that_cannot_be(wrong: dict[str, object]) -> None:
    with pytest.raises(TeetotalError):
        record.Machine(**wrong)  # type: ignore[arg-type]


def test_from_the_command_line(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "teetotal", *arguments], capture_output=True, text=True, check=False, timeout=60
        )

    path = str(tmp_path / "h.axe")
    assert run("record", "simulate", "--bug", "lost-copyback", "--count", "5", "--output", path).returncode == 0
    assert run("history", "--model", "sc", path).returncode == 1
    assert "silent-recall" in run("record", "simulate", "--bug", "list").stdout
    wrong = run("record", "simulate", "--protocol", "mi", "--bug", "silent-recall")
    assert wrong.returncode == 2
    assert "mi has no bug called silent-recall; there are lost-invalidation" in wrong.stderr
