"""What reports say in a word: how much is known, where a violation is, and nothing that a terminal would obey."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from notation import program
from teetotal.answers.check import ModelAnswer
from teetotal.answers.events import Event, Kind, Location
from teetotal.answers.options import CheckOptions
from teetotal.answers.record import Seen, StressAnswer
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Violation
from teetotal.checking import check
from teetotal.cli.history import say
from teetotal.report import stress, terminal
from teetotal.report.excerpts import excerpt
from teetotal.report.found import oddity, places
from teetotal.report.json import to_json
from teetotal.report.style import PLAIN


@pytest.mark.parametrize(("complete", "told"), [(True, "SC: safe, 1 outcome"), (False, "SC: safe, 1 outcome so far")])
def test_outcomes_of_an_unfinished_search_are_those_so_far(complete: bool, told: str) -> None:
    answer = ModelAnswer(verdict=Verdict.SAFE, robust=True, safe=True, complete=complete, outcomes=[{"x": 1}])
    assert terminal._summary("sc", answer, False, PLAIN) == told


def test_what_a_file_says_does_not_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say(["a\x1b[31mb\tc", "d\ne"])
    assert capsys.readouterr().out == "a\\x1b[31mb\\tc\nd\ne\n"


def test_a_violation_is_marked_where_its_cycle_ends() -> None:
    """There is the event that no SC execution has."""
    (violation,) = check(program("x=1; r0=y || y=1; r1=x"), CheckOptions(models=("tso",))).models["tso"].violations
    of_cycle = [violation.events[edge.source].location for edge in violation.cycle]
    assert places(violation) == of_cycle[::-1]
    assert of_cycle[0] != of_cycle[-1]


def test_a_failure_is_told_of_those_models_that_have_it() -> None:
    """That another model has its cycle says that this one is not robust, and no more."""
    answer = check(program("x=1; r0=y || y=1; r1=x"), CheckOptions(models=("tso", "pso")))
    tso, pso = answer.models["tso"], answer.models["pso"]
    failures = [replace(violation, kind="assertion", message="fails") for violation in tso.violations]
    answer = replace(answer, models={"tso": replace(tso, violations=failures), "pso": pso})
    told = [(found.violation.kind, found.models) for found in terminal.distinct(answer)]
    assert told == [("assertion", ["tso"]), ("robustness", ["pso"])]


def test_an_answer_that_points_behind_its_last_event_is_odd() -> None:
    answer = json.loads(to_json(check(program("x=1; r0=y || y=1; r1=x"), CheckOptions(models=("tso",)))))
    assert oddity(answer) == ""
    (violation,) = answer["violations"]
    for beyond in (len(violation["events"]), -1):
        violation["cycle"][0]["target"] = beyond
        assert "not there" in oddity(answer)


def test_what_a_machine_showed_says_what_is_known_of_each_outcome() -> None:
    def seen(count: int, sc: bool | None, model: bool | None) -> Seen:
        return Seen(outcome={"r": count}, count=count, sc=sc, model=model, positive=False)

    answer = StressAnswer(
        input="t.litmus",
        command="record",
        verdict=Verdict.VIOLATION,
        complete=True,
        seconds=1.0,
        name="t",
        model="tso",
        rounds=15,
        histogram=[
            seen(1, True, True),
            seen(2, False, True),
            seen(3, None, None),
            seen(4, None, True),
            seen(5, False, False),
        ],
        observation="Never",
        positive=0,
        negative=15,
    )
    lines = stress.render(answer).splitlines()
    assert [line.partition(";")[2] for line in lines[2:7]] == [
        "",
        "  not SC",
        "  not known whether TSO allows this",
        "  not known whether it is SC",
        "  TSO forbids this!",
    ]
    assert "7 not SC (46.6667%)" in lines[8]
    assert lines[-1] == "t: 5 rounds ended in states that TSO forbids"


def test_a_caret_stands_in_the_column_of_its_thread(tmp_path: Path) -> None:
    """Both columns name x."""
    path = tmp_path / "sb.litmus"
    path.write_text(
        "X86_64 SB\n{ }\n P0 | P1 ;\n movq $1,(x) | movq $2,(x) ;\n movq (y),%rax | movq (y),%rbx ;\nexists (x=1)\n"
    )
    place = Location(str(path), 4)
    events = [Event(0, 0, Kind.ST, "x", 1, location=place), Event(1, 0, Kind.ST, "x", 2, location=place)]
    told = list(excerpt(Violation(model="tso", kind="deadlock", events=events)))
    columns = [line.partition("│")[2].index("^") - 1 for line in told if "^" in line]
    assert columns == [" movq $1,(x)".index("x"), " movq $1,(x) | movq $2,(x)".rindex("x")]
