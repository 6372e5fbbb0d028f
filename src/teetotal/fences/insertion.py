"""The fewest fences, guided by counterexamples: Linden, Wolper (TACAS 2013), sections 4 and 5.

==============================================  =================================================================
paper                                           here
==============================================  =================================================================
search for a violation, insert a fence on its   ``Search.grow``: all violations at once, a hitting set of what would
path, start again                               break each, start again
Remark 2: remove fences that are not needed     ``Search.reduce``, which also tries the cheaper kind in its place
==============================================  =================================================================

Beyond the paper: a set of least total cost and all minimal sets, by hitting sets of growing cost. Clauses come from
``overtaken``, ``killers`` and ``evidence``, which tell why they are exact: a set that does not hit one cannot work. So the
first hitting set that works is a cheapest one. Where supersets of those found are forbidden, each further one that works is
minimal too: a smaller one inside it would have been cheaper and have come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Protocol

import msgspec

from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Location
from teetotal.answers.remedies import Remedy
from teetotal.answers.violation import Violation
from teetotal.budget import Budget
from teetotal.fences.hitting import CheapestFirst, greedy


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """One fence that could be put into the program, or one store that could be made stronger. Sites with the same
    ``place`` differ in kind only. ``cost`` is for all ``passes`` of an execution, which are one at least. ``location`` and
    ``after`` (or ``before``, or for a store ``at``) tell a person where: the line, and the text of the statement there.
    ``beside``: places whose cheaper kinds could stand in for it, as the order of a store can for the fence after it."""

    kind: Remedy
    place: object
    cost: Fraction
    in_loop: bool = False
    passes: Fraction = Fraction(1)
    location: Location | None = None
    after: str = ""
    before: str = ""
    at: str = ""
    beside: frozenset[object] = frozenset()


class Evidence(Protocol):
    def holds(self, on: frozenset[int]) -> bool:
        """Whether it is possible still with these sites."""
        ...

    def missing(self, on: frozenset[int]) -> frozenset[int] | None:
        """Sites of which one is needed beside these; None where these prevent it."""
        ...


class Finding(msgspec.Struct, frozen=True):
    """A violation, and the sites of which one is needed against it. With ``evidence``, the same can be asked of other sets,
    without exploring the program again."""

    violation: Violation
    clause: frozenset[int]
    evidence: Evidence | None = None


class Problem(Protocol):
    """``always``: fences that are on whatever is asked. ``weighed``: the costs of sites are known."""

    always: frozenset[int]
    budget: Budget
    weighed: bool

    @property
    def sites(self) -> Sequence[Site]:
        """Their costs may change once, with the first exploration, which measures how often each is passed."""
        ...

    def known(self, fences: frozenset[int]) -> list[Finding] | None:
        """What is violated with these fences, as far as earlier explorations tell; None where it takes another one."""
        ...

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        """The same by an exploration: nothing, if they work. ``Undecided`` if that is not known."""
        ...


class Undecided(TeetotalError):
    """The program with some fences could not be explored whole."""


class NoFenceHelps(TeetotalError):
    """A violation that no fence prevents: it happens under SC, or where no fence can be put."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.message or "no fence can be put where it would help")
        self.violation = violation

    def __reduce__(self) -> tuple[type[NoFenceHelps], tuple[Violation]]:  # type: ignore[override]
        return type(self), (self.violation,)


