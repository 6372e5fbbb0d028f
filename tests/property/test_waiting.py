"""Waiting rounds are no part of executions: classes, robustness, outcomes and failures without them are those of the
definition, walked by brute force (reference/waitless.py), on random programs and on those that were hard to get right."""

from __future__ import annotations

import random
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st_

import waitless
from looping_programs import looping_program
from sc_executions import executions
from small_programs import ld, st
from small_programs import program as small
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.strategies import Strategy
from teetotal.engines.encoding import twins
from teetotal.engines.executions.robustness import robustness
from teetotal.engines.states.outcomes import outcomes
from teetotal.programs.expressions import Addr, Const, Final, Op, Reg
from teetotal.programs.program import Branch, Instruction, Load, Program, Store, Thread
from waiting_checks import RELAXED, Definition, interpreted
from waiting_programs import (
    await_n,
    awaits_then_loads,
    awaits_z_then_one,
    both_rounds,
    build,
    counted_wait,
    counts_while_waiting,
    dekker,
    fenced_wait,
    leaves_if_not_one,
    leaves_with_the_last,
    loads_then_leaves_if_not_one,
    mcs_lock,
    peterson,
    reads_often,
    spin_lock,
    stores,
    stores_both,
    stores_for_ever,
    stores_loads_stores,
    stores_often,
    stores_then_awaits,
    stores_then_awaits_one,
    stores_then_awaits_zero,
    stores_then_loads,
    stores_then_loads_for_ever,
    stores_then_locks,
    stores_then_takes,
    stores_three,
    stores_while_waiting,
    swapping,
    tas,
    ticket_lock,
    ttas,
    two_values_then_flag,
    zeroes,
)


def agrees(program: Program, failed_cas: Literal["read", "write"] = "read") -> None:
    try:
        definition = Definition(program, Semantics(failed_cas=failed_cas))
    except waitless.TooMany:
        return
    interpreted(definition)


@settings(max_examples=400)
@given(st_.integers(0, 2**32))
def test_random_loops(seed: int) -> None:
    agrees(looping_program(random.Random(seed)))


@settings(max_examples=100)
@given(st_.integers(0, 2**32))
def test_random_loops_where_a_failed_compare_and_swap_writes(seed: int) -> None:
    agrees(looping_program(random.Random(seed)), "write")


@settings(max_examples=120)
@given(st_.integers(0, 2**32))
def test_random_loops_beside_mutexes(seed: int) -> None:
    agrees(looping_program(random.Random(seed), mutexes=True))


@settings(max_examples=100)
@given(st_.integers(0, 2**32))
def test_random_loops_in_threads_that_do_the_same(seed: int) -> None:
    agrees(looping_program(random.Random(seed), alike=True))


def test_threads_are_told_apart_by_registers() -> None:
    """The same code with another register at first is another thread; so is one of which something else is observed."""
    code: tuple[Instruction, ...] = (Store(address=Addr("x"), value=Reg("a")), Load(register="b", address=Addr("x")))
    for registers, observed in (({"a": 1, "b": 0}, "b"), ({"a": 2, "b": 0}, "b"), ({"a": 1, "b": 0}, "a")):
        threads = (Thread("P0", code, {"a": 1, "b": 0}), Thread("P1", code, registers))
        shown = (Final(0, "b"), Final(1, observed))
        program = Program(name="registers", threads=threads, memory={"x": 0}, observed=shown)
        alike = registers["a"] == 1 and observed == "b"
        assert twins(program) == [-1, 0 if alike else -1]
        assert (executions(program, symmetry="on").executions, executions(program).executions) == (2 if alike else 4, 4)


@pytest.mark.parametrize(("threads", "left"), [(2, 1), (4, 1), (6, 1)])
def test_a_lock_is_taken_in_one_order(threads: int, left: int) -> None:
    """Who of the threads that do the same is the first does not matter."""
    program = spin_lock(tas, threads)
    found = robustness(program, RELAXED, symmetry="on")
    assert (found.executions, found.symmetric, found.complete) == (left, True, True)
    assert found.proves("tso")


