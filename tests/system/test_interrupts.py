"""Ctrl-C in the middle of long work: status 130, and what is known by then is printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from interrupts import pressed
from teetotal.histories.generate import random_history, to_axe
from teetotal.histories.hard import formula, random_formula

QUICK = "bit x, y; active proctype P() { x = 1 } active proctype Q() { y = 1 }\n"
HUGE = """byte x, y, z;
active proctype P() { do :: x++ od }
active proctype Q() { do :: y++ od }
active proctype R() { do :: z++ od }
"""
LONG_BUFFERS = """bit x, y, z;
active proctype P() { do :: x = 1; x = 0 od }
active proctype Q() { do :: y = 1; y = 0 od }
active proctype R() { do :: z = 1; z = 0 od }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"quick": QUICK, "huge": HUGE, "long": LONG_BUFFERS}.items():
        (tmp_path / f"{name}.pml").write_text(text)
    return tmp_path


@pytest.mark.parametrize("options", [[], ["--goal", "robust"], ["--engine", "accelerate"], ["--engine", "bounded:90"]])
def test_verify(options: list[str], folder: Path) -> None:
    status, lines, err = pressed(
        ["verify", "--json", *options, "quick.pml", "huge.pml", "quick.pml"], folder, after="quick"
    )
    assert status == 130
    assert err.strip() == "interrupted"
    first, second = map(json.loads, lines)
    assert first["verdict"] == "safe"
    assert second["input"] == "huge.pml"
    assert (second["verdict"], second["complete"]) == ("inconclusive", False)
    assert second["notes"] == ["tso: interrupted"]


def test_verify_keeps_the_models_that_are_decided(folder: Path) -> None:
    options = ["--engine", "bounded:200", "--model", "sc,tso,pso"]
    status, lines, _ = pressed(["verify", *options, "quick.pml", "long.pml"], folder, after="quick")
    assert status == 130
    told = "".join(lines).partition("long.pml")[2]
    assert "sc  safe" in told
    assert "tso  inconclusive: interrupted" in told
    assert "pso" not in told


def test_check(folder: Path) -> None:
    arguments = ["check", "--json", "--workers", "1", "quick.pml", "huge.pml"]
    status, lines, _ = pressed(arguments, folder, after="quick")
    assert status == 130
    found = json.loads(lines[-1])
    assert found["input"] == "huge.pml"
    assert (found["verdict"], found["complete"]) == ("inconclusive", False)
    assert "interrupted" in found["notes"][0]


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_fence_changes_nothing(goal: str, folder: Path) -> None:
    status, lines, err = pressed(["fence", "--json", "--write", "--goal", goal, "huge.pml"], folder, after=1.5)
    assert (status, err.strip()) == (130, "interrupted")
    assert json.loads(lines[0])["verdict"] == "inconclusive"
    assert sorted(path.name for path in folder.iterdir()) == ["huge.pml", "long.pml", "quick.pml"]
    assert (folder / "huge.pml").read_text() == HUGE


@pytest.mark.parametrize("workers", ["1", "2"])
def test_history_keeps_what_was_decided(workers: str, tmp_path: Path) -> None:
    (tmp_path / "quick.axe").write_text("".join(to_axe(random_history(seed=seed)) for seed in range(5)))
    (tmp_path / "hard.axe").write_text(hard_history())
    arguments = ["history", "--json", "--engine", "dbcop", "--workers", workers, "quick.axe", "hard.axe"]
    status, lines, err = pressed(arguments, tmp_path, after="quick.axe")
    assert status == 130
    assert err.strip() == "interrupted"
    assert [json.loads(line)["verdict"] for line in lines] == ["safe"] * 5


def test_history_inside_the_sat_solver(tmp_path: Path) -> None:
    (tmp_path / "hard.axe").write_text(hard_history())
    status, lines, err = pressed(["history", "--engine", "sat", "hard.axe"], tmp_path, after=3.0)
    assert (status, lines, err.strip()) == (130, [], "interrupted")


def hard_history() -> str:
    """A random formula where satisfiable ones are as likely as not: engines take long over it."""
    return to_axe(formula(random_formula(350, 1491, 5), "hard"))


def test_reproduce_keeps_the_rows_that_are_made(folder: Path) -> None:
    arguments = ["reproduce", "--json", "netys20", "--histories", "11", "--output", "json:rows.json"]
    status, lines, _ = pressed(arguments, folder, after="wsc+enum")
    assert status == 130
    assert [json.loads(line) for line in lines] == [
        json.loads(line) for line in (folder / "rows.json").read_text().splitlines()
    ]


def test_before_anything_is_loaded(tmp_path: Path) -> None:
    """Loading takes a moment in which Ctrl-C is as likely as in any other."""
    (tmp_path / "pressed.py").write_text(
        "import sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'teetotal.scale.supervision': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from teetotal.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "pressed.py", "check"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
