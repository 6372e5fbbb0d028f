"""``check``'s verdict on robustness against the definition, brute force over the relaxed machines in models/."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from program_strategies import programs
from sc_executions import executions
from small_programs import MFENCE, ld, load_store_pairs, program, st
from teetotal import models
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.schedules import from_token
from teetotal.answers.strategies import Strategy
from teetotal.answers.verdict import Waiting
from teetotal.budget import Budget
from teetotal.engines.executions.robustness import robustness
from teetotal.programs.expressions import Addr, Const, Op, Reg
from teetotal.programs.program import Branch, Instruction, Program, Rmw

RELAXED: tuple[ModelName, ...] = ("tso", "pso")
ADDRESS_ONLY = Semantics(rmw="address", mutex="rmw", failed_cas="write")


def agrees(
    program: Program,
    semantics: Semantics,
    strategy: Strategy,
    monitors: tuple[str, ...] = (),
    waiting: Waiting = "skip",
) -> None:
    found = robustness(program, RELAXED, semantics, strategy=strategy, monitors=monitors, waiting=waiting)
    for model in RELAXED:
        assert (not found.violations[model]) == models.robust(program, model, semantics), model
        for violation in found.violations[model]:
            token = violation.replay.split()[2]
            replayed_model, schedule, replayed_semantics = from_token(token, list(program.memory))
            run = models.replay(program, replayed_model, schedule, replayed_semantics)
            assert replayed_model == model
            assert not models.is_sc(run.trace())


@settings(max_examples=600)
@given(programs(total=7, addresses="xy"))
def test_one_execution_per_class_decides_robustness(program: Program) -> None:
    agrees(program, Semantics(), Strategy("all"))


@settings(max_examples=400)
@given(programs(total=7, addresses="xy"))
def test_the_same_when_an_rmw_flushes_its_own_address_only(program: Program) -> None:
    agrees(program, ADDRESS_ONLY, Strategy("all"))


@settings(max_examples=300)
@given(programs(total=6))
def test_burnim_over_all_interleavings_decides_it_too(program: Program) -> None:
    agrees(program, Semantics(), Strategy("interleavings"), ("burnim-tso", "burnim-pso"))


@settings(max_examples=200)
@given(programs(total=5, addresses="xy", loops=True, locks=False))
def test_leaving_out_iterations_that_see_nothing_new_changes_no_verdict(program: Program) -> None:
    """The specification walks every iteration up to the bound; the search stops a spinning thread early."""
    agrees(program, Semantics(), Strategy("all"), waiting="count")


def test_a_round_like_the_one_before_may_close_a_cycle_but_the_beginning_of_it_does_too() -> None:
    """x=1; y=1 || do { a=x; b=y } while (!a): after a round that saw 0, 1 the same again is a cycle, and the trace without
    it has none. The search stops after two equal rounds, and finds the cycle that the second one's first read closes."""
    once: list[Instruction] = [ld("a", "x"), ld("b", "y")]
    cycles = {}
    for rounds in (1, 2):
        for trace in models.traces(program([st("x", 1), st("y", 1)], once * rounds), "pso"):
            if [event.value for event in trace.threads[1]] == [0, 1] * rounds:
                cycles[rounds] = not models.is_sc(trace)
    assert cycles == {1: False, 2: True}
    waiting = program([st("x", 1), st("y", 1)], [*once, Branch(target=0, when=Op("==", (Reg("a"), Const(0))))])
    found = robustness(waiting, RELAXED, waiting="count")
    assert found.complete
    assert not found.violations["tso"]
    assert found.violations["pso"]


@settings(max_examples=150)
@given(programs(total=6, addresses="xy"))
def test_sampling_reports_only_real_violations(program: Program) -> None:
    for strategy in (Strategy("random", 20), Strategy("pct", 20, 3), Strategy("preemptions", 1)):
        found = robustness(program, RELAXED, strategy=strategy)
        assert not found.complete
        for model in RELAXED:
            assert not found.proves(model)
            if found.violations[model]:
                assert not models.robust(program, model)


@pytest.mark.parametrize("strategy", ["random", "pct"])
def test_sampling_is_reproducible(strategy: str) -> None:
    sampled = load_store_pairs(4)
    chosen = Strategy(strategy, 50, 3)
    first = executions(sampled, chosen, keep=50, seed=7)
    assert first.schedules == executions(sampled, chosen, keep=50, seed=7).schedules
    assert first.schedules != executions(sampled, chosen, keep=50, seed=8).schedules
    assert len({tuple(schedule) for schedule in first.schedules}) > 5


def test_a_burnim_monitor_over_one_execution_per_class_proves_nothing() -> None:
    """T0: y=2; r=x; mfence || T1: x=2; y=1 is not robust, and reduction can hide it from that monitor."""
    hidden = program([st("y", 2), ld("r", "x"), MFENCE], [st("x", 2), st("y", 1)])
    assert not models.robust(hidden, "tso")
    assert robustness(hidden, ["tso"]).violations["tso"]
    reduced = robustness(hidden, ["tso"], monitors=["burnim-tso"])
    assert not reduced.proves("tso")
    assert any("can miss" in note for note in reduced.notes)


def test_a_loop_that_was_cut_proves_nothing() -> None:
    spin: list[Instruction] = [
        Rmw(register="r", address=Addr("x"), value=Const(1)),
        Branch(target=0, when=Op("==", (Reg("r"), Const(1)))),
    ]
    found = robustness(msgspec.structs.replace(program(spin, spin), loop_bound=2), RELAXED, waiting="count")
    assert not found.complete
    assert not found.proves("tso")


def test_a_search_whose_memory_is_full_says_so() -> None:
    buffering = program([st("x", 1), ld("r", "y")], [st("y", 1), ld("r", "x")])
    found = robustness(buffering, ["tso"], budget=Budget(megabytes=0))
    assert not found.complete
    assert any("see --memory" in note for note in found.notes)
