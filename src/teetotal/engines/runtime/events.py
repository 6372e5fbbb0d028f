"""What the runtime tells as numbers, in the vocabulary of ``teetotal.answers.events``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from teetotal.answers.because import in_words
from teetotal.answers.events import ORDERS, Commit, Event, EventId, Issue, Kind, Location, ModelName, Step
from teetotal.answers.numbers import Tag, Verb
from teetotal.answers.violation import Reason
from teetotal.engines.runtime import words
from teetotal.engines.runtime.messages import COMMIT, Cell, Cells, StepRow, Trouble
from teetotal.engines.telling import Telling
from teetotal.programs.c import types
from teetotal.programs.c.symbols import Symbols

_LOWEST = 1 << 16
"""No address is lower."""
_PARTS: dict[int, str] = {Tag.FUTEX: "futex", Tag.CONDITION: "queue"}
"""Objects of the runtime's own at the address of a variable: a futex's waiters, a condition's queue. They are called after
the variable."""
_ASKED_FOR = ("heap", "mapped")
"""Regions of blocks, each of which some line of the program has asked for."""


class Block(NamedTuple):
    """A block of the heap, or a file in memory: how it is called, and what it is made of if that is known."""

    address: int
    size: int
    name: str
    type: Any


class Frame(NamedTuple):
    """A frame of a function on a thread's stack."""

    thread: int
    place: int
    top: int


class Names:
    """Names of cells and places in one run of the runtime."""

    def __init__(self, symbols: Symbols, base: int) -> None:
        self.symbols = symbols
        self.base = base

    def place(self, place: int) -> Location | None:
        return self.symbols.line(place - self.base) if place else None

    def within(self, place: int, deeper: int) -> str:
        """Where an operation stands in a header, and the function that called for it: ``push(), in ck_pr.h:102``."""
        line = self.symbols.header_line(deeper - self.base)
        return "" if line is None else f"{self.symbols.objects.function(place - self.base)}(), in {line}"

    def cause(self, done: str, thread: int, place: int) -> str:
        """What was done before that makes a failure one: ``: T0 destroyed it at f.c:12``."""
        at = self.place(place)
        return f": T{thread} {done}{f' at {at}' if at is not None else ''}" if done else ""

    def cells(self, told: Cells) -> CellNames:
        return CellNames(self, told)


