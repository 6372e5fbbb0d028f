"""Weakest orders and fewest fences of C11, against brute force by the specification."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st_

import fuzz_orders
from amounts import some
from c11_programs import c11, random_program
from teetotal.answers.events import Kind, Location, MemoryOrder
from teetotal.answers.options import FenceOptions
from teetotal.answers.targets import ANY, TARGETS, OrderCosts
from teetotal.fences.insertion import NoFenceHelps, Search
from teetotal.fences.orders import VALID, Place, Sites, What, join, stronger
from teetotal.fences.orders_problem import OrdersProblem, Owner, Skeleton
from teetotal.fences.slots import Slot
from teetotal.models import c11 as specification
from teetotal.programs.program import Branch, Fence, Instruction, Load, Program, Rmw, Store, Thread

WHAT: dict[type, What] = {Load: "load", Store: "store", Rmw: "rmw", Fence: "fence"}


def skeleton(program: Program, gaps: bool) -> tuple[Skeleton, list[Place]]:
    """With a place for every order, and for every gap before an access."""
    places: list[Place] = []
    owners: dict[Slot, Owner] = {}
    threads = []
    for number, thread in enumerate(program.threads):
        code: list[Instruction] = []
        moved: list[int] = []
        for pc, instruction in enumerate(thread.code):
            if gaps and pc and not isinstance(instruction, Branch):
                owners[Slot(number, len(code))] = Owner(len(places))
                places.append(Place(what="gap", was="relaxed", location=Location("gap", pc)))
                code.append(Fence(kind=Kind.MFENCE, order="seq_cst"))
            moved.append(len(code))
            if getattr(instruction, "order", "na") != "na":
                owners[Slot(number, len(code))] = Owner(len(places))
                what = WHAT[type(instruction)]
                places.append(Place(what=what, was=instruction.order, location=Location(what, pc)))  # type: ignore
            code.append(instruction)
        moved.append(len(code))
        for pc, instruction in enumerate(code):
            if isinstance(instruction, Branch):
                code[pc] = msgspec.structs.replace(instruction, target=moved[instruction.target])
        threads.append(Thread(thread.name, tuple(code), thread.registers))
    return Skeleton(msgspec.structs.replace(program, threads=tuple(threads)), owners), places


class Case:
    def __init__(self, program: Program, gaps: bool = True, weaken: bool = False) -> None:
        self.skeleton, places = skeleton(program, gaps and not weaken)
        self.sites = Sites(places, OrderCosts(), weaken)
        self.search = Search(OrdersProblem([self.skeleton], self.sites, FenceOptions(models=("c11",))))

    def works(self, on: frozenset[int]) -> bool:
        """By definition."""
        program = self.skeleton.with_orders(self.sites, self.sites.orders(on))
        return specification.verdict(program, most=3000) == "robust"

    def told(self, on: frozenset[int]) -> list[tuple[str, str]]:
        places = self.sites.places
        return [(places[n].what, order) for n, order in sorted(self.sites.changes(on).items())]


def of_loads_and_stores(seed: int) -> Program:
    rng = random.Random(seed)
    while True:
        program = random_program(rng)
        backward = any(getattr(i, "target", 10**6) < len(t.code) for t in program.threads for i in t.code)
        if not backward and len(program.threads) < 4 and sum(len(thread.code) for thread in program.threads) < 8:
            return program


@settings(max_examples=60)
@given(st_.integers(0, 2**32), st_.booleans(), st_.booleans())
def test_a_set_of_least_cost_is_that_by_definition(seed: int, gaps: bool, weaken: bool) -> None:
    case = Case(of_loads_and_stores(seed), gaps, weaken)
    search, count = case.search, len(case.sites.sites)
    try:
        found = next(search.cheapest_first())
    except NoFenceHelps:
        assert not case.works(frozenset(range(count)))
        return
    except specification.TooMany:
        return
    assert case.works(found)
    dearer = search.cost(found)
    tried = 0
    for size in range(min(len(found), 3) + 1):
        for cheaper in map(frozenset, combinations(range(count), size)):
            if search.cost(cheaper) < dearer and tried < 60:
                tried += 1
                assert not case.works(cheaper), case.told(cheaper)


@settings(max_examples=60)
@given(st_.integers(0, 2**32), st_.booleans())
def test_of_a_minimal_set_nothing_can_go(seed: int, weaken: bool) -> None:
    case = Case(of_loads_and_stores(seed), True, weaken)
    try:
        found = case.search.minimal()
    except NoFenceHelps:
        assert not case.works(frozenset(range(len(case.sites.sites))))
        return
    assert case.works(found)
    for site in found:
        assert not case.works(found - {site})


def test_what_is_written_is_minimal_by_definition() -> None:
    """By text: litmus tests, for the weakest and for the cheapest; ``make fuzz`` does the same with C as well, and more."""
    found = fuzz_orders.run(some(40), c=False, seed=15)
    assert found["cheaper_sets"] > 20


SMALLEST = {
    "store buffering": ("x=1; r=y ‖ y=1; r=x", ["store seq_cst", "load seq_cst"] * 2),
    "message passing": ("x=1; y=1 ‖ r=y; r=x", ["store release", "load acquire"]),
    "plain message": ("x=1.na; y=1 ‖ await(y==1); r=x.na", ["store release", "load acquire"]),
    "wrc": ("x=1 ‖ r=x; y=1 ‖ r=y; r=x", ["store release", "load acquire"]),
    "nothing to do": ("r=x; y=1 ‖ r=y; x=1", []),
    "robust already": ("x=1.sc; r=y.sc ‖ y=1.sc; fence.rel; r=x.sc", []),
    "a half that is there": ("x=1; fence.rel; y=1 ‖ r=y; r=x", ["load acquire"]),
    "an rmw": ("x=1; xchg(y,1) ‖ r=y.acq; r=x", ["rmw release"]),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_orders_come_first(name: str) -> None:
    text, expected = SMALLEST[name]
    case = Case(c11(text, name))
    assert [" ".join(change) for change in case.told(next(case.search.cheapest_first()))] == expected


WEAKEST = {
    "message passing": ("x=1.sc; y=1.sc ‖ r=y.sc; r=x.sc", "relaxed release acquire relaxed"),
    "store buffering": ("x=1.sc; r=y.sc ‖ y=1.sc; r=x.sc", "seq_cst seq_cst seq_cst seq_cst"),
    "load buffering": ("r=x.sc; y=1.sc ‖ r=y.sc; x=1.sc", "relaxed relaxed relaxed relaxed"),
    "wrc": ("x=1.sc ‖ r=x.sc; y=1.sc ‖ r=y.sc; r=x.sc", "relaxed relaxed release acquire relaxed"),
    "isa2": (
        "x=1.sc; y=1.sc ‖ r=y.sc; z=1.sc ‖ r=z.sc; r=x.sc",
        "relaxed release acquire release acquire relaxed",
    ),
    "a fence too many": ("x=1.sc; fence.sc; y=1.rel ‖ r=y.acq; r=x", "relaxed relaxed release acquire relaxed"),
}


@pytest.mark.parametrize("name", WEAKEST)
def test_the_weakest_orders_that_suffice(name: str) -> None:
    text, expected = WEAKEST[name]
    case = Case(c11(text, name), weaken=True)
    assert case.sites.orders(next(case.search.cheapest_first())) == expected.split()


def test_orders_are_a_lattice() -> None:
    orders: tuple[MemoryOrder, ...] = VALID["rmw"]
    for a in orders:
        for b in orders:
            assert join(a, b) == join(b, a)
            assert join(a, b) == a or stronger(join(a, b), a)
            assert not (stronger(a, b) and stronger(b, a))
    assert join("acquire", "release") == "acq_rel"


COSTS = {
    name: {what: {o: c.cost for o, c in row.items()} for what, row in table.items()} for name, table in TARGETS.items()
}


@pytest.mark.parametrize("table", [ANY, *COSTS.values()])
def test_a_stronger_order_is_dearer(table: dict[str, dict[MemoryOrder, int]]) -> None:
    for row in table.values():
        for a in row:
            assert all(row[a] > row[b] for b in row if stronger(a, b))


def test_the_reference_has_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/targets.md").read_text()
    for name, table in TARGETS.items():
        for what, row in table.items():
            told = " | ".join(f"{c.cost} `{c.instructions}`" if c.instructions else str(c.cost) for c in row.values())
            assert f"| {name} | {what} | {told} |" in page
    for what, costs in ANY.items():
        assert f"| (none) | {what} | {' | '.join(map(str, costs.values()))} |" in page


def test_a_target_changes_what_is_cheapest() -> None:
    program = c11("x=1; r=y ‖ y=1; r=x")

    def cheapest(costs: OrderCosts) -> list[tuple[str, str]]:
        case = Case(program)
        case.sites = Sites(case.sites.places, costs)
        case.search = Search(OrdersProblem([case.skeleton], case.sites, FenceOptions(models=("c11",))))
        return case.told(next(case.search.cheapest_first()))

    assert cheapest(OrderCosts("x86")) == [("gap", "seq_cst")] * 2
    assert cheapest(OrderCosts("arm64")) == [("store", "seq_cst"), ("load", "seq_cst")] * 2
    assert cheapest(OrderCosts(loop=Fraction(1))) == [("store", "seq_cst"), ("load", "seq_cst")] * 2


def test_success_is_as_strong_as_failure() -> None:
    here = Location("f", 1)
    places = [
        Place(what="rmw", was="relaxed", location=here),
        Place(what="failure", was="relaxed", location=here, success=0),
    ]
    sites = Sites(places)
    for site, order in enumerate(sites.order_of):
        success, failure = sites.orders(frozenset({site}))
        assert success == order
        assert failure == ("relaxed" if sites.place_of[site] == 0 else order)
