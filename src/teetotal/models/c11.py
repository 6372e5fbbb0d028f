"""C11 as an executable specification: RC11 of Lahav, Vafeiadis, Kang, Hur, Dreyer (PLDI 2017), by graphs.

======================================  ==========================================
paper, and herd's ``rc11.cat``          here
======================================  ==========================================
``rb``, ``eco``                         ``Graph.rb``, ``Graph.eco``
``rs``, ``sw``, ``hb``                  ``Graph.rs``, ``Graph.sw``, ``Graph.hb``
``scb``, ``psc``                        ``Graph.scb``, ``Graph.psc``
Definition 1, consistency               ``Graph.consistent``
data race                               ``Graph.races``
consistent executions of a program      ``graphs``
======================================  ==========================================

Deviations: release sequences are C++20's by default, without the later stores of the same thread (``rs="c11"`` brings
those back, and with them ``rc11.cat``). A mutex is a location: a lock waits until it is 0 and is an acquire rmw, an unlock
a release rmw. Fences without an order are none of C11's and leave no event. A failed compare-and-swap is a load.

Consistency holds of every part of a consistent graph that is closed under ``sb`` and ``rf``, and these two together have
no cycle: so every consistent graph is built event by event, in every possible way, and what is not consistent is never
built upon. Small and plain before fast: what the monitor ``exact-c11`` is tested against.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

from teetotal.answers.events import Event, EventId, Kind, MemoryOrder, Request
from teetotal.models.executions import ProgramLike, Remembered
from teetotal.models.relations import Relation

ReleaseSequence = Literal["c20", "c11"]
Verdict = Literal["race", "weak", "robust"]

ACQUIRE = ("acquire", "acq_rel", "seq_cst")
RELEASE = ("release", "acq_rel", "seq_cst")


class Graph:
    """Events of threads, and before them the initial writes (thread -1), with ``rf`` (from a read to its write) and
    ``mo`` (the writes of each location, in order)."""

    def __init__(
        self,
        events: tuple[Event, ...],
        rf: dict[EventId, EventId],
        mo: dict[str, tuple[EventId, ...]],
        release_sequence: ReleaseSequence = "c20",
    ) -> None:
        self.events = events
        self.source = rf
        self.order = mo
        self.release_sequence = release_sequence
        self.number = {event.id: number for number, event in enumerate(events)}

    def key(self) -> Hashable:
        return (
            frozenset(event.id for event in self.events),
            frozenset(self.source.items()),
            tuple(self.order.items()),
        )

    # -- what a graph consists of ------------------------------------------------------------------------------------

    def _where(self, related: Any) -> Relation:
        events = self.events
        return Relation.where(len(events), lambda a, b: related(events[a], events[b]))

    def _on(self, member: Any) -> Relation:
        return Relation.on(map(member, self.events))

    def _pairs(self, pairs: Iterator[tuple[EventId, EventId]]) -> Relation:
        rows = [0] * len(self.events)
        for a, b in pairs:
            rows[self.number[a]] |= 1 << self.number[b]
        return Relation(rows)

    @cached_property
    def sb(self) -> Relation:
        return self._where(
            lambda a, b: b.thread >= 0 and (a.thread < 0 or (a.thread == b.thread and a.index < b.index))
        )

    @cached_property
    def loc(self) -> Relation:
        return self._where(lambda a, b: a.address is not None and a.address == b.address)

    @cached_property
    def rf(self) -> Relation:
        return self._pairs((write, read) for read, write in self.source.items())

    @cached_property
    def mo(self) -> Relation:
        return self._pairs(
            (first, second)
            for order in self.order.values()
            for position, first in enumerate(order)
            for second in order[position + 1 :]
        )

    @cached_property
    def sets(self) -> dict[str, Relation]:
        return {
            "W": self._on(lambda e: e.writes),
            "R": self._on(lambda e: e.reads),
            "U": self._on(lambda e: e.reads and e.writes),
            "F": self._on(lambda e: e.kind.is_fence),
            "A": self._on(lambda e: e.order != "na"),
            "ACQ": self._on(lambda e: e.order in ACQUIRE),
            "REL": self._on(lambda e: e.order in RELEASE),
            "SC": self._on(lambda e: e.order == "seq_cst"),
            "FSC": self._on(lambda e: e.kind.is_fence and e.order == "seq_cst"),
        }

    # -- the model, in the order of the paper ------------------------------------------------------------------------

    @cached_property
    def rb(self) -> Relation:
        return (~self.rf @ self.mo) - self._on(lambda _: True)

    @cached_property
    def eco(self) -> Relation:
        return (self.rf | self.mo | self.rb).plus

    @cached_property
    def rs(self) -> Relation:
        s = self.sets
        chain = (self.rf @ s["U"]).plus.maybe
        if self.release_sequence == "c11":
            return s["W"] @ (self.sb & self.loc).maybe @ s["W"] @ s["A"] @ chain
        return s["W"] @ s["A"] @ chain

    @cached_property
    def sw(self) -> Relation:
        s = self.sets
        before = (s["F"] @ self.sb).maybe
        after = (self.sb @ s["F"]).maybe
        return s["REL"] @ before @ self.rs @ self.rf @ s["R"] @ s["A"] @ after @ s["ACQ"]

    @cached_property
    def hb(self) -> Relation:
        return (self.sb | self.sw).plus

    @cached_property
    def scb(self) -> Relation:
        elsewhere = self.sb - self.loc
        return self.sb | elsewhere @ self.hb @ elsewhere | (self.hb & self.loc) | self.mo | self.rb

    @cached_property
    def psc(self) -> Relation:
        s = self.sets
        base = (s["SC"] | s["FSC"] @ self.hb.maybe) @ self.scb @ (s["SC"] | self.hb.maybe @ s["FSC"])
        fences = s["FSC"] @ (self.hb | self.hb @ self.eco @ self.hb) @ s["FSC"]
        return base | fences

    @property
    def consistent(self) -> bool:
        coherent = (self.hb @ self.eco.maybe).irreflexive
        atomic = (self.sets["U"] & (self.rb @ self.mo)).empty
        return coherent & atomic & self.psc.acyclic & (self.sb | self.rf).acyclic

    @property
    def sequentially_consistent(self) -> bool:
        return (self.sb | self.rf | self.mo | self.rb).acyclic

    @property
    def races(self) -> list[tuple[Event, Event]]:
        """Two accesses of one location by different threads, one a write, one not atomic, that ``hb`` does not order."""
        ordered = self.hb | ~self.hb
        return [
            (first, second)
            for a, first in enumerate(self.events)
            for b, second in enumerate(self.events[:a])
            if first.address == second.address is not None
            and first.thread != second.thread
            and min(first.thread, second.thread) >= 0
            and (first.writes or second.writes)
            and "na" in (first.order, second.order)
            and (a, b) not in ordered
        ]


class TooMany(Exception):
    """More graphs than are to be looked at."""


class State(NamedTuple):
    """A graph on its way, and where its threads stand."""

    graph: Graph
    locals: tuple[Any, ...]
    done: tuple[int, ...]

    def memory(self) -> dict[str, int]:
        """The last value of each location in ``mo``."""
        value = {event.id: event.value for event in self.graph.events}
        return {address: int(value[order[-1]] or 0) for address, order in self.graph.order.items()}


def initial(memory: Mapping[str, int], release_sequence: ReleaseSequence = "c20") -> Graph:
    """The initial writes alone."""
    events = tuple(Event(-1, number, Kind.ST, *write) for number, write in enumerate(memory.items()))
    return Graph(events, {}, {str(event.address): (event.id,) for event in events}, release_sequence)


def begin(program: ProgramLike, release_sequence: ReleaseSequence = "c20") -> State:
    graph = initial(program.initial_memory, release_sequence)
    threads = range(program.thread_count)
    return settled(program, State(graph, tuple(map(program.start, threads)), tuple(0 for _ in threads)))


def settled(program: ProgramLike, state: State) -> State:
    """Past the fences that are none of C11's."""
    locals_ = list(state.locals)
    for thread, local in enumerate(locals_):
        while (request := program.next(thread, local)) is not None and request.kind.is_fence and request.order == "na":
            local = program.update(thread, local, None)
        locals_[thread] = local
    return state._replace(locals=tuple(locals_))


