"""``teetotal history`` and ``teetotal generate history`` as a user meets them, and axe's own tests."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shared import data
from teetotal.answers.history import ENGINES
from teetotal.cli.generate import generate
from teetotal.cli.history import history
from teetotal.histories import readers
from teetotal.histories.check import check, models_of

SB = "# sb\n0: M[0] := 1\n0: M[1] == 0\n1: M[1] := 1\n1: M[0] == 0\ncheck\n"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(history, [str(a) for a in arguments], catch_exceptions=False, standalone_mode=False)


def made(*arguments: str | Path) -> str:
    result = CliRunner().invoke(generate, ["history", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def sb(tmp_path: Path) -> Path:
    path = tmp_path / "sb.axe"
    path.write_text(SB)
    return path


def test_exit_statuses_and_text(sb: Path) -> None:
    result = run(sb)
    assert result.return_value == 1
    assert "violation    sc   sb: 4 operations, 2 threads" in result.stdout
    assert "violates sc, wsc, ccm" in result.stdout
    assert "satisfies tso, pso" in result.stdout
    result = run(sb, "--model", "tso", "--check-witness", "--witness")
    assert result.return_value == 0
    assert "witness of 6 steps checked" in result.stdout
    assert "T0: st M[0] = 1 becomes visible" in result.stdout


def test_json(sb: Path) -> None:
    result = run(sb, "--json", "--model", "sc,pso")
    violation, safe = map(json.loads, result.stdout.splitlines())
    assert violation["verdict"] == "violation"
    assert {"input", "command", "model", "verdict", "complete", "seconds", "engine", "operations", "threads"} <= set(
        safe
    )
    assert violation["violations"][0]["operations"] == [0, 1, 2, 3]
    assert [edge["reason"] for edge in violation["violations"][0]["cycle"]] == ["po", "fr", "po", "fr"]
    assert sorted(safe["witness"]) == [~2, ~0, 0, 1, 2, 3]


def test_a_given_witness_is_checked_without_an_engine(sb: Path, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    result.write_text(run(sb, "--json", "--model", "tso").stdout)
    assert run(sb, "--given-witness", result).return_value == 0
    result.write_text(result.read_text().replace('"model":"tso"', '"model":"sc"'))
    answer = run(sb, "--given-witness", result)
    assert answer.return_value == 1
    assert "wrong" in answer.stdout


def test_many_histories_by_many_processes(tmp_path: Path) -> None:
    path = tmp_path / "many.axe"
    path.write_text(made("sc", "--count", 30, "--operations", 50) + SB)
    alone, together = (run(path, "--workers", n, "--model", "sc,tso").stdout.splitlines() for n in (1, 2))
    strip = [line.split(" s by ")[0].rsplit(",", 1)[0] for line in alone]
    assert strip == [line.split(" s by ")[0].rsplit(",", 1)[0] for line in together]
    assert alone[-3].split() == ["sc", "30", "1", "0"]
    assert alone[-2].split() == ["tso", "31", "0", "0"]


def test_kernel(tmp_path: Path) -> None:
    path = tmp_path / "fig5.txt"
    path.write_text(made("fig5", "--format", "text"))
    output = run(path, "--kernel").stdout
    assert "SC-kernel:" in output
    assert "found by CCM 0 (0.00 %), by wSC 0 (0.00 %)" in output
    assert "with the six-write rule 0 (0.00 %), with one guessed pair 0 (0.00 %)" in output


def test_time(tmp_path: Path) -> None:
    path = tmp_path / "formula.axe"
    path.write_text(made("formula", "--variables", 60, "--clauses", 258))
    result = run(path, "--time", "0", "--no-order")
    assert result.return_value == 3
    assert "known all the same: the saturation did not end" in result.stdout or "it is wSC" in result.stdout


def test_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "bad.axe"
    path.write_text("0: M[0] := 1\n0: M[0] == 5\ncheck\n")
    result = run(path)
    assert result.return_value == 2
    assert "line 2: T0: ld M[0] -> 5 reads a value that nobody wrote" in result.stderr
    result = run(path, "--unwritten", "violation")
    assert result.return_value == 1
    assert "(1) reads 5, which nobody wrote" in result.stdout
    path.write_text("0: M[0] := \n")
    result = run(path)
    assert (result.return_value, "bad.axe:1: expected a number" in result.stderr) == (2, True)


@pytest.mark.parametrize("kind", ["sc", "tso", "pso", "corrupted", "fig1c", "fig5", "ring", "formula"])
def test_generated_histories_are_what_they_say(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "generated"
    path.write_text(made(kind, "--operations", 60, "--addresses", 3, "--seed", 5))
    answers = {}
    for line in run(path, "--json", "--model", "sc,tso,pso", "--check-witness").stdout.splitlines():
        result = json.loads(line)
        answers[result["model"]] = result["verdict"] == "safe"
    expected = {
        "sc": [True, True, True], "tso": [False, True, True], "pso": [False, False, True],
        "fig1c": [False, True, True], "fig5": [True, True, True], "ring": [True, True, True],
    }  # fmt: skip
    if kind in expected:
        assert list(answers.values()) == expected[kind]
    assert made(kind, "--seed", 5) == made(kind, "--seed", 5)


def test_the_output_shown_in_the_docs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    monkeypatch.chdir(root)
    page = (root / "docs/explanation/histories.md").read_text()
    for example in ("examples/histories/store-buffering.txt",):
        shown = page.split(f"$ teetotal history {example}\n")[1].split("```")[0]
        assert without_times(run(example).stdout) == without_times(shown)
    shown = page.split("$ teetotal history fig3.txt --kernel\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    Path("fig3.txt").write_text(made("ring", "--format", "text"))
    assert without_times(run("fig3.txt", "--kernel").stdout) == without_times(shown)


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d+ s", "_ s", text)


def test_the_examples_are_what_their_comments_say() -> None:
    folder = Path(__file__).resolve().parents[2] / "examples" / "histories"
    expected = {
        "store-buffering.txt": "tso pso",
        "message-passing.txt": "pso",
        "causal.txt": "tso pso ccm",
        "coherence.axe": "",
    }
    assert {path.name for path in folder.iterdir()} == set(expected)
    for name, allowed in expected.items():
        (one,) = readers.read(folder / name)
        assert [m for m, v in models_of(one).items() if str(v) == "safe"] == allowed.split()


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_axes_own_traces(model: str) -> None:
    folder = data("axe-litmus")
    expected = [line.split(maxsplit=1) for line in (folder / f"{model.upper()}.txt").read_text().splitlines()]
    histories = readers.read(folder / "tests.axe")
    assert len(histories) == len(expected) == 199
    for one, (answer, name) in zip(histories, expected, strict=True):
        assert one.name == name
        for engine in ENGINES:
            if engine == "ccm+enum" and model != "sc":
                continue
            outcome = check(one, model, engine=engine)  # type: ignore[arg-type]
            assert str(outcome.verdict) == ("safe" if answer == "OK" else "violation"), f"{name} {engine}"


REFUSED = "history unwritten\nT0: ld x -> 7\nhistory fine\nT0: st x = 1\n"


@pytest.mark.parametrize("more", [(), ("--workers", "2"), ("--time", "60"), ("--checkpoint", "kept")])
def test_one_that_is_refused_leaves_the_others_their_verdict(
    tmp_path: Path, sb: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text(REFUSED)
    Path("junk").write_text("T0: bla\n")
    result = run("junk", "nowhere", "text", sb, "--json", *more)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.return_value == 2
    assert [(a["input"], a["verdict"], "error" in a) for a in answers] == [
        ("junk", "inconclusive", True),
        ("nowhere", "inconclusive", True),
        ("text", "inconclusive", True),
        ("text", "safe", False),
        (str(sb), "violation", False),
    ]
    assert len(result.stderr.splitlines()) == 3
    assert run("nowhere", "--workers", "2").return_value == 2
