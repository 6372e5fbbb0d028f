"""Questions about final states: what they name is what is observed, and they mean what Python means by them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from python_reference import execute
from teetotal import models
from teetotal.programs.expressions import Final
from teetotal.programs.program import Program

TEXT = """from teetotal import *
def left():
    yield st("x", 1)
    r = yield ld("y")
def right():
    yield st("y", 1)
    r = yield ld("x")
def worker(me, n):
    n += 1
    a = yield ld("x")
    b = (yield ld("y")) + n
flag = array("flag", 2)
def flagged():
    yield st(flag[0], 3)
"""
MODULE = execute(TEXT)


def sb(**options: Any) -> Program:
    return MODULE["program"](MODULE["left"](), MODULE["right"](), x=0, y=0, **options)


@pytest.mark.parametrize(("question", "quantifier"), [("exists", "exists"), ("never", "~exists"), ("forall", "forall")])
def test_store_buffering_is_seen_on_tso_and_not_on_sc(question: str, quantifier: str) -> None:
    program = sb(**{question: "left.r == 0 and right.r == 0"})
    assert program.condition is not None
    assert program.condition.quantifier == quantifier
    assert program.observed == (Final(0, "r"), Final(1, "r"))

    def witnesses(model: Any) -> int:
        finals = models.final_states(program, model)
        outcomes = {program.outcome(states, dict(memory)) for states, memory in finals}
        return sum(program.predicate(program.condition.proposition)(outcome) for outcome in outcomes)

    assert (witnesses("sc"), witnesses("tso"), witnesses("pso")) == (0, 1, 1)


def test_what_is_observed() -> None:
    everything = (Final(0, "r"), Final(1, "r"), Final(None, "x"), Final(None, "y"))
    assert sb().observed == everything
    assert sb(always="x == 1").observed == everything
    assert sb(exists="P1.r == 0", filter="y == 1", always="x == 1").observed == (
        Final(1, "r"),
        Final(None, "x"),
        Final(None, "y"),
    )


def test_locals_that_settle_are_not_observed_unless_asked() -> None:
    text = """from teetotal import *
def t():
    a = 1
    for i in range(2):
        b = a + i
    c = 0
    if (yield ld("x")):
        c = 1
        d = 5
"""
    module = execute(text)
    assert module["program"](module["t"](), x=0).observed == (Final(0, "c"), Final(0, "d"), Final(None, "x"))
    assert module["program"](module["t"](), x=0, exists="t.b == 2").observed == (Final(0, "b"),)


def test_assertion_and_filter_are_not_conditions() -> None:
    program = sb(always="x + y == 2", filter="left.r == 1")
    assert program.condition is None
    assert program.final_assertion is not None
    assert program.filter is not None


def test_threads_are_numbered_when_a_function_is_used_again() -> None:
    program, worker, left = MODULE["program"], MODULE["worker"], MODULE["left"]
    test = program(worker(1, 0), left(), worker(2, 5), x=0, y=0, exists="worker1.a == P0.a and worker0.me == 1")
    assert [thread.name for thread in test.threads] == ["worker0", "left", "worker1"]
    assert test.observed == (Final(2, "a"), Final(0, "a"))
    assert test.name == "worker0 || left || worker1"


def test_a_number_never_meets_another_functions_name() -> None:
    module = execute("from teetotal import *\ndef t(): yield mfence\ndef t0(): yield mfence\n")
    test = module["program"](module["t"](), module["t0"](), module["t"]())
    assert [thread.name for thread in test.threads] == ["t0_", "t0", "t1"]


def test_elements_of_arrays() -> None:
    test = MODULE["program"](MODULE["flagged"](), exists="flag[0] == 3 and flag[1] == 0")
    assert test.observed == (Final(None, "flag[0]"), Final(None, "flag[1]"))
    ((states, memory),) = models.final_states(test, "tso")
    assert test.predicate(test.condition.proposition)(test.outcome(states, dict(memory)))


def test_the_borders_are_written_as_powers() -> None:
    module = execute('from teetotal import *\ndef t():\n    r = yield ld("x")\n')
    for value, text in ((2**63 - 1, "2**63 - 1"), (-(2**63), "-2**63"), (-3, "-(2**1 + 1)")):
        test = module["program"](module["t"](), x=value, exists=f"t.r == {text} and x == {text}")
        ((states, memory),) = models.final_states(test, "sc")
        assert test.predicate(test.condition.proposition)(test.outcome(states, dict(memory)))


def test_addresses_in_conditions() -> None:
    module = execute('from teetotal import *\ndef t():\n    p = yield ld("x")\n')
    test = module["program"](module["t"](), x=module["address"]("y"), y=0, exists='t.p == address("y")')
    ((states, memory),) = models.final_states(test, "sc")
    assert test.predicate(test.condition.proposition)(test.outcome(states, dict(memory)))


def test_locals_with_an_underscore_are_not_observed_unless_asked() -> None:
    module = execute('from teetotal import *\ndef t():\n    for _ in range(2):\n        _r = yield ld("x")\n')
    assert module["program"](module["t"](), x=0).observed == (Final(None, "x"),)
    assert module["program"](module["t"](), x=0, exists="t._r == 0").observed == (Final(0, "_r"),)


def test_a_register_that_was_never_assigned_is_zero() -> None:
    module = execute('from teetotal import *\ndef t():\n    if (yield ld("x")):\n        r = 1\n')
    test = module["program"](module["t"](), x=0, exists="t.r == 0")
    ((states, memory),) = models.final_states(test, "sc")
    assert test.outcome(states, dict(memory)) == (0,)


LEAVES = ["left.r", "right.r", "x", "y", "0", "1", "2", "-1", "True"]


def conditions() -> st.SearchStrategy[str]:
    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        operators = st.sampled_from(["+", "-", "*", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or"])
        return st.one_of(
            st.builds("({} {} {})".format, inner, operators, inner),
            st.builds("({}{})".format, st.sampled_from(["not ", "-", "~", "+"]), inner),
            st.builds("({} < {} <= {})".format, inner, inner, inner),
            st.builds("({} if {} else {})".format, inner, inner, inner),
            st.builds("({} {} ({}, 1))".format, inner, st.sampled_from(["in", "not in"]), inner),
            st.builds("({} {} {})".format, inner, st.sampled_from(["//", "%"]), st.sampled_from(["2", "3", "-2"])),
            st.builds("({} {} {})".format, inner, st.sampled_from(["<<", ">>"]), st.sampled_from(["0", "1", "2"])),
        )

    return st.recursive(st.sampled_from(LEAVES), grow, max_leaves=8)


@given(conditions(), st.lists(st.integers(-2, 3), min_size=4, max_size=4))
def test_conditions_mean_what_python_means(text: str, values: list[int]) -> None:
    program = sb(exists=text)
    named = dict(zip([Final(0, "r"), Final(1, "r"), Final(None, "x"), Final(None, "y")], values, strict=True))
    outcome = tuple(named[what] for what in program.observed)
    left, right = (SimpleNamespace(r=value) for value in values[:2])
    expected = bool(eval(text, {"left": left, "right": right, "x": values[2], "y": values[3]}))
    assert program.condition is not None
    assert bool(program.predicate(program.condition.proposition)(outcome)) == expected
