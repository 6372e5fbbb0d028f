"""The sites that were chosen as an answer tells them: where each stands, what it costs, what it is good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from teetotal.answers.events import MemoryOrder
from teetotal.answers.fence import PlacedFence
from teetotal.answers.remedies import Remedy
from teetotal.answers.violation import Violation
from teetotal.fences.insertion import Search, Site
from teetotal.fences.orders import Place, Sites, remedy


class Placing:
    """``lines``: those of the patched files, by site; by place where the sites are orders of C11 (``ordered``)."""

    def __init__(self, path: str, search: Search, lines: Mapping[int, int], ordered: Sites | None) -> None:
        self.path, self.search, self.lines, self.ordered = path, search, lines, ordered

    def all(self, sites: frozenset[int]) -> list[PlacedFence]:
        if self.ordered is None:
            found = [
                self._placed(site, self.search.sites[site], self.search.sites[site].kind, [site], sites)
                for site in sites
            ]
        else:
            changes = self.ordered.changes(sites)
            found = [self._changed(self.ordered, place, order) for place, order in changes.items()]
        return sorted(found, key=lambda one: (one.file, one.line, one.kind))

    def _changed(self, ordered: Sites, number: int, order: MemoryOrder) -> PlacedFence:
        place = ordered.places[number]
        sites = [site for site in ordered.of_place[number] if ordered.order_of[site] == order]
        was = "" if place.what == "gap" else str(remedy(place, place.was))
        return self._placed(number, place, remedy(place, order), sites, was=was)

    def _placed(
        self, number: int, where: Site | Place, kind: Remedy, numbers: Sequence[int],
        among: frozenset[int] = frozenset(), was: str = "",
    ) -> PlacedFence:  # fmt: skip
        assert where.location is not None
        sites = [self.search.sites[site] for site in numbers]
        broken = (violation for site in numbers for violation in self.search.broken_by(site, among))
        cycles = (", ".join(place.removeprefix(f"{self.path}:") for place in _places(each)) for each in broken)
        return PlacedFence(
            kind=str(kind),  # type: ignore[arg-type]
            was=was,
            file=where.location.file,
            line=where.location.line,
            after=where.after,
            before=where.before,
            at=where.at,
            patched_line=self.lines.get(number),
            cost=float(sum(site.cost for site in sites)),
            in_loop=any(site.in_loop for site in sites),
            passes=float(max((site.passes for site in sites), default=Fraction(1))),
            breaks=list(dict.fromkeys(filter(None, cycles))),
        )


def _places(violation: Violation) -> list[str]:
    """Those that are named, as of an assertion; else those of its cycle, as of a deadlock."""
    of_cycle = (violation.events[edge.source].location for edge in violation.cycle)
    return violation.locations or list(dict.fromkeys(str(place) for place in of_cycle if place is not None))
