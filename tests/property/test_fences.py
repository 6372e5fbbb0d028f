"""Minimum and minimal fence sets against brute force: every placement of fences, explored by the specification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from amounts import some
from program_strategies import programs
from random_programs import ATOMIC, FENCED, PLAIN, seeded
from slots_everywhere import everywhere
from small_programs import MFENCE, SFENCE, fetch_add, ld, program, ring, st
from teetotal import models
from teetotal.answers.costs import Costs
from teetotal.answers.events import Kind, Location, ModelName, Semantics
from teetotal.answers.options import FenceOptions
from teetotal.answers.verdict import Goal
from teetotal.budget import Budget
from teetotal.engines.states.outcomes import outcomes
from teetotal.fences import program_problem
from teetotal.fences.fencing import Job, Patch, run
from teetotal.fences.insertion import Finding, NoFenceHelps, Search, Site, Undecided
from teetotal.fences.program_problem import ProgramProblem
from teetotal.programs.expressions import Const, Expr, Final, Op
from teetotal.programs.program import Branch, Fence, Instruction, Program, Thread

BOTH: tuple[ModelName, ...] = ("tso", "pso")
Placement = frozenset[tuple[int, int, bool, Kind]]
"""Fences by thread, by the position of the instruction that they precede, whether jumps there run them, and kind."""


def placed(program: Program, fences: Placement) -> Program:
    """The program with the fences: written apart from the package's own way to do it."""
    threads = []
    for number, thread in enumerate(program.threads):
        code: list[tuple[int | None, Instruction]] = []  # the position that jumps know it by
        for position in range(len(thread.code) + 1):
            for jumped in (False, True):
                for kind in (Kind.MFENCE, Kind.SFENCE):
                    if (number, position, jumped, kind) in fences:
                        code.append((position if jumped else None, Fence(kind=kind)))
            if position < len(thread.code):
                code.append((position, thread.code[position]))
        known = [name for name, _ in code]

        def target(old: int, known: list[int | None] = known) -> int:
            return known.index(old) if old in known else len(known)

        threads.append(
            Thread(
                thread.name,
                tuple(
                    msgspec.structs.replace(i, target=target(i.target)) if isinstance(i, Branch) else i for _, i in code
                ),
                thread.registers,
            )
        )
    return msgspec.structs.replace(program, threads=tuple(threads))


def placements(program: Program) -> list[tuple[int, int, bool, Kind]]:
    return [
        (number, position, jumped, kind)
        for number, thread in enumerate(program.threads)
        for position in range(1, len(thread.code))
        for jumped in ((False, True) if _jumped_to(thread, position) else (True,))
        for kind in (Kind.MFENCE, Kind.SFENCE)
    ]


def _jumped_to(thread: Thread, position: int) -> bool:
    return any(isinstance(i, Branch) and i.target == position for i in thread.code)


def meets(program: Program, models_: Sequence[ModelName], goal: Goal, semantics: Semantics = Semantics()) -> bool:
    if goal == "robust":
        return all(models.robust(program, model, semantics) for model in models_)
    for model in models_:
        found = outcomes(program, model, semantics)
        if found.failures or found.deadlock is not None:
            return False
        if program.final_assertion is not None:
            holds = program.predicate(program.final_assertion)
            if not all(holds(values) for values in found.values):
                return False
    return True


def brute_force(
    program: Program, models_: Sequence[ModelName], goal: Goal, costs: Costs, most: int
) -> Iterator[Placement]:
    """Every minimal placement of at most that many fences, the cheapest first."""
    sets = [frozenset(chosen) for size in range(most + 1) for chosen in combinations(placements(program), size)]
    found: list[Placement] = []
    for chosen in sorted(sets, key=lambda s: price(s, costs)):
        if not any(smaller <= chosen for smaller in found) and meets(placed(program, chosen), models_, goal):
            found.append(chosen)
            yield chosen


def price(chosen: Placement, costs: Costs) -> Fraction:
    return sum((costs.of(kind, False) for *_, kind in chosen), Fraction(0))


def search(
    program: Program, models_: Sequence[ModelName] = BOTH, goal: Goal = "robust", costs: Costs = Costs()
) -> Search:
    return Search(ProgramProblem(everywhere(program, costs), FenceOptions(models=tuple(models_), goal=goal)))


def as_placement(search: Search, fences: frozenset[int]) -> Placement:
    return frozenset((*search.sites[site].place, search.sites[site].kind) for site in fences)  # type: ignore[misc]


