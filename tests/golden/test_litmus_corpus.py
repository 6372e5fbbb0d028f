"""Every test of the shared corpus is read, and gives herd's answers through the specification's machines."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from litmus_tools import outcomes
from shared import data
from teetotal.answers.events import ModelName
from teetotal.programs import litmus
from teetotal.programs.observation import filtered, observation
from teetotal.programs.program import Program


def expected() -> list[dict[str, str]]:
    with (data("litmus-x86") / "expected.csv").open() as file:
        return list(csv.DictReader(file))


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
def test_every_test_gives_the_answers_of_herd(model: ModelName) -> None:
    for row in expected():
        path = data("litmus-x86") / row["file"]
        check(path, row, litmus.read_file(path), model)
