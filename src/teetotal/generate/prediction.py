"""The verdict that theory predicts: is this execution one of SC, TSO, PSO? Axioms over its events, no machine.

Alglave, Maranget, Tautschnig, "Herding cats" (TOPLAS 2014), section 4, for the shape of the axioms; what each model
keeps of program order is that of the exact monitors (core/monitors), which comes from Burnim, Sen, Stergiou.

===================================  ===============================================================================
axiom                                here
===================================  ===============================================================================
SC PER LOCATION                      po restricted to one location ∪ rf ∪ co ∪ fr is acyclic (every model)
SC                                   po ∪ rf ∪ co ∪ fr is acyclic
TSO, PSO                             ppo ∪ rf (but for loads forwarded within their thread) ∪ co ∪ fr is acyclic
===================================  ===============================================================================

ppo, for f before e in one thread: kept if f is no plain store, or an mfence lies between. A plain store is not kept
before a load. TSO keeps it before every write. PSO keeps it before a write or rmw of the same location, or behind an
sfence, or before an rmw where rmws flush everything.

An rmw is one event that reads and writes: that nobody writes between the two follows from acyclicity.

``predict`` answers for an *outcome*, what reads saw and the last values, by trying every coherence order that fits it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from teetotal.answers.arguments import checked
from teetotal.answers.events import MODELS, EventId, Kind, ModelName, Semantics


class Access(NamedTuple):
    """An event of the execution, in program order within its thread; fences too."""

    kind: Kind
    location: str | None = None
    reads: int | None = None
    writes: int | None = None


class Candidate(NamedTuple):
    """An execution as its outcome tells it: what each access reads and writes, and the last values of locations that
    are written more than once. Each location's writes have different values, none of them 0, the initial one."""

    threads: tuple[tuple[Access, ...], ...]
    final: dict[str, int]

    @classmethod
    def of(cls, threads: Iterable[Sequence[Access]]) -> Candidate:
        """The last value of a location is its greatest."""
        candidate = cls(tuple(map(tuple, threads)), {})
        for location, writes in candidate.writes().items():
            if len(writes) > 1:
                candidate.final[location] = max(writes)
        return candidate

    def with_thread(self, accesses: Sequence[Access]) -> Candidate:
        return self._replace(threads=(*self.threads, tuple(accesses)))

    def writes(self) -> dict[str, list[int]]:
        """The values written to each location."""
        found: dict[str, list[int]] = {}
        for _, access in self.events():
            if access.writes is not None and access.location is not None:
                found.setdefault(access.location, []).append(access.writes)
        return found

    def events(self) -> Iterator[tuple[EventId, Access]]:
        for thread, accesses in enumerate(self.threads):
            for index, access in enumerate(accesses):
                yield EventId(thread, index), access


class Prediction(NamedTuple):
    """Whether each model allows the outcome."""

    allowed: dict[ModelName, bool]

    def __str__(self) -> str:
        return " ".join(f"{model}:{'Sometimes' if self.allowed[model] else 'Never'}" for model in MODELS)


Order = tuple[int, ...]
"""The values written to a location, in coherence order."""
Relation = set[tuple[EventId, EventId]]


@checked
def predict(candidate: Candidate, model: ModelName, semantics: Semantics = Semantics()) -> bool:
    """Whether the model has an execution with this outcome."""
    choices = {location: list(coherent_orders(candidate, location)) for location in candidate.writes()}
    kept = _kept_program_order(candidate, model, semantics)
    for orders in product(*choices.values()):
        communication = set(kept)
        for location, order in zip(choices, orders, strict=True):
            communication |= _communication(candidate, location, order, forwarded=model == "sc")
        if acyclic(communication):
            return True
    return False