def successors(program: ProgramLike, state: State) -> Iterator[State]:
    """One event more, of any thread, that reads any write and comes anywhere among the writes of its location."""
    for thread, local in enumerate(state.locals):
        request = program.next(thread, local)
        if request is None:
            continue
        for event, graph in _added(state.graph, thread, state.done[thread], request):
            response = event.value if event.kind is Kind.LD else event.read
            local_after = program.update(thread, local, response)
            yield settled(
                program,
                State(
                    graph,
                    (*state.locals[:thread], local_after, *state.locals[thread + 1 :]),
                    (*state.done[:thread], state.done[thread] + 1, *state.done[thread + 1 :]),
                ),
            )


def _added(graph: Graph, thread: int, index: int, request: Request) -> Iterator[tuple[Event, Graph]]:
    kind, address, value, function, location, order, failure = request

    def event(value: int | None = None, read: int | None = None, as_order: MemoryOrder = order) -> Event:
        return Event(thread, index, kind, address, value, read, location, order=as_order)

    def grown(added: Event, source: EventId | None, place: int | None) -> tuple[Event, Graph]:
        rf = graph.source if source is None else {**graph.source, added.id: source}
        mo = graph.order
        if place is not None:
            assert address is not None
            mo = {**mo, address: (*mo[address][:place], added.id, *mo[address][place:])}
        return added, Graph((*graph.events, added), rf, mo, graph.release_sequence)

    if address is None:
        yield grown(event(), None, None)
        return
    writes = graph.order[address]
    if kind is Kind.ST:
        yield from (grown(event(value), None, place) for place in range(1, len(writes) + 1))
        return
    for place, source in enumerate(writes, start=1):
        seen = graph.events[graph.number[source]].value
        assert seen is not None
        if kind is Kind.LD:
            yield grown(event(seen), source, None)
        elif kind is Kind.LOCK:
            if seen == 0:
                yield grown(event(1, 0, "acquire"), source, place)
        elif kind is Kind.UNLOCK:
            yield grown(event(0, seen, "release"), source, place)
        else:
            assert function is not None
            new = function(seen)
            yield grown(event(new, seen, failure if new is None else order), source, None if new is None else place)


def states(
    program: ProgramLike, release_sequence: ReleaseSequence = "c20", *, most: int | None = None
) -> Iterator[State]:
    """Every consistent graph, those on the way included, each once; ``TooMany`` after ``most``."""
    remembered = Remembered(program)
    stack = [begin(remembered, release_sequence)]
    seen: set[Hashable] = set()
    while stack:
        state = stack.pop()
        key = (state.graph.key(), state.locals)
        if key in seen:
            continue
        seen.add(key)
        if not state.graph.consistent:
            continue
        if most is not None and len(seen) > most:
            raise TooMany(f"more than {most:,} graphs")
        yield state
        stack += successors(remembered, state)


def final(program: ProgramLike, state: State) -> bool:
    return all(program.halted(thread, local) for thread, local in enumerate(state.locals))


def verdict(program: ProgramLike, release_sequence: ReleaseSequence = "c20", *, most: int | None = None) -> Verdict:
    """``race``: some SC graph has one. ``weak``: some consistent graph is not SC. ``robust``: neither."""
    found: Verdict = "robust"
    for state in states(program, release_sequence, most=most):
        if not state.graph.sequentially_consistent:
            found = "weak"
        elif state.graph.races:
            return "race"
    return found
