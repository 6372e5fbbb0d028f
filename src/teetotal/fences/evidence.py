"""What C11 allows against SC, or a race, as evidence against every set of sites that does not prevent it.

The evidence is a graph of the program, with the place of each event (``orders.Place``). Another set of sites gives the same
graph with other orders and other fences in it, and ``models.c11`` says whether it is still consistent; of a race, whether
happens-before still leaves the two accesses unordered. Sites only add to what the model forbids. So where the graph is
allowed with some sites, more are added while it stays allowed: of those that are left out, every set that works has one.
That is a clause for the search of ``insertion``, as ``killers`` gives one for TSO and PSO, but a graph gives many: one for
each set that is asked about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from teetotal.answers.events import Event, MemoryOrder
from teetotal.answers.options import ReleaseSequence
from teetotal.engines import weak
from teetotal.fences.orders import Sites, fence_kind, where_it_fails


class Item(NamedTuple):
    """An event with the place that its order comes from, or a fence's place alone, which the thread passed. ``derived``:
    a compare-and-swap that failed, with no order of its own for that."""

    thread: int
    event: Event | None
    place: int | None
    derived: bool = False


class Evidence:
    """``items`` in the order of the execution; ``first`` and ``second`` are positions in it: of the write that the last
    event does not know of and of that event, or of two accesses that race."""

    def __init__(
        self,
        sites: Sites,
        items: Sequence[Item],
        first: int,
        second: int,
        *,
        race: bool,
        release_sequence: ReleaseSequence,
    ) -> None:
        self.sites, self.items = sites, items
        self.memory = {
            item.event.address: 0 for item in items if item.event is not None and item.event.address is not None
        }
        self.first, self.second, self.race, self.release_sequence = first, second, race, release_sequence
        self._known: dict[tuple[MemoryOrder, ...], bool] = {}
        passed: dict[int, list[object]] = {}
        counts: dict[int, int] = {}
        for number, item in enumerate(items):
            if item.event is not None:
                counts[item.thread] = number
            if item.place is not None:
                after = ("after", item.thread, counts.get(item.thread, -1))
                passed.setdefault(item.place, []).append(after if item.event is None else number)
        alike: dict[tuple[object, ...], list[int]] = {}
        for place, at in passed.items():
            alike.setdefault(tuple(at), []).append(place)
        self.groups = list(alike.values())
        """Places that the graph cannot tell apart: gaps with nothing between them."""

    def holds(self, on: frozenset[int]) -> bool:
        """Whether C11 still allows it with these sites."""
        orders = self.sites.orders(on)
        key = tuple(orders[place] for group in self.groups for place in group)
        if key not in self._known:
            self._known[key] = self._allowed(orders)
        return self._known[key]

    def _allowed(self, orders: Sequence[MemoryOrder]) -> bool:
        events: list[Event] = []
        at: dict[int, int] = {}
        counts: dict[int, int] = {}
        for number, item in enumerate(self.items):
            if (event := self._event(item, orders, counts.get(item.thread, 0))) is not None:
                counts[item.thread] = event.index + 1
                at[number] = len(events)
                events.append(event)
        first = at[self.first]
        if not self.race:
            graph = weak.graph(self.memory, events[:-1], self.release_sequence, events[-1], events[first])
            return graph.consistent
        graph = weak.graph(self.memory, events, self.release_sequence)
        a, b = (graph.number[events[number].id] for number in (first, at[self.second]))
        return (a, b) not in graph.hb and (b, a) not in graph.hb

    def _event(self, item: Item, orders: Sequence[MemoryOrder], index: int) -> Event | None:
        if item.place is None:
            assert item.event is not None
            return msgspec.structs.replace(item.event, index=index)
        order = orders[item.place]
        if item.derived:
            order = where_it_fails(order)
        if not self.sites.places[item.place].is_fence:
            assert item.event is not None
            return msgspec.structs.replace(item.event, index=index, order=order)
        return None if order == "relaxed" else Event(item.thread, index, fence_kind(order), order=order)

    def missing(self, on: frozenset[int]) -> frozenset[int] | None:
        """Sites of which one is needed beside these; None where these prevent it."""
        if not self.holds(on):
            return None
        sites = self.sites
        allowed = set(range(len(sites.sites)))
        allowed.difference_update(site for group in self.groups for place in group for site in sites.of_place[place])
        allowed |= on
        for group in sorted(self.groups, key=lambda group: -max(map(self._dearest, group))):
            own = [site for place in group for site in sites.of_place[place]]
            if self.holds(frozenset(allowed.union(own))):
                allowed.update(own)
                continue
            for site in own:
                if self.holds(frozenset(allowed | {site})):
                    allowed.add(site)
        return frozenset(range(len(sites.sites))) - allowed

    def _dearest(self, place: int) -> float:
        return float(max((self.sites.sites[site].cost for site in self.sites.of_place[place]), default=0))
