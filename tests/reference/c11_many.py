"""C11's verdicts of many small programs at once: the definitions of ``models.c11``, word for word, over thousands of graphs
in one go.

``Many`` is ``models.relations.Relation`` over many graphs: for each pair of events one bit a graph. ``Graphs`` says what
such graphs consist of, and inherits ``rb``, ``eco``, ``rs``, ``sw``, ``hb``, ``scb``, ``psc`` and consistency from
``models.c11.Graph``: there is no second text of the model.

Which graphs: those that are SC, each with one event more, of any thread, that reads any write and comes anywhere among the
writes. A smallest consistent graph that is not SC is one of these, since consistency holds of all that is left when events
are taken off the end (``models.c11`` builds its graphs on that too). Nothing of the monitor's theory is used.

A loop that waits is a load and an assumption. A load that goes on waiting is an event of rounds that are left out
otherwise: it may race, nothing comes after it, and what else it does counts for nothing.

An event has a number that its thread and its place there give, so a graph is the same however it came about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from teetotal.answers.events import EventId, Kind, MemoryOrder
from teetotal.models import c11
from teetotal.programs.program import LocalState, Program

Bits = NDArray[np.uint64]
NOTHING = 255
WRITES, READS, FENCE, ATOMIC, ACQUIRES, RELEASES, SEQ_CST, THERE = (1 << n for n in range(8))
AT_ONCE = 4096


class Many:
    """The operators of ``Relation``; what that answers with yes or no is a bit for each graph here."""

    def __init__(self, bits: Bits) -> None:
        self.bits = bits

    def __or__(self, other: Many) -> Many:
        return Many(self.bits | other.bits)

    def __and__(self, other: Many) -> Many:
        return Many(self.bits & other.bits)

    def __sub__(self, other: Many) -> Many:
        return Many(self.bits & ~other.bits)

    def __matmul__(self, other: Many) -> Many:
        found = np.zeros_like(self.bits)
        for middle in range(len(self.bits)):
            found |= self.bits[:, middle, None] & other.bits[None, middle]
        return Many(found)

    def __invert__(self) -> Many:
        return Many(self.bits.swapaxes(0, 1))

    @property
    def maybe(self) -> Many:
        found = self.bits.copy()
        found[np.arange(len(found)), np.arange(len(found))] = ~np.uint64(0)
        return Many(found)

    @property
    def plus(self) -> Many:
        found = self.bits.copy()
        for middle in range(len(found)):
            found |= found[:, middle, None] & found[None, middle]
        return Many(found)

    @property
    def irreflexive(self) -> Bits:
        return ~np.bitwise_or.reduce(self.bits[np.arange(len(self.bits)), np.arange(len(self.bits))], axis=0)

    @property
    def acyclic(self) -> Bits:
        return self.plus.irreflexive

    @property
    def empty(self) -> Bits:
        return ~np.bitwise_or.reduce(self.bits, axis=(0, 1))


class Members(Many):
    """A set, as cat's ``[S]``: composed without looking for what is between."""

    def __matmul__(self, other: Many) -> Many:
        diagonal = self.bits[np.arange(len(self.bits)), np.arange(len(self.bits))]
        return Many(diagonal[:, None] & other.bits)


class Local:
    """Where a thread stands, having read certain values, and all that it has done by then."""

    def __init__(self, program: Program, thread: int, state: LocalState, did: tuple[tuple[int, int, int], ...]) -> None:
        self.program, self.thread, self.state, self.did = program, thread, state, did
        self.request = program.next(thread, state)
        self.place = NOTHING
        if self.request is not None and self.request.address is not None:
            self.place = list(program.memory).index(self.request.address)
        self.marks = bytes(mark for mark, _, _ in did)
        self.places = bytes(place for _, place, _ in did)
        self.waits = state.status == "blocked"
        self._after: dict[int | None, Local] = {}

    def after(self, seen: int | None) -> Local:
        """With one event more."""
        if seen not in self._after:
            self._after[seen] = self._next(seen)
        return self._after[seen]

    def _next(self, seen: int | None) -> Local:
        assert self.request is not None
        kind, _, value, function, _, order, failure = self.request
        mark = {Kind.LD: READS, Kind.ST: WRITES, Kind.RMW: READS | WRITES}.get(kind, FENCE)
        if function is not None and seen is not None and (value := function(seen)) is None:
            mark, order = READS, failure
        state = self.program.update(self.thread, self.state, seen)
        marks = 0 if mark == FENCE and order == "na" else mark | _marks(order)  # that is no event of C11
        event = (marks, self.place, value or 0)
        return Local(self.program, self.thread, state, (*self.did, event))


