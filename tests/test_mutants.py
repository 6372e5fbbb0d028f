"""The list of planted faults is in order: each can be planted, and the tests that must notice it exist."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from mutants.listing import ROOT, Mutant, mutants

LIST = mutants()


@cache
def functions(file: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)}


def test_there_are_many() -> None:
    assert len(LIST) >= 150


@pytest.mark.parametrize("mutant", LIST, ids=lambda mutant: mutant.title)
def test_a_planted_fault_is_not_stale(mutant: Mutant) -> None:
    assert mutant.problem() is None
    assert bool(mutant.killed_by) != bool(mutant.equivalent), "either a test kills it, or an argument says why none can"
    for test in mutant.killed_by:
        file, _, name = test.partition("::")
        assert name.partition("[")[0] in functions(file), test