class CellNames:
    """Names of the cells of one execution, and of what is in them where that is an address."""

    def __init__(self, names: Names, cells: Cells) -> None:
        self.names, self.symbols, self.base = names, names.symbols, names.base
        self.blocks = self._blocks(
            {(c.block, c.block_size, c.place, c.region) for c in cells.values() if c.region in _ASKED_FOR}
        )
        self.frames = sorted({Frame(c.block, c.place, c.block_size) for c in cells.values() if c.region == "stack"})
        self.locals = {(c.address - c.block_size, c.block) for c in cells.values() if c.region == "thread-local"}
        self.called: dict[int, str] = {}
        taken: set[str] = set()
        for number, cell in sorted(cells.items(), key=lambda item: item[1].tag >= Tag.MUTEX):  # data comes first
            name = self._cell(cell)
            if name in taken and cell.tag in _PARTS:
                name = f"{name}'s {_PARTS[cell.tag]}"
            if name in taken:
                name = f"{name} at {cell.address:#x}"
            taken.add(name)
            self.called[number] = name

    def _blocks(self, asked: set[tuple[int, int, int, str]]) -> list[Block]:
        """Those of one type are numbered; where the type is not known, they are called by the line that asked."""
        found = []
        for address, size, place, region in sorted(asked):
            line = self.names.place(place)
            kind = self.symbols.objects.block_type(size, place - self.base, line) if place else None
            name = types.name_of(kind) if kind is not None else ""
            where = f" from {line}" if line is not None else f" at {address:#x}"
            found.append(Block(address, size, name or f"{region}[{size}]{where}", kind if name else None))
        counts = Counter(block.name for block in found)
        numbers: Counter[str] = Counter()
        for position, block in enumerate(found):
            if block.type is not None and counts[block.name] > 1:
                numbers[block.name] += 1
                found[position] = block._replace(name=f"{block.name}#{numbers[block.name]}")
        return found

    def _cell(self, cell: Cell) -> str:
        match cell.region:
            case "thread":
                return f"thread {cell.address}"
            case "object":
                offset = cell.address - self.base
                return self.symbols.variable(offset, cell.size) or f"{offset:#x}"
            case "heap" | "mapped":
                return self._in_heap(cell.address, cell.size) or f"address {cell.address:#x}"
            case "stack":
                frame = Frame(cell.block, cell.place, cell.block_size)
                local = self._on_stack(cell.address, cell.size, frame)
                if local is None:
                    return f"T{cell.block}'s stack {cell.address:#x}"
                return f"{local} in {self.symbols.objects.function(frame.place - self.base)}()"
            case "thread-local":
                return self._thread_local(cell.address, cell.size) or f"thread-local {cell.address:#x}"
            case "exit handlers" | "signal actions":
                return f"the {cell.region}"
            case _:
                return f"address {cell.address:#x}"

    def _in_heap(self, address: int, size: int | None) -> str | None:
        block = next((b for b in self.blocks if b.address <= address < b.address + max(b.size, 1)), None)
        if block is None:
            return None
        offset = address - block.address
        if block.type is None:
            head, _, tail = block.name.partition(" ")
            return f"{head}{f'+{offset}' if offset else ''} {tail}"
        width = types.size_of(block.type)
        index = f"[{offset // width}]" if block.size > width else ""
        return f"{block.name}{index}{types.path_to(block.type, offset % width, size)}"

    def _thread_local(self, address: int, size: int | None) -> str | None:
        for begin, thread in self.locals:
            if (name := self.symbols.thread_local(address - begin, size)) is not None:
                return f"T{thread}'s {name}"
        return None

    def _on_stack(self, address: int, size: int | None, frame: Frame) -> str | None:
        if not frame.place:
            return None
        name = self.symbols.objects.local(frame.place - self.base, address - frame.top, size)
        return f"T{frame.thread}'s {name}" if name else None

    def pointed_at(self, number: int) -> str | None:
        """What a word of memory points at, if that has a name: ``&node``."""
        if number < _LOWEST:
            return None
        offset = number - self.base
        if (function := self.symbols.function(offset)) is not None:
            return function
        if (block := self._in_heap(number, None)) is not None:
            return f"&{block}"
        for frame in self.frames:
            if (local := self._on_stack(number, None, frame)) is not None:
                return f"&{local}"
        variable = self.symbols.variable(offset, None) or self._thread_local(number, None)
        return f"&{variable}" if variable is not None else None


_ACTIONS = {Kind.LD: "load", Kind.ST: "store", Kind.RMW: "read-modify-write", Kind.LOCK: "lock", Kind.UNLOCK: "unlock"}


def divergence(told: Trouble, names: Names) -> str:
    """A step that was not as before when the program was run again in the same way."""

    def action(kind: int, tag: int, address: int, place: int) -> str:
        at = names.place(place)
        what = _ACTIONS.get(Kind(kind), "fence")
        name = names.symbols.variable(address - names.base, 1 << tag if tag < Tag.MUTEX else 0) if address else None
        return what + (f" of {name}" if name else "") + (f" at {at}" if at is not None else "")

    who, then, now = f"T{told.thread}", action(*told.then), told.now
    if now is None:
        return f"{who} came to its {then}, and when it was run again in the same way, it did not"
    if now != told.then:
        return f"{who} came to its {then}, and when it was run again in the same way, to its {action(*now)}"
    size = 1 << told.then[1] if told.then[1] < Tag.MUTEX else 4
    first, second = (signed(value, size) for value in told.saw)
    return f"{who}'s {then} saw {first} and, run again in the same way, {second}"


