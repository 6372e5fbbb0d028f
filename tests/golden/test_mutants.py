"""The list of planted faults is in order: each can be planted, and the tests that must notice it exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from mutants.listing import ROOT, Mutant, mutants

LIST = mutants()


@cache
def functions(file: str) -> set[str]:
    path = ROOT / file
    text = path.read_text() if path.is_file() else ""
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}


def problems(mutant: Mutant) -> Iterator[str]:
    if (problem := mutant.problem()) is not None:
        yield f"{mutant.title}: {problem}"
    if bool(mutant.killed_by) == bool(mutant.equivalent):
        yield f"{mutant.title}: either a test kills it, or an argument says why none can"
    for test in mutant.killed_by:
        file, _, name = test.partition("::")
        if name.partition("[")[0] not in functions(file):
            yield f"{mutant.title}: there is no test {test}"


def test_there_are_many() -> None:
    assert len(LIST) >= 150


@pytest.mark.parametrize("area", sorted({mutant.area for mutant in LIST}))
def test_planted_faults_are_not_stale(area: str) -> None:
    assert [problem for mutant in LIST if mutant.area == area for problem in problems(mutant)] == []
