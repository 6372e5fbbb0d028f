"""312 tests with herd's answers: the observation and the number of final states, under SC and TSO."""

from __future__ import annotations

import csv

import pytest

from shared import data
from teetotal.answers.events import ModelName
from teetotal.engines.states import outcomes
from teetotal.programs import litmus
from teetotal.programs.observation import observation


@pytest.mark.parametrize("model", ["sc", "tso"])
def test_every_test_agrees_with_herd(model: ModelName) -> None:
    folder = data("litmus-x86")
    with (folder / "expected.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 312
    for row in rows:
        program = litmus.read_file(folder / row["file"])
        found = outcomes(program, model)
        word, positive, negative = observation(program, found.values)
        assert (word, positive + negative) == (row[f"{model}_observation"], int(row[f"{model}_states"])), row["file"]
        assert found.complete
