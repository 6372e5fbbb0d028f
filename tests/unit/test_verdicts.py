"""Results serialise to JSON and back, and parts of the work add up."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_programs import MFENCE, ld, lock, program
from small_programs import st as store
from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import MODELS, Commit, Issue, Semantics, Step
from teetotal.answers.schedules import from_token, to_token
from teetotal.answers.verdict import Verdict, both
from teetotal.checking import check
from teetotal.engines import story
from teetotal.models import Run
from teetotal.programs.expressions import Const, Final, Op
from teetotal.programs.program import Assert, Assume, Program
from teetotal.report.json import from_json, to_json

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
    again = from_json(to_json(result), CheckAnswer)
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


def test_another_version_of_tokens_is_refused() -> None:
    with pytest.raises(TeetotalError, match="version 2"):
        from_token("2t:0", LOCATIONS)


def test_a_location_that_is_not_there_is_refused() -> None:
    assert from_token("1p:0c2", LOCATIONS)[1] == (Commit(0, "flag[0]"),)
    with pytest.raises(TeetotalError, match="there are 3"):
        from_token("1p:0c3", LOCATIONS)


BUFFERING = program([store("x", 1), ld("r", "y")], [store("y", 1), ld("s", "x")])


def test_a_story_of_a_violation_needs_a_cycle() -> None:
    steps = (Issue(0), Issue(1), Issue(0), Issue(1))
    assert story.violation(BUFFERING, "tso", steps, Semantics(), kind="robustness").cycle
    with pytest.raises(AssertionError, match="SC trace"):
        story.violation(BUFFERING, "sc", steps, Semantics(), kind="robustness")


def test_a_story_that_cannot_happen_is_refused() -> None:
    with pytest.raises(ValueError, match="step 2"):
        story.told(BUFFERING, "tso", (Issue(0), Commit(1)), Semantics())


def test_what_a_fence_flushes_is_told() -> None:
    fenced = program([store("x", 1), store("y", 1), MFENCE])
    _, steps = story.told(fenced, "tso", (Issue(0),) * 3, Semantics())
    assert [(step.action, step.event) for step in steps] == [
        ("event", 0),
        ("event", 1),
        ("commit", 0),
        ("commit", 1),
        ("event", 2),
    ]


def ended(test: Program) -> str:
    run = Run(test, "sc", Semantics())
    while run.steps():
        run.take(run.steps()[0])
    return story.ending(test, run)


def test_how_a_run_ends() -> None:
    """Well, with a failed assertion, in a deadlock, where an assumption does not hold, or with a wrong final state."""
    assert ended(program([ld("r", "x")])) == ""
    assert "assertion" in ended(program([ld("r", "x"), Assert(condition=Const(0))]))
    assert ended(program([lock("m"), lock("m")])) == story.DEADLOCK
    assert ended(program([ld("r", "x"), Assume(condition=Const(0))], [lock("m")])) == ""
    one = Op("==", (Final(None, "x"), Const(1)))
    for value, wrong in ((1, False), (2, True)):
        asked = msgspec.structs.replace(program([store("x", value)]), observed=(Final(None, "x"),), final_assertion=one)
        assert ("does not hold in the end" in ended(asked)) == wrong


def test_results_are_complete_where_both_parts_are() -> None:
    result = check(BUFFERING)
    part = msgspec.structs.replace(result.models["tso"], complete=False)
    assert (result.models["tso"] + result.models["tso"]).complete
    assert not (result.models["tso"] + part).complete
