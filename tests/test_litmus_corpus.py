"""Every test of the shared corpus is read, and those small enough for the specification give herd's answers."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from litmus_tools import outcomes
from shared import data
from teetotal.events import ModelName
from teetotal.programs import litmus
from teetotal.programs.litmus.observation import filtered, observation
from teetotal.programs.program import MEMORY_INSTRUCTIONS, Program

LARGEST = 6
"""Accesses and fences of a test that the specification explores in a moment."""


def expected() -> list[dict[str, str]]:
    with (data("litmus-x86") / "expected.csv").open() as file:
        return list(csv.DictReader(file))


def size(program: Program) -> int:
    return sum(isinstance(instruction, MEMORY_INSTRUCTIONS) for t in program.threads for instruction in t.code)


def check(path: Path, row: dict[str, str], program: Program, model: ModelName) -> None:
    found = outcomes(program, model)
    word, positive, negative = observation(program, found)
    assert (word, len(filtered(program, found))) == (row[f"{model}_observation"], int(row[f"{model}_states"])), (
        path.name
    )
    assert positive + negative == len(found)


def test_every_file_is_read() -> None:
    rows = expected()
    assert len(rows) == 312
    for row in rows:
        program = litmus.read_file(data("litmus-x86") / row["file"])
        assert program.name == row["test"]
        assert program.condition is not None
        assert program.observed


@pytest.mark.parametrize("model", ["sc", "tso"])
def test_small_tests_give_the_answers_of_herd(model: ModelName) -> None:
    checked = 0
    for row in expected():
        path = data("litmus-x86") / row["file"]
        program = litmus.read_file(path)
        if size(program) <= LARGEST and len(program.threads) <= 3:
            check(path, row, program, model)
            checked += 1
    assert checked >= 20
