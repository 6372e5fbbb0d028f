"""Load buffering, the hazard that RC11 leaves out: relaxed loads, each followed by a store that the next one reads.

RC11 forbids cycles of ``sb`` and ``rf``; ARMv8, POWER and compilers do not, for relaxed accesses that nothing keeps in
order. So "robust" in C11 says nothing about them. The test is conservative: *segments* (a load, and a store after it in
the same thread) are chained through other threads by location. A cycle in which some segment is *open* (no acquire load,
no release store, no fence between them, and the store does not carry what was loaded) is a hazard.

A dependency counts only where no compiler can remove it: the store's value is the loaded one, plus or minus constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from teetotal.answers.violation import Hazard
from teetotal.programs.expressions import Addr, Const, Expr, Op, Reg
from teetotal.programs.program import Assign, Branch, Fence, Load, Lock, Program, Rmw, Store, Thread, Unlock

_ACQUIRE = ("acquire", "acq_rel", "seq_cst")
_RELEASE = ("release", "acq_rel", "seq_cst")
MOST = 20
"""Hazards told."""


class Segment(NamedTuple):
    thread: int
    load: int
    store: int
    read: str | None
    written: str | None
    open: bool

    def follows(self, other: Segment) -> bool:
        """Whether its load may read the other's store."""
        return self.thread != other.thread and (None in (self.read, other.written) or self.read == other.written)


def hazards(program: Program) -> list[Hazard]:
    """Each cycle of two or three segments with an open one, by its places; longer ones have the same segments open."""
    segments = list(_segments(program))
    found: dict[frozenset[tuple[int, int, int]], Hazard] = {}
    for first in segments:
        if not first.open:
            continue
        for cycle in _cycles(first, segments):
            key = frozenset((segment.thread, segment.load, segment.store) for segment in cycle)
            if key not in found and len(found) < MOST:
                found[key] = _hazard(program, cycle)
    return list(found.values())


def _cycles(first: Segment, segments: list[Segment]) -> Iterator[list[Segment]]:
    """A shortest way back for each successor."""
    for second in segments:
        if not second.follows(first):
            continue
        paths = [[first, second]]
        reached = {second}
        while paths:
            path = paths.pop(0)
            if first.follows(path[-1]):
                yield path
                break
            for segment in segments:
                if segment not in reached and segment.follows(path[-1]):
                    reached.add(segment)
                    paths.append([*path, segment])


def _segments(program: Program) -> Iterator[Segment]:
    for number, thread in enumerate(program.threads):
        for load, instruction in enumerate(thread.code):
            if isinstance(instruction, Load | Rmw) and instruction.order != "na":
                yield from _from(number, thread, load, instruction)


def _from(number: int, thread: Thread, load: int, instruction: Load | Rmw) -> Iterator[Segment]:
    """Forwards through the code: the stores that can come after a load, by whether something keeps them after it."""
    acquired = instruction.order in _ACQUIRE
    carrying = frozenset({instruction.register} - {None})
    stack: list[tuple[int, bool, frozenset[str | None]]] = [(load + 1, acquired, carrying)]
    seen: set[tuple[int, bool, frozenset[str | None]]] = set()
    told: dict[int, Segment] = {}
    while stack:
        state = stack.pop()
        pc, kept, carried = state
        if state in seen or pc >= len(thread.code):
            continue
        seen.add(state)
        here = thread.code[pc]
        if isinstance(here, Fence):
            kept = kept or here.order not in ("na", "relaxed")
        elif isinstance(here, Lock | Unlock):
            kept = True
        elif isinstance(here, Store | Rmw) and here.order != "na":
            held = kept or here.order in _RELEASE or _carries(here.value, carried)
            known = told.get(pc)
            if known is None or not known.open:
                told[pc] = Segment(number, load, pc, _place(instruction.address), _place(here.address), not held)
        if isinstance(here, Assign):
            carried = carried | {here.register} if _carries(here.value, carried) else carried - {here.register}
        elif isinstance(here, Load | Rmw) and pc != load:
            carried = carried - {here.register}
        if isinstance(here, Branch):
            stack.append((here.target, kept, carried))
            if here.when == Const(1):
                continue
        stack.append((pc + 1, kept, carried))
    yield from told.values()


def _carries(value: Expr, registers: frozenset[str | None]) -> bool:
    match value:
        case Reg(name):
            return name in registers
        case Op("+" | "-", (a, b)):
            return (_carries(a, registers) and isinstance(b, Const)) or (
                isinstance(a, Const) and _carries(b, registers)
            )
        case _:
            return False


def _place(address: Expr) -> str | None:
    return address.name if isinstance(address, Addr) else None


def _hazard(program: Program, cycle: list[Segment]) -> Hazard:
    texts, places = [], []
    for segment in cycle:
        code = program.threads[segment.thread].code
        read, written = segment.read or "what an address leads to", segment.written or "where an address leads"
        texts.append(
            f"T{segment.thread} loads {read} and then stores to {written}{'' if segment.open else ' (in order)'}"
        )
        places += [place for pc in (segment.load, segment.store) if (place := code[pc].location) is not None]
    return Hazard(segments=texts, locations=list(dict.fromkeys(map(str, places))))
