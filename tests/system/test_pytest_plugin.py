"""Programs as tests: the pytest plugin, from outside, as a project that has installed teetotal sees it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from teetotal import pytesting
from teetotal.programs.c.compilers import COMPILED

SB = (Path(__file__).resolve().parents[1] / "corpus" / "SB.litmus").read_text()
FENCED = (Path(__file__).resolve().parents[1] / "corpus" / "SB+mfences.litmus").read_text()
MODULE = """import pytest
from teetotal import ld, program, st

pytestmark = pytest.mark.teetotal(goal="safe", models="tso")

def left():
    yield st("x", 1)
    r = yield ld("y")
    assert r <= 1

def right(limit):
    yield st("y", 1)
    r = yield ld("x")
    assert r <= limit

test_fine = program(left(), right(1), x=0, y=0)
test_wrong = program(left(), right(0), x=0, y=0)
no_test = program(left(), right(0), x=0, y=0)

def test_of_the_usual_kind():
    assert True
"""


def pytest_says(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-q", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
    )
    return done.returncode, done.stdout + done.stderr


def test_files_that_are_named_so_or_given(tmp_path: Path) -> None:
    (tmp_path / "test_sb.litmus").write_text(SB)
    (tmp_path / "test_fenced.litmus").write_text(FENCED)
    (tmp_path / "other.litmus").write_text(FENCED)
    (tmp_path / "test_broken.pml").write_text("byte x;\nactive proctype P() { x = }\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nteetotal_options = --model tso\n")
    status, out = pytest_says(tmp_path)
    assert (status, re.findall(r"\d+ (?:passed|failed)", out)) == (1, ["2 failed", "1 passed"])
    assert "test_sb.litmus: SB: violation: breaks under TSO: " in out
    assert "  Again: teetotal replay 1t:" in out
    assert "test_broken.pml:2: " in out
    assert "Traceback" not in out
    status, out = pytest_says(tmp_path, "other.litmus")
    assert (status, re.findall(r"\d+ passed", out)) == (0, ["1 passed"])


def test_programs_of_a_test_module(tmp_path: Path) -> None:
    (tmp_path / "test_programs.py").write_text(MODULE)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    status, out = pytest_says(tmp_path)
    assert (status, re.findall(r"\d+ (?:passed|failed)", out)) == (1, ["1 failed", "2 passed"])
    assert "violation: fails under SC already: an assertion of T1" in " ".join(out.split())
    assert "^^^^^^^^^^^^^^^^^ fails" in out


NEARER = """
class TestNearer:
    pytestmark = pytest.mark.teetotal(max_states=1000)
    test_decided = program(left(), right(1), x=0, y=0)
"""


def test_what_is_not_decided_does_not_pass(tmp_path: Path) -> None:
    """And settings are those of the nearest marker, and what comes behind -- is for the compiler."""
    (tmp_path / "test_programs.py").write_text(MODULE.replace('"tso"', '"tso", max_states=2') + NEARER)
    (tmp_path / "test_flag.c").write_text("#include <assert.h>\nint main(void) { assert(HOLDS); }\n")
    (tmp_path / "test_fenced.litmus").write_text(FENCED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nteetotal_options = --states 2 --goal both -- -DHOLDS=1\n")
    _, out = pytest_says(tmp_path, "-rA", "-k", "fine or decided or check")
    assert sorted(line.partition(" - ")[0] for line in out.splitlines() if line.startswith(("PASSED", "FAILED"))) == [
        "FAILED test_fenced.litmus::check",
        "FAILED test_programs.py::test_fine",
        "PASSED test_flag.c::check",
        "PASSED test_programs.py::TestNearer::test_decided",
    ]


def test_what_cannot_be_asked_is_said_without_our_code(tmp_path: Path) -> None:
    asked = {
        "goal='sfae'": "'sfae' is none of robust, safe, both",
        "'safe'": "with names alone",
        "goal='safe'": "nothing here can fail",
        "colour='red'": "no option colour",
        "workers='two'": "a number is needed, not 'two'",
        "workers=0": "workers: 0 is nobody",
        "max_states=-1": "max_states: -1 will not do",
        "options=3": "options is not a setting",
    }
    for number, setting in enumerate(asked):
        module = MODULE.replace('goal="safe", models="tso"', setting).replace("    assert r", "    # ")
        (tmp_path / f"test_{number}.py").write_text(module)
    status, out = pytest_says(tmp_path, "-k", "fine")
    assert (status, re.findall(r"\d+ (?:passed|failed)", out)) == (1, ["8 failed"])
    assert [said for said in asked.values() if said not in " ".join(out.split())] == []
    assert "pytesting.py" not in out


def test_what_was_not_checked_does_not_pass(tmp_path: Path) -> None:
    """Both were passed: a question for help ends with status 0."""
    (tmp_path / "-h.litmus").write_text(SB)
    status, out = pytest_says(tmp_path, "./-h.litmus")
    assert (status, "violation" in out) == (1, True)
    (tmp_path / "pytest.ini").write_text("[pytest]\nteetotal_options = --help\n")
    status, out = pytest_says(tmp_path, "./-h.litmus")
    assert (status, "teetotal_options asks for help" in out) == (1, True)


def test_the_plugin_takes_what_check_takes() -> None:
    assert set(pytesting.SUFFIXES) == {".litmus", ".pml", *COMPILED}