def compare_with_brute_force(program: Program, models_: Sequence[ModelName], goal: Goal, most: int = 2) -> bool:
    """Whether there was anything to repair, with so few fences that brute force can keep up."""
    costs = Costs(mfence=Fraction(5), sfence=Fraction(2))
    mine = search(program, models_, goal, costs)
    best = next(mine.cheapest_first())
    if not best:
        assert meets(program, models_, goal)
        return False
    if len(best) > most:
        return False
    expected = next(brute_force(program, models_, goal, costs, most), None)
    assert expected is not None
    assert mine.cost(best) == price(expected, costs)
    assert meets(placed(program, as_placement(mine, best)), models_, goal)
    minimal = as_placement(mine, mine.minimal())
    assert meets(placed(program, minimal), models_, goal)
    for fence in minimal:
        assert not meets(placed(program, minimal - {fence}), models_, goal)
        *where, kind = fence
        if kind is Kind.MFENCE:
            cheaper: Placement = minimal - {fence} | {(*where, Kind.SFENCE)}  # type: ignore[arg-type]
            assert not meets(placed(program, cheaper), models_, goal)
    return True


MODEL_SETS: list[tuple[ModelName, ...]] = [("tso",), ("pso",), BOTH]


@pytest.mark.parametrize("models_", MODEL_SETS)
def test_the_cheapest_sets_of_random_programs_are_those_of_brute_force(models_: tuple[ModelName, ...]) -> None:
    programs_ = (*seeded(7, some(120), PLAIN), *seeded(8, some(40), FENCED), *seeded(9, some(60), ATOMIC))
    small = [p for p in programs_ if sum(len(thread.code) for thread in p.threads) <= 8]
    assert sum(compare_with_brute_force(program_, models_, "robust") for program_ in small) >= some(5, least=2)


@given(programs(threads=(2, 2), pieces=3, total=6, addresses="xy", locks=False))
@settings(max_examples=40)
def test_robust_with_branches_and_atomics_too(program_: Program) -> None:
    for models_ in MODEL_SETS:
        compare_with_brute_force(program_, models_, "robust")


@given(programs(threads=(2, 2), pieces=3, total=6, addresses="xy", locks=False), integers(0, 1000))
@settings(max_examples=60)
def test_safe_where_a_weak_outcome_is_forbidden(program_: Program, choice: int) -> None:
    for models_ in MODEL_SETS:
        weak = sorted(outcomes(program_, models_[-1]).values - outcomes(program_, "sc").values)
        if weak:
            compare_with_brute_force(forbidding(program_, weak[choice % len(weak)]), models_, "safe")


def forbidding(program: Program, values: tuple[int, ...]) -> Program:
    parts = [Op("==", (what, Const(value))) for what, value in zip(program.observed, values, strict=True)]
    proposition: Expr = Op("not", (reduce(lambda a, b: Op("and", (a, b)), parts),))
    return msgspec.structs.replace(program, final_assertion=proposition)


@given(programs(threads=(2, 2), pieces=2, total=4, addresses="xy", locks=False, branches=False, fences=False))
@settings(max_examples=40)
def test_all_minimal_sets_are_those_of_brute_force(program_: Program) -> None:
    costs = Costs(mfence=Fraction(5), sfence=Fraction(2))
    for models_ in MODEL_SETS:
        mine = search(program_, models_, "robust", costs)
        sets = {as_placement(mine, fences) for fences in mine.cheapest_first()}
        assert sets == set(brute_force(program_, models_, "robust", costs, len(placements(program_))))


def cheapest(program: Program, models_: Sequence[ModelName] = BOTH, goal: Goal = "robust") -> Placement:
    mine = search(program, models_, goal)
    return as_placement(mine, next(mine.cheapest_first()))


def test_store_buffering_needs_an_mfence_in_each_thread() -> None:
    for count in (2, 3, 4):
        assert cheapest(ring(count)) == {(thread, 1, True, Kind.MFENCE) for thread in range(count)}


def test_message_passing_needs_an_sfence_under_pso_and_nothing_under_tso() -> None:
    passing = program([st("x", 1), st("y", 1)], [ld("a", "y"), ld("b", "x")])
    assert cheapest(passing, ("tso",)) == frozenset()
    assert cheapest(passing) == {(0, 1, True, Kind.SFENCE)}


def test_one_mfence_serves_where_an_sfence_alone_would_not() -> None:
    both = program([st("x", 1), st("y", 1), ld("a", "z")], [st("z", 1), MFENCE, ld("b", "y"), ld("c", "x")])
    assert cheapest(both, ("tso",)) == {(0, 2, True, Kind.MFENCE)}
    assert cheapest(both) == {(0, 1, True, Kind.SFENCE), (0, 2, True, Kind.MFENCE)}


def test_an_atomic_is_a_fence_already() -> None:
    assert cheapest(program([fetch_add("x"), ld("a", "y")], [fetch_add("y"), ld("b", "x")])) == frozenset()


