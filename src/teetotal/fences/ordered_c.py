"""Orders and fences in C and C++ programs, explored by running the program itself.

What is explored has a mark (``c_text``) in every gap and before every atomic operation: ``(mark,
atomic_load_explicit(…))``. Operations in the arguments of another come between its mark and its event, so the marks that
wait for their event are a stack."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from teetotal.answers.events import Event, EventId, Kind, Location, MemoryOrder
from teetotal.answers.targets import OrderCosts
from teetotal.fences.c import MARK, Exploring, without_marks
from teetotal.fences.c_files import OwnFiles
from teetotal.fences.c_gaps import Gaps
from teetotal.fences.c_macros import Macros
from teetotal.fences.c_places import CPlaces, fence_words
from teetotal.fences.c_text import HEADERS, MARKS, CFile, Style
from teetotal.fences.edits import Edit, Patched, apply
from teetotal.fences.evidence import Item
from teetotal.fences.insertion import Finding, Site, Undecided
from teetotal.fences.killers import killers
from teetotal.fences.orders import Place, Sites, needs
from teetotal.fences.orders_problem import of_race, of_weak
from teetotal.programs.c.build import Source


class Point(NamedTuple):
    """What a mark stands for: a gap, or an operation with its first place and how many orders it has."""

    place: int
    orders: int


class OrderedCText(CFile):
    def __init__(
        self,
        path: str,
        text: str,
        *,
        cpp: bool,
        macros: Macros,
        weaken: bool,
        without: Collection[int],
        first_place: int,
        first_mark: int,
    ) -> None:
        super().__init__(path, text, Gaps(text, cpp, macros, atomics=True, without=without))
        self.own = CPlaces(self.gaps, self.location, weaken, first_place)
        self.first_mark = first_mark
        self.points: list[Point] = [Point(first_place + number, 0) for number in range(len(self.own.put))]
        self.points += [Point(place, len(call.orders)) for call, place in self.own.calls]

    def explored(self, orders: Sequence[MemoryOrder]) -> str:
        """With these orders of all places, and its marks, each on the line where it was."""
        fence = fence_words("builtin")
        put = []
        for number, gap in enumerate(self.own.put):
            order = orders[self.own.first + number]
            put.append((gap, f"{self._mark(number)};" + (f" {fence(order)}" if order != "relaxed" else "")))
        edits = self.gaps.wrapped(put)
        for number, (call, place) in enumerate(self.own.calls, start=len(self.own.put)):
            edits.append(Edit(call.start, call.start, f"({self._mark(number)}, "))
            edits.append(Edit(call.end, call.end, ")"))
            changed = {n: orders[place + n] for n in range(len(call.orders))}
            edits += call.edits({n: o for n, o in changed.items() if o != call.orders[n].order}, None)
        return apply(self.text, edits).text

    def _mark(self, number: int) -> str:
        return f"(void){MARKS}[{self.first_mark + number}]"

    def patched(self, orders: Mapping[int, MemoryOrder], style: Style, includes: bool) -> Patched:
        """``includes``: whether the header that fences need is there."""
        edits = self.own.edits(orders, fence_words(style))
        fences = any(orders.get(self.own.first + number, "relaxed") != "relaxed" for number in range(len(self.own.put)))
        if fences and style in HEADERS and not includes:
            edits.append(self.include(HEADERS[style]))
        return apply(self.text, edits)


class OrderedCFiles(OwnFiles[OrderedCText]):
    """``passed``: how often an execution passes each place, once that is known."""

    def __init__(
        self, source: Source, costs: OrderCosts, weaken: bool, without: Collection[Location] = frozenset()
    ) -> None:
        self.weaken = weaken
        super().__init__(source, without)
        self.points = [point for file in self.files.values() for point in file.points]
        self.ordered = Sites([place for file in self.files.values() for place in file.own.places], costs, weaken)
        self.passed: dict[int, Fraction] = {}

    def read(self, name: str, text: str, cpp: bool, macros: Macros, without: Collection[int]) -> OrderedCText:
        known = self.files.values()
        return OrderedCText(
            name,
            text,
            cpp=cpp,
            macros=macros,
            weaken=self.weaken,
            without=without,
            first_place=sum(len(file.own.places) for file in known),
            first_mark=sum(len(file.points) for file in known),
        )

    @property
    def places(self) -> Sequence[Place]:
        return self.ordered.places

    def weigh(self, passes: Sequence[Fraction]) -> None:
        for point, often in zip(self.points, passes, strict=False):
            for place in range(point.place, point.place + max(point.orders, 1)):
                self.passed[place] = often
        self.ordered.weigh(lambda place: round(self.passed.get(place, Fraction(1)), 2))
        self.ordered.untouched = frozenset(place for place, often in self.passed.items() if not often)

    def explored(self, orders: Sequence[MemoryOrder]) -> dict[str, str]:
        return {name: file.explored(orders) for name, file in self.files.items()}

    def written(self, orders: Mapping[int, MemoryOrder], asked: Style | None) -> tuple[dict[str, str], dict[int, int]]:
        return self.each_patched(asked, lambda file, style, includes: file.patched(orders, style, includes))

    # -- events with their places ------------------------------------------------------------------------------------------

    def items(self, events: Sequence[Event], orders: Sequence[MemoryOrder]) -> list[Item]:
        waiting: dict[int, list[Point]] = {}
        found: list[Item] = []
        for event in events:
            own = waiting.setdefault(event.thread, [])
            if (mark := MARK.fullmatch(event.address or "")) is not None:
                point = self.points[int(mark[1])]
                if self.places[point.place].is_fence and orders[point.place] == "relaxed":
                    found.append(Item(event.thread, None, point.place))
                else:
                    own.append(point)
            elif event.order != "na" and own and self._is_of(event, own[-1], orders):
                point = own.pop()
                failed = event.kind is Kind.RMW and not event.writes
                place = point.place + (failed and point.orders > 1)
                found.append(Item(event.thread, event, place, failed and point.orders == 1))
            elif event.order != "na" or not event.kind.is_fence:
                found.append(Item(event.thread, event, None))
        return found

    def _is_of(self, event: Event, point: Point, orders: Sequence[MemoryOrder]) -> bool:
        place = self.places[point.place]
        kinds = {"load": (Kind.LD,), "store": (Kind.ST,), "rmw": (Kind.RMW,)}
        if place.is_fence:
            return event.kind.is_fence and event.order == orders[point.place]
        return event.kind in kinds[place.what] and (not event.writes or event.order == orders[point.place])

    def passed_before(
        self, events: Sequence[Event], orders: Sequence[MemoryOrder]
    ) -> dict[EventId, list[tuple[int, Kind]]]:
        """For each event, the sites that its thread passed since the one before, as the fence that TSO and PSO would
        see."""
        found: dict[EventId, list[tuple[int, Kind]]] = {}
        waiting: dict[int, list[tuple[int, Kind]]] = {}
        for item in self.items(events, orders):
            own = waiting.setdefault(item.thread, [])
            if item.place is not None and self.places[item.place].is_fence:  # not there, or it could be a stronger one
                own += self.ordered.as_fences(item.place, None)
            if item.event is None:
                continue
            own += self._absent(item.place, orders, Kind.SFENCE)
            found[item.event.id] = own.copy()
            own[:] = self._absent(item.place, orders, Kind.MFENCE)
        return found

    def _absent(self, place: int | None, orders: Sequence[MemoryOrder], part: Kind) -> Iterator[tuple[int, Kind]]:
        if place is not None and part not in needs(self.places[place].what, orders[place]):
            yield from self.ordered.as_fences(place, part)


class COrdersProblem(Exploring):
    files: OrderedCFiles
    always: frozenset[int] = frozenset()

    @property
    def sites(self) -> Sequence[Site]:
        return self.files.ordered.sites

    def known(self, fences: frozenset[int]) -> list[Finding] | None:
        return None

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        sites = self.files.ordered
        orders = sites.orders(fences)
        result = self.explored(self.files.explored(orders))
        found: list[Finding] = []
        for violation in result.violations:
            if violation.kind != "robustness":
                continue
            told = without_marks(violation)
            if violation.model == "c11":
                items = self.files.items(violation.events, orders)
                found.append(of_weak(sites, told, items, fences, self.options.release_sequence))
            else:
                passed = self.files.passed_before(violation.events, orders)
                found.append(Finding(told, killers(violation.model, violation.events, violation.steps, passed)))
        for race in result.races:
            items = self.files.items(race.before, orders)
            found.append(of_race(sites, race, items, fences, self.options.release_sequence))
        for model in () if found else self.models:
            answer = result.models[model]
            if answer.robust is None or answer.race_free is None:
                raise Undecided(f"robust or not under {model.upper()} is not known: {'; '.join(result.notes)}")
        return found
