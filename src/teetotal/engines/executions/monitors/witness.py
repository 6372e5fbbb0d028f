"""From a report to an execution of the relaxed machine that is not SC: a schedule that ``models.replay`` accepts.

The execution has the events that happen before ``prev`` or are ``prev``, in the same program order, with the same
sources and the same order of writes, and then ``e``, which comes before the delayed store ``w`` (the papers' e′)
becomes visible. So it shows ``w →* prev → e → w``. It exists when these constraints have no cycle; any order of the
steps that keeps them is a schedule:

- issues in program order; a store's commit after its issue;
- commits in the order of issue (TSO), or for each address and across each sfence (PSO);
- what an mfence, an atomic operation or an unlock flushes commits before it;
- the writes of an address become visible in their order; where ``e`` writes, it comes just before ``w``;
- a read comes after its source, unless it reads its own thread's buffer, and before the next write of the address.

Events that do not happen before ``prev`` are left out: nothing in the rest depends on them. Their threads simply have
not got so far.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from teetotal.answers.events import Commit, Event, Issue, Kind, Semantics, Step

Node = tuple[int, bool]
"""A step of the schedule to be: the number of the event, and whether this is its commit."""


class ReportLike(Protocol):
    @property
    def model(self) -> str: ...
    @property
    def delayed(self) -> int: ...
    @property
    def previous(self) -> int: ...
    @property
    def deciding(self) -> int: ...


def schedule(events: Sequence[Event], report: ReportLike, semantics: Semantics = Semantics()) -> tuple[Step, ...]:
    """The steps of a relaxed execution whose trace is not SC. ``events`` is the monitored execution, in its order.

    ValueError where there is none: the report is wrong.
    """
    order = _sort(_Constraints(events, report, semantics).edges())
    return tuple(_step(events[number], commit, report.model) for number, commit in order)


def happens_before(events: Sequence[Event], last: int) -> list[int]:
    """The numbers of the events that happen before event ``last``, and its own, in order."""
    kept: list[int] = []
    threads: set[int] = set()
    accessed: set[str] = set()
    written: set[str] = set()
    for number in range(last, -1, -1):
        event = events[number]
        address = event.address
        conflict = address is not None and (address in written or (event.writes and address in accessed))
        if number == last or event.thread in threads or conflict:
            kept.append(number)
            threads.add(event.thread)
            if address is not None:
                accessed.add(address)
                if event.writes:
                    written.add(address)
    return kept[::-1]


class _Constraints:
    def __init__(self, events: Sequence[Event], report: ReportLike, semantics: Semantics) -> None:
        self.events = events
        self.report = report
        self.semantics = semantics
        self.numbers = [*happens_before(events, report.previous), report.deciding]
        if report.delayed not in self.numbers:
            raise ValueError(f"event {report.delayed} does not happen before event {report.previous}")

    def edges(self) -> dict[Node, set[Node]]:
        """Each step and those that must come after it."""
        after: dict[Node, set[Node]] = {}
        for number in self.numbers:
            after[number, False] = set()
            if self.events[number].kind is Kind.ST:
                after[number, True] = set()
        for first, second in [*self._program_order(), *self._communication()]:
            after[first].add(second)
        return after

    def visible(self, number: int) -> Node:
        """The step at which the event takes effect for all threads."""
        return number, self.events[number].kind is Kind.ST

    def _program_order(self) -> Iterator[tuple[Node, Node]]:
        for thread in {self.events[number].thread for number in self.numbers}:
            own = [number for number in self.numbers if self.events[number].thread == thread]
            yield from (((a, False), (b, False)) for a, b in pairwise(own))
            # Stores that what follows must ask for: the last of each address since the last sfence, and those before it.
            # What is behind these is behind earlier ones.
            recent: dict[str | None, int] = {}
            older: list[int] = []
            for number in own:
                event = self.events[number]
                if event.kind is Kind.SFENCE and recent and self.report.model == "pso":
                    older, recent = list(recent.values()), {}
                if event.kind in (Kind.LD, Kind.SFENCE, Kind.FENCE):
                    continue
                if self._flushes(event):
                    kept = [*older, *recent.values()]
                    recent = {}
                else:
                    kept = [*older, recent.pop(event.address)] if event.address in recent else older
                yield from (((store, True), self.visible(number)) for store in kept)
                if event.kind is not Kind.ST or self.report.model == "tso":  # whatever follows comes after it
                    older = []
                if event.kind is Kind.ST:
                    yield (number, False), (number, True)
                    recent[event.address] = number

    def _flushes(self, event: Event) -> bool:
        """Whether the machine makes all earlier stores of its thread visible before it."""
        if event.kind is Kind.MFENCE or self.report.model == "tso":
            return True
        if event.kind.is_atomic and self.semantics.rmw == "all":
            return True
        return event.kind is Kind.UNLOCK and self.semantics.mutex == "fence"

    def _communication(self) -> Iterator[tuple[Node, Node]]:
        writes: dict[str, list[int]] = {}
        reads: dict[str, list[tuple[int, int]]] = {}  # each with how many writes of the address came before it
        for number in self.numbers[:-1]:
            event = self.events[number]
            if event.address is None:
                continue
            order = writes.setdefault(event.address, [])
            if event.reads:
                reads.setdefault(event.address, []).append((number, len(order)))
            if event.writes:
                order.append(number)
        self._place_deciding(writes, reads)
        for address, order in writes.items():
            yield from ((self.visible(a), self.visible(b)) for a, b in pairwise(order))
            for read, position in reads.get(address, ()):
                if position > 0 and not self._may_be_forwarded(order[position - 1], read):
                    yield self.visible(order[position - 1]), (read, False)
                if position < len(order) and order[position] != read:
                    yield (read, False), self.visible(order[position])
                elif position + 1 < len(order):
                    yield (read, False), self.visible(order[position + 1])

    def _place_deciding(self, writes: dict[str, list[int]], reads: dict[str, list[tuple[int, int]]]) -> None:
        """Just before the delayed store: as a write among the writes, as a read between two of them."""
        event = self.events[self.report.deciding]
        assert event.address is not None
        order = writes[event.address]
        place = order.index(self.report.delayed)
        if event.kind is Kind.LD or self.events[self.report.delayed].kind is not Kind.ST:
            # From own buffer, or whatever write is visible last: only that it comes before the delayed store matters.
            # Only a failed compare-and-swap overtakes another atomic operation, and that is a read.
            reads.setdefault(event.address, []).append((self.report.deciding, place))
            return
        order.insert(place, self.report.deciding)
        reads[event.address] = [(read, at + (at > place)) for read, at in reads.get(event.address, ())]

    def _may_be_forwarded(self, source: int, read: int) -> bool:
        """A load may see its own thread's store in the buffer; the deciding load may see what it likes."""
        if read == self.report.deciding:
            return True
        same = self.events[source].thread == self.events[read].thread
        return same and self.events[source].kind is Kind.ST and self.events[read].kind is Kind.LD


def _sort(after: dict[Node, set[Node]]) -> list[Node]:
    """An order that keeps the constraints, and the monitored order as far as they let it."""
    waiting = dict.fromkeys(after, 0)
    for targets in after.values():
        for target in targets:
            waiting[target] += 1
    ready = [node for node, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for target in after[node]:
            waiting[target] -= 1
            if waiting[target] == 0:
                heapq.heappush(ready, target)
    if len(order) != len(after):
        raise ValueError("no execution of the machine has this cycle: the report is wrong")
    return order


def _step(event: Event, commit: bool, model: str) -> Step:
    if not commit:
        return Issue(event.thread)
    return Commit(event.thread, event.address if model == "pso" else None)
