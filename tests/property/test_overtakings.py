"""What one exploration keeps of a program with marks (core/overtakings) against explorations with the fences really there.

For many sets of fences of random programs, with loops that wait, atomic operations and locks, under all semantics: what is
still overtaken is what an exploration of the program with that set finds.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import some
from looping_programs import looping_program
from program_strategies import describe
from random_programs import ALL_SEMANTICS, SHAPES, seeded
from slots_everywhere import everywhere
from small_programs import MFENCE, ld, program, unless
from small_programs import st as store
from teetotal import _core
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Kind, ModelName, Semantics
from teetotal.answers.options import FenceOptions
from teetotal.answers.remedies import Order
from teetotal.answers.verdict import Waiting
from teetotal.budget import Budget
from teetotal.engines.encoding import encode_semantics
from teetotal.engines.executions import overtakings
from teetotal.engines.executions.robustness import robustness
from teetotal.fences.insertion import Search
from teetotal.fences.overtaken import TOO_MUCH, Explored, Point, kinds
from teetotal.fences.program_problem import ProgramProblem
from teetotal.fences.slots import Slots
from teetotal.programs.expressions import Const, Op, Reg
from teetotal.programs.program import Branch, Program
from teetotal.scale.scale import Scale, Slice
from waiting_programs import dekker, mcs_lock, peterson, spin_lock, ttas

BOTH: tuple[ModelName, ...] = ("tso", "pso")
MOST, LONG = 3000, 10.0
"""Executions, and seconds, of a program that is worth its time here."""


def explored(
    slots: Slots,
    always: frozenset[int] = frozenset(),
    semantics: Semantics = Semantics(),
    waiting: Waiting = "skip",
    models: tuple[ModelName, ...] = BOTH,
    budget: Budget | None = None,
) -> Explored | None:
    """None: it could not be explored whole, or takes too long here."""
    found = robustness(
        slots.with_fences(always), models, semantics, waiting=waiting, marked=slots.marked(always),
        budget=budget or Budget(LONG),
    )  # fmt: skip
    if not found.complete or found.executions > MOST:
        return None
    assert found.kept is not None
    assert found.kept.whole
    assert found.kept.proved == set(models)
    options = FenceOptions(models=models, waiting=waiting, semantics=semantics)
    return Explored(found.kept, slots.points, options, always)


def not_robust(
    slots: Slots, on: frozenset[int], semantics: Semantics, waiting: Waiting, models: tuple[ModelName, ...]
) -> set[ModelName] | None:
    """None: not known. Where rounds count, a thread that repeats itself may be stopped for that or by the bound on loops,
    and which comes first depends on where fences stand."""
    found = robustness(slots.with_fences(on), models, semantics, waiting=waiting)
    assert found.complete or waiting == "count"
    return {model for model in models if found.violations[model]} if found.complete else None


def sets(slots: Slots, chance: random.Random, count: int) -> Iterable[frozenset[int]]:
    """None, all, those of one kind, and others at random, few or many."""
    sites = range(len(slots.sites))
    yield frozenset()
    yield frozenset(sites)
    yield frozenset(site for site in sites if slots.sites[site].kind is Kind.SFENCE)
    for _ in range(count):
        share = chance.choice((0.1, 0.3, 0.5, 0.8, 0.95))
        yield frozenset(site for site in sites if chance.random() < share)


def agree(tested: Program, chance: random.Random, semantics: Semantics, waiting: Waiting, count: int = 6) -> int:
    """How many sets were compared. What clauses say is looked at, too: with all that is no part of one, the goal is missed
    still, and with one of its sites less."""
    slots = everywhere(tested)
    models = chance.choice((BOTH, BOTH, ("tso",), ("pso",)))
    always = chance.choice((frozenset(), next(iter([*sets(slots, chance, 1)][3:]))))
    try:
        found = explored(slots, always, semantics, waiting, models)
    except ProgramError:  # a mutex that is data as well
        return 0
    if found is None:
        return 0
    compared = 0
    for asked in sets(slots, chance, count):
        on = asked | always if chance.random() < 0.8 else asked
        findings = found.findings(on, slots.sites, frozenset())
        assert findings is not None
        expected = not_robust(slots, on, semantics, waiting, models)
        if expected is None:
            continue
        what = (describe(tested), semantics, waiting, sorted(on), [slots.sites[site] for site in on])
        assert {finding.violation.model for finding in findings} == expected, what
        for finding in findings[:2]:
            rest = frozenset(range(len(slots.sites))) - finding.clause
            assert not finding.clause & on
            assert finding.violation.model in (not_robust(slots, rest, semantics, waiting, models) or models), what
            assert finding.evidence is not None
            assert finding.evidence.missing(rest) == finding.clause
            for site in finding.clause:
                assert finding.evidence.missing(rest | {site}) is None
            if on >= always:
                assert finding.violation.cycle
        compared += 1
    return compared


@given(st.integers(0, 1 << 30))
@settings(max_examples=some(150), deadline=None, derandomize=True)
def test_programs_that_wait(seed: int) -> None:
    chance = random.Random(seed)
    tested = looping_program(chance, mutexes=chance.random() < 0.4)
    agree(tested, chance, chance.choice(ALL_SEMANTICS), "count" if chance.random() < 0.15 else "skip")


def test_a_thread_that_repeats_itself_at_the_bound_on_loops() -> None:
    """With a mark behind the jump it is seen to repeat itself, without one the bound stops it: found at random."""
    chance = random.Random(201122)
    tested = looping_program(chance, mutexes=chance.random() < 0.4, alike=chance.random() < 0.1)
    slots = everywhere(tested)
    kept = explored(slots, waiting="count")
    assert kept is not None
    cut = robustness(tested, BOTH, waiting="count")
    assert not cut.complete
    assert ways(kept, slots, [frozenset()]) == [{model for model in BOTH if cut.violations[model]}]


@pytest.mark.parametrize("tested", [dekker(2), peterson(2), mcs_lock(2), spin_lock(ttas, 3)])
def test_algorithms(tested: Program) -> None:
    """Between executions that are kept there are many that are not."""
    for seed in range(4):
        assert agree(tested, random.Random(seed), Semantics(), "skip")


@pytest.mark.parametrize("fenced", [0, 1])
def test_what_says_nothing_new_is_kept(fenced: int) -> None:
    """T0 and T1 buffer stores twice, the second time only after the first was seen; between T0's second store and its load
    lies a fence on one of two ways to the same place. With that, and all others, the other way is the only violation: at
    places that are known by then, in executions with another one that the fences prevent."""
    left = [
        store("a", 1), ld("rb", "b"), store("x", 1), ld("c", "z"),
        Branch(target=5, when=Op("==", (Reg("c"), Const(fenced)))), ld("d", "q"), ld("r0", "y"),
    ]  # fmt: skip
    right = [store("b", 1), ld("ra", "a"), unless("ra", 0, 5), store("y", 1), ld("r1", "x")]
    slots = everywhere(program(left, right, [store("z", 1)]))
    full = {site.place: number for number, site in enumerate(slots.sites) if site.kind is Kind.MFENCE}
    on = frozenset(full[place] for place in ((0, 1, True), (1, 1, True), (1, 4, True), (0, 5, False)))
    found = explored(slots)
    assert found is not None
    assert not_robust(slots, on, Semantics(), "skip", BOTH) == {"tso", "pso"}
    assert ways(found, slots, [on]) == [{"tso", "pso"}]


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "wild"])
def test_programs_without_loops(shape: str) -> None:
    compared = 0
    for number, tested in enumerate(seeded(53, some(40), SHAPES[shape])):
        chance = random.Random(f"{shape} {number}")
        compared += agree(tested, chance, chance.choice(ALL_SEMANTICS), chance.choice(("skip", "count")), 4)
    assert compared > 0


def ways(found: Explored, slots: Slots, every: Iterable[frozenset[int]]) -> list[set[ModelName]]:
    """Under which models each set does not do."""
    told = []
    for on in every:
        findings = found.findings(on, slots.sites, frozenset())
        assert findings is not None
        told.append({finding.violation.model for finding in findings})
    return told


@pytest.mark.parametrize("tested", [dekker(2), peterson(2), mcs_lock(2), spin_lock(ttas, 3)])
def test_many_find_what_one_finds(tested: Program) -> None:
    """In parts of a few executions each, by two workers."""
    slots = everywhere(tested)
    scale = Scale(workers=2, slice=Slice(10.0, 5))
    alone, together = explored(slots), explored(slots, budget=Budget(scale=scale))
    assert alone is not None
    assert together is not None
    every = list(sets(slots, random.Random(5), 12))
    assert ways(alone, slots, every) == ways(together, slots, every)
    assert set(alone.kept.told) == set(together.kept.told)


def test_what_was_too_much_to_keep_is_explored_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sets of fences; and it is said that it took more explorations."""
    slots, options = everywhere(peterson(1)), FenceOptions()
    kept = Search(ProgramProblem(slots, options))
    expected = list(kept.cheapest_first())
    assert kept.checks == 1
    for most in (1, 500):
        monkeypatch.setattr(overtakings, "SHARE", (4096 << 20) // most)
        problem = ProgramProblem(slots, options)
        search = Search(problem)
        assert {*search.cheapest_first()} == {*expected}
        assert search.checks > 1
        assert problem.notes == [TOO_MUCH]


def test_an_mfence_is_an_sfence_too() -> None:
    point: Point = ((0, Kind.MFENCE), (1, Kind.SFENCE))
    assert [kinds([point], frozenset(on)) for on in ((), (0,), (1,), (0, 1))] == [
        {},
        {0: Kind.MFENCE},
        {0: Kind.SFENCE},
        {0: Kind.MFENCE},
    ]


def test_what_is_no_longer_there_is_refused() -> None:
    """Bytes that nobody kept, and marks that nobody has."""
    with pytest.raises(ValueError, match="no kept executions"):
        asked([b"\xff\xff"]).still(b"")
    with pytest.raises(ValueError, match="a mark is a fence"):
        asked([]).still(bytes([Kind.LD]))


def asked(pieces: list[bytes]) -> _core.Overtakings:
    return _core.Overtakings(True, True, encode_semantics(Semantics()), True, pieces)


def test_both_fences_of_store_buffering_are_needed_by_one_overtaking() -> None:
    """Each alone leaves it possible: so one execution tells of both."""
    slots = everywhere(program([store("x", 1), ld("r", "y")], [store("y", 1), ld("r", "x")]))
    found = explored(slots, models=("tso",))
    assert found is not None
    first = found.findings(frozenset(), slots.sites, frozenset())
    assert first is not None
    assert first[0].evidence is not None
    full = {number for number, site in enumerate(slots.sites) if site.kind is Kind.MFENCE}
    assert len(full) == 2
    for site in full:
        assert first[0].evidence.missing(frozenset({site})) == full - {site}
    assert first[0].evidence.missing(frozenset(full)) is None
    assert found.findings(frozenset(full), slots.sites, frozenset()) == []


def test_a_violation_behind_a_fence_that_is_there_is_told_with_it() -> None:
    """Steps of marks are no steps of the program, and those of its own fences are."""
    slots = everywhere(program([store("x", 1), MFENCE, ld("r", "y")], [store("y", 1), ld("r", "x")]))
    found = explored(slots)
    assert found is not None
    assert {event.kind for told in found.kept.told.values() for event in told.events} >= {Kind.MFENCE}


def test_an_exploration_that_was_cut_says_nothing_of_rmws() -> None:
    """What is overtaken with a store in a loop that has no end may be no execution where an rmw waits in its place."""
    again = [store("x", 1), ld("r", "y"), Branch(target=0, when=Op("==", (Reg("r"), Const(0))))]
    slots = everywhere(program(again, [store("y", 1), ld("r", "x")], loop_bound=2))
    sites = [msgspec.structs.replace(site, kind=Order.RMW) for site in slots.sites[:1]] + list(slots.sites[1:])
    cut = robustness(slots.with_fences(frozenset()), BOTH, marked=slots.marked(frozenset()))
    assert cut.kept is not None
    assert not cut.complete
    found = Explored(cut.kept, slots.points, FenceOptions(), frozenset())
    assert found.findings(frozenset({0}), sites, frozenset()) is None
    findings = found.findings(frozenset(), sites, frozenset())
    assert findings
    for finding in findings:
        assert finding.evidence is not None
        assert finding.evidence.missing(frozenset({0})) is None
        assert 0 in finding.clause or 0 not in finding.evidence.passed  # type: ignore[attr-defined]