def coherent_orders(candidate: Candidate, location: str) -> Iterator[Order]:
    """The orders of a location's writes that fit the outcome and are SC per location."""
    before = _required_before(candidate, location)
    same = _same_location_order(candidate, location)

    def extend(order: Order) -> Iterator[Order]:
        if len(order) == len(before):
            if acyclic(same | _communication(candidate, location, order, forwarded=True)):
                yield order
            return
        for value, required in before.items():
            if value not in order and required <= set(order):
                yield from extend((*order, value))

    return extend(())


def _required_before(candidate: Candidate, location: str) -> dict[int, set[int]]:
    """For each write the writes that must come before it: those of earlier accesses of its thread, and likewise for
    what two accesses of one thread saw. Not all that SC per location asks, but it leaves few orders to try."""
    values = candidate.writes()[location]
    before: dict[int, set[int]] = {value: set() for value in values}
    for accesses in candidate.threads:
        seen: list[int] = []
        for access in accesses:
            if access.location == location:
                seen += [value for value in (access.reads, access.writes) if value]
        for position, value in enumerate(seen):
            before[value].update(other for other in seen[:position] if other != value)
    if location in candidate.final:
        last = candidate.final[location]
        before[last].update(value for value in values if value != last)
    return before


def _communication(candidate: Candidate, location: str, order: Order, *, forwarded: bool) -> Relation:
    """rf ∪ co ∪ fr of a location; without rf from a thread's own plain stores unless ``forwarded``."""
    here = [(event, access) for event, access in candidate.events() if access.location == location]
    writer = {access.writes: event for event, access in here if access.writes is not None}
    kinds = {event: access.kind for event, access in here}
    chain = [writer[value] for value in order]
    edges: Relation = set(pairwise(chain))
    for event, access in here:
        if access.reads is None:
            continue
        source = writer.get(access.reads) if access.reads else None
        if source is not None and (forwarded or source.thread != event.thread or kinds[source] is not Kind.ST):
            edges.add((source, event))
        position = 0 if source is None else 1 + chain.index(source)
        if position < len(chain) and chain[position] != event:
            edges.add((event, chain[position]))
    return edges


def _same_location_order(candidate: Candidate, location: str) -> Relation:
    return {
        (EventId(thread, i), EventId(thread, j))
        for thread, accesses in enumerate(candidate.threads)
        for j, after in enumerate(accesses)
        for i, before in enumerate(accesses[:j])
        if before.location == after.location == location
    }


def _kept_program_order(candidate: Candidate, model: ModelName, semantics: Semantics) -> Relation:
    return {
        (EventId(thread, i), EventId(thread, j))
        for thread, accesses in enumerate(candidate.threads)
        for j in range(len(accesses))
        for i in range(j)
        if keeps(model, accesses[i : j + 1], semantics)
    }


def keeps(model: ModelName, stretch: Sequence[Access], semantics: Semantics = Semantics()) -> bool:
    """Whether the model keeps the first access of a stretch of one thread before its last."""
    first, last = stretch[0], stretch[-1]
    if first.kind.is_fence or last.kind.is_fence:
        return False  # fences act by lying between
    if model == "sc" or first.kind is not Kind.ST:
        return True
    between = {access.kind for access in stretch[1:-1]}
    if Kind.MFENCE in between:
        return True
    if last.kind is Kind.LD:
        return False
    if model == "tso" or first.location == last.location or Kind.SFENCE in between:
        return True
    return last.kind is Kind.RMW and semantics.rmw == "all"


def acyclic(relation: Relation) -> bool:
    """By taking away, again and again, what nothing precedes."""
    after: dict[EventId, list[EventId]] = {}
    waiting: dict[EventId, int] = {}
    for source, target in relation:
        after.setdefault(source, []).append(target)
        waiting[target] = waiting.get(target, 0) + 1
        waiting.setdefault(source, 0)
    free = [event for event, count in waiting.items() if count == 0]
    removed = 0
    while free:
        removed += 1
        for target in after.get(free.pop(), ()):
            waiting[target] -= 1
            if waiting[target] == 0:
                free.append(target)
    return removed == len(waiting)