class Search:
    """One problem, with everything that is known about it so far."""

    def __init__(self, problem: Problem) -> None:
        from teetotal.fences.asking import Asking

        self.problem = problem
        self.asking = Asking(problem)
        self.seen: list[Finding] = []
        self.checks = 0
        self._known: dict[frozenset[int], bool] = {}

    @property
    def sites(self) -> Sequence[Site]:
        """What they cost may be known only after the first exploration."""
        return self.problem.sites

    def works(self, fences: frozenset[int]) -> bool:
        """Whether the goal is met with these fences. What is violated is added to what is known."""
        if any(not finding.clause & fences for finding in self.seen):
            return False
        for finding in self.seen:
            if finding.evidence is not None and (clause := finding.evidence.missing(fences)) is not None:
                self._add(Finding(finding.violation, clause))
                return False
        if fences not in self._known:
            found = self.problem.known(fences)
            if found is None:
                self.checks += 1
                found = self.asking.findings(fences)
            for finding in found:
                self._add(Finding(finding.violation, finding.clause - fences, finding.evidence))
            self._known[fences] = not found
        return self._known[fences]

    def _add(self, finding: Finding) -> None:
        if not finding.clause:
            raise NoFenceHelps(finding.violation)
        self.seen.append(finding)

    @property
    def violations(self) -> list[Violation]:
        """Each once, however many clauses it gave."""
        return list({id(finding.violation): finding.violation for finding in self.seen}.values())

    def _ahead(self, sets: Iterable[frozenset[int]]) -> None:
        """What ``works`` is asked about next, if the first of these does not."""
        open_ = [fences for fences in dict.fromkeys(sets) if fences not in self._known]
        self.asking.ahead([fences for fences in open_ if all(finding.clause & fences for finding in self.seen)])

    def cost(self, fences: frozenset[int]) -> Fraction:
        return sum((self.sites[site].cost for site in fences), Fraction(0))

    # -- a minimal set ------------------------------------------------------------------------------------------------

    def minimal(self) -> frozenset[int]:
        """None of its fences can go, and none can be of a cheaper kind."""
        return self.reduce(self.grow())

    def grow(self) -> frozenset[int]:
        while True:
            fences = greedy([finding.clause for finding in self.seen], lambda site: self.sites[site].cost)
            if self.works(fences):
                return fences

    def reduce(self, fences: frozenset[int]) -> frozenset[int]:
        order = sorted(fences, key=lambda s: (-self.sites[s].cost, s))
        for number, site in enumerate(order):
            self._ahead([fences - {other} for other in order[number:]] + self._exchanged(fences))
            if self.works(fences - {site}):
                fences -= {site}
        others = self._exchanged(fences)
        for number, exchanged in enumerate(others):
            self._ahead(others[number:])
            if self.works(exchanged):
                return self.reduce(exchanged)
        return fences

    def _exchanged(self, fences: frozenset[int]) -> list[frozenset[int]]:
        """The set with one of its fences of a cheaper kind, in each way."""
        return [fences - {site} | {other} for site in sorted(fences) for other in self._cheaper(site)]

    def _cheaper(self, site: int) -> list[int]:
        mine = self.sites[site]
        return [
            number
            for number, other in enumerate(self.sites)
            if other.cost < mine.cost
            and ((other.place == mine.place and other.kind is not mine.kind) or other.place in mine.beside)
        ]

    def is_minimal(self, fences: frozenset[int]) -> bool:
        """Of a set that works and from which no fence can go: whether none can be of a cheaper kind either."""
        others = self._exchanged(fences)
        self._ahead(others)
        return not any(map(self.works, others))

    # -- the cheapest, and all ----------------------------------------------------------------------------------------

    def cheapest_first(self) -> Iterator[frozenset[int]]:
        """Every set from which no fence can go, the cheapest first."""
        if self.works(frozenset()):
            yield frozenset()
            return
        solver = CheapestFirst([site.cost for site in self.sites])
        told = 0
        try:
            while True:
                for finding in self.seen[told:]:
                    solver.hit(finding.clause)
                told = len(self.seen)
                fences = solver.cheapest()
                if fences is None:
                    return
                if self.works(fences):
                    yield fences
                    solver.forbid(fences)
        finally:
            solver.close()

    def broken_by(self, site: int, fences: frozenset[int] = frozenset()) -> list[Violation]:
        """The violations that a fence there prevents: by itself, or as one of these, without which it would be there."""
        rest = fences - {site}
        return [
            finding.violation
            for finding in self.seen
            if site in finding.clause
            or (site in fences and finding.evidence is not None and finding.evidence.holds(rest))
        ]
