"""What people see, as it is: the text of each verb at 60, 80 and 120 columns, in ``terminal/``.

``python tests/golden/test_terminal.py`` writes the files again, to be read before they are committed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import teetotal
from teetotal import report, traces
from teetotal.answers.answer import Answer
from teetotal.answers.events import Event, Kind, Location
from teetotal.answers.violation import StoryStep, Violation
from teetotal.report import story
from teetotal.report.style import MARKS, Page
from teetotal.traces.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
FILES = Path(__file__).parent / "terminal"
WIDTHS = (60, 80, 120)
ANSWERS: dict[str, Callable[[], Answer]] = {
    "check-c-breaks": lambda: teetotal.check("examples/dekker.c"),
    "check-c-harmless": lambda: teetotal.check("benchmarks/programs/spsc.c", models="tso"),
    "check-litmus": lambda: teetotal.check("tests/corpus/SB.litmus"),
    "check-python": lambda: teetotal.check("examples/message_passing.py", program="unfenced"),
    "check-promela": lambda: teetotal.check("benchmarks/promela/spsc.pml"),
    "fence": lambda: teetotal.fence("examples/dekker.c").answer,
    "history": lambda: teetotal.check_history("examples/histories/store-buffering.txt"),
    "verify": lambda: teetotal.verify("benchmarks/promela/spsc.pml", models="pso"),
}
SB = ("check", "tests/corpus/SB.litmus")


def blotted(text: str) -> str:
    return re.sub(r"\d+\.\d{3} s", "0.000 s", text)


def shown(arguments: tuple[str, ...], columns: int | None = None, **environment: str) -> str:
    plain = {
        name: value for name, value in os.environ.items() if name not in ("TEETOTAL_COLUMNS", "NO_COLOR", "FORCE_COLOR")
    }
    width = {} if columns is None else {"TEETOTAL_COLUMNS": str(columns)}
    done = subprocess.run(
        [sys.executable, "-m", "teetotal", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**plain, **width, **environment},
    )
    return blotted(done.stdout + done.stderr)


@pytest.mark.parametrize("case", ANSWERS)
def test_the_text_is_that_of_the_files(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    answer = ANSWERS[case]()
    for columns in WIDTHS:
        text = blotted(report.text(answer, Page(columns)))
        assert f"{text}\n" == (FILES / f"{case}-{columns}.txt").read_text()
        for line in text.splitlines():  # commands, and the patch and table of fences, are not broken
            assert len(line) <= columns or line.startswith("  Again: ") or case == "fence", line


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_command_line_keeps_to_the_terminal(columns: int) -> None:
    assert shown(SB, columns) == (FILES / f"check-litmus-{columns}.txt").read_text()


def test_colours_are_for_those_who_want_them() -> None:
    plain = shown(SB)
    assert "\x1b" not in plain
    coloured = shown(SB, FORCE_COLOR="1")
    assert "\x1b[1;31mviolation\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    assert shown(SB, FORCE_COLOR="1", NO_COLOR="1") == plain
    assert not any(mark in plain for mark in MARKS)


def test_colours_of_somebody_else_are_shown_and_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "x\x1b[31my.litmus"
    path.write_text((ROOT / "tests" / "corpus" / "SB.litmus").read_text())
    assert "x\\x1b[31my.litmus" in shown(("check", str(path)), FORCE_COLOR="1")


def test_a_trace_full_of_races_is_told_on_a_page(tmp_path: Path) -> None:
    """Each pair of places is a violation of its own, thousands of them."""
    n = 5_000
    rng = np.random.default_rng(1)
    path = tmp_path / "racy.trace"
    places = [Location("f.c", line) for line in range(400)]
    traces.write(
        Trace.from_sc(
            thread=rng.integers(0, 4, n),
            kind=rng.integers(0, 2, n),
            address=rng.integers(0, 20, n),
            location=rng.integers(0, len(places), n),
            locations=places,
        ),
        path,
    )
    lines = shown(("monitor", str(path)), 100).splitlines()
    assert "violation (" in " ".join(" ".join(lines[:4]).split())
    assert len(lines) < 150
    assert sum(line.startswith("  … and ") for line in lines) == 2
    assert len(shown(("monitor", "-q", str(path)), 200).splitlines()) == 1


def test_steps_that_do_not_matter_are_folded() -> None:
    events = [Event(0, number, Kind.ST, f"x{number}", number) for number in range(40)]
    events.append(Event(1, 0, Kind.LD, "x3", 3))
    steps = [StoryStep(event.thread, "event", number) for number, event in enumerate(events)]
    told = Violation(model="sc", kind="assertion", events=events, steps=steps)
    lines = list(story.steps(told, "f.c"))
    assert [line.split()[0] for line in lines[1:-1]] == ["…", "4", "…", "40", "41"]
    assert lines[-1] == "  (-v tells every step)"
    assert len(list(story.steps(told, "f.c", Page(unfolded=True)))) == 42


def promote() -> None:
    os.chdir(ROOT)
    FILES.mkdir(exist_ok=True)
    for case, answer in ANSWERS.items():
        found = answer()
        for columns in WIDTHS:
            (FILES / f"{case}-{columns}.txt").write_text(f"{blotted(report.text(found, Page(columns)))}\n")


if __name__ == "__main__":
    promote()
