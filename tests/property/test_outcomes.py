"""Outcomes of the core, a small program with a known answer for each thing that could go wrong."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from large_programs import DEKKER
from small_programs import MFENCE, SFENCE, cas, fetch_add, ld, lock, program, st, unlock
from teetotal import models
from teetotal.answers.events import MODELS, ModelName, Semantics
from teetotal.budget import Budget
from teetotal.engines.states import outcomes
from teetotal.engines.states.outcomes import Outcomes
from teetotal.programs.expressions import Addr, Const, Expr, Final, Op, Reg, evaluate
from teetotal.programs.program import Assert, Assign, Assume, Branch, Instruction, Load, Program, Rmw, Store, Thread
from teetotal.programs.python.loader import load_text

RMW_ADDRESS = Semantics(rmw="address")
RELAXED: tuple[ModelName, ...] = ("tso", "pso")


def observed(
    test: Program, what: str, model: ModelName, semantics: Semantics = Semantics()
) -> set[tuple[int, ...]]:  # ``what``: 0:r for a register of thread 0, x for a location
    asked = tuple(Final(int(w[0]), w[2:]) if ":" in w else Final(None, w) for w in what.split())
    return outcomes(msgspec.structs.replace(test, observed=asked), model, semantics).values


def under_each_model(test: Program, what: str, semantics: Semantics = Semantics()) -> list[set[tuple[int, ...]]]:
    return [observed(test, what, model, semantics) for model in MODELS]


def writes_again(address: str) -> list[Instruction]:
    """For ever: the same value to the same place."""
    return [st(address, 1), Branch(target=0)]


def spins(address: str) -> list[Instruction]:
    return [ld("r", address), Branch(target=0, when=Op("==", (Reg("r"), Const(0))))]


def failing() -> list[Instruction]:
    return [ld("r", "y"), Assert(condition=Op("!=", (Reg("r"), Const(1)))), ld("s", "x")]


SB = program([st("x", 1), ld("r", "y")], [st("y", 1), ld("s", "x")])
MP = program([st("x", 1), st("y", 1)], [ld("r", "y"), ld("s", "x")])
FENCED = program([st("x", 1), MFENCE, ld("r", "y")], [st("y", 1), MFENCE, ld("s", "x")])
ORDERED = program([st("y", 1), SFENCE, st("x", 1)], [ld("r", "x"), ld("s", "y")])
TWO_ORDERED = program([st("x", 1), SFENCE, st("x", 2), st("y", 1)], [ld("r", "y"), ld("s", "x")])
COUNTED = program([fetch_add("x")], [fetch_add("x")])
COHERENT = program([st("x", 1), st("x", 2)], [ld("r", "x"), ld("s", "x")])


@pytest.mark.parametrize(
    ("test", "what", "relaxed"),
    [
        pytest.param(SB, "0:r 1:s", {"sc": set(), "tso": {(0, 0)}, "pso": {(0, 0)}}, id="SB"),
        pytest.param(MP, "1:r 1:s", {"sc": set(), "tso": set(), "pso": {(1, 0)}}, id="MP"),
        pytest.param(FENCED, "0:r 1:s", {"sc": set(), "tso": set(), "pso": set()}, id="SB+mfences"),
        pytest.param(ORDERED, "1:r 1:s", {"sc": set(), "tso": set(), "pso": set()}, id="MP+sfence"),
    ],
)
def test_textbook_outcomes(test: Program, what: str, relaxed: dict[ModelName, set[tuple[int, ...]]]) -> None:
    everything = {(a, b) for a in (0, 1) for b in (0, 1)}
    forbidden = (0, 0) if what == "0:r 1:s" else (1, 0)
    for model in MODELS:
        assert observed(test, what, model) == everything - {forbidden} | relaxed[model]
    for model in MODELS:
        assert observed(COUNTED, "0:old 1:old x", model) == {(0, 1, 2), (1, 0, 2)}
        assert observed(COHERENT, "1:r 1:s x", model) == {(a, b, 2) for a in range(3) for b in range(a, 3)}


def test_stores_behind_an_sfence_wait_and_then_go_in_any_order() -> None:
    assert observed(TWO_ORDERED, "1:r 1:s", "pso") == {(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)}
    assert observed(TWO_ORDERED, "1:r 1:s", "tso") == {(0, 0), (0, 1), (0, 2), (1, 2)}


def failures(found: Outcomes) -> list[tuple[int, bool]]:
    return [(failure.thread, failure.wild) for failure in found.failures]


def test_a_lone_step_that_leads_nowhere_new_holds_nobody_back() -> None:
    """Thread 0 waits for ever at a location of its own."""
    for model in MODELS:
        assert failures(outcomes(program(spins("z"), failing(), [st("y", 1)]), model)) == [(1, False)]


def test_a_lone_commit_that_leads_nowhere_new_holds_nobody_back() -> None:
    """Thread 0 stores the same to a location of its own, for ever, with a fence: each round leads back to where it was."""
    again: list[Instruction] = [st("z", 0), MFENCE, Branch(target=0)]
    for model in MODELS:
        assert failures(outcomes(program(again, failing(), [st("y", 1)]), model)) == [(1, False)]


def test_a_location_reached_through_a_register_is_shared() -> None:
    """x is named by thread 0 alone; thread 1 finds its address in p."""
    through = (
        Load(register="a", address=Addr("p")),
        Load(register="r", address=Reg("a")),
        Load(register="s", address=Reg("a")),
    )
    threads = (
        Thread("P0", (st("x", 1), st("x", 2)), {}),
        Thread("P1", through, {"a": 0, "r": 0, "s": 0}),
    )
    test = Program(name="pointer", threads=threads, memory={"x": 0, "p": 1})
    for found in under_each_model(test, "1:r 1:s"):
        assert found == {(a, b) for a in range(3) for b in range(a, 3)}


def test_an_rmw_stays_behind_its_own_thread_s_stores_to_its_address() -> None:
    own = program([st("x", 5), fetch_add("x")], [ld("r", "x")])
    for found in under_each_model(own, "0:old x", RMW_ADDRESS):
        assert found == {(5, 6)}


def test_an_rmw_that_flushes_its_own_address_lets_others_wait() -> None:
    published = program([st("x", 1), fetch_add("y")], [ld("r", "y"), ld("s", "x")])
    assert [(1, 0) in found for found in under_each_model(published, "1:r 1:s")] == [False, False, False]
    assert [(1, 0) in found for found in under_each_model(published, "1:r 1:s", RMW_ADDRESS)] == [False, False, True]


def test_an_rmw_is_a_full_fence_under_tso_whatever_it_flushes_under_pso() -> None:
    fenced = program([st("x", 1), fetch_add("a"), ld("r", "y")], [st("y", 1), fetch_add("b"), ld("s", "x")])
    assert [(0, 0) in found for found in under_each_model(fenced, "0:r 1:s", RMW_ADDRESS)] == [False, False, True]


@pytest.mark.parametrize(("mutex", "stale"), [("fence", False), ("rmw", True)])
def test_an_unlock_is_a_fence_or_a_bare_rmw(mutex: Literal["fence", "rmw"], stale: bool) -> None:
    published = program([lock("m"), st("x", 1), unlock("m"), st("y", 1)], [ld("r", "y"), ld("s", "x")])
    found = under_each_model(published, "1:r 1:s", Semantics(rmw="address", mutex=mutex))
    assert [(1, 0) in values for values in found] == [False, False, stale]


def test_mutual_exclusion_holds_on_every_machine() -> None:
    exclusive = program(*([lock("m"), ld("r", "n"), Store(address=Addr("n"), value=Const(1)), unlock("m")],) * 2)
    for found in under_each_model(exclusive, "0:r 1:r"):
        assert found == {(0, 1), (1, 0)}


def test_a_load_sees_the_youngest_of_its_own_stores() -> None:
    for found in under_each_model(program([st("x", 1), st("x", 2), ld("r", "x")], [ld("s", "x")]), "0:r"):
        assert found == {(2,)}


def test_pso_buffers_commit_in_any_order_of_addresses() -> None:
    """y, then x, then y again: x may go first, and y's stores in their order only."""
    stores = program([st("y", 1), st("x", 1), st("y", 2)], [ld("r", "x"), ld("s", "y")], [ld("t", "y"), ld("u", "y")])
    assert {s for r, s in observed(stores, "1:r 1:s", "pso") if r} == {0, 1, 2}
    assert observed(stores, "2:t 2:u", "pso") == {(a, b) for a in range(3) for b in range(a, 3)}


