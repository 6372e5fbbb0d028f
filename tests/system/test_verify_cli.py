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
        assert (program, arguments[0]) == ("teetotal", "replay")
        again = teetotal(*arguments)
        assert again.returncode == 1
        assert "Not safe: forbidden state: mutex." in again.stdout


def test_safe_with_a_certificate_that_is_confirmed(tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / "clh.pml", tmp_path)
    status, answer = as_json("verify", "clh.pml", "--certificate", "proof.json", folder=tmp_path)
    assert (status, answer["verdict"], answer["complete"]) == (0, "safe", True)
    both = teetotal("verify", "--check", "proof.tso.json", "--check", "proof.pso.json", "clh.pml", folder=tmp_path)
    assert (both.returncode, both.stdout.count("accepted: safe under")) == (0, 2)
    for model, path in answer["witness"].items():
        status, row = as_json("verify", "--model", model, "--check", path, "clh.pml", folder=tmp_path)
        assert (status, row["accepted"], row["model"], row["certificate"]) == (0, True, model, path)
        assert {"input", "command", "verdict", "complete", "seconds", "states", "reason"} <= set(row)
    text = (tmp_path / "clh.pml").read_text()
    (tmp_path / "clh.pml").write_text(text.replace("locked[mine] = 1", "locked[mine] = 0"))
    done = teetotal("verify", "--model", "tso", "--check", "proof.tso.json", "clh.pml", folder=tmp_path)
    assert (done.returncode, "rejected: it was made for another program text" in done.stdout) == (3, True)


