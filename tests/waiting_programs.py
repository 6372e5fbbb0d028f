"""Programs that wait, by name: locks, algorithms of mutual exclusion, and the small ones that show what goes wrong if
waiting is got wrong (docs/explanation/waiting.md)."""

from __future__ import annotations

from collections.abc import Callable

from teetotal import array, cas, fetch_add, ld, mfence, program, st, xchg
from teetotal.programs.program import Program

Thread = object
FLAGS = array("flag", 4)
TICKETS = array("ticket", 4)
NEXT = array("next", 5)
LOCKED = array("locked", 5)


def build(*threads: Thread, exists: str | None = None, **memory: int) -> Program:
    return program(*threads, exists=exists, **memory)  # type: ignore[arg-type]


# -- waiting for a value ------------------------------------------------------------------------------------------------


def counts_up(most):
    for value in range(1, most + 1):
        yield st("x", value)


def awaits(value):
    while (yield ld("x")) != value:
        pass


def await_n(count: int) -> Program:
    return build(counts_up(count), awaits(count), x=0)


# -- locks: each thread counts in its critical section --------------------------------------------------------------------


def tas():
    while (yield xchg("l", 1)) == 1:
        pass
    r = yield ld("shared")
    yield st("shared", r + 1)
    yield st("l", 0)


def swapping():
    while (yield cas("l", 0, 1)) != 0:
        pass
    r = yield ld("shared")
    yield st("shared", r + 1)
    yield st("l", 0)


def ttas():
    while True:
        while (yield ld("l")) != 0:
            pass
        if (yield cas("l", 0, 1)) == 0:
            break
    r = yield ld("shared")
    yield st("shared", r + 1)
    yield st("l", 0)


def ticket():
    mine = yield fetch_add("tickets", 1)
    while (yield ld("served")) != mine:
        pass
    r = yield ld("shared")
    yield st("shared", r + 1)
    yield st("served", mine + 1)


def mcs(me):
    yield st(NEXT[me], 0)
    before = yield xchg("tail", me)
    if before != 0:
        yield st(LOCKED[me], 1)
        yield st(NEXT[before], me)
        while (yield ld(LOCKED[me])) != 0:
            pass
    r = yield ld("shared")
    yield st("shared", r + 1)
    behind = yield ld(NEXT[me])
    if behind == 0:
        if (yield cas("tail", me, 0)) != me:
            while (yield ld(NEXT[me])) == 0:
                pass
            behind = yield ld(NEXT[me])
            yield st(LOCKED[behind], 0)
    else:
        yield st(LOCKED[behind], 0)


def spin_lock(kind: Callable[[], Thread], count: int) -> Program:
    return build(*(kind() for _ in range(count)), l=0, shared=0)


def ticket_lock(count: int) -> Program:
    return build(*(ticket() for _ in range(count)), tickets=0, served=0, shared=0)


def mcs_lock(count: int) -> Program:
    return build(*(mcs(number + 1) for number in range(count)), tail=0, shared=0)


# -- mutual exclusion with loads and stores -------------------------------------------------------------------------------


def dekker_side(me, other, sections):
    for _ in range(sections):
        yield st(FLAGS[me], 1)
        yield mfence
        while (yield ld(FLAGS[other])) != 0:
            if (yield ld("turn")) != me:
                yield st(FLAGS[me], 0)
                while (yield ld("turn")) != me:
                    pass
                yield st(FLAGS[me], 1)
                yield mfence
        r = yield ld("shared")
        yield st("shared", r + 1)
        yield st("turn", other)
        yield st(FLAGS[me], 0)


def dekker(sections: int) -> Program:
    return build(dekker_side(0, 1, sections), dekker_side(1, 0, sections), turn=0, shared=0)


def peterson_side(me, other, sections):
    for _ in range(sections):
        yield st(FLAGS[me], 1)
        yield st("turn", other)
        yield mfence
        while (yield ld(FLAGS[other])) == 1 and (yield ld("turn")) == other:
            pass
        r = yield ld("shared")
        yield st("shared", r + 1)
        yield st(FLAGS[me], 0)


def peterson(sections: int) -> Program:
    return build(peterson_side(0, 1, sections), peterson_side(1, 0, sections), turn=0, shared=0)