def test_an_sfence_at_the_end_of_a_thread_is_gone_with_its_stores() -> None:
    for model in MODELS:
        found = outcomes(program([st("x", 1), SFENCE], [ld("r", "x")]), model)
        assert found.values == {()}
        assert found.deadlock is None


@pytest.mark.parametrize("model", MODELS)
def test_a_loop_that_was_cut_leaves_outcomes_incomplete(model: ModelName) -> None:
    """A counter that is read after two rounds at most."""
    loop: list[Instruction] = [fetch_add("n"), Branch(target=0, when=Op("<", (Reg("old"), Const(2))))]
    for bound, complete, values in ((1, False, set()), (2, True, {(3,)})):
        found = outcomes(msgspec.structs.replace(program(loop, loop_bound=bound), observed=(Final(None, "n"),)), model)
        assert (found.complete, found.cut, found.values) == (complete, not complete, values)


def test_waiting_for_a_thread_that_failed_is_no_deadlock() -> None:
    """Thread 0 stops with the mutex in its hands: it failed, or what it assumed does not hold."""
    never = Op("==", (Const(0), Const(1)))
    waiting = [lock("m"), unlock("m")]
    for stop, failed in ((Assert(condition=never), [(0, False)]), (Assume(condition=never), [])):
        found = outcomes(program([lock("m"), stop, unlock("m")], waiting), "tso")
        assert failures(found) == failed
        assert found.deadlock is None
    assert outcomes(program([lock("m"), lock("n")], [lock("n"), lock("m")]), "tso").deadlock is not None