def test_an_existing_sfence_does_not_help_where_a_store_is_overtaken_by_a_load() -> None:
    fenced = program([st("x", 1), SFENCE, ld("a", "y")], [st("y", 1), SFENCE, ld("b", "x")])
    assert {kind for *_, kind in cheapest(fenced)} == {Kind.MFENCE}


def test_what_is_unsafe_under_sc_no_fence_repairs() -> None:
    lost = program([ld("a", "x"), st("x", 1)], [ld("b", "x"), st("x", 2)])
    lost = msgspec.structs.replace(
        lost, observed=(Final(None, "x"),), final_assertion=Op("==", (Final(None, "x"), Const(1)))
    )
    with pytest.raises(NoFenceHelps) as hopeless:
        cheapest(lost, BOTH, "safe")
    assert hopeless.value.violation.model == "sc"


def test_costs_decide_where_a_fence_goes() -> None:
    """A fence inside a loop costs more than two outside of it."""
    loop = program(
        [st("x", 1), ld("r", "y"), Branch(target=1, when=Op("==", (Const(0), Const(1))))],
        [st("y", 1), ld("r", "x")],
        loop_bound=2,
    )
    chosen = cheapest(loop)
    assert (0, 1, False, Kind.MFENCE) in chosen
    assert (0, 1, True, Kind.MFENCE) not in chosen


def test_an_sfence_keeps_a_store_before_an_atomic_of_another_address() -> None:
    """Where an rmw flushes its own address only, it overtakes a store as another store would."""
    passing = program([st("x", 1), fetch_add("y")], [ld("a", "y"), ld("b", "x")])
    mine = Search(
        ProgramProblem(everywhere(passing), FenceOptions(models=("pso",), semantics=Semantics(rmw="address")))
    )
    assert as_placement(mine, next(mine.cheapest_first())) == {(0, 1, True, Kind.SFENCE)}


def test_without_fences_the_program_is_as_it_was() -> None:
    for number, original in enumerate([*seeded(3, 30, PLAIN), *seeded(4, 30, ATOMIC), *seeded(5, 30, FENCED)]):
        assert everywhere(original).with_fences(frozenset()) == original, number
    loop: list[Instruction] = [ld("r", "x"), Branch(target=0, when=Op("==", (Const(0), Const(1)))), st("x", 1)]
    skip: list[Instruction] = [ld("r", "x"), Branch(target=3, when=Op("==", (Const(0), Const(1)))), st("x", 1)]
    assert everywhere(program(loop, skip)).with_fences(frozenset()) == program(loop, skip)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_what_was_not_explored_needs_no_fewer_fences(goal: Goal, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that writes is cut: nothing was found, and nothing is known."""
    if not kept:
        monkeypatch.setattr(program_problem, "keeps", lambda options: False)
    again: list[Instruction] = [fetch_add("x"), Branch(target=0, when=Op("==", (Const(0), Const(0))))]
    with pytest.raises(Undecided):
        next(search(program(again, again, loop_bound=2), BOTH, goal).cheapest_first())


def test_only_the_program_as_it_is_can_be_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    buffering = program([st("x", 1), ld("r", "y")], [st("y", 1), ld("r", "x")])
    problem = ProgramProblem(everywhere(buffering), FenceOptions(models=("tso",)))
    useless = next(number for number, site in enumerate(problem.sites) if site.kind is Kind.SFENCE)
    assert {finding.violation.replay != "" for finding in problem.findings(frozenset())} == {True}
    monkeypatch.setattr(program_problem, "keeps", lambda options: False)  # so that each set is explored
    problem = ProgramProblem(everywhere(buffering), FenceOptions(models=("tso",)))
    assert [finding.violation.replay for finding in problem.findings(frozenset({useless}))] == [""]


class Unsure:
    """A program that could not be explored without its own fence."""

    sites = (Site(kind=Kind.MFENCE, place=0, cost=Fraction(1), location=Location("program", 7)),)

    def __init__(self) -> None:
        self.always = frozenset({0})
        self.budget = Budget()
        self.weighed = True

    def known(self, fences: frozenset[int]) -> list[Finding] | None:
        return None

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        if not self.always:
            raise Undecided("the budget ran out")
        return []


def test_a_fence_that_may_be_needed_is_not_called_unnecessary() -> None:
    job = Job(
        as_it_is=list,
        problem=Unsure(),
        existing=frozenset({0}),
        originals={"program": ""},
        write=lambda added, removed: Patch({"program": ""}, {}),
        check=lambda patched: [],
    )
    result = run("program", job, FenceOptions(), Budget(), "fence").answer
    assert result.unnecessary == []
    assert result.notes == ["whether the mfence at program:7 is needed is not known: the budget ran out"]
    assert job.problem.always == {0}
