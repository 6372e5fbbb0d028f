"""A disk that is full: a clear error and status 2, no half file, and nothing of what was there is lost."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from symbolic_programs import PROGRAMS
from teetotal import writing
from teetotal.answers.errors import TeetotalError

ROOM = 256


def _little_room() -> None:
    """In the child: no file can grow beyond a few bytes, which to a program is a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def full(tmp_path: Path) -> Run:
    def run(*arguments: str, output: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "teetotal", *arguments]
        with nullcontext(subprocess.PIPE) if output is None else open(tmp_path / output, "w") as out:
            done = subprocess.run(
                command,
                cwd=tmp_path,
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                preexec_fn=_little_room,
                timeout=60,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # which would be cut, and break every later run
            )
        assert done.returncode == 2, done
        assert done.stderr.startswith("teetotal: "), done.stderr
        assert "File too large" in done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_generate_history_to_a_file(full: Run, tmp_path: Path) -> None:
    done = full("generate", "history", "--operations", "500", "--output", "new.axe")
    assert "cannot write new.axe" in done.stderr
    assert names(tmp_path) == []
    (tmp_path / "old.axe").write_text("precious")
    full("generate", "history", "--operations", "500", "--output", "old.axe")
    assert names(tmp_path) == ["old.axe"]
    assert (tmp_path / "old.axe").read_text() == "precious"


@pytest.mark.parametrize("what", [["litmus", "--family", "all"], ["program", "--count", "3"]])
def test_generate_into_a_folder(what: list[str], full: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    done = full("generate", *what, "--output", "out")
    assert "cannot write out/" in done.stderr
    for path in (tmp_path / "out").iterdir():  # those that had room are whole
        assert path.suffix == ".litmus"
        assert 0 < path.stat().st_size <= ROOM
        assert "exists" in path.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "history", "--operations", "500"],
        ["generate", "litmus", "--family", "all"],
        ["verify", "--json", str(PROGRAMS / "dekker.pml")],
        ["check", "--json", str(PROGRAMS / "dekker.pml")],
        ["fence", "--json", str(PROGRAMS / "dekker.pml")],
        ["history", "--json", "--witness", "some.axe"],
    ],
)
def test_standard_output(arguments: list[str], full: Run, tmp_path: Path) -> None:
    if "some.axe" in arguments:
        command = [sys.executable, "-m", "teetotal", "generate", "history", "--count", "20", "--output", "some.axe"]
        subprocess.run(command, cwd=tmp_path, check=True)
    done = full(*arguments, output="answer")
    assert "the answer above is cut off" in done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_certificate_that_has_no_room_costs_no_verdict(options: list[str], full: Run, tmp_path: Path) -> None:
    program = str(PROGRAMS / "clh.pml")
    done = full("verify", *options, "--model", "tso,pso", "--certificate", "proof.json", program)
    assert "cannot write proof.tso.json" in done.stderr
    assert names(tmp_path) == []
    if options:
        answer = json.loads(done.stdout)
        assert answer["verdict"] == "safe"
        assert "witness" not in answer
    else:
        assert "tso  safe: proved" in done.stdout
        assert "pso  safe: proved" in done.stdout


@pytest.mark.parametrize("verb", [["fence"], ["verify", "--fence"]])
def test_a_patch_that_has_no_room_changes_nothing(verb: list[str], full: Run, tmp_path: Path) -> None:
    text = (PROGRAMS / "dekker.pml").read_text()
    assert len(text) > ROOM
    (tmp_path / "dekker.pml").write_text(text)
    done = full(*verb, "--write", "dekker.pml")
    assert "+  :: flag[_pid] = 1; mfence;" in done.stdout  # what it was to be
    assert names(tmp_path) == ["dekker.pml"]
    assert (tmp_path / "dekker.pml").read_text() == text


def test_written_files_take_the_place_of_the_old_ones(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("old")
    old.chmod(0o640)
    (tmp_path / "link").symlink_to(old)
    writing.write(tmp_path / "link", b"new")
    assert old.read_text() == "new"
    assert old.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link").is_symlink()
    writing.write("/dev/null", b"nothing")
    with pytest.raises(TeetotalError, match=r"cannot write .*old: File exists"):
        writing.write(old, b"newer", overwrite=False)
    with pytest.raises(TeetotalError, match=r"cannot write .*: No such file"):
        writing.write(tmp_path / "none" / "x", b"")
    assert names(tmp_path) == ["link", "old"]


@pytest.mark.parametrize("verb", ["check", "fence"])
def test_a_log_that_cannot_be_written_is_told_after_the_answer(verb: str, tmp_path: Path) -> None:
    """It is the log's fault, and not the input's."""
    corpus = Path(__file__).parents[1] / "corpus"
    command = [sys.executable, "-m", "teetotal", verb, "--json", "--log", "/dev/full", str(corpus / "SB.litmus")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert json.loads(done.stdout)["verdict"] == ("violation" if verb == "check" else "safe")
    assert done.stderr == "teetotal: cannot write the log /dev/full: No space left on device; it is cut off\n"