def test_a_blocked_run_has_no_outcome() -> None:
    for found in under_each_model(program([lock("m"), lock("m")], [st("x", 1)]), "x"):
        assert found == set()


def test_an_assertion_that_fails_before_any_access() -> None:
    wrong = program([Assert(condition=Const(0)), ld("r", "x")], [st("x", 1)])
    for model in MODELS:
        assert failures(outcomes(wrong, model)) == [(0, False)]


def test_an_access_that_goes_astray_is_told() -> None:
    """Locations are numbered from 1: there is no 0 and, with one location, no 2."""
    for address, wild in ((0, True), (1, False), (2, True)):
        astray = Thread("P0", (Load(register="r", address=Const(address)),), {"r": 0})
        found = outcomes(Program(name="astray", threads=(astray,), memory={"x": 0}), "sc")
        assert failures(found) == ([(0, True)] if wild else [])


def test_outcomes_stop_where_the_given_memory_ends() -> None:
    found = outcomes(program([st("x", 1), Branch(target=0)]), "tso", max_states=2000, budget=Budget(megabytes=1))
    assert found.full
    assert not found.complete
    assert found.states < 2000


def test_a_bound_on_states_is_not_one_on_memory() -> None:
    found = outcomes(program([st("x", 1), Branch(target=0)]), "tso", max_states=20)
    assert not found.complete
    assert not found.full


