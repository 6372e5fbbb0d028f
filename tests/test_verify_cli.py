"""``teetotal verify`` and ``teetotal check FILE.pml`` as a user meets them."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from symbolic_programs import PROGRAMS


def teetotal(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "teetotal", *arguments]
    return subprocess.run(command, cwd=folder or PROGRAMS, capture_output=True, text=True, timeout=120, check=False)


def as_json(*arguments: str, folder: Path | None = None) -> tuple[int, dict[str, Any]]:
    done = teetotal(*arguments, "--json", folder=folder)
    return done.returncode, json.loads(done.stdout)


def test_a_violation_and_its_replay() -> None:
    status, answer = as_json("verify", "peterson.pml")
    assert status == 1
    assert answer["verdict"] == "violation"
    assert {"input", "command", "models", "verdict", "complete", "seconds", "states", "violations"} <= set(answer)
    assert answer["models"]["tso"]["safe"] is False
    for violation in answer["violations"]:
        program, *arguments = shlex.split(violation["replay"])
        assert program == "teetotal"
        again = teetotal(*arguments)
        assert again.returncode == 1
        assert "forbidden state: mutex" in again.stdout


def test_safe_with_a_certificate_that_is_confirmed(tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / "clh.pml", tmp_path)
    status, answer = as_json("verify", "clh.pml", "--certificate", "proof.json", folder=tmp_path)
    assert (status, answer["verdict"], answer["complete"]) == (0, "safe", True)
    for path in answer["witness"].values():
        done = teetotal("verify", "--check", path, folder=tmp_path)
        assert (done.returncode, "accepted" in done.stdout) == (0, True)
    text = (tmp_path / "clh.pml").read_text()
    (tmp_path / "clh.pml").write_text(text.replace("locked[mine] = 1", "locked[mine] = 0"))
    done = teetotal("verify", "--check", "proof.tso.json", folder=tmp_path)
    assert (done.returncode, "rejected" in done.stdout) == (3, True)


def test_fences_are_written_and_proved(tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / "dekker.pml", tmp_path)
    printed = teetotal("verify", "--fence", "dekker.pml", folder=tmp_path)
    assert printed.returncode == 0
    assert "+  :: flag[_pid] = 1; mfence;" in printed.stdout
    arguments = ("verify", "--fence", "--write", "--certificate", "proof.json", "dekker.pml")
    status, answer = as_json(*arguments, folder=tmp_path)
    assert status == 0
    assert [(fence["kind"], fence["line"], fence["after"]) for fence in answer["fences"]] == [
        ("mfence", 11, True),
        ("mfence", 19, True),
    ]
    assert teetotal("verify", "dekker.pml", folder=tmp_path).returncode == 0
    assert teetotal("verify", "--check", "proof.pso.json", folder=tmp_path).returncode == 0


def test_all_sets_costs_and_goals() -> None:
    status, answer = as_json("verify", "--fence", "--all", "lamport_fast.pml")
    assert status == 0
    assert len(answer["sets"]) == 2
    _, cheap = as_json("verify", "--fence", "--cost", "mfence=10,sfence=1", "lamport_fast.pml")
    assert sum(fence["kind"] == "sfence" for fence in cheap["fences"]) == 1
    _, strong = as_json("verify", "--fence", "--goal", "robust", "burns.pml")
    assert len(strong["fences"]) == 3
    assert as_json("verify", "--goal", "robust", "mcs.pml")[1]["models"]["pso"]["robust"] is False


@pytest.mark.parametrize("engine", ["saturate", "accelerate", "bounded:3"])
def test_engines(engine: str) -> None:
    assert as_json("verify", "--engine", engine, "clh.pml")[1]["verdict"] == "safe"
    assert as_json("verify", "--engine", engine, "peterson.pml")[1]["verdict"] == "violation"


def test_limits_are_inconclusive() -> None:
    status, answer = as_json("verify", "--time", "0", "ticket.pml")
    assert (status, answer["verdict"], answer["complete"]) == (3, "inconclusive", False)
    status, answer = as_json("verify", "--engine", "bounded:1", "increasing_sequence.pml")
    assert (status, answer["verdict"], answer["complete"]) == (3, "inconclusive", False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("verify",), "which file"),
        (("verify", "nothing.pml"), "No such file"),
        (("verify", "--engine", "magic", "clh.pml"), "no engine"),
        (("verify", "--all", "clh.pml"), "--fence"),
        (("verify", "--replay", "0", "clh.pml"), "one --model"),
        (("verify", "--model", "tso", "--replay", "9", "clh.pml"), "no process 9"),
        (("verify", "--model", "tso", "--replay", "zero", "clh.pml"), "no step"),
        (("verify", "--fence", "--cost", "gold=1", "clh.pml"), "there are costs for"),
        (("verify", "--check", "clh.pml"), "not a certificate"),
        (("reproduce", "tacas99"), "no table"),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], words: str) -> None:
    done = teetotal(*arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_wrong_file_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "wrong.pml").write_text("byte x;\nactive proctype P() { y = 1 }\n")
    done = teetotal("verify", "wrong.pml", folder=tmp_path)
    assert done.returncode == 2
    assert "wrong.pml:2: y is not declared" in done.stderr


def test_check_is_a_short_way_in() -> None:
    status, answer = as_json("check", "spsc.pml")
    assert status == 1
    assert (answer["models"]["tso"]["safe"], answer["models"]["tso"]["robust"]) == (True, False)
    assert (answer["models"]["pso"]["safe"], answer["models"]["pso"]["robust"]) == (False, False)
    assert answer["models"]["sc"]["safe"] is True


def test_the_table_of_the_paper() -> None:
    done = teetotal("reproduce", "tacas13", "--json")
    assert done.returncode == 0
    rows = [json.loads(line)["row"] for line in done.stdout.splitlines()]
    assert len(rows) == 11
    for title, _, _, _, states, _, mfences, sfences, _, _, their_states, _, their_mfences, their_sfences, _ in rows:
        same = (mfences, sfences) == (their_mfences, their_sfences)
        assert same != (title in ("Szymanski", "Lamport's fast mutex")), title
        assert isinstance(states, int), f"{title}: the method of the paper does not end"
        assert states < 10 * their_states, title
