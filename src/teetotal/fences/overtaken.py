"""Findings about any set of fences, from the overtakings that one exploration kept (``engines.executions.overtakings``).

A set of sites is fences at some of the marks (``Point``); a stronger store is the fences around it, as in ``killers``. What
is still overtaken with them is what is violated. Each overtaking is evidence against other sets too: it is possible with
fewer fences where it is with more, so sites are added while it stays possible, and of those that are left out every set
that works has one. That is the clause for the search of ``insertion``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from teetotal import _core
from teetotal.answers.events import Kind, ModelName
from teetotal.answers.options import FenceOptions
from teetotal.answers.remedies import Order
from teetotal.answers.violation import Violation
from teetotal.engines.executions.overtakings import MODELS, NOTHING, Kept, as_bytes
from teetotal.fences.insertion import Finding, Site

Point = tuple[tuple[int, Kind], ...]
"""What a mark stands for: sites, and as which fence each of them would stand there."""

LATE = "robust or not is not known: the budget ran out; see --time"
TOO_MUCH = "what the first exploration found takes more memory than it may have: other sets of fences are explored, too"


def keeps(options: FenceOptions) -> bool:
    """Whether an exploration serves all sets: only where SC executions decide, and monitors whose answer depends on the
    class of an execution alone."""
    return options.goal == "robust" and not options.monitors and set(options.models) <= set(MODELS.values())


def kinds(points: Sequence[Point], on: frozenset[int]) -> dict[int, Kind]:
    """What marks are with these sites, those that are nothing left out. An mfence is an sfence, too."""
    found = {}
    for mark, point in enumerate(points):
        kind = min((kind for site, kind in point if site in on), default=NOTHING)  # MFENCE < SFENCE < NOTHING
        if kind is not NOTHING:
            found[mark] = kind
    return found


class Overtaken:
    """One overtaking, as evidence. ``always``: sites that are on whatever is asked. ``unsure``: sites of which it is not
    known that they leave it, though as fences they do."""

    def __init__(
        self, overtaking: _core.Overtaking, model: int, points: Sequence[Point], sites: Sequence[Site],
        always: frozenset[int] = frozenset(), unsure: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        self.overtaking, self.model, self.points = overtaking, model, points
        self.always, self.unsure = always, unsure
        passed = {site for mark in overtaking.marks for site, _ in points[mark]}
        self.passed = sorted(passed, key=lambda site: (sites[site].cost, site))

    def holds(self, on: frozenset[int]) -> bool:
        fences = as_bytes(len(self.points), kinds(self.points, on | self.always))
        return bool(self.overtaking.models(fences) & self.model)

    def missing(self, on: frozenset[int]) -> frozenset[int] | None:
        if on & self.unsure or not self.holds(on):
            return None
        allowed, needed = on | self.always, set()
        for site in self.passed:
            if site in allowed:
                continue
            if site not in self.unsure and self.holds(allowed | {site}):
                allowed |= {site}
            else:
                needed.add(site)
        return frozenset(needed)


class Explored:
    """One exploration of a program with marks. ``told_with``: the sites that were on where its violations were told, so
    that what is violated with more was told; ``shown`` makes one fit to be shown."""

    def __init__(
        self, kept: Kept, points: Sequence[Point], options: FenceOptions, told_with: frozenset[int],
        shown: Callable[[Violation], Violation] = lambda violation: violation,
    ) -> None:  # fmt: skip
        self.kept, self.points, self.told_with, self.shown = kept, points, told_with, shown
        self.models = options.models
        self.overtakings = kept.handed_over(options.models, options.semantics, skip_waiting=options.waiting == "skip")
        self._shown: dict[int, Violation] = {}

    def findings(self, on: frozenset[int], sites: Sequence[Site], always: frozenset[int]) -> list[Finding] | None:
        """With these sites; None where that is not known. A store that becomes an rmw may wait in a loop that has no end
        with the store: then the exploration proves nothing, and is no evidence against the rmw."""
        proves = self.kept.whole and self.kept.proved.issuperset(self.models)
        unsure = frozenset(number for number, site in enumerate(sites) if site.kind is Order.RMW and not proves)
        if on & unsure:
            return None
        still = self.overtakings.still(as_bytes(len(self.points), kinds(self.points, on)))
        found = []
        for number, places, overtaking in sorted(still, key=lambda one: one[0]):
            violation = self._violation(MODELS[number], places, on)
            if violation is not None:
                evidence = Overtaken(overtaking, number, self.points, sites, always, unsure)
                clause = evidence.missing(on)
                assert clause is not None  # it was found with these
                found.append(Finding(violation, clause, evidence))
        return found if found or (proves and not still) else None

    def _violation(self, model: ModelName, places: tuple[int, int, int], on: frozenset[int]) -> Violation | None:
        """As it was told. With sites off that were on then, it may have been prevented: nothing is known of it but that it
        is there. Otherwise None: it was too long to be told."""
        told = self.kept.told.get((model, places))
        if told is None:
            return None if on >= self.told_with else Violation(model=model, kind="robustness", events=[])
        if id(told) not in self._shown:
            self._shown[id(told)] = self.shown(told)
        return self._shown[id(told)]
