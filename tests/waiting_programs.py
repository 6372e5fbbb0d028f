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


# -- threads of small programs ---------------------------------------------------------------------------------------------


def stores_then_awaits(mine, other):
    yield st(mine, 1)
    while (yield ld(other)) == 0:
        pass


def stores_then_loads(mine, other):
    yield st(mine, 1)
    r = yield ld(other)


def stores_then_awaits_one(mine, first, second):
    yield st(mine, 1)
    while (yield ld(first)) == 0 and (yield ld(second)) == 0:
        pass


def stores_loads_stores(mine, other, last):
    yield st(mine, 1)
    r = yield ld(other)
    yield st(last, 1)


def stores_both(first, second):
    yield st(first, 1)
    yield st(second, 1)


def awaits_then_loads(flag, data):
    while (yield ld(flag)) == 0:
        pass
    r = yield ld(data)


def stores_then_locks(mine):
    yield st(mine, 1)
    while (yield xchg("l", 1)) == 1:
        pass
    r = yield ld("d")
    yield st("l", 0)


def leaves_if_not_one():
    while (yield ld("x")) == 1:
        pass


def loads_then_leaves_if_not_one():
    r = yield ld("y")
    while (yield ld("x")) == 1:
        pass


def stores(name, value):
    yield st(name, value)


def counted_wait():
    n = 0
    while n < 2 and (yield ld("x")) == 0:
        n += 1
    assert n < 2


def both_rounds():
    r0 = 1
    r1 = 1
    while r0 and r1:
        r0 = yield ld("a")
        r1 = yield ld("b")


def zeroes(first, second):
    yield st(first, 0)
    yield st(second, 0)


def stores_while_waiting():
    while (yield ld("x")) == 0:
        yield st("y", 1)
    r = yield ld("z")


def stores_three():
    yield st("x", 1)
    yield st("z", 1)
    yield st("y", 2)


def stores_then_takes():
    yield st("x", 1)
    while (yield xchg("y", 1)) == 1:
        pass


def stores_then_awaits_zero():
    yield st("y", 1)
    while (yield ld("x")) != 0:
        pass


def awaits_z_then_one():
    while (yield ld("z")) == 0:
        pass
    while (yield ld("x")) != 1:
        pass


def two_values_then_flag():
    yield st("x", 2)
    yield st("x", 3)
    yield st("z", 1)


def fenced_wait():
    yield st("y", 1)
    while (yield ld("x")) == 0:
        yield mfence


def leaves_with_the_last():
    b = 0
    while (yield ld("x")) == 0:
        b = yield ld("y")


def reads_often(count):
    n = 0
    while n < count:
        yield ld("x")
        n += 1


def stores_often(count):
    n = 0
    while n < count:
        yield st("x", n)
        n += 1


def counts_while_waiting():
    n = 0
    while (yield ld("x")) == 0:
        n += 1


def stores_for_ever():
    while True:
        yield st("y", 1)
        if (yield ld("x")) == 2:
            break


def stores_then_loads_for_ever(mine, other):
    while True:
        yield st(mine, 1)
        if (yield ld(other)) == 2:
            break
