"""How ``teetotal history`` answers: the verdict first and come what may, within the time given, the same by any number of
processes; options that do not go together are refused."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from teetotal.answers.errors import TeetotalError
from teetotal.answers.history import ENGINES, HISTORY_MODELS
from teetotal.answers.verdict import Verdict
from teetotal.cli.history import history
from teetotal.histories import examining as result
from teetotal.histories import explain, hard
from teetotal.histories.check import check, models_of
from teetotal.histories.generate import corrupted_history, random_history, to_axe
from teetotal.histories.history import History, to_text
from teetotal.histories.readers import read_text
from teetotal.histories.time_limit import ProcessEnded, within

SB = "T0: st x = 1\nT0: ld y -> 0\nT1: st y = 1\nT1: ld x -> 0\n"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(history, [str(a) for a in arguments], catch_exceptions=False, standalone_mode=False)


def refused(*arguments: str | Path) -> str:
    answer = CliRunner().invoke(history, [str(a) for a in arguments], catch_exceptions=False)
    assert answer.exit_code == 2, answer.output
    return answer.stderr


@pytest.fixture
def sb(tmp_path: Path) -> Path:
    path = tmp_path / "sb.txt"
    path.write_text(SB)
    return path


# ---- nothing at all


@pytest.mark.parametrize("text", ["check\n", "# named\ncheck\n", "final M[0] == 0\ncheck\n", "0: sync\ncheck\n"])
@pytest.mark.parametrize("model", HISTORY_MODELS)
def test_a_history_without_accesses_is_consistent(text: str, model: str) -> None:
    (empty,) = read_text(text, format="axe")
    for engine in ENGINES:
        if engine != "ccm+enum" or model in ("sc", "wsc", "ccm"):
            for use_order in (True, False):
                outcome = check(empty, model, engine=engine, use_order=use_order)  # type: ignore[arg-type]
                assert outcome.verdict is Verdict.SAFE, engine


@pytest.mark.parametrize("text", ["", "\n", "# a comment\n", "; a comment\n"])
@pytest.mark.parametrize("options", [[], ["--format", "axe"], ["--json", "--model", "sc,tso,pso,wsc,ccm"]])
def test_a_file_without_a_history_is_refused(text: str, options: list[str], tmp_path: Path) -> None:
    path = tmp_path / "nothing"
    path.write_text(text)
    result = run(path, *options)
    assert result.return_value == 2
    assert re.search(r"nothing(: there is no history in it|:1: expected)", result.stderr)


# ---- the verdict comes first


def test_the_verdict_is_printed_before_the_proof_is_looked_for(sb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(explain, "explain", interrupted)
    for options in ([], ["--json"]):
        answer = CliRunner().invoke(history, [str(sb), *options], standalone_mode=False)
        assert isinstance(answer.exception, KeyboardInterrupt | SystemExit) or answer.exit_code != 0
        assert answer.stdout.startswith(("violation    sc   sb.txt: 4 operations", '{"input":'))
        assert "interrupted before the proof" in answer.stdout


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("deep"), TeetotalError("odd"), AssertionError("bug")])
@pytest.mark.parametrize("broken", ["explain", "models_of"])
def test_an_explanation_that_fails_leaves_the_verdict_standing(
    error: Exception, broken: str, sb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(explain if broken == "explain" else result, broken, fail)
    answer = run(sb)
    assert answer.return_value == 1
    assert answer.stdout.startswith("violation    sc   sb.txt: 4 operations")
    assert "  note: " in answer.stdout
    assert ("But there is a cycle" in answer.stdout) == (broken == "models_of")
    answer = run(sb, "--json")
    assert answer.return_value == 1
    found = json.loads(answer.stdout)
    assert found["verdict"] == "violation"
    assert len(found["notes"]) == 1
    assert ("models" in found, "violations" in found) == (broken == "explain", broken == "models_of")


def test_the_verdicts_of_all_histories_come_before_the_first_proof(tmp_path: Path) -> None:
    path = tmp_path / "three.txt"
    path.write_text(f"history a\n{SB}history b\nT0: st x = 1\nhistory c\n{SB}")
    lines = run(path).stdout.splitlines()
    assert [line.split(":")[0].split() for line in lines[:3]] == [
        ["violation", "sc", "a"], ["consistent", "sc", "b"], ["violation", "sc", "c"],
    ]  # fmt: skip
    assert lines[4].split() == ["model", "consistent", "violation", "inconclusive"]
    assert lines[5].split() == ["sc", "1", "2", "0"]
    assert [lines.index(f"{name} and sc:") for name in "ac"] == [7, 20]
    assert lines[8] == f"  (1) T0: st x = 1    {path}:2"
    assert lines[21] == f"  (1) T0: st x = 1    {path}:9"


# ---- time


def test_time_bounds_everything_about_a_history(tmp_path: Path) -> None:
    """An inconsistent history whose proof would take hours: the verdict stands if there was time for it, and the rest is
    cut short."""
    path = tmp_path / "formula.axe"
    path.write_text(to_axe(hard.formula(hard.random_formula(9, 80, 1))))
    answer = run(path, "--time", "2")
    assert (answer.return_value, answer.stdout.split()[0]) in [(1, "violation"), (3, "inconclusive")]


def test_time_bounds_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "large.axe"
    path.write_text("0: M[0] := 1\n" * 10_000 + "check\n")
    for options in ([], ["--json", "--model", "sc,tso"]):
        answer = run(path, "--time", "0", *options)
        assert answer.return_value == 3
        assert "nothing: the time was over before the file was read" in answer.stdout


@pytest.mark.parametrize("kind", ["corrupted", "formula", "repeated"])
@pytest.mark.parametrize("model", HISTORY_MODELS)
def test_no_time_at_all(kind: str, model: str, tmp_path: Path) -> None:
    one = {
        "corrupted": lambda: corrupted_history(threads=4, operations=300, addresses=3, seed=2, by_thread=True),
        "formula": lambda: hard.formula(hard.random_formula(40, 170, 1)),
        "repeated": lambda: repeated(),
    }[kind]()
    for engine in ENGINES:
        if (engine == "ccm+enum" and model in ("tso", "pso")) or (kind == "repeated" and model in ("wsc", "ccm")):
            continue
        outcome = check(one, model, engine=engine, seconds=0.0, use_order=False)  # type: ignore[arg-type]
        assert outcome.verdict is not Verdict.SAFE or kind != "corrupted"


def repeated() -> History:
    one = random_history(threads=6, operations=600, addresses=3, seed=1, by_thread=True)
    one.columns.value[:] %= 5
    return one


def test_the_kernel_within_the_time(tmp_path: Path) -> None:
    path = tmp_path / "random.axe"
    path.write_text(to_axe(random_history(threads=16, operations=4000, addresses=16, by_thread=True)))
    answer = run(path, "--kernel", "--time", "0.3")
    assert answer.return_value in (0, 3)
    if answer.return_value == 0:
        assert "note: the time was over before the SC-kernel" in answer.stdout


def test_a_call_that_does_not_end_is_ended() -> None:
    assert within(30.0, sorted, [2, 1]) == [1, 2]
    assert within(0.05, time.sleep, 60) is None
    with pytest.raises(ZeroDivisionError):
        within(30.0, divmod, 1, 0)
    with pytest.raises(ProcessEnded, match="with status 5"):
        within(30.0, exits)


def exits() -> None:
    import os

    os._exit(5)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_one_that_does_not_end_is_ended_and_the_others_are_answered(
    workers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(history: History, *asked: Any, **options: Any) -> Any:
        return signal.pause() if history.name == "endless" else check(history, *asked, **options)

    monkeypatch.setattr(result, "check", endless)
    path = tmp_path / "three.txt"
    path.write_text("".join(f"history {name}\nT0: st x = 1\n" for name in ("first", "endless", "last")))
    found = CliRunner().invoke(
        history, [str(path), "--json", "--time", "0.5", "--workers", workers], standalone_mode=False
    )
    answers = [json.loads(line) for line in found.stdout.splitlines()]
    assert [(answer["name"], answer["verdict"], answer["decided_by"]) for answer in answers] == [
        ("first", "safe", "order"),
        ("endless", "inconclusive", "time"),
        ("last", "safe", "order"),
    ]


def test_other_models_follow_from_what_is_known() -> None:
    (one,) = read_text(SB)
    known = {"pso": Verdict.VIOLATION}
    assert models_of(one, seconds=10, known=known)["tso"] is Verdict.VIOLATION  # not asked: it follows
    assert [str(verdict) for verdict in models_of(one).values()] == [
        "violation",
        "safe",
        "safe",
        "violation",
        "violation",
    ]


# ---- processes


def without_seconds(lines: str) -> list[dict[str, object]]:
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines.splitlines()]


def test_json_is_the_same_by_any_number_of_processes(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    made = [random_history(seed=seed, operations=30, by_thread=True) for seed in range(6)]
    made += [corrupted_history(seed=seed, threads=3, operations=20, addresses=2) for seed in range(6)]
    path.write_text("".join(f"history h{i}\n{to_text(one)}" for i, one in enumerate(made)))
    alone, *others = (run(path, "--json", "--model", "sc,tso", "--workers", n) for n in ("1", "2", "3"))
    expected = without_seconds(alone.stdout)
    assert [found["name"] for found in expected] == 2 * [f"h{i}" for i in range(12)]
    assert [found.get("index", 0) for found in expected] == 2 * list(range(12))
    for other in others:
        assert without_seconds(other.stdout) == expected
        assert other.return_value == alone.return_value


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_was_found_before_and_after_a_bad_history_is_told(workers: str, tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("".join(f"history {i}\nT0: st x = 1\nT0: ld x -> {9 if i == 5 else 1}\n" for i in range(8)))
    answer = run(path, "--workers", workers, "--json")
    assert answer.return_value == 2
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    assert [number for number, one in enumerate(found) if "error" in one] == [5]
    assert [one["verdict"] for one in found if "error" not in one] == 7 * ["safe"]


def test_what_could_not_be_examined_is_not_kept_as_done(tmp_path: Path) -> None:
    path, kept = tmp_path / "many.txt", tmp_path / "run.db"
    path.write_text("".join(f"history {i}\nT0: st x = 1\nT0: ld x -> {1 if i < 5 else 9}\n" for i in range(6)))
    for resume in ([], ["--resume"]):
        result = run(path, "--checkpoint", kept, *resume)
        assert (result.return_value, result.stderr.count("a value that nobody wrote")) == (2, 1)


# ---- options together


def test_split_transactions_have_witnesses(tmp_path: Path) -> None:
    path = tmp_path / "split.dbcop"
    path.write_text("[x:=1 y:=2]\n---\n[y==2 x==1]\n")
    refused = run(path)
    assert (refused.return_value, "transaction of several operations" in refused.stderr) == (2, True)
    for model in ("sc", "tso", "pso"):
        options = ["--transactions", "split", "--model", model, "--format", "dbcop"]
        answer = run(path, *options, "--witness", "--check-witness")
        assert answer.return_value == 0
        assert "steps checked" in answer.stdout
        assert "  T0: st y = 2" in answer.stdout
        saved = tmp_path / "saved.json"
        saved.write_text(run(path, *options, "--json").stdout)
        assert run(path, "--transactions", "split", "--given-witness", saved).return_value == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "tso", "--kernel"], "--kernel is about SC"),
        (["--model", "wsc,ccm", "--witness"], "not of wsc and ccm"),
        (["--model", "ccm", "--check-witness"], "not of ccm"),
        (["--model", "sc,tso", "--engine", "ccm+enum"], "ccm+enum is about SC"),
        (["--model", "arm"], "'arm' is none of"),
        (["--given-witness", "{path}", "--kernel"], "--kernel has no meaning"),
        (["--given-witness", "{path}", "--engine", "sat"], "--engine has no meaning"),
        (["--given-witness", "{path}", "--model", "tso"], "--model has no meaning"),
        (["--given-witness", "{path}", "--time", "3"], "--time has no meaning"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], message: str, sb: Path) -> None:
    assert message in " ".join(refused(sb, *(option.format(path=sb) for option in options)).split())


@pytest.mark.parametrize("witness", ["[0, 1.5]", '["a"]', "[99999999999999999999]", "7", "[[0]]"])
def test_a_given_witness_that_is_none(witness: str, sb: Path, tmp_path: Path) -> None:
    given = tmp_path / "given.json"
    given.write_text(f'{{"input": "{sb}", "model": "tso", "witness": {witness}}}\n')
    answer = CliRunner().invoke(history, [str(sb), "--given-witness", str(given)], standalone_mode=False)
    if answer.exception:
        assert "given.json:1: not a result" in str(answer.exception)
    else:
        assert answer.return_value == 1


def test_a_given_witness_of_something_else(sb: Path, tmp_path: Path) -> None:
    """Status 0 would say that witnesses were checked."""
    given = tmp_path / "given.json"
    for text in ('{"input": "other", "model": "sc", "witness": []}\n', ""):
        given.write_text(text)
        with pytest.raises(TeetotalError, match="no witness for a history of"):
            run(sb, "--given-witness", given)
    given.write_text(f'{{"input": "{sb}", "model": "tso", "witness": [], "index": 3}}\n')
    with pytest.raises(TeetotalError, match=r"given\.json:1: .* has no history"):
        run(sb, "--given-witness", given)


def test_histories_of_one_name_keep_their_witnesses(tmp_path: Path) -> None:
    path, given = tmp_path / "two.txt", tmp_path / "given.json"
    path.write_text("history a\nT0: st x = 1\nhistory a\nT0: st x = 1\nT0: ld x -> 1\n")
    given.write_text(run(path, "--json").stdout)
    assert run(path, "--given-witness", given).stdout.split() == ["right", "sc", "a"] * 2
    assert "T0: ld x -> 1" in run(path, "--witness").stdout