def test_a_certificate_is_checked_against_the_command_line(tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / "clh.pml", tmp_path)
    assert teetotal("verify", "clh.pml", "--model", "tso", "--certificate", "p.json", folder=tmp_path).returncode == 0

    def refused(*arguments: str) -> str:
        done = teetotal("verify", "--check", "p.json", "clh.pml", *arguments, folder=tmp_path)
        assert done.returncode == 3
        return done.stdout

    assert "rejected: no certificate for PSO, which --model asks for" in refused()
    assert "rejected: it was made for TSO, which --model does not ask for" in refused("--model", "sc")
    assert "made for --rmw all, not for --rmw address" in refused("--model", "tso", "--rmw", "address")
    assert "made for --mutex fence, not for --mutex rmw" in refused("--model", "tso", "--mutex", "rmw")
    assert "time" in refused("--model", "tso", "--time", "0")  # whoever notices first that it is over
    certificate = json.loads((tmp_path / "p.json").read_text())
    relabelled = {**certificate, "model": "sc"}  # what is true of TSO's set is not closed under SC's steps
    (tmp_path / "p.json").write_text(json.dumps(relabelled))
    assert "accepted" not in refused("--model", "sc")
    (tmp_path / "p.json").write_text(json.dumps({**certificate, "states": []}))
    assert "rejected: the initial configuration is in no state" in refused("--model", "tso")
    (tmp_path / "p.json").write_text(json.dumps({**certificate, "memories": []}))
    done = teetotal("verify", "--check", "p.json", "--model", "tso", "clh.pml", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "p.json: not a certificate: state 0: memory 0 is none" in done.stderr


def test_it_says_in_how_many_processes_a_fence_is() -> None:
    told = teetotal("verify", "peterson.pml", "--fence", "--model", "tso").stdout.splitlines()
    assert told[1] == "  line 10: mfence after the store (in 2 processes)"


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
    checked = ("verify", "--model", "pso", "--check", "proof.pso.json", "dekker.pml")
    assert teetotal(*checked, folder=tmp_path).returncode == 0
    shutil.copy(PROGRAMS / "dekker.pml", tmp_path)  # without the fences
    assert teetotal(*checked, folder=tmp_path).returncode == 3


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
        (("verify", "--fence", "--cost", "gold=1", "clh.pml"), "there are costs for"),
        (("verify", "--check", "clh.pml"), "which file"),
        (("verify", "--check", "clh.pml", "clh.pml"), "not a certificate"),
        (("verify", "--check", "nothing.json", "clh.pml"), "No such file"),
        (("verify", "--check", ".", "clh.pml"), "not a regular file"),
        (("verify", "--check", "x", "clh.pml", "mcs.pml"), "about one file"),
        (("verify", "--check", "x", "--fence", "clh.pml"), "as it is"),
        (("verify", "--check", "x", "--goal", "robust", "clh.pml"), "as it is"),
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
    for title, _, _, _, states, _, mfences, sfences, _, _, _, their_states, _, their_mfences, their_sfences, _ in rows:
        same = (mfences, sfences) == (their_mfences, their_sfences)
        assert same != (title in ("Szymanski", "Lamport's fast mutex")), title
        assert isinstance(states, int), f"{title}: the method of the paper does not end"
        assert states < 10 * their_states, title


UNDECIDED = {
    "atomic blocks": "byte x, y; active proctype P() { atomic { x = 1; y = 1 } }",
    "a mutex is also stored to": "bit m; active proctype P() { lock(m); m = 0 }",
    "ghost variables decide": "byte x; ghost bit g; active proctype P() { (g == 0); x = 1 }",
}


@pytest.mark.parametrize("why", UNDECIDED)
def test_robustness_that_is_not_decided_is_not_called_safe(why: str, tmp_path: Path) -> None:
    (tmp_path / "p.pml").write_text(UNDECIDED[why])
    refused = teetotal("verify", "--goal", "robust", "p.pml", folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "p.pml:1: robustness" in refused.stderr
    assert why in refused.stderr
    status, answer = as_json("check", "p.pml", folder=tmp_path)
    assert (status, answer["verdict"], answer["complete"]) == (3, "inconclusive", False)
    assert [answer["models"][model]["robust"] for model in ("tso", "pso")] == [None, None]
    assert len(answer["notes"]) == 1


def test_check_refuses_what_verify_refuses(tmp_path: Path) -> None:
    (tmp_path / "p.pml").write_text("byte x, y; active proctype P() { atomic { x = 1; y == 1 } }")
    for verb in ("check", "verify"):
        done = teetotal(verb, "p.pml", folder=tmp_path)
        assert (done.returncode, "may wait inside an atomic block" in done.stderr) == (2, True)


def test_the_replay_of_a_program_with_ghosts_that_is_not_robust(tmp_path: Path) -> None:
    """The assertion fails on the way, but ghosts and what is said about them are no part of a trace."""
    text = "byte x, y; ghost byte g; active proctype P() { byte a; x = 1; g++; assert(g == 1); a = y }"
    text += " active proctype Q() { byte b; y = 1; g++; assert(g == 1); b = x }"
    (tmp_path / "p.pml").write_text(text)
    status, answer = as_json("verify", "--goal", "robust", "p.pml", folder=tmp_path)
    assert (status, len(answer["violations"])) == (1, 2)
    for violation in answer["violations"]:
        again = teetotal(*shlex.split(violation["replay"])[1:], folder=tmp_path)
        assert (again.returncode, "a contradiction" in again.stdout) == (1, True)


def test_failed_cas_reaches_the_engine(tmp_path: Path) -> None:
    """The option was taken and forgotten: the program was proved robust for both of its values."""
    (tmp_path / "p.pml").write_text(
        """byte x, y, z;
        active proctype P() { byte a; x = 1; a = z }
        active proctype Q() { byte a; z = 1; cas(a, y, 5, 6) }
        active proctype R() { byte a, b; a = y; b = x }"""
    )
    for verb in ("verify", "check"):
        for failed_cas, status in (("read", 0), ("write", 1)):
            options = ["--goal", "robust", "--failed-cas", failed_cas]
            assert teetotal(verb, "p.pml", *options, folder=tmp_path).returncode == status, (verb, failed_cas)


def test_a_file_that_is_refused_leaves_the_others_their_verdict(tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / "peterson.pml", tmp_path)
    (tmp_path / "bad.pml").write_text("active proctype p() { x = 1 }\n")
    done = teetotal("verify", "bad.pml", "nowhere.pml", "peterson.pml", "--json", "--output", "json:a", folder=tmp_path)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, [answer["input"] for answer in answers]) == (2, ["bad.pml", "nowhere.pml", "peterson.pml"])
    assert ["error" in answer for answer in answers] == [True, True, False]
    assert len(done.stderr.splitlines()) == 2
    assert (tmp_path / "a").read_text() == done.stdout
    done = teetotal("verify", "peterson.pml", "peterson.pml", "--certificate", "c", folder=tmp_path)
    assert (done.returncode, "a proof is about one file" in done.stderr) == (2, True)
