"""The load-buffering hazard by definition, for programs without loops: every path through each thread, every segment on it,
and the transitive closure of "may read what that stores"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from teetotal.models import c11
from teetotal.models.relations import Relation
from teetotal.programs.expressions import Addr, Expr, Reg, leaves
from teetotal.programs.program import Branch, Fence, Instruction, Load, Program, Rmw, Store, Thread


class Segment(NamedTuple):
    thread: int
    read: Expr
    written: Expr
    open: bool


def has_hazard(program: Program) -> bool:
    segments = [
        segment
        for number, thread in enumerate(program.threads)
        for path in _paths(thread, 0)
        for segment in _segments(number, path)
    ]
    follows = Relation.where(len(segments), lambda a, b: _may_read(segments[b], segments[a])).plus
    return any(segment.open and (n, n) in follows for n, segment in enumerate(segments))


def _may_read(later: Segment, earlier: Segment) -> bool:
    return later.thread != earlier.thread and later.read == earlier.written


def _paths(thread: Thread, pc: int) -> Iterator[list[Instruction]]:
    if pc == len(thread.code):
        yield []
        return
    here = thread.code[pc]
    ways = [pc + 1]
    if isinstance(here, Branch):
        assert here.target > pc
        ways.append(here.target)
    for way in ways:
        yield from ([here, *rest] for rest in _paths(thread, way))


def _segments(thread: int, path: list[Instruction]) -> Iterator[Segment]:
    """Between addresses that are written out, of values that are written out or loaded: all that random programs have."""
    for first, load in enumerate(path):
        if not isinstance(load, Load | Rmw) or load.order == "na":
            continue
        for last in range(first + 1, len(path)):
            store = path[last]
            if not isinstance(store, Store | Rmw) or store.order == "na":
                continue
            assert isinstance(load.address, Addr)
            between = path[first + 1 : last]
            fenced = any(isinstance(one, Fence) and one.order not in ("na", "relaxed") for one in between)
            overwritten = any(getattr(one, "register", None) == load.register for one in between)
            carried = store.value == Reg(load.register or "") and not overwritten
            assert carried or overwritten or all(leaf != Reg(load.register or "") for leaf in leaves(store.value))
            kept = load.order in c11.ACQUIRE or store.order in c11.RELEASE or fenced or carried
            yield Segment(thread, load.address, store.address, not kept)
