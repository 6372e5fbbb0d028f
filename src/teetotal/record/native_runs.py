"""Windows of a native run as executions: what threads share of it, with names, lines and values.

A window is a part of an SC execution (runtime/native/turn.hpp): a violation that is found in it is real, since the program
may come to its beginning with empty buffers. What one thread alone accesses cannot be on a cycle, and is left out; but an
rmw is also a fence, and stays.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path, PurePath
from typing import NamedTuple

from teetotal.answers.events import Event, Issue, Kind, Location
from teetotal.answers.numbers import Tag
from teetotal.engines.runtime.events import Execution, signed
from teetotal.engines.runtime.messages import Cell as ToldCell
from teetotal.programs.c.build import Source, built_to_record, refuse_unrecordable
from teetotal.programs.files import is_c
from teetotal.record.lifetimes import SHIFT, Lives
from teetotal.record.modules import Modules
from teetotal.record.programs import RecordedExecution, told_name
from teetotal.record.sharing import Extent, Touch, cells, shared_parts
from teetotal.record.windows import BLOCK, OF_THREAD, SYNCHRONISES, VALUED, WROTE, Run, Window

MOST_THREADS = 1024
"""That a monitor takes in one trace."""
AT_A_TIME = 4096
"""Threads that the recorder has room for (runtime/native/turn.hpp)."""
MOST_EVENTS = 2_000_000
"""Of one window, when its long copies are cut."""
_VALUED_SIZES = (1, 2, 4, 8)
_OBJECT = 1 << 200
_THREAD = 1 << 201
"""Beyond addresses: objects that synchronise, and threads."""


class Step(NamedTuple):
    """``number``: of which access. ``key``: which cell; None for a fence."""

    number: int
    thread: int
    kind: Kind
    key: Extent | None
    flags: int
    read: int
    written: int
    place: int


class Known:
    """What is known beside the executions. ``left_out`` of so many ``accesses``: nobody else can notice them."""

    def __init__(self) -> None:
        self.accesses = self.left_out = 0
        self.notes: dict[str, None] = {}

    def note(self, text: str) -> None:
        self.notes[text] = None


def natively(
    source: Source,
    *,
    window: int = 100_000,
    every: float = 0.0,
    count: int = 10,
    seed: int = 0,
    seconds: float | None = None,
    notes: list[str] | None = None,
) -> Iterator[RecordedExecution]:
    """One run of sources, or of an executable that was built with ``teetotal cflags --record``: each window that holds
    events, when it is full or the program has ended. ``notes`` is told at the end what else there is to know."""
    is_source = all(is_c(file) for file in source.files)
    with built_to_record(source) if is_source else nullcontext(Path(source.files[0])) as program:
        refuse_unrecordable(program)
        run = Run(
            program,
            source.arguments,
            capacity=window,
            every=every,
            count=count,
            seed=seed,
            seconds=seconds,
            trust=source.trust,
        )
        modules = Modules(program, source.files)
        known = Known()
        try:
            for number, one in enumerate(run.windows()):
                execution = converted(one, modules, known)
                if execution.events:
                    yield RecordedExecution(f"{told_name(PurePath(source.name).name)}-{seed}-{number}", execution)
        finally:
            modules.close()
            if notes is not None:
                notes += _to_know(run, known)


def _to_know(run: Run, known: Known) -> Iterator[str]:
    if known.left_out:
        yield (
            f"{known.left_out:,} of {known.accesses:,} accesses were to memory that no other thread used then: left out"
        )
    yield from known.notes
    if not run.attached:
        yield "the program started no second thread: there was nothing to record"
    if run.too_many_threads:
        yield f"there were more than {AT_A_TIME:,} threads at a time: recording stopped"
    if run.end:
        yield run.end


def converted(window: Window, modules: Modules, known: Known) -> Execution:
    modules.know(window.maps)
    lives = Lives()
    noticed = _steps(window, lives, known)
    accesses = int((window.records["kind"] != BLOCK).sum())
    known.accesses += accesses
    known.left_out += accesses - len({step.number for step in noticed})
    steps = _without_repeated_loads(noticed)
    names = _names({step.key for step in steps if step.key is not None}, lives, modules)
    values = _Values(steps)
    if values.unclear:
        shown = sorted(names[key] for key in values.unclear)
        more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
        known.note(
            f"written by code that was not built to be recorded, so without values: {', '.join(shown[:3])}{more}"
        )
    lines: dict[int, Location | None] = {}
    counts: Counter[int] = Counter()
    events: list[Event] = []
    for step in steps:
        if step.place not in lines:
            of = modules.names(step.place)
            lines[step.place] = of.place(step.place) if of is not None else None
        read, value = values.of(step)
        kind = values.kind(step)
        events.append(
            Event(
                thread=step.thread,
                index=counts[step.thread],
                kind=kind,
                address=None if step.key is None else names[step.key],
                value=read if kind is Kind.LD else value,
                read=read if kind.is_atomic else None,
                location=lines[step.place],
                wrote=kind.is_atomic and bool(step.flags & WROTE) and value is None,
            )
        )
        counts[step.thread] += 1
    initial = {names[key]: value for key, value in values.initial.items()}
    return Execution(events, initial, [Issue(event.thread) for event in events])


def _steps(window: Window, lives: Lives, known: Known) -> list[Step]:
    """Those that others can notice, each with its cell."""
    rows: list[tuple[Kind, int, int, tuple[int, ...]]] = []
    for row in window.records.tolist():
        address, size, _, place, _, thread, kind, flags, _ = row
        if kind == BLOCK:
            lives.begin(address, size, thread, place)
            continue
        begin = address if flags & OF_THREAD else lives.in_its_life(address)
        begin += _THREAD if flags & OF_THREAD else _OBJECT if flags & SYNCHRONISES else 0
        rows.append((Kind(kind), begin, begin + row[4], row))
    shared = shared_parts(
        Touch(begin, end, row[5]) for kind, begin, end, row in rows if not kind.is_fence and not row[7] & SYNCHRONISES
    )
    parts: list[tuple[int, Extent | None]] = []
    for number, (kind, begin, end, row) in enumerate(rows):
        if len(parts) >= MOST_EVENTS:
            known.note(f"cut after {MOST_EVENTS:,} events: long copies of what threads share are many")
            rows = rows[:number]
            break
        if kind.is_fence:
            parts.append((number, None))
        elif kind.is_atomic or row[7] & SYNCHRONISES:
            parts.append((number, Extent(begin, end)))
        else:
            parts.extend((number, part) for part in shared.parts(begin, end))
    whole = cells(part for _, part in parts if part is not None)
    begins = [cell.begin for cell in whole]
    kept = _noticed(
        [(n, None if part is None else whole[bisect.bisect_right(begins, part.begin) - 1], part) for n, part in parts],
        rows,
    )
    threads: dict[int, int] = {}
    result: list[Step] = []
    numbers = {row[5] for _, _, _, row in rows}
    dense = max(numbers, default=0) >= 1 << 16
    for number, cell, part in kept:
        kind, _, _, row = rows[number]
        if row[5] not in threads and len(threads) == MOST_THREADS:
            known.note(f"cut after {len(result):,} events: a monitor takes {MOST_THREADS:,} threads")
            break
        thread = threads.setdefault(row[5], len(threads) if dense else row[5])
        valued = part is not None and part == cell and row[4] in _VALUED_SIZES and any(shared.parts(*part))
        flags = row[7] if valued else row[7] & ~VALUED
        result.append(Step(number, thread, kind, cell, flags, row[1], row[2], row[3]))
    return result


def _without_repeated_loads(steps: list[Step]) -> list[Step]:
    """A load that sees what its thread's last step, the same load, saw is a round of a loop in which nothing happens: both
    can happen when the first does, so that the first may stand for both."""
    last: dict[int, Step] = {}
    result: list[Step] = []
    for step in steps:
        before, last[step.thread] = last.get(step.thread), step
        if step.kind is not Kind.LD or not step.flags & VALUED or before is None or before[1:] != step[1:]:
            result.append(step)
    return result


def _noticed(
    parts: list[tuple[int, Extent | None, Extent | None]], rows: list[tuple[Kind, int, int, tuple[int, ...]]]
) -> list[tuple[int, Extent | None, Extent | None]]:
    """Fences, rmws, and accesses to cells that somebody writes and somebody else accesses."""
    users: dict[Extent, set[int]] = {}
    written: set[Extent] = set()
    for number, cell, _ in parts:
        if cell is not None:
            users.setdefault(cell, set()).add(rows[number][3][5])
            if rows[number][3][7] & WROTE:
                written.add(cell)
    return [
        (number, cell, part)
        for number, cell, part in parts
        if cell is None or rows[number][0].is_atomic or (cell in written and len(users[cell]) > 1)
    ]


class _Values:
    """What cells hold, step by step. Objects that synchronise count how often they change; a mutex that is locked and
    unlocked in turn holds 1 and 0."""

    def __init__(self, steps: list[Step]) -> None:
        self.unclear: set[Extent] = set()
        self.initial: dict[Extent, int] = {}
        self._mutexes = _mutexes(steps)
        self._unknown = {s.key for s in steps if s.key is not None and _hides(s)}
        held: dict[Extent, int] = {}
        for step in steps:
            if step.key is None or step.flags & SYNCHRONISES or step.key in self._unknown:
                continue
            size = step.key.end - step.key.begin
            if step.flags & VALUED and step.kind is not Kind.ST:
                seen = signed(step.read, size)
                if held.setdefault(step.key, seen) != seen:
                    self.unclear.add(step.key)
                self.initial.setdefault(step.key, seen)
            if step.flags & WROTE:
                self.initial.setdefault(step.key, 0)
                held[step.key] = signed(step.written, size)
        self._unknown |= self.unclear
        for key in self._unknown:
            self.initial.pop(key, None)
        for step in steps:
            if step.key is not None and step.flags & SYNCHRONISES:
                self.initial.setdefault(step.key, 0)
        self._now: Counter[Extent] = Counter()

    def kind(self, step: Step) -> Kind:
        if step.kind in (Kind.LOCK, Kind.UNLOCK) and step.key not in self._mutexes:
            return Kind.RMW
        return step.kind

    def of(self, step: Step) -> tuple[int | None, int | None]:
        """What it read and what it wrote. To be asked of each step, in order."""
        if step.key is None:
            return None, None
        wrote = bool(step.flags & WROTE)
        if step.flags & SYNCHRONISES:
            before = self._now[step.key]
            if wrote:
                mutex = step.key in self._mutexes
                self._now[step.key] = int(step.kind is Kind.LOCK) if mutex else before + 1
            return before, self._now[step.key] if wrote else None
        if step.key in self._unknown or not step.flags & VALUED:
            return None, None
        size = step.key.end - step.key.begin
        return signed(step.read, size), signed(step.written, size) if wrote else None


def _hides(step: Step) -> bool:
    """A write whose value is not known: nor is what is read afterwards."""
    return bool(step.flags & WROTE) and not step.flags & (VALUED | SYNCHRONISES)


def _mutexes(steps: list[Step]) -> set[Extent]:
    """Objects that are locked and unlocked in turn, by the same thread: that may be otherwise where a window begins."""
    owner: dict[Extent, int | None] = {}
    others: set[Extent] = set()
    for step in steps:
        if step.key is None or not step.flags & SYNCHRONISES or not step.flags & WROTE:
            continue
        match step.kind:
            case Kind.LOCK if owner.get(step.key) is None:
                owner[step.key] = step.thread
            case Kind.UNLOCK if owner.get(step.key) == step.thread:
                owner[step.key] = None
            case _:
                others.add(step.key)
    return set(owner) - others


def _names(keys: set[Extent], lives: Lives, modules: Modules) -> dict[Extent, str]:
    ordered = sorted(keys)
    told: dict[int, ToldCell] = {}
    for number, key in enumerate(ordered):
        told[number] = _cell(key, lives, modules)
    called = modules.program.cells(told).called
    taken: Counter[str] = Counter()
    found: dict[Extent, str] = {}
    for number, key in enumerate(ordered):
        name = called[number]
        cell = told[number]
        of = modules.names(cell.address) if cell.region == "module" else None
        if of is not None:
            name = of.symbols.variable(cell.address - of.base, cell.size) or name
        taken[name] += 1
        found[key] = name if taken[name] == 1 else f"{name} ({taken[name]})"
    return found


def _cell(key: Extent, lives: Lives, modules: Modules) -> ToldCell:
    """As the explorer tells of cells, which ``CellNames`` gives names."""
    if key.begin >= _THREAD:
        return ToldCell(Tag.THREAD, key.begin - _THREAD, 0, "thread", 0, 0, 0, 0)
    is_object = key.begin >= _OBJECT
    begin = key.begin - _OBJECT if is_object else key.begin
    life, address = lives.life_of(begin), begin & (1 << SHIFT) - 1
    tag, size = (Tag.MUTEX, 0) if is_object else (Tag.OCT, key.end - key.begin)
    if life is not None and life.place:
        return ToldCell(tag, address, size, "heap", life.begin, life.end - life.begin, life.place, 0)
    if life is not None or modules.is_main_stack(address):
        return ToldCell(tag, address, size, "stack", life.thread if life is not None else 0, 0, 0, 0)
    region = "object" if modules.names(address) is modules.program else "module"
    return ToldCell(tag, address, size, region, 0, 0, 0, 0)
