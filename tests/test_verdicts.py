"""Results serialise to JSON and back, and parts of the work add up."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_programs import ld, program
from small_programs import st as store
from teetotal.checking import check
from teetotal.errors import TeetotalError
from teetotal.events import MODELS, Semantics
from teetotal.models import Commit, Issue, Step
from teetotal.schedules import from_token, to_token
from teetotal.verdicts import CheckResult, Verdict, both, to_json

VERDICTS = st.sampled_from(Verdict)


@given(VERDICTS, VERDICTS, VERDICTS)
def test_verdicts_add_up(a: Verdict, b: Verdict, c: Verdict) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Verdict.SAFE == a
    assert a + Verdict.VIOLATION == Verdict.VIOLATION


@pytest.mark.parametrize(
    ("a", "b", "together"),
    [(True, True, True), (True, None, None), (None, None, None), (False, None, False), (True, False, False)],
)
def test_both(a: bool | None, b: bool | None, together: bool | None) -> None:
    assert both(a, b) is together
    assert both(b, a) is together


def test_exit_statuses() -> None:
    assert [verdict.exit_status for verdict in Verdict] == [0, 1, 3]


def test_results_survive_json_and_add_up() -> None:
    buffering = program([store("x", 1), ld("r", "y")], [store("y", 1), ld("s", "x")])
    result = check(buffering)
    again = msgspec.json.decode(to_json(result), type=CheckResult)
    assert again == result
    twice = result + again
    assert twice.executions == 2 * (result.executions or 0)
    assert twice.states == 2 * (result.states or 0)
    assert twice.verdict == Verdict.VIOLATION
    assert len(twice.violations) == 2 * len(result.violations)
    assert twice.models["tso"].robust is False
    assert twice.models["sc"].outcomes == result.models["sc"].outcomes


LOCATIONS = ["x", "y", "flag[0]"]
STEPS = st.lists(
    st.one_of(
        st.builds(Issue, st.integers(0, 12)),
        st.builds(Commit, st.integers(0, 12), st.one_of(st.none(), st.sampled_from(LOCATIONS))),
    )
)


@given(
    st.sampled_from(MODELS),
    STEPS,
    st.builds(
        Semantics,
        rmw=st.sampled_from(["all", "address"]),
        mutex=st.sampled_from(["fence", "rmw"]),
        failed_cas=st.sampled_from(["read", "write"]),
    ),
)
def test_tokens_round_trip(model: str, steps: list[Step], semantics: Semantics) -> None:
    token = to_token(model, steps, LOCATIONS, semantics)  # type: ignore[arg-type]
    assert from_token(token, LOCATIONS) == (model, tuple(steps), semantics)
    assert token.isascii()
    assert not set(token) & set(" '\"$&|;<>()*?[]#~=%!{}\\")


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    try:
        from_token(text, LOCATIONS)
    except TeetotalError as error:
        assert error.message  # noqa: PT017 - most texts are refused, the rest are tokens
