"""Waiting rounds are no part of executions: classes, robustness, outcomes and failures without them are those of the
definition, walked by brute force (reference/waitless.py), on random programs and on those that were hard to get right."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st_

from amounts import some
from looping_programs import looping_program
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.strategies import Strategy
from teetotal.engines.executions import executions
from teetotal.engines.executions.robustness import robustness
from teetotal.engines.states.outcomes import outcomes
from teetotal.programs.program import Program, Rmw
from waiting_programs import (
    await_n,
    dekker,
    mcs_lock,
    peterson,
    spin_lock,
    swapping,
    tas,
    ticket_lock,
    ttas,
)

RELAXED: tuple[ModelName, ...] = ("tso", "pso")


def agrees(program: Program) -> None:
    """One execution for each class, none begun in vain; robust, outcomes and failures as by definition."""
    machine = waitless.Machine(program)
    try:
        expected = waitless.classes(program)
        found = executions(program, keep=100_000)
        traces = [machine.run(schedule).trace for schedule in found.schedules]
        assert len(set(traces)) == len(traces) == found.executions
        assert set(traces) == set(expected)
        assert (found.redundant, found.complete) == (0, True)
        if "other" not in expected.values():
            assert found.vain == list(expected.values()).count("vain")
        atomic = any(isinstance(instruction, Rmw) for thread in program.threads for instruction in thread.code)
        for model in RELAXED:
            for semantics in (Semantics(), Semantics(rmw="address"))[: 1 + (atomic and model == "pso")]:
                decides(program, model, semantics)
    except waitless.TooMany:
        pass


def decides(program: Program, model: ModelName, semantics: Semantics) -> None:
    definition = waitless.summary(program, model, rmw_all=semantics.rmw == "all", most=5_000)
    searched = robustness(program, [model], semantics)
    assert searched.complete
    assert (not searched.violations[model]) == definition.robust
    reached = outcomes(program, model, semantics)
    assert reached.values == definition.outcomes
    assert {failure.thread for failure in reached.failures} == {thread for thread, _ in definition.failures}


@settings(max_examples=some(150))
@given(st_.integers(0, 2**32))
def test_random_loops(seed: int) -> None:
    agrees(looping_program(random.Random(seed)))


@settings(max_examples=some(60))
@given(st_.integers(0, 2**32))
def test_random_loops_beside_mutexes(seed: int) -> None:
    agrees(looping_program(random.Random(seed), mutexes=True))


@settings(max_examples=some(60))
@given(st_.integers(0, 2**32))
def test_other_ways_to_explore_run_waitless_executions_too(seed: int) -> None:
    """Every interleaving: all classes. A sample: nothing that the definition does not have."""
    program = looping_program(random.Random(seed))
    machine = waitless.Machine(program)
    try:
        expected = set(waitless.classes(program))
    except waitless.TooMany:
        return
    for strategy in (
        Strategy("interleavings"),
        Strategy("preemptions", 1),
        Strategy("random", 20),
        Strategy("pct", 20, 2),
    ):
        found = executions(program, strategy, keep=10_000)
        if found.executions > 10_000:
            continue
        traces = {machine.run(schedule).trace for schedule in found.schedules}
        assert traces == expected if strategy.name == "interleavings" else traces <= expected


# -- how many there are -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "complete", "vain"),
    [
        *(pytest.param(await_n(n), 1, 0, id=f"await-{n}") for n in (4, 16, 1000)),
        *(pytest.param(dekker(n), c, v, id=f"dekker-{n}") for n, c, v in ((1, 4, 5), (2, 71, 111), (3, 1344, 2122))),
        *(pytest.param(peterson(n), c, c, id=f"peterson-{n}") for n, c in ((1, 4), (2, 48), (3, 588))),
        *(pytest.param(spin_lock(tas, n), c, 0, id=f"test-and-set-{n}") for n, c in ((2, 2), (3, 6), (5, 120))),
        *(pytest.param(spin_lock(swapping, n), c, 0, id=f"cas-{n}") for n, c in ((2, 2), (4, 24))),
        *(pytest.param(spin_lock(ttas, n), c, 0, id=f"ttas-{n}") for n, c in ((2, 4), (3, 36), (4, 576))),
        *(pytest.param(ticket_lock(n), c, 0, id=f"ticket-{n}") for n, c in ((2, 2), (5, 120))),
        *(pytest.param(mcs_lock(n), c, 0, id=f"mcs-{n}") for n, c in ((2, 6), (3, 66))),
    ],
)  # fmt: skip
def test_counts(program: Program, complete: int, vain: int) -> None:
    found = executions(program)
    assert (found.executions - found.blocked, found.vain, found.blocked) == (complete, vain, vain)
    assert (found.redundant, found.complete) == (0, True)