def test_what_was_found_when_memory_ends_is_kept_with_the_way_to_it() -> None:
    """Whoever stores for ever fills any memory; the others' failure is found before."""
    endless = [st("x", 1), ld("q", "y"), Branch(target=0)]
    test = program(endless, [st("y", 1), ld("r", "x"), Assert(condition=Reg("r"))])
    for model in RELAXED:
        found = outcomes(test, model, budget=Budget(megabytes=1))
        assert found.full
        (failure,) = found.failures
        assert models.replay(test, model, failure.schedule, Semantics()).locals[1].status == "failed"


@pytest.mark.parametrize("model", RELAXED)
def test_numbers_of_any_size_are_kept_in_states_and_buffers(model: ModelName) -> None:
    numbers = [0, 1, -1, 63, 64, -64, -65, 8191, 8192, -8193, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)]
    stores = [st(address, number) for number in numbers for address in ("x", "y")]
    stores[9:9] = [SFENCE]
    test = program([*stores, MFENCE, ld("r", "x")], [ld("s", "x"), ld("t", "y")])
    assert {s for (s,) in observed(test, "1:s", model)} == set(numbers)
    assert {t for (t,) in observed(test, "1:t", model)} == set(numbers)
    assert observed(test, "0:r x y", model) == {(-(2**63), -(2**63), -(2**63))}


def test_states_are_small_and_those_on_the_way_to_findings_are_kept() -> None:
    """Buffers have up to 22 stores: as words of eight bytes the states took 60 MB, and as much again while these grew."""
    (dekker,) = load_text("dekker.py", DEKKER, trust=True)
    found = outcomes(dekker, "tso", budget=Budget(megabytes=32))
    assert (found.states, found.complete, len(found.values), len(found.failures)) == (312_217, True, 4, 8)
    for failure in found.failures:
        run = models.replay(dekker, "tso", failure.schedule, Semantics())
        assert run.locals[failure.thread].status == "failed"


@pytest.mark.parametrize("model", MODELS)
def test_an_outcome_s_schedule_leads_there(model: ModelName) -> None:
    test = msgspec.structs.replace(MP, observed=(Final(1, "r"), Final(1, "s")))
    found = outcomes(test, model)
    for values in found.values:
        run = models.replay(test, model, found.schedule(values), Semantics())
        assert test.outcome(tuple(run.locals), run.final_memory()) == values


@pytest.mark.parametrize(("failed_cas", "x"), [("read", 0), ("write", 0)])
def test_a_failed_compare_and_swap_leaves_memory_alone(failed_cas: Literal["read", "write"], x: int) -> None:
    for found in under_each_model(program([cas("x", 1, 2)]), "x", Semantics(failed_cas=failed_cas)):
        assert found == {(x,)}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (Op("//", (Const(-7), Const(2))), -4),
        (Op("%", (Const(-7), Const(2))), 1),
        (Op("//", (Const(7), Const(-2))), -4),
        (Op("%", (Const(7), Const(-2))), -1),
        (Op("<=", (Const(2), Const(2))), 1),
        (Op("<", (Const(2), Const(2))), 0),
        (Op(">>", (Const(-8), Const(1))), -4),
        (Op("and", (Const(2), Const(1))), 1),
        (Op("or", (Const(0), Const(2))), 1),
    ],
)
def test_arithmetic_is_python_s(expression: Expr, value: int) -> None:
    computed = program([Assign(register="r", value=expression), Rmw(register="old", address=Addr("x"), value=Reg("r"))])
    assert evaluate(expression, lambda _: 0) == value
    assert under_each_model(computed, "x") == [{(value,)}] * 3


def test_more_values_than_are_looked_through_one_by_one_are_told_apart() -> None:
    """Of two loads in a row, while a counter goes up to 40 (``kFewResponses`` of core/locals.hpp are 16)."""
    test = program([fetch_add("x")] * 40, [ld("r", "x"), ld("s", "x")])
    pairs = {(first, second) for first in range(41) for second in range(first, 41)}
    assert under_each_model(test, "1:r 1:s") == [pairs] * 3
