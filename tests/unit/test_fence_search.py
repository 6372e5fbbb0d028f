"""The search for fences on problems that are nothing but clauses, and what the last word on a patched program is."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

from teetotal.answers.events import Event, Kind, ModelName, Semantics
from teetotal.answers.options import FenceOptions
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Violation
from teetotal.budget import Budget
from teetotal.fences import linden_wolper
from teetotal.fences.c import CProblem, passed
from teetotal.fences.c_text import MARKS
from teetotal.fences.insertion import Finding, Search, Site
from teetotal.fences.promela import PromelaProblem
from teetotal.programs.promela.compile import compile_text


class Clauses:
    """What works hits each clause."""

    always: frozenset[int] = frozenset()
    weighed = True

    def __init__(self, sites: list[Site], *clauses: set[int]) -> None:
        self.sites, self.budget = sites, Budget()
        self.clauses = {
            frozenset(clause): Violation(model="tso", kind="robustness", events=[], locations=[str(clause)])
            for clause in clauses
        }

    def known(self, fences: frozenset[int]) -> list[Finding] | None:
        return None

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        return [Finding(told, clause) for clause, told in self.clauses.items() if not clause & fences]


SITES = [
    Site(kind=Kind.MFENCE, place="first", cost=Fraction(3)),
    Site(kind=Kind.SFENCE, place="first", cost=Fraction(1)),
    Site(kind=Kind.MFENCE, place="second", cost=Fraction(3)),
]


def test_after_a_cheaper_kind_another_fence_may_go() -> None:
    """Neither of the mfences can go; with the sfence in the place of one, the other can."""
    problem = Clauses(SITES, {0, 1}, {2, 1})
    assert Search(problem).reduce(frozenset({0, 2})) == {1}


def test_a_fence_prevents_what_it_breaks_and_nothing_else() -> None:
    search = Search(Clauses(SITES, {0, 1}, {2}))
    assert search.grow() == {1, 2}
    assert [violation.locations for violation in search.broken_by(2)] == [["{2}"]]
    assert [violation.locations for violation in search.broken_by(0)] == [["{0, 1}"]]


def test_what_costs_as_much_is_no_better() -> None:
    sites = [msgspec.structs.replace(site, cost=Fraction(2)) for site in SITES[:2]]
    for kept in (0, 1):
        assert Search(Clauses(sites, {0, 1})).reduce(frozenset({kept})) == {kept}


def test_the_dearest_goes_first() -> None:
    """Either is enough."""
    assert Search(Clauses(SITES, {1, 2})).reduce(frozenset({1, 2})) == {1}


def test_one_fence_that_could_be_cheaper_is_enough() -> None:
    """Of the two that cost less, the sfence would do, and what stands beside it would not."""
    near = Site(kind=Kind.SFENCE, place="near", cost=Fraction(2))
    sites = [msgspec.structs.replace(SITES[0], beside=frozenset({"near"})), SITES[1], near]
    assert Search(Clauses(sites, {0, 1})).is_minimal(frozenset({1}))
    assert not Search(Clauses(sites, {0, 1})).is_minimal(frozenset({0}))
    assert Search(Clauses(sites, {0})).is_minimal(frozenset({0}))


def test_a_fence_that_is_on_and_does_not_help_is_no_way_out() -> None:
    class Stubborn(Clauses):
        def findings(self, fences: frozenset[int]) -> list[Finding]:
            return [] if 1 in fences else [Finding(told, clause) for clause, told in self.clauses.items()]

    search = Search(Stubborn(SITES, {0, 1}))
    assert not search.works(frozenset({0}))
    assert [finding.clause for finding in search.seen] == [{1}]
    assert search.grow() == {1}


def test_what_one_model_leaves_open_the_next_does_not_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "benchmarks" / "promela" / "dekker.pml").read_text()
    ask = PromelaProblem.ask

    def tired(self: PromelaProblem, fences: frozenset[int], model: ModelName, **more: bool) -> object:
        outcome = ask(self, fences, model, **more)
        return (
            msgspec.structs.replace(outcome, verdict=Verdict.INCONCLUSIVE)
            if more.get("certify") and model == "tso"
            else outcome
        )

    monkeypatch.setattr(PromelaProblem, "ask", tired)
    assert linden_wolper.insert_fences(compile_text(text, "dekker.pml")).verdict is Verdict.INCONCLUSIVE


def test_a_program_of_c_is_explored_as_was_asked() -> None:
    semantics = Semantics(rmw="address")
    asked = {
        "models": ("tso",),
        "goal": "safe",
        "semantics": semantics,
        "monitors": ("exact-tso",),
        "waiting": "count",
        "loop_bound": 7,
        "max_megabytes": 300,
        "release_sequence": "c11",
    }
    told = msgspec.structs.asdict(CProblem(None, FenceOptions(**asked))._options())
    assert asked == {name: told[name] for name in asked}


def test_a_place_is_passed_once_by_the_next_access_of_its_thread() -> None:
    first, second = ((1, Kind.MFENCE),), ((2, Kind.SFENCE),)
    mark = f"{MARKS}[{{}}]"
    events = [
        Event(0, 0, Kind.ST, mark.format(0)),
        Event(1, 0, Kind.LD, "x"),
        Event(0, 1, Kind.ST, "x", 1),
        Event(0, 2, Kind.LD, "y"),
        Event(0, 3, Kind.ST, mark.format(1)),
        Event(0, 4, Kind.ST, mark.format(0)),
        Event(0, 5, Kind.LD, "x"),
    ]
    places = passed(events, [first, second])
    assert [list(places[events[n].id]) for n in (1, 2, 3, 6)] == [[], [*first], [], [*second, *first]]
