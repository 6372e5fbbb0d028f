"""The classics of lock-free programming with the orders of the literature: robust in C11 and race-free, and with any one
order weaker no longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from teetotal.answers.events import MemoryOrder
from teetotal.engines.executions.robustness import robustness
from teetotal.programs.program import Program
from teetotal.programs.python import array, cas, fetch_add, ld, program, st, thread_fence, xchg

Thread = Iterator[Any]
WEAKER: dict[str, dict[MemoryOrder, tuple[MemoryOrder, ...]]] = {
    "load": {"seq_cst": ("acquire",), "acquire": ("relaxed",)},
    "store": {"seq_cst": ("release",), "release": ("relaxed",)},
    "rmw": {
        "seq_cst": ("acq_rel",),
        "acq_rel": ("acquire", "release"),
        "acquire": ("relaxed",),
        "release": ("relaxed",),
    },
    "fence": {
        "seq_cst": ("acq_rel",),
        "acq_rel": ("acquire", "release"),
        "acquire": ("relaxed",),
        "release": ("relaxed",),
    },
}
SC: MemoryOrder = "seq_cst"
ACQ: MemoryOrder = "acquire"
REL: MemoryOrder = "release"
AR: MemoryOrder = "acq_rel"


# -- locks --------------------------------------------------------------------------------------------------------------


def dekker(me: int, claim: MemoryOrder, look: MemoryOrder, leave: MemoryOrder) -> Thread:
    yield st(f"flag{me}", 1, claim)
    if (yield ld(f"flag{1 - me}", look)) == 0:
        yield st("data", me)
    yield st(f"flag{me}", 0, leave)


def dekker_fenced(me: int, between: MemoryOrder, look: MemoryOrder, leave: MemoryOrder) -> Thread:
    yield st(f"flag{me}", 1, "relaxed")
    yield thread_fence(between)
    if (yield ld(f"flag{1 - me}", look)) == 0:
        yield st("data", me)
    yield st(f"flag{me}", 0, leave)


def peterson(me: int, claim: MemoryOrder, give: MemoryOrder, look: MemoryOrder, leave: MemoryOrder) -> Thread:
    yield st(f"flag{me}", 1, claim)
    yield st("turn", 1 - me, give)
    while (yield ld(f"flag{1 - me}", look)) == 1 and (yield ld("turn", "relaxed")) != me:
        pass
    yield st("data", me)
    yield st(f"flag{me}", 0, leave)


def peterson_fenced(me: int, before: MemoryOrder, after: MemoryOrder, look: MemoryOrder, leave: MemoryOrder) -> Thread:
    yield st(f"flag{me}", 1, "relaxed")
    yield thread_fence(before)
    yield st("turn", 1 - me, "relaxed")
    yield thread_fence(after)
    while (yield ld(f"flag{1 - me}", look)) == 1 and (yield ld("turn", "relaxed")) != me:
        pass
    yield st("data", me)
    yield st(f"flag{me}", 0, leave)


def peterson_by_exchange(me: int, give: MemoryOrder, look: MemoryOrder, leave: MemoryOrder) -> Thread:
    yield st(f"flag{me}", 1, "relaxed")
    yield xchg("turn", 1 - me, give)
    while (yield ld(f"flag{1 - me}", look)) == 1 and (yield ld("turn", "relaxed")) != me:
        pass
    yield st("data", me)
    yield st(f"flag{me}", 0, leave)


def spinlock(me: int, take: MemoryOrder, leave: MemoryOrder) -> Thread:
    while (yield xchg("lock", 1, take)) == 1:
        pass
    yield st("data", me)
    yield st("lock", 0, leave)


def polite_spinlock(me: int, take: MemoryOrder, leave: MemoryOrder) -> Thread:
    while True:
        while (yield ld("lock", "relaxed")) == 1:
            pass
        if (yield cas("lock", 0, 1, take, "relaxed")) == 0:
            break
    yield st("data", me)
    yield st("lock", 0, leave)


def ticket_lock(me: int, wait: MemoryOrder, leave: MemoryOrder) -> Thread:
    mine = yield fetch_add("next", 1, "relaxed")
    while (yield ld("serving", wait)) != mine:
        pass
    yield st("data", me)
    yield st("serving", mine + 1, leave)


def mcs(
    me: int, enqueue: MemoryOrder, link: MemoryOrder, wait: MemoryOrder, find: MemoryOrder, release: MemoryOrder,
    hand_over: MemoryOrder,
) -> Thread:  # fmt: skip
    yield st(f"locked{me}", 1, "relaxed")
    before = yield xchg("tail", me + 1, enqueue)
    if before != 0:
        yield st(f"next{1 - me}", me + 1, link)
        while (yield ld(f"locked{me}", wait)) == 1:
            pass
    yield st("data", me)
    after = yield ld(f"next{me}", find)
    if after == 0 and (yield cas("tail", me + 1, 0, release, "relaxed")) != me + 1:
        while (yield ld(f"next{me}", find)) == 0:
            pass
        after = 1
    if after != 0:
        yield st(f"locked{1 - me}", 0, hand_over)


# -- messages -----------------------------------------------------------------------------------------------------------


def writer(publish: MemoryOrder) -> Thread:
    yield st("data", 42)
    yield st("pointer", 1, publish)


def reader(find: MemoryOrder) -> Thread:
    if (yield ld("pointer", find)) == 1:
        yield ld("data")


def producer(publish: MemoryOrder, look: MemoryOrder) -> Thread:
    slots = array("slot", 1)
    for item in range(2):
        while item - (yield ld("head", look)) == 1:
            pass
        yield st(slots[0], item)
        yield st("tail", item + 1, publish)


def consumer(find: MemoryOrder, free: MemoryOrder) -> Thread:
    slots = array("slot", 1)
    for item in range(2):
        while (yield ld("tail", find)) == item:
            pass
        yield ld(slots[0])
        yield st("head", item + 1, free)


def pusher(publish: MemoryOrder) -> Thread:
    yield st("value", 7)
    head = yield ld("head", "relaxed")
    yield st("link", head)
    yield cas("head", head, 1, publish, "relaxed")


def popper(find: MemoryOrder) -> Thread:
    head = yield ld("head", find)
    if head == 1:
        after = yield ld("link")
        if (yield cas("head", 1, after, "relaxed", "relaxed")) == 1:
            yield ld("value")


def sequence_writer(begin: MemoryOrder, end: MemoryOrder) -> Thread:
    yield st("seq", 1, "relaxed")
    yield thread_fence(begin)
    yield st("a", 1, "relaxed")
    yield st("b", 1, "relaxed")
    yield st("seq", 2, end)


def sequence_reader(first: MemoryOrder, again: MemoryOrder) -> Thread:
    if (yield ld("seq", first)) % 2 == 0:
        yield ld("a", "relaxed")
        yield ld("b", "relaxed")
        yield thread_fence(again)
        yield ld("seq", "relaxed")


# -- memory that goes away ----------------------------------------------------------------------------------------------


def protector(announce: MemoryOrder, again: MemoryOrder, leave: MemoryOrder) -> Thread:
    pointer = yield ld("pointer", "relaxed")
    if pointer == 1:
        yield st("hazard", 1, announce)
        if (yield ld("pointer", again)) == 1:
            yield ld("data")
        yield st("hazard", 0, leave)


def reclaimer(unlink: MemoryOrder, look: MemoryOrder) -> Thread:
    yield st("pointer", 0, unlink)
    if (yield ld("hazard", look)) == 0:
        yield st("data", 13)


def taker(before: MemoryOrder, restore: MemoryOrder) -> Thread:
    bottom = (yield ld("bottom", "relaxed")) - 1
    yield st("bottom", bottom, "relaxed")
    yield thread_fence(before)
    top = yield ld("top", "relaxed")
    if top > bottom:
        yield st("bottom", bottom + 1, "relaxed")
    elif top == bottom:
        yield cas("top", top, top + 1, "relaxed", "relaxed")
        yield st("bottom", bottom + 1, restore)


def thief(between: MemoryOrder, look: MemoryOrder, steal: MemoryOrder) -> Thread:
    top = yield ld("top", "relaxed")
    yield thread_fence(between)
    if top < (yield ld("bottom", look)):
        yield cas("top", top, top + 1, steal, "relaxed")


def both(make: Callable[..., Thread]) -> Callable[..., list[Thread]]:
    return lambda *orders: [make(0, *orders), make(1, *orders)]


Classic = tuple[Callable[..., list[Thread]], dict[str, tuple[str, MemoryOrder]], dict[str, int]]
"""The threads by their orders, those of the literature with what each is of, and the memory."""
FLAGS = {"flag0": 0, "flag1": 0, "data": 0}
CLASSICS: dict[str, Classic] = {
    "Dekker": (both(dekker), {"claim": ("store", SC), "look": ("load", SC), "leave": ("store", REL)}, FLAGS),
    "Dekker, fences": (
        both(dekker_fenced),
        {"between": ("fence", SC), "look": ("load", ACQ), "leave": ("store", REL)},
        FLAGS,
    ),
    "Peterson": (
        both(peterson),
        {"claim": ("store", SC), "give": ("store", SC), "look": ("load", SC), "leave": ("store", REL)},
        {**FLAGS, "turn": 0},
    ),
    "Peterson, two fences": (
        both(peterson_fenced),
        {"before": ("fence", SC), "after": ("fence", SC), "look": ("load", ACQ), "leave": ("store", REL)},
        {**FLAGS, "turn": 0},
    ),
    "Peterson, by exchange": (
        both(peterson_by_exchange),
        {"give": ("rmw", AR), "look": ("load", ACQ), "leave": ("store", REL)},
        {**FLAGS, "turn": 0},
    ),
    "spinlock": (both(spinlock), {"take": ("rmw", ACQ), "leave": ("store", REL)}, {"lock": 0, "data": 0}),
    "test and test-and-set": (
        both(polite_spinlock), {"take": ("rmw", ACQ), "leave": ("store", REL)}, {"lock": 0, "data": 0}
    ),
    "ticket lock": (
        both(ticket_lock), {"wait": ("load", ACQ), "leave": ("store", REL)}, {"next": 0, "serving": 0, "data": 0}
    ),
    "MCS": (
        both(mcs),
        {"enqueue": ("rmw", ACQ), "link": ("store", REL), "wait": ("load", ACQ), "find": ("load", ACQ),
         "release": ("rmw", REL), "hand over": ("store", REL)},
        {"tail": 0, "locked0": 0, "locked1": 0, "next0": 0, "next1": 0, "data": 0},
    ),
    "publication (RCU)": (
        lambda publish, find: [writer(publish), reader(find), reader(find)],
        {"publish": ("store", REL), "find": ("load", ACQ)},
        {"data": 0, "pointer": 0},
    ),
    "single-producer ring": (
        lambda publish, look, find, free: [producer(publish, look), consumer(find, free)],
        {"publish": ("store", REL), "look": ("load", ACQ), "find": ("load", ACQ), "free": ("store", REL)},
        {"head": 0, "tail": 0},
    ),
    "Treiber": (
        lambda publish, find: [pusher(publish), popper(find)],
        {"publish": ("rmw", REL), "find": ("load", ACQ)},
        {"head": 0, "link": 0, "value": 0},
    ),
    "seqlock": (
        lambda begin, end, first, again: [sequence_writer(begin, end), sequence_reader(first, again)],
        {"begin": ("fence", REL), "end": ("store", REL), "first": ("load", ACQ), "again": ("fence", ACQ)},
        {"seq": 0, "a": 0, "b": 0},
    ),
    "hazard pointer": (
        lambda announce, again, leave, unlink, look: [protector(announce, again, leave), reclaimer(unlink, look)],
        {"announce": ("store", SC), "again": ("load", SC), "leave": ("store", REL), "unlink": ("store", SC),
         "look": ("load", SC)},
        {"pointer": 1, "hazard": 0, "data": 0},
    ),
    "Chase-Lev": (
        lambda before, restore, between, look, steal: [
            taker(before, restore), thief(between, look, steal), thief(between, look, steal)
        ],
        {"before": ("fence", SC), "restore": ("store", REL), "between": ("fence", SC),
         "look": ("load", ACQ), "steal": ("rmw", REL)},
        {"top": 0, "bottom": 2},
    ),
}  # fmt: skip


def verdict(classic: Classic, orders: dict[str, MemoryOrder]) -> str:
    threads, _, memory = classic
    made: Program = program(*threads(*orders.values()), memory=memory)
    found = robustness(made, ["c11"])
    assert found.complete
    return "race" if found.races else "weak" if found.violations["c11"] else "robust"


def as_published(classic: Classic) -> dict[str, MemoryOrder]:
    return {name: order for name, (_, order) in classic[1].items()}


@pytest.mark.parametrize("name", CLASSICS)
def test_the_orders_of_the_literature_suffice(name: str) -> None:
    assert verdict(CLASSICS[name], as_published(CLASSICS[name])) == "robust"


ONE_WEAKER = [
    pytest.param(name, place, weaker, id=f"{name}: {place} {weaker}")
    for name, (_, orders, _) in CLASSICS.items()
    for place, (what, order) in orders.items()
    for weaker in WEAKER[what][order]
]


@pytest.mark.parametrize(("name", "place", "weaker"), ONE_WEAKER)
def test_one_weaker_order_is_found(name: str, place: str, weaker: MemoryOrder) -> None:
    assert verdict(CLASSICS[name], as_published(CLASSICS[name]) | {place: weaker}) != "robust"