def _marks(order: MemoryOrder) -> int:
    return (
        THERE
        | (ATOMIC if order != "na" else 0)
        | (ACQUIRES if order in c11.ACQUIRE else 0)
        | (RELEASES if order in c11.RELEASE else 0)
        | (SEQ_CST if order == "seq_cst" else 0)
    )


class Small(NamedTuple):
    """A graph: where the threads stand, the source of each event that reads, the writes of each location in order."""

    locals: tuple[Local, ...]
    sources: bytes
    orders: tuple[bytes, ...]

    @property
    def waits(self) -> bool:
        return any(local.waits for local in self.locals)


class Numbers:
    """Of a program's events: the initial writes, then as many for each thread as it has instructions."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.initial = len(program.memory)
        self.first: list[int] = []
        self.owner = [-1] * self.initial
        for number, thread in enumerate(program.threads):
            self.first.append(len(self.owner))
            self.owner += [number] * len(thread.code)
        self.size = len(self.owner)
        self.owners = bytes(thread + 1 for thread in self.owner)
        self.values = list(program.memory.values())
        self.room = [len(thread.code) for thread in program.threads]

    def begin(self) -> Small:
        locals_ = tuple(Local(self.program, t, self.program.start(t), ()) for t in range(self.program.thread_count))
        return Small(locals_, bytes([NOTHING]) * self.size, tuple(bytes([n]) for n in range(self.initial)))

    def event(self, number: int) -> EventId:
        return EventId(self.owner[number], number - self.first[self.owner[number]])

    def value(self, graph: Small, write: int) -> int:
        if write < self.initial:
            return self.values[write]
        thread = self.owner[write]
        return graph.locals[thread].did[write - self.first[thread]][2]

    def longer(self, graph: Small) -> Iterator[Small]:
        """One event more, in every way."""
        for thread, local in enumerate(graph.locals):
            request = local.request
            if request is None:
                continue
            own = self.first[thread] + len(local.did)
            if request.address is None:
                yield self._with(graph, thread, local.after(None), graph.sources, graph.orders)
                continue
            writes = graph.orders[local.place]
            for place, source in enumerate(writes, start=1):
                seen = self.value(graph, source) if request.kind is not Kind.ST else None
                after = local.after(seen)
                sources, orders = graph.sources, graph.orders
                if request.kind is not Kind.ST:
                    sources = sources[:own] + bytes([source]) + sources[own + 1 :]
                if after.marks[-1] & WRITES:
                    longer = writes[:place] + bytes([own]) + writes[place:]
                    orders = (*orders[: local.place], longer, *orders[local.place + 1 :])
                yield self._with(graph, thread, after, sources, orders)

    def _with(self, graph: Small, thread: int, local: Local, sources: bytes, orders: tuple[bytes, ...]) -> Small:
        return Small((*graph.locals[:thread], local, *graph.locals[thread + 1 :]), sources, orders)

    def row(self, graph: Small, size: int) -> bytes:
        """Marks, locations, owners, sources and places in the order of writes, of ``size`` events."""
        rest = size - self.size
        marks, places = [bytes([WRITES | ATOMIC | THERE]) * self.initial], [bytes(range(self.initial))]
        for local, room in zip(graph.locals, self.room, strict=True):
            marks.append(local.marks.ljust(room, b"\0"))
            places.append(local.places.ljust(room, b"\xff"))
        where = bytearray(b"\xff" * size)
        for order in graph.orders:
            for place, write in enumerate(order):
                where[write] = place
        return b"".join((*marks, bytes(rest), *places, b"\xff" * rest, self.owners, bytes(rest), graph.sources,
                         b"\xff" * rest, where))  # fmt: skip


class Graphs(c11.Graph):
    """Many graphs of as many events, numbered alike: what they consist of. The model is inherited."""

    def __init__(self, rows: Sequence[bytes], size: int, release_sequence: c11.ReleaseSequence) -> None:
        table = np.zeros((-(-len(rows) // 64) * 64, 5, size), np.uint8)
        table[: len(rows)] = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), 5, size)
        self.marks, self.places, self.owners, self.sources, self.order_places = table.transpose(1, 2, 0)
        self.release_sequence = release_sequence
        self.numbers = np.arange(size, dtype=np.uint8)

    def _packed(self, pairs: NDArray[np.bool_]) -> Many:
        return Many(np.ascontiguousarray(np.packbits(pairs, axis=-1, bitorder="little")).view(np.uint64))

    def _marked(self, mark: int, mark_too: int = 0) -> Many:
        members = (self.marks & (mark | mark_too)) == mark | mark_too
        return Members(self._packed(np.eye(len(members), dtype=np.bool_)[:, :, None] & members[:, None]).bits)

    def _on(self, member: Callable[[Any], bool]) -> Any:
        return Members(self._packed(np.broadcast_to(np.eye(len(self.marks), dtype=np.bool_)[:, :, None],
                                                    (len(self.marks), *self.marks.shape))).bits)  # fmt: skip

    @cached_property
    def _there(self) -> NDArray[np.bool_]:
        there = self.marks != 0
        return np.asarray(there[:, None] & there[None])

    @cached_property
    def sb(self) -> Any:
        first, second = self.owners[:, None], self.owners[None]
        earlier = (self.numbers[:, None] < self.numbers[None])[:, :, None]
        return self._packed(self._there & (second > 0) & ((first == 0) | ((first == second) & earlier)))

    @cached_property
    def loc(self) -> Any:
        return self._packed((self.places[:, None] == self.places[None]) & (self.places != NOTHING)[None])

    @cached_property
    def rf(self) -> Any:
        return self._packed(self.sources[None] == self.numbers[:, None, None])

    @cached_property
    def mo(self) -> Any:
        places = self.order_places
        both = (places[:, None] < places[None]) & (places != NOTHING)[None]
        return self._packed(both & (self.places[:, None] == self.places[None]))

    @cached_property
    def sets(self) -> Any:
        return {
            "W": self._marked(WRITES),
            "R": self._marked(READS),
            "U": self._marked(READS, WRITES),
            "F": self._marked(FENCE),
            "A": self._marked(ATOMIC),
            "ACQ": self._marked(ACQUIRES),
            "REL": self._marked(RELEASES),
            "SC": self._marked(SEQ_CST),
            "FSC": self._marked(FENCE, SEQ_CST),
        }

    @property
    def racing(self) -> Many:
        """``Graph.races``, as a relation."""
        there, first, second = self._there, self.owners[:, None], self.owners[None]
        writes, plain = (self.marks & WRITES) != 0, (self.marks & ATOMIC) == 0
        conflict = (first != second) & (first > 0) & (second > 0) & (writes[:, None] | writes[None])
        conflict = conflict & there & (plain[:, None] | plain[None])
        return (self._packed(conflict) & self.loc) - (self.hb | ~self.hb)


class Found(NamedTuple):
    """``racing``: pairs of events, of any SC graph. ``graphs``: how many were looked at."""

    verdict: c11.Verdict
    racing: frozenset[frozenset[EventId]]
    graphs: int


def verdicts(programs: Sequence[Program], release_sequence: c11.ReleaseSequence = "c20") -> list[Found]:
    """Of programs without loops; a wait is a load and an assumption."""
    numbers = [Numbers(program) for program in programs]
    size = max(number.size for number in numbers)
    weak = [False] * len(programs)
    racing: list[set[frozenset[EventId]]] = [set() for _ in programs]
    count = [0] * len(programs)
    level: dict[tuple[int, Small], None] = {(n, number.begin()): None for n, number in enumerate(numbers)}
    while level:
        graphs = list(level)
        level = {}
        for begin in range(0, len(graphs), AT_ONCE):
            part = graphs[begin : begin + AT_ONCE]
            many = Graphs([numbers[n].row(graph, size) for n, graph in part], size, release_sequence)
            consistent, sc = _each(many.consistent, part), _each(many.sequentially_consistent, part)
            races = many.racing
            raced = _each(~races.empty, part) & sc
            assert not (sc & ~consistent).any(), "an SC graph that C11 does not allow"
            for (n, graph), allowed, ordered, races_here, at in zip(
                part, consistent, sc, raced, range(len(part)), strict=True
            ):
                count[n] += 1
                weak[n] = weak[n] or bool(allowed and not ordered and not graph.waits)
                if races_here:
                    word, bit = at // 64, np.uint64(at % 64)
                    pairs = np.argwhere(races.bits[:, :, word] >> bit & np.uint64(1))
                    racing[n] |= {frozenset(map(numbers[n].event, pair)) for pair in pairs.tolist()}
                if ordered and not graph.waits:
                    level.update(dict.fromkeys((n, longer) for longer in numbers[n].longer(graph)))
    told: list[c11.Verdict] = [
        "race" if pairs else "weak" if w else "robust" for pairs, w in zip(racing, weak, strict=True)
    ]
    return [Found(*of) for of in zip(told, map(frozenset, racing), count, strict=True)]


def _each(bits: Bits, part: Sequence[object]) -> NDArray[np.bool_]:
    return np.unpackbits(bits.view(np.uint8), bitorder="little")[: len(part)].astype(np.bool_)
