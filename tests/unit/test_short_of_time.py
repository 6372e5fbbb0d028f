"""Where time is limited, no engine of ``check`` takes what another needs to find a violation."""

from __future__ import annotations

from typing import Any

import pytest

from small_programs import ld, program, st
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines import interpreted
from teetotal.engines.executions import robustness

STORE_BUFFERING = program([st("x", 1), ld("r", "y")], [st("y", 1), ld("r", "x")])
TWICE = program(
    [st("x", 1), ld("r", "y"), st("z", 1), ld("s", "w")], [st("y", 1), ld("r", "x"), st("w", 1), ld("s", "z")]
)


@pytest.fixture
def states_take_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for states has no time for anything."""
    outcomes = interpreted.outcomes

    def slow(*given: Any, budget: Budget, **options: Any) -> Any:
        return outcomes(*given, budget=Budget(0.0), **options)

    monkeypatch.setattr(interpreted, "outcomes", slow)


@pytest.mark.usefixtures("states_take_all")
def test_states_take_no_violation_of_robustness_with_them() -> None:
    answer = interpreted.check(STORE_BUFFERING, CheckOptions(), Budget(1000))
    assert (answer.verdict, answer.complete) == (Verdict.VIOLATION, False)
    assert [answer.models[model].robust for model in ("tso", "pso")] == [False, False]
    assert answer.executions == 3


def test_a_look_that_was_too_short_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what either of them found is told, though the other had time for more executions."""
    monkeypatch.setattr(interpreted, "LOOK", 0.0)
    whole = interpreted.check(STORE_BUFFERING, CheckOptions(), Budget(1000))
    assert (whole.verdict, whole.complete, whole.executions) == (Verdict.VIOLATION, True, 3)
    robustness, asked = interpreted.robustness, list[float]()

    def forgetful(*given: Any, budget: Budget, **options: Any) -> Any:
        asked.append(budget.left)
        found = robustness(*given, budget=Budget(), **options)
        nothing = {model: [] for model in found.violations}
        return found if len(asked) == 1 else found._replace(violations=nothing, executions=9, proved=frozenset())

    monkeypatch.setattr(interpreted, "robustness", forgetful)
    answer = interpreted.check(STORE_BUFFERING, CheckOptions(), Budget(1000))
    assert (answer.verdict, answer.executions, len(asked)) == (Verdict.VIOLATION, 3, 2)
    assert asked[0] == 0.0 < asked[1]


def test_states_leave_time_to_tell_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    given = list[float]()
    outcomes = interpreted.outcomes

    def asked(*others: Any, budget: Budget, **options: Any) -> Any:
        given.append(budget.left)
        return outcomes(*others, budget=budget, **options)

    monkeypatch.setattr(interpreted, "outcomes", asked)
    interpreted.check(STORE_BUFFERING, CheckOptions(), Budget(1000))
    assert len(given) == 3
    assert all(left <= 900 for left in given)


def test_what_there_is_no_time_to_tell_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One violation of each model is told all the same: without it, a search that is complete would be a proof."""
    whole = interpreted.robustness(TWICE, ["tso", "pso"])
    budget = Budget()
    searched = robustness._core.monitored_search

    def late(*given: Any) -> Any:
        found = searched(*given)
        budget.end()
        return found

    monkeypatch.setattr(robustness._core, "monitored_search", late)
    hurried = interpreted.robustness(TWICE, ["tso", "pso"], budget=budget)
    assert all(len(whole.violations[model]) > 1 for model in ("tso", "pso"))
    assert whole.notes == []
    assert [len(hurried.violations[model]) for model in ("tso", "pso")] == [1, 1]
    (note,) = hurried.notes
    assert int(note.split()[0]) > 0
    assert note.endswith("more reports of monitors are not told, for want of time; see --time")
