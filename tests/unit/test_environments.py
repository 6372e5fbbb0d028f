"""The table of imitated machines: its rows are those that can be imitated, and its cells say what was answered."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import machines

PACKAGING = Path(__file__).parents[2] / "packaging"


@pytest.fixture(scope="module")
def environments() -> ModuleType:
    spec = importlib.util.spec_from_file_location("environments", PACKAGING / "environments.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["environments"] = module  # dataclasses look for it there
    sys.path.insert(0, str(PACKAGING))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(PACKAGING))
    return module


def test_every_row_is_a_machine_that_can_be_imitated(environments: ModuleType) -> None:
    rows = [line.split(" | ") for line in environments.ENVIRONMENTS.strip().splitlines()]
    assert len({row[0] for row in rows}) == len(rows) > 40
    places = {"here": "/here", "runtime": "/runtime", "slow": "/slow"}
    for _, _, steps in rows:
        if steps.startswith("machine:"):
            assert steps.removeprefix("machine:") in environments.MACHINES
        else:
            names = {step.partition("=")[0] for step in steps.format(**environments.STEPS, **places).split()}
            assert names <= set(machines._STEPS)


@pytest.mark.parametrize(
    ("status", "output", "errors", "cell"),
    [
        (1, '{"verdict":"violation"}\n', "", ""),
        (2, "", "teetotal: /tmp/teetotal-1-2-x/handover.c: Too many open files\n", "[1]"),
        (3, '{"verdict":"inconclusive","notes":["the memory is used up"]}\n', "", "[1]"),
        (0, '{"verdict":"safe"}\n', "", "WRONG"),
        (70, "", "Traceback\n  here\nteetotal: this is a fault\n", "WRONG"),
        (2, "", "one line\nanother\n", "WRONG"),
    ],
)
def test_an_answer_is_right_or_a_refusal_in_one_line(
    environments: ModuleType, status: int, output: str, errors: str, cell: str, tmp_path: Path
) -> None:
    right = environments.Answer(1, "violation")
    found = environments.answer_of(("-m", "teetotal", "check"), status, output, errors)
    trial = environments.Trial("python", tmp_path, {})
    told = trial.told([found], [right])
    assert trial.wrong is (cell == "WRONG")
    assert told == ("yes" if cell == "" else "no: [1]")
    if cell == "[1]" and status == 2:
        assert trial.reasons == ["FILE: Too many open files"]
