"""Marks that the fence search puts into C programs are no part of them: loops wait as they do without, and whatever
``check`` calls robust gets no fence."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from amounts import some
from c_programs import COMPILERS, translate
from fencing_tools import NEEDS_COMPILER, TWO_THREADS
from looping_programs import looping_program
from teetotal.answers.check import CheckAnswer
from teetotal.answers.costs import Costs
from teetotal.answers.options import FenceOptions
from teetotal.answers.verdict import Verdict
from teetotal.fences.c import CProblem
from teetotal.fences.c_files import CFiles
from teetotal.fences.fencing import fence
from teetotal.programs.c import Source

pytestmark = NEEDS_COMPILER
MEET = (
    """#include <pthread.h>
static volatile int x, y;
static void *left(void *a) { x = 1; while (!y); return a; }
static void *right(void *a) { y = 1; while (!x); return a; }
"""
    + TWO_THREADS
)
"""Store buffering between two that wait: older values only let them wait longer."""


def test_two_that_wait_for_each_other_need_no_fence(tmp_path: Path) -> None:
    program = tmp_path / "meet.c"
    program.write_text(MEET)
    answer = fence(str(program)).answer
    assert answer.fences == []
    assert answer.verdict is Verdict.SAFE


def found(answer: CheckAnswer) -> object:
    return (
        answer.executions,
        answer.blocked,
        {name: model.robust for name, model in answer.models.items()},
    )


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("seed", range(2))
def test_programs_with_marks_are_explored_as_without(tmp_path: Path, compiler: str, seed: int) -> None:
    rng = random.Random(seed)
    programs = [looping_program(rng) for _ in range(some(4, least=2))]
    text = tmp_path / "loops.c"
    text.write_text(translate(programs, observed=True))
    for number in range(len(programs)):
        source = Source((str(text),), (), compiler, (str(number),))
        problem = CProblem(CFiles(source, Costs(), strengthen=False), FenceOptions())
        with_marks = problem.explored(problem.files.explored(frozenset()))
        assert found(with_marks) == found(problem.check_as_it_is()), number