def test_each_of_those_that_do_the_same_is_told_of() -> None:
    thread: list[Instruction] = [st("x", 1), ld("a", "y"), st("y", 1), ld("b", "x")]
    program = small(thread, thread, thread)
    on, off = (robustness(program, RELAXED, symmetry=symmetry) for symmetry in ("on", "off"))
    assert on.executions < off.executions
    assert not robustness(program, ["tso"], symmetry="on", monitors=["sober-corrected"]).symmetric
    for model in RELAXED:
        assert {violation.shape for violation in on.violations[model]} == {
            violation.shape for violation in off.violations[model]
        }


@settings(max_examples=100)
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


# -- programs that are easily got wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "model", "strictly", "up_to_waiting", "same_outcomes"),
    [
        pytest.param(
            build(stores_then_awaits("x", "y"), stores_then_loads("y", "x"), x=0, y=0), "tso", False, True, True,
            id="the smallest that only waits longer",
        ),
        pytest.param(
            build(stores_then_awaits("x", "y"), stores_then_awaits("y", "x"), x=0, y=0), "tso", False, True, True,
            id="both wait",
        ),
        pytest.param(
            build(stores_then_awaits_one("x", "y", "z"), stores_then_loads("y", "x"), x=0, y=0, z=0), "tso",
            False, False, True, id="a stale read in a round that goes on waiting",
        ),
        pytest.param(
            build(stores_then_awaits_one("x", "y", "z"), stores_loads_stores("y", "x", "z"), x=0, y=0, z=0), "tso",
            False, False, True, id="the same, and it ends",
        ),
        pytest.param(
            build(stores_both("x", "y"), awaits_then_loads("y", "x"), x=0, y=0), "pso", False, False, False,
            id="message passing",
        ),
        pytest.param(
            build(stores_then_locks("x"), stores_then_locks("y"), l=0, d=0, x=0, y=0), "tso", True, True, True,
            id="test-and-set lock",
        ),
    ],
)  # fmt: skip
def test_what_robust_means(
    program: Program, model: ModelName, strictly: bool, up_to_waiting: bool, same_outcomes: bool
) -> None:
    """Full robustness implies robustness up to waiting, which implies the same outcomes; neither the other way."""
    assert (not robustness(program, [model], waiting="count").violations[model]) == strictly
    assert (not robustness(program, [model]).violations[model]) == up_to_waiting
    assert waitless.summary(program, model).robust == up_to_waiting
    assert (outcomes(program, model).values == outcomes(program, "sc").values) == same_outcomes
    agrees(program)


def test_a_read_that_waits_races_with_accesses_before_the_last_write() -> None:
    """The second exchange could not run before the lock was released, but before the first one took it."""
    assert executions(spin_lock(tas, 2)).executions == 2


def test_a_thread_that_waits_at_the_end_races_too() -> None:
    """x=1 first, and the other waits for ever: that it could have left before is found from there."""
    program = build(stores("x", 1), leaves_if_not_one(), x=0)
    found = executions(program)
    assert (found.executions, found.blocked, found.vain) == (2, 1, 0)
    agrees(program)


def test_the_whole_local_state_decides_not_the_place() -> None:
    program = build(counted_wait(), stores("x", 1), x=0)
    assert outcomes(program, "sc").failures
    assert executions(program).executions == len(waitless.classes(program)) == 3
    agrees(program)


def test_a_round_is_not_one_step() -> None:
    """Both 1 at first; r0=1 and r1=0 come from a round that was begun before the first store."""
    program = build(both_rounds(), zeroes("a", "b"), a=1, b=1)
    assert {(1, 0), (0, 0), (0, 1)} == {values[:2] for values in outcomes(program, "sc").values}
    agrees(program)


def test_storing_what_is_there_changes_memory() -> None:
    """y=1 at first; the store of 1 may become visible last, so that the round with it is no waiting."""
    program = build(stores_while_waiting(), stores_three(), x=0, y=1, z=0)
    found = robustness(program, ["tso"])
    assert not found.complete
    assert not found.proves("tso")
    assert any("T0 went round" in note for note in found.notes)


