"""``teetotal generate litmus`` and ``teetotal generate program`` as their users call them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from teetotal.answers.errors import TeetotalError
from teetotal.cli import main
from teetotal.generate.files import write_files
from teetotal.programs import litmus

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Answer(NamedTuple):
    status: object
    output: str
    errors: str


Run = Callable[..., Answer]


@pytest.fixture
def generate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["teetotal", "generate", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            main()
        captured = capsys.readouterr()
        return Answer(exit.value.code, captured.out, captured.err)

    return run


def test_a_cycle_is_printed(generate: Run) -> None:
    expected = """X86_64 SB+mfence+po
"MFencedWR Fre PodWR Fre"
Cycle=MFencedWR Fre PodWR Fre
Prediction=sc:Never tso:Sometimes pso:Sometimes
{
uint64_t x=0;
uint64_t y=0;
}
 P0            | P1            ;
 movq $1,(x)   | movq $1,(y)   ;
 mfence        | movq (x),%rax ;
 movq (y),%rax |               ;
exists (0:rax=0 /\\ 1:rax=0)
"""
    assert generate("litmus", "PodWR", "Fre", "MFencedWR", "Fre") == Answer(0, expected, "")
    assert generate("litmus", "PodWR Fre, MFencedWR Fre") == Answer(0, expected, "")


def test_files(generate: Run, tmp_path: Path) -> None:
    answer = generate("litmus", "--length", 5, "--fences", "mfence", "--output", tmp_path / "new" / "tests")
    assert answer.status == 0
    files = sorted((tmp_path / "new" / "tests").iterdir())
    assert answer.output == f"{len(files)} litmus tests in {tmp_path / 'new' / 'tests'}\n"
    assert len(files) == 45  # 21 with two threads of two accesses, 24 with a third of one
    for file in files:
        assert litmus.read_file(file).name == file.stem


def test_nothing_is_overwritten_unless_asked(generate: Run, tmp_path: Path) -> None:
    (tmp_path / "SB+mfences.litmus").write_text("precious")
    answer = generate("litmus", "--family", "SB", "--fences", "mfence", "--output", tmp_path)
    assert answer.status == 2
    assert "already has SB+mfences.litmus; overwrite with --force" in answer.errors
    assert [file.name for file in tmp_path.iterdir()] == ["SB+mfences.litmus"]
    assert (tmp_path / "SB+mfences.litmus").read_text() == "precious"
    answer = generate("litmus", "--family", "SB", "--fences", "mfence", "--output", tmp_path, "--force")
    assert answer.status == 0
    assert len(list(tmp_path.iterdir())) == 3
    assert (tmp_path / "SB+mfences.litmus").read_text().startswith("X86_64 SB+mfences\n")


def test_a_directory_that_cannot_be_written(generate: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = generate("litmus", "--family", "SB", "--output", tmp_path / "file")
    assert answer.status == 2
    assert f"cannot write {tmp_path / 'file'}" in answer.errors


def test_nothing_is_left_behind_by_a_write_that_fails(tmp_path: Path) -> None:
    with pytest.raises(TeetotalError, match="cannot write"):
        write_files(tmp_path, {"ok": "1", "missing/x": "2"})
    assert [file.name for file in tmp_path.iterdir()] == ["ok"]


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def slow(source: str, target: Path) -> None:
        Path(target).write_text("somebody else's")
        link(source, target)

    monkeypatch.setattr(os, "link", slow)
    with pytest.raises(TeetotalError, match="File exists"):
        write_files(tmp_path, {"a": "mine"})
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"a": "somebody else's"}


def names(answer: Answer) -> list[str]:
    assert answer.status == 0, answer.errors
    return [line.split("\t")[0] for line in answer.output.splitlines()]


def test_filters(generate: Run) -> None:
    everything = names(generate("litmus", "--length", 4, "--list"))
    assert sorted(everything) == ["2+2W", "LB", "MP", "R", "S", "SB"]
    assert sorted(names(generate("litmus", "--length", 4, "--allowed", "tso", "--list"))) == ["R", "SB"]
    pso_only = names(generate("litmus", "--length", 4, "--allowed", "pso", "--forbidden", "sc,tso", "--list"))
    assert sorted(pso_only) == ["2+2W", "MP", "S"]
    assert names(generate("litmus", "--length", 4, "--forbidden", "pso", "--list")) == ["LB"]
    assert names(generate("litmus", "--length", 4, "--allowed", "sc", "--list")) == []


def test_what_an_rmw_flushes_is_an_option(generate: Run) -> None:
    chosen = ("litmus", "--family", "MP", "--fences", "xchg", "--allowed", "pso", "--list")
    assert "MP+xchg+po" not in names(generate(*chosen))
    assert "MP+xchg+po" in names(generate(*chosen, "--rmw", "address"))
    text = generate("litmus", "XchgdWW", "Rfe", "PodRR", "Fre").output
    assert "\nPrediction=sc:Never tso:Never pso:Never\n" in text
    assert "\nPrediction-rmw-address=sc:Never tso:Never pso:Sometimes\n" in text


def test_random_ones(generate: Run) -> None:
    chosen = ("litmus", "--length", 9, "--every", "--fences", "mfence,sfence,xchg", "--count", 30, "--list")
    first = names(generate(*chosen))
    assert len(set(first)) == 30
    assert names(generate(*chosen)) == first
    assert names(generate(*chosen, "--seed", 1)) != first
    filtered = generate(*chosen, "--allowed", "pso", "--forbidden", "tso")
    assert len(names(filtered)) == 30
    assert all(line.endswith("sc:Never tso:Never pso:Sometimes") for line in filtered.output.splitlines())


def test_all_families(generate: Run) -> None:
    assert len(names(generate("litmus", "--family", "all", "--list"))) == 32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to make"),
        (["Rfe", "--length", "4"], "say what to make"),
        (["--family", "SB", "--count", "3"], "--count and --every go with --length"),
        (["--family", "XX"], "no family is called 'XX'; there are SB, LB"),
        (["--length", "4", "--fences", "lfence"], "lfence: no such fence; there are mfence, sfence, xchg"),
        (["PodWR", "Fre", "--fences", "mfence"], "--fences goes with --length or --family"),
        (["--length", "1"], "is not in the range"),
        (["--length", "4", "--allowed", "arm"], "arm: no such model"),
        (["--length", "4", "--count", "7"], "only 6 such cycles"),
        (["PodWR", "Rfe"], "PodWR ends at a read, but Rfe begins at a write"),
    ],
)
def test_bad_usage(generate: Run, arguments: list[str], message: str) -> None:
    answer = generate("litmus", *arguments)
    assert answer.status == 2
    assert message in answer.errors
    assert answer.output == ""


# -- programs ---------------------------------------------------------------------------------------------------------


def test_random_programs(generate: Run, tmp_path: Path) -> None:
    assert generate("program", "--count", 20, "--seed", 5, "--output", tmp_path / "a").status == 0
    assert generate("program", "--count", 30, "--seed", 5, "--output", tmp_path / "b").status == 0
    made = sorted((tmp_path / "a").iterdir())
    assert len(made) == 20
    for file in made:
        program = litmus.read_file(file)
        assert program.name == file.stem
        assert set(program.memory) <= {what.name for what in program.observed if what.thread is None}
        assert file.read_text() == (tmp_path / "b" / file.name).read_text()
    assert generate("program", "--count", 20, "--seed", 5, "--output", tmp_path / "a").status == 2


def test_random_programs_in_x86(generate: Run) -> None:
    answer = generate("program", "--shape", "atomic", "--dialect", "X86_64", "--seed", 3)
    assert answer.output.startswith("X86_64 atomic-3-0\n")
    assert generate("program", "--shape", "locked", "--dialect", "X86_64", "--count", 20).status == 2


# -- the documentation ------------------------------------------------------------------------------------------------


def examples() -> list[tuple[str, str]]:
    """Commands of the pages and what they say follows: ``$ teetotal …`` in a block, then the output."""
    found = []
    for page in ("how-to/generate.md", "reference/cycles.md"):
        for block in re.findall(r"```console\n(.*?)```", (DOCS / page).read_text(), re.DOTALL):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), examples())
def test_what_the_documentation_shows(
    command: str, output: str, generate: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = command.split()
    assert words[:2] == ["teetotal", "generate"]
    answer = generate(*words[2:])
    assert answer.status == 0
    assert answer.output.replace("\t", "    ") == output.replace("\t", "    ")
