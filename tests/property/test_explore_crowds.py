"""Programs of three to seven threads: the search visits every class once, in whatever order the threads are listed.

A race was once forgotten as soon as its reversal was planned. With five threads and more that lost classes, and with them
violations; programs of four threads hardly ever showed it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from amounts import some
from program_strategies import describe
from random_programs import SHAPES, seeded
from sc_executions import count_classes, executions
from small_programs import ld, program, ring_behind_guards, st
from teetotal import models
from teetotal.answers.events import Issue, Semantics
from teetotal.answers.options import CheckOptions
from teetotal.answers.options import CheckOptions as OptionsC
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.checking import check as check_c
from teetotal.engines.executions.robustness import robustness
from teetotal.engines.states import outcomes
from teetotal.programs.c.build import Source
from teetotal.programs.expressions import (
    Addr,
    Const,
    Final,
    Old,
    Op,
)
from teetotal.programs.program import Program, Rmw

CROWD = {"threads": (3, 4, 5, 5, 6, 7), "operations": (3, 3, 2, 2, 2, 1), "addresses": 4}
PAIRED = {"threads": (5, 6), "operations": (2, 2, 2, 2, 1), "addresses": 2}


def reversed_threads(program: Program) -> Program:
    return msgspec.structs.replace(program, threads=program.threads[::-1])


def six_accesses() -> Program:
    """T0 has four reads to choose from, and T3's pair three; together twelve classes, of which eleven were visited."""
    return program([ld("r", "x")], [st("y", 1)], [st("x", 1)], [ld("r", "y"), ld("s", "y")], [ld("r", "x")])


def eight_accesses() -> Program:
    """Two classes are lost where a race counts as settled although its tail decided which way it went down the tree."""
    swap = Rmw(register="r", address=Addr("x"), value=Const(1), when=Op("==", (Old(), Const(0))))
    add = Rmw(register="s", address=Addr("z"), value=Op("+", (Old(), Const(1))))
    return program([swap], [st("x", 2)], [st("z", 1)], [ld("r", "z")], [ld("r", "z"), st("x", 2)], [ld("r", "x"), add])


def nine_accesses() -> Program:
    """Two classes are lost where a sleeper that conflicts with the tail counts as covering the race."""
    swap = Rmw(register="r", address=Addr("y"), value=Const(1), when=Op("==", (Old(), Const(2))))
    return program(
        [st("z", 1)],
        [st("x", 2)],
        [st("y", 2), ld("r", "x")],
        [ld("r", "z")],
        [swap, ld("s", "z")],
        [st("z", 2), st("y", 2)],
    )


@pytest.mark.parametrize(
    ("candidate", "classes"),
    [(six_accesses(), 12), (ring_behind_guards(), 22), (eight_accesses(), 279), (nine_accesses(), 162)],
)
def test_a_race_is_asked_again_after_its_reversal_was_planned(candidate: Program, classes: int) -> None:
    counted = count_classes(candidate)
    assert counted is not None
    for listed in (candidate, reversed_threads(candidate)):
        assert executions(listed).executions == counted[0] == classes


def test_a_ring_behind_guards_is_not_robust_whatever_the_order_of_its_threads() -> None:
    for listed in (ring_behind_guards(), reversed_threads(ring_behind_guards())):
        result = check(listed, CheckOptions(models=("tso",)))
        assert result.models["tso"].robust is False
        assert result.verdict is Verdict.VIOLATION


GUARDED_C = """
#include <assert.h>
#include <pthread.h>
volatile int x, y, u, v, w;
static void *a(void *p) { if (y == 1) { u = 1; int r = v; } return p; }
static void *b(void *p) { x = 1; return p; }
static void *c(void *p) { y = 1; return p; }
static void *d(void *p) { if (y == 0) { v = 1; int r = w; } return p; }
static void *e(void *p) { int r = x; if (x == 0) { w = 1; LAST } return p; }
int main(void) {
  void *(*code[])(void *) = {ORDER};
  pthread_t t[5];
  for (int i = 0; i < 5; i++) pthread_create(&t[i], 0, code[i], 0);
  for (int i = 0; i < 5; i++) pthread_join(t[i], 0);
}
"""


@pytest.mark.parametrize("order", ["a,b,c,d,e", "e,d,c,b,a"])
def test_an_assertion_of_a_c_program_fails_in_whatever_order_its_threads_are_created(
    tmp_path: Path, order: str
) -> None:
    file = tmp_path / "guarded.c"
    file.write_text(GUARDED_C)
    last = "-DLAST=assert(!(u == 1) || v == 0);"
    failing = check_c(Source((str(file),), (f"-DORDER={order}", last)), OptionsC(models=("sc",)))
    assert [violation.kind for violation in failing.violations] == ["assertion"]
    racing = check_c(Source((str(file),), (f"-DORDER={order}", "-DLAST=r = u;")), OptionsC(models=("tso",)))
    assert racing.models["tso"].robust is False
    assert racing.executions == 22


@pytest.mark.parametrize("shape", ["plain", "atomic", "locked", "mixed"])
def test_as_many_executions_in_either_order_of_the_threads(shape: str) -> None:
    """Needs no brute force, so programs may be larger; the classes are counted where that ends soon."""
    for candidate in seeded(7, some(500), SHAPES[shape]._replace(**CROWD)):
        found = executions(candidate)
        other_way = executions(reversed_threads(candidate))
        assert found.complete
        assert found.redundant == other_way.redundant == 0, describe(candidate)
        assert found.executions == other_way.executions, describe(candidate)
        counted = count_classes(candidate, most=5_000)
        if counted is not None:
            assert found.executions == counted[0], describe(candidate)


def test_the_classes_visited_are_those_of_the_machine() -> None:
    """Not only as many: the same ones."""
    for candidate in seeded(8, 15, SHAPES["plain"]._replace(**PAIRED)):
        found = executions(candidate, keep=100_000)
        traces = {
            models.replay(candidate, "sc", tuple(map(Issue, schedule)), Semantics()).trace()
            for schedule in found.schedules
        }
        assert len(traces) == found.executions
        assert traces == models.traces(candidate, "sc"), describe(candidate)


def observed(candidate: Program) -> Program:
    registers = [Final(number, name) for number, thread in enumerate(candidate.threads) for name in thread.registers]
    return msgspec.structs.replace(
        candidate, observed=(*registers, *(Final(None, name) for name in candidate.memory if name != "m"))
    )


@pytest.mark.parametrize("shape", ["atomic", "mixed"])
def test_robust_programs_have_the_outcomes_of_sc(shape: str) -> None:
    """Two engines that share nothing: what one calls robust, the other finds no more outcomes of."""
    robust = 0
    for candidate in map(observed, seeded(9, some(150), SHAPES[shape]._replace(**CROWD))):
        sc = outcomes(candidate, "sc").values
        for model, violations in robustness(candidate, ("tso", "pso")).violations.items():
            if not violations:
                assert outcomes(candidate, model).values == sc, describe(candidate)
                robust += 1
    assert robust > some(100)
