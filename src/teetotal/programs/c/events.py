"""What the runtime tells as numbers, in the vocabulary of ``teetotal.events``; and as a straight-line ``Program``.

A robustness violation is confirmed by the machines of ``models/``, which run programs. The events of one execution make
such a program: each thread does exactly what it did, with the values that it wrote. That is enough, because the relaxed
execution behind a report has the same events up to the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from teetotal.events import Event, EventId, Kind, Location, ModelName
from teetotal.models import Commit, Issue, Step
from teetotal.programs.c import words
from teetotal.programs.c.symbols import Symbols
from teetotal.programs.expressions import Addr, Const
from teetotal.programs.program import Fence, Instruction, Load, Lock, Program, Rmw, Store, Thread, Unlock

MUTEX, CONDITION, SEMAPHORE, BARRIER, THREAD, RWLOCK, FUTEX = range(8, 15)
_PARTS = {FUTEX: "futex", CONDITION: "queue"}
"""Objects that a word of data may have beside it."""


class Names:
    """Names of cells and places in one run of the runtime."""

    def __init__(self, symbols: Symbols, base: int) -> None:
        self.symbols = symbols
        self.base = base

    def place(self, place: int) -> Location | None:
        return self.symbols.line(place - self.base) if place else None

    def cells(self, told: dict[str, list[Any]]) -> dict[int, str]:
        """Each cell of an execution with a name of its own."""
        names: dict[int, str] = {}
        taken: set[str] = set()
        for number, cell in sorted(told.items(), key=lambda item: item[1][0] >= MUTEX):  # data comes first
            name = self._cell(*cell)
            if name in taken and cell[0] in _PARTS:
                name = f"{name}'s {_PARTS[cell[0]]}"
            if name in taken:
                name = f"{name} at {cell[1]:#x}"
            taken.add(name)
            names[int(number)] = name
        return names

    def _cell(
        self, tag: int, address: int, size: int, region: str, block: int, block_size: int, place: int, mixed: int
    ) -> str:
        match region:
            case "thread":
                return f"thread {address}"
            case "object":
                return self.symbols.variable(address - self.base, size) or f"{address - self.base:#x}"
            case "heap":
                where = self.place(place)
                offset = f"+{address - block}" if address != block else ""
                return f"heap[{block_size}]{offset}" + (f" from {where}" if where is not None else f" at {block:#x}")
            case "stack":
                return f"T{block}'s stack {address:#x}"
            case "thread-local":
                return f"thread-local {address:#x}"
            case "exit handlers" | "signal actions":
                return f"the {region}"
            case _:
                return f"address {address:#x}"


_ACTIONS = {Kind.LD: "load", Kind.ST: "store", Kind.RMW: "read-modify-write", Kind.LOCK: "lock", Kind.UNLOCK: "unlock"}


def divergence(told: dict[str, Any], names: Names) -> str:
    """A step that was not as before when the program was run again in the same way."""

    def action(kind: int, tag: int, address: int, place: int) -> str:
        at = names.place(place)
        what = _ACTIONS.get(Kind(kind), "fence")
        name = names.symbols.variable(address - names.base, 1 << tag if tag < MUTEX else 0) if address else None
        return what + (f" of {name}" if name else "") + (f" at {at}" if at is not None else "")

    who, then, now = f"T{told['thread']}", action(*told["then"]), told["now"]
    if now is None:
        return f"{who} came to its {then}, and when it was run again in the same way, it did not"
    if now != told["then"]:
        return f"{who} came to its {then}, and when it was run again in the same way, to its {action(*now)}"
    size = 1 << told["then"][1] if told["then"][1] < MUTEX else 4
    first, second = (_signed(value, size) for value in told["saw"])
    return f"{who}'s {then} saw {first} and, run again in the same way, {second}"


_COMMIT = 7
"""Beside the kinds of events: a store of an earlier step reaches memory."""


class Execution(NamedTuple):
    """Events in the order in which they were issued, what the locations held before, and the schedule of it all."""

    events: list[Event]
    initial: dict[str, int]
    schedule: list[Step]

    @property
    def words(self) -> dict[EventId, str]:
        return {event.id: event.words for event in self.events}


def execution(
    steps: Sequence[Sequence[int]], cells: dict[str, list[Any]], names: Names, model: ModelName = "sc"
) -> Execution:
    called = names.cells(cells)
    initial: dict[str, int] = {}
    counts: dict[int, int] = {}
    result: list[Event] = []
    schedule: list[Step] = []
    for thread, kind_number, tag, cell, place, wrote, before, after, verb in steps:
        if kind_number == _COMMIT:
            schedule.append(Commit(thread, called[cell] if model == "pso" else None))
            continue
        schedule.append(Issue(thread))
        kind = Kind(kind_number)
        if kind in (Kind.LOCK, Kind.UNLOCK) and tag not in (MUTEX, THREAD):
            kind = Kind.RMW  # semaphores and the like count: only a mutex is a mutex
        index = counts.get(thread, 0)
        counts[thread] = index + 1
        size = 1 << tag if tag < MUTEX else 4
        old, new = _signed(before, size), _signed(after, size)
        value: int | None = None
        read: int | None = None
        if kind is Kind.LD:
            value = old
        elif kind is Kind.ST:
            value = new
        elif kind.is_atomic:
            if kind is Kind.RMW:
                read, value = old, new if wrote else None
            else:
                value, read = (1, 0) if kind is Kind.LOCK else (0, 1)
        if not kind.is_fence:
            mutex = kind in (Kind.LOCK, Kind.UNLOCK)
            initial.setdefault(called[cell], int(kind is Kind.UNLOCK) if mutex else old)
        result.append(
            Event(
                thread=thread,
                index=index,
                kind=kind,
                address=None if kind.is_fence else called[cell],
                value=value,
                read=read,
                location=names.place(place),
                words=words.told(words.Verb(verb), called.get(cell, ""), old, new, bool(wrote) and old != new),
            )
        )
    return Execution(result, initial, schedule)


def straight_line(name: str, execution: Execution, schedule: Sequence[Step], source: str) -> Program:
    """The program that does just that. Locations are numbered as the schedule first stores to them, so that a token
    means the same to whoever runs the schedule on the real program."""
    initial = execution.initial
    threads: dict[int, list[Event]] = {}
    for event in execution.events:
        threads.setdefault(event.thread, []).append(event)
    order: dict[str, int] = {}
    following = dict.fromkeys(threads, 0)
    for step in schedule:
        if isinstance(step, Issue):
            event = threads[step.thread][following[step.thread]]
            following[step.thread] += 1
            if event.kind is Kind.ST and event.address is not None:
                order.setdefault(event.address, initial[event.address])
    memory = {**order, **{address: value for address, value in initial.items() if address not in order}}
    return Program(
        name=name,
        threads=tuple(
            Thread(f"T{number}", tuple(_instruction(event) for event in threads.get(number, [])), {"r": 0})
            for number in range(max(threads, default=0) + 1)
        ),
        memory=memory,
        source=source,
    )


def _instruction(event: Event) -> Instruction:
    place = event.location
    if event.kind.is_fence:
        return Fence(kind=event.kind, location=place)  # type: ignore[arg-type]
    assert event.address is not None
    address = Addr(event.address)
    match event.kind:
        case Kind.LD:
            return Load(register="r", address=address, location=place)
        case Kind.ST:
            return Store(address=address, value=Const(event.value or 0), location=place)
        case Kind.LOCK:
            return Lock(address=address, location=place)
        case Kind.UNLOCK:
            return Unlock(address=address, location=place)
        case _:
            when = Const(0) if event.value is None else None
            return Rmw(address=address, value=Const(event.value or 0), when=when, location=place)


def _signed(value: int, size: int) -> int:
    bits = 8 * size
    return value - (1 << bits) if value >> (bits - 1) else value