@pytest.mark.parametrize(
    ("program", "model"),
    [
        pytest.param(
            build(loads_then_leaves_if_not_one(), stores_both("x", "y"), x=0, y=0), "pso",
            id="SC waits for ever where PSO may leave",
        ),
        pytest.param(
            build(stores_then_takes(), stores_then_awaits_zero(), x=0, y=0), "tso",
            id="an exchange that under SC only waits",
        ),
        pytest.param(
            build(awaits_z_then_one(), two_values_then_flag(), x=1, z=0), "pso",
            id="the newest overtaken write leads nowhere, the one before does",
        ),
    ],
)  # fmt: skip
def test_what_never_runs_under_sc_is_asked_about(program: Program, model: ModelName) -> None:
    found = robustness(program, [model])
    assert found.violations[model]
    assert not waitless.summary(program, model).robust
    agrees(program)


def test_a_fence_at_the_end_of_a_round_is_looked_through() -> None:
    program = build(fenced_wait(), stores_then_loads("x", "y"), x=0, y=0)
    assert executions(program).executions == 2  # x=1 before the other's read of y, or after
    assert robustness(program, ["tso"]).proves("tso")
    assert robustness(program, ["tso"], waiting="count").violations["tso"]
    agrees(program)


def test_a_round_that_somebody_else_wrote_during_is_one_nevertheless() -> None:
    """Await N: each store comes between the reads of a round that began before."""
    program = await_n(3)
    assert executions(program).executions == 1
    agrees(program)


def test_what_an_outcome_shows_is_live() -> None:
    """The loop leaves with what an earlier round read last: b=1 only if that round is there."""
    program = build(leaves_with_the_last(), stores("y", 1), stores("x", 1), x=0, y=0)
    assert {0, 1} <= {
        dict(zip(map(str, program.observed), v, strict=True))["0:b"] for v in outcomes(program, "sc").values
    }
    agrees(program)


def test_monitors_of_the_papers_count_rounds() -> None:
    program = build(stores_then_awaits("x", "y"), stores_then_loads("y", "x"), x=0, y=0)
    found = robustness(program, ["tso"], monitors=["sober-corrected"])
    assert found.waiting == "count"
    assert found.violations["tso"]
    assert any("waiting rounds are counted" in note for note in found.notes)


# -- loops that do not only wait ------------------------------------------------------------------------------------------


def test_loops_that_end_are_not_cut() -> None:
    """One reads what never changes a thousand times, one stores a thousand times."""
    for thread in (reads_often, stores_often):
        found = robustness(build(thread(1000), stores("z", 1), x=0, z=0), RELAXED)
        assert found.complete
        assert (found.executions, found.notes) == (1, [])


def test_a_loop_that_counts_for_ever_is_cut_and_named() -> None:
    """It is never quite where it was: 101 executions, one for each round in which the flag may be seen, and one cut."""
    found = robustness(build(counts_while_waiting(), stores("x", 1), x=0), RELAXED)
    assert not found.complete
    assert not found.proves("tso")
    (note,) = found.notes
    assert note.startswith("T0 went round ")
    assert "101 times while nothing that was read changed" in note
    assert "waiting_programs.py" in note


def test_a_loop_without_an_end_is_cut_and_named() -> None:
    found = robustness(build(stores_for_ever(), stores("x", 1), x=0, y=0), RELAXED)
    assert not found.complete
    assert "went round" in found.notes[0]
    assert "without an end: cut after 10 backward jumps" in found.notes[0]


def test_a_violation_in_a_program_without_an_end_is_told() -> None:
    program = build(stores_then_loads_for_ever("x", "y"), stores_then_loads_for_ever("y", "x"), x=0, y=0)
    assert robustness(program, RELAXED).violations["tso"]


def test_a_register_that_nobody_reads_again_is_no_part_of_the_state() -> None:
    """while (x != 1 && y != 1); with y=2; x=1 beside it: what the round before read of y is dead where the next begins."""
    spin: list[Instruction] = [
        ld("a", "x"),
        Branch(target=4, when=Op("==", (Reg("a"), Const(1)))),
        ld("b", "y"),
        Branch(target=0, when=Op("!=", (Reg("b"), Const(1)))),
    ]
    program = small(spin, [st("y", 2), st("x", 1)])
    found = executions(program)
    assert (found.executions, found.vain) == (2, 1)
    agrees(program)
