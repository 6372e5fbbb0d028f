"""Orders of C11 that can change: the places of a program that have one, and each order that a place could have as a site.

A *place* is an atomic access or a fence of the program with its order, or a gap between two statements, which is a fence
that is not there. A *site* of the search (``insertion``) is a place with a stronger order than it has when nothing is
chosen: as it is written, or with ``weaken`` relaxed. Orders only grow with what is chosen, and with them what C11 forbids
(docs/explanation/c11.md, theorem 6), so that what is known of one set of sites holds of all smaller or larger ones.

In C11 a compare-and-swap may not be stronger where it fails than where it succeeds: its order for success grows with that
for failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Literal

import msgspec

from teetotal.answers.events import Kind, Location, MemoryOrder
from teetotal.answers.remedies import FENCES, Order, Remedy
from teetotal.answers.targets import Operation, OrderCosts
from teetotal.fences.insertion import Site
from teetotal.programs.python.operations import rmw_orders, thread_fence

What = Literal["load", "store", "rmw", "failure", "fence", "gap"]
_PARTS: dict[MemoryOrder, frozenset[str]] = {
    "relaxed": frozenset(),
    "acquire": frozenset({"acquire"}),
    "release": frozenset({"release"}),
    "acq_rel": frozenset({"acquire", "release"}),
    "seq_cst": frozenset({"acquire", "release", "seq_cst"}),
}
_ALL = tuple(_PARTS)
VALID: dict[What, tuple[MemoryOrder, ...]] = {
    "load": ("relaxed", "acquire", "seq_cst"),
    "failure": ("relaxed", "acquire", "seq_cst"),
    "store": ("relaxed", "release", "seq_cst"),
    "rmw": _ALL,
    "fence": _ALL,
    "gap": _ALL,
}
WHERE_IT_FAILS = ", where it fails"
_OPERATIONS: dict[What, Operation] = {"failure": "load", "gap": "fence"}


def join(a: MemoryOrder, b: MemoryOrder) -> MemoryOrder:
    """The weakest order that is as strong as both."""
    return next(order for order in _ALL if _PARTS[order] >= _PARTS[a] | _PARTS[b])


def stronger(a: MemoryOrder, b: MemoryOrder) -> bool:
    return _PARTS[a] > _PARTS[b]


def fence_kind(order: MemoryOrder) -> Kind:
    """What a fence of this order is to TSO and PSO."""
    return thread_fence(order).kind


def needs(what: What, order: MemoryOrder) -> tuple[Kind, ...]:
    """The fences that an access of this order amounts to on TSO and PSO: an sfence before it, an mfence after it."""
    if what not in ("store", "rmw") or order not in ("release", "acq_rel", "seq_cst"):
        return ()
    return (Kind.SFENCE, Kind.MFENCE) if what == "store" and order == "seq_cst" else (Kind.SFENCE,)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """``was``: the order as it is written, relaxed for a gap. ``location`` and ``after``, ``before`` or ``at`` tell a
    person where, as for ``insertion.Site``. ``success``: of a compare-and-swap's order for failure, the place of the
    other."""

    what: What
    was: MemoryOrder
    location: Location
    at: str = ""
    after: str = ""
    before: str = ""
    in_loop: bool = False
    success: int | None = None

    @property
    def is_fence(self) -> bool:
        return self.what in ("fence", "gap")


_ANY = OrderCosts()


class Sites:
    """All sites of these places, and which order each place has where some are chosen. ``untouched``: places that no
    execution passes, once that is known; they stay as they are written, since nothing is known of who needs them."""

    def __init__(self, places: Sequence[Place], costs: OrderCosts = _ANY, weaken: bool = False) -> None:
        self.places, self.costs, self.weaken = places, costs, weaken
        self.sites: list[Site] = []
        self.order_of: list[MemoryOrder] = []
        self.place_of: list[int] = []
        self.of_place: list[list[int]] = [[] for _ in places]
        self.untouched: frozenset[int] = frozenset()
        for number, place in enumerate(places):
            for order in VALID[place.what]:
                if stronger(order, self.base(number)) and not (weaken and not _PARTS[order] <= _PARTS[place.was]):
                    self._add(number, order)

    def base(self, place: int) -> MemoryOrder:
        """Its order where nothing is chosen."""
        return "relaxed" if self.weaken else self.places[place].was

    def _add(self, number: int, order: MemoryOrder) -> None:
        place = self.places[number]
        self.of_place[number].append(len(self.sites))
        self.order_of.append(order)
        self.place_of.append(number)
        self.sites.append(
            Site(
                kind=remedy(place, order),
                place=number,
                cost=self.cost(number, order) - self.cost(number, self.base(number)),
                in_loop=place.in_loop,
                location=place.location,
                at=place.at,
                after=place.after,
                before=place.before,
            )
        )

    def cost(self, place: int, order: MemoryOrder) -> Fraction:
        what = self.places[place].what
        return self.costs.of(_OPERATIONS.get(what, what), order, self.places[place].in_loop)  # type: ignore[arg-type]

    def weigh(self, passes: Callable[[int], Fraction], loops: Callable[[int], bool] = lambda place: False) -> None:
        """``passes``: how often an execution passes a place, on average; ``loops``: whether a loop can run it again."""
        for number, place in enumerate(self.place_of):
            site, often = self.sites[number], max(passes(place), Fraction(1))
            again = loops(place) and not site.in_loop
            cost = site.cost * often * (self.costs.loop if again else 1)
            self.sites[number] = msgspec.structs.replace(site, cost=cost, passes=often, in_loop=site.in_loop or again)

    def orders(self, on: frozenset[int]) -> list[MemoryOrder]:
        """Of each place."""
        found = [self.base(number) for number in range(len(self.places))]
        for site in on:
            found[self.place_of[site]] = join(found[self.place_of[site]], self.order_of[site])
        for number, place in enumerate(self.places):
            other = place.success
            if other is not None and (found[number] != place.was or found[other] != self.places[other].was):
                found[other] = join(found[other], found[number])
        return found

    def as_fences(self, place: int, part: Kind | None) -> Iterator[tuple[int, Kind]]:
        """The sites of a fence's place, as what each would be to TSO and PSO; or of an access those that need this fence
        (``part``) beside it."""
        for site in self.of_place[place]:
            order = self.order_of[site]
            kind = fence_kind(order) if part is None else part
            if kind is not Kind.FENCE and (part is None or part in needs(self.places[place].what, order)):
                yield site, kind

    def changes(self, on: frozenset[int]) -> dict[int, MemoryOrder]:
        """The orders of the places that do not stay as they are written."""
        orders = self.orders(on)
        return {
            number: orders[number]
            for number, place in enumerate(self.places)
            if orders[number] != place.was and number not in self.untouched
        }

    def chosen(self, on: frozenset[int]) -> frozenset[int]:
        """The same orders, with one site for each place."""
        orders = self.orders(on)
        return frozenset(
            site for place, own in enumerate(self.of_place) for site in own if self.order_of[site] == orders[place]
        )


def where_it_fails(success: MemoryOrder) -> MemoryOrder:
    """The order of a compare-and-swap that fails, where none is written."""
    return rmw_orders(success, None)[1]


def remedy(place: Place, order: MemoryOrder) -> Remedy:
    return FENCES[order] if place.is_fence else Order(order)