@dataclass(frozen=True)
class Execution(Telling):
    """Events in the order in which they were issued, what the locations held before, the schedule of it all, what
    addresses among the values are called, and what those events are called that are more to a person than their kind.

    It tells of itself, and of what a machine makes of its events: the same words, and other values where the machine saw
    others."""

    events: list[Event]
    initial: dict[str, int]
    schedule: list[Step]
    pointers: Mapping[int, str] = field(default_factory=dict)
    spoken: Mapping[EventId, str] = field(default_factory=dict)

    @cached_property
    def _recorded(self) -> dict[EventId, Event]:
        return {event.id: event for event in self.events}

    def event(self, event: Event) -> Event:
        said = self.spoken.get(event.id) or self.by_name(event)
        return msgspec.structs.replace(event, words=said, within=self._recorded[event.id].within)

    def value(self, value: int) -> str:
        return self.pointers.get(value, str(value))

    def because(self, reason: Reason, first: Event, second: Event, seen: Event | None) -> str:
        if any(event.id in self.spoken and event.words != event.by_kind for event in (first, second)):
            return in_words(reason, first, second)
        return super().because(reason, first, second, seen)

    def by_name(self, event: Event) -> str:
        """An access that reads or writes addresses, told with their names; empty where none has one."""
        if event.value not in self.pointers and event.read not in self.pointers:
            return ""
        first, second = (None if number is None else self.value(number) for number in (event.read, event.value))
        return words.of_access(event.kind, event.address, first, second)

    def having_seen(self, event: Event, seen: int) -> list[Event]:
        """What an event may have come to, had it seen another value: whether a compare-and-swap then writes is not known
        here, nor what, and for the order of events it does not matter what."""
        if event.kind is Kind.ST:
            return [event]
        if event.kind is Kind.LD:
            found = [msgspec.structs.replace(event, value=seen)]
        else:
            writing = msgspec.structs.replace(event, read=seen, value=seen if event.value is None else event.value)
            found = [writing, msgspec.structs.replace(writing, value=None)]
        return [msgspec.structs.replace(other, words=self.by_name(other)) for other in found]


def execution(steps: Sequence[StepRow], cells: Cells, names: Names, model: ModelName = "sc") -> Execution:
    cell_names = names.cells(cells)
    called = cell_names.called
    initial: dict[str, int] = {}
    counts: dict[int, int] = {}
    result: list[Event] = []
    schedule: list[Step] = []
    pointers: dict[int, str] = {}
    spoken: dict[EventId, str] = {}
    held: set[int] = set()
    for row in steps:
        thread, tag, cell, wrote, before, after = row.thread, row.tag, row.cell, row.wrote, row.before, row.after
        if row.kind == COMMIT:
            schedule.append(Commit(thread, called[cell] if model == "pso" else None))
            continue
        schedule.append(Issue(thread))
        kind = Kind(row.kind)
        if kind in (Kind.LOCK, Kind.UNLOCK) and tag not in (Tag.MUTEX, Tag.THREAD):
            kind = Kind.RMW  # semaphores and the like count: only a mutex is a mutex
        if tag == Tag.THREAD:  # to the machine a mutex, which runs and who has joined it hold
            before = after = int(cell in held)
            if row.verb == Verb.DETACH:
                wrote = 0
            elif kind is Kind.LOCK:
                held.add(cell)
            elif kind is Kind.UNLOCK:
                held.discard(cell)
        if kind is Kind.LOCK and before:  # it finds what is no mutex, and fails; or a thread that others have joined
            kind, wrote = Kind.RMW, 0
        index = counts.get(thread, 0)
        counts[thread] = index + 1
        size = 1 << tag if tag < Tag.MUTEX else 4
        old, new = signed(before, size), signed(after, size)
        value: int | None = None
        read: int | None = None
        if kind is Kind.LD:
            value = old
        elif kind is Kind.ST:
            value = new if tag != Tag.MUTEX else 0  # to the machine one that is free: who locks what is none fails
        elif kind.is_atomic:
            if kind is Kind.RMW:
                read, value = old, new if wrote else None
            else:
                value, read = (1, 0) if kind is Kind.LOCK else (0, 1)
        if not kind.is_fence:
            mutex = kind in (Kind.LOCK, Kind.UNLOCK) or (kind is Kind.ST and tag == Tag.MUTEX)
            initial.setdefault(called[cell], int(kind is Kind.UNLOCK) if mutex else old)
        if said := words.told(Verb(row.verb), called.get(cell, ""), old, new, bool(wrote) and old != new):
            spoken[EventId(thread, index)] = said
        elif tag == Tag.OCT and not kind.is_fence:
            pointers |= {
                number: name
                for number, word in ((old, before), (new, after))
                if (name := cell_names.pointed_at(word)) is not None
            }
        result.append(
            Event(
                thread=thread,
                index=index,
                kind=kind,
                address=None if kind.is_fence else called[cell],
                value=value,
                read=read,
                location=names.place(row.place),
                words=said,
                within=names.within(row.place, row.within) if row.within else "",
                order=ORDERS[row.order],
            )
        )
    found = Execution(result, initial, schedule, pointers, spoken)
    if pointers:
        result[:] = [
            event if event.words else msgspec.structs.replace(event, words=found.by_name(event)) for event in result
        ]
    return found


def signed(value: int, size: int) -> int:
    """As a number of at most 64 bits, which is all that events hold: the lower half of what is larger."""
    bits = 8 * min(size, 8)
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
