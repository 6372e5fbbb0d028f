"""The exact monitors by definition: relations as sets of pairs, closed by brute force. The specification of exact-*.

For the trace of an SC execution, with events numbered in its order:

hb   program order and conflict order.
ppo  what the model keeps of program order.
ghb  ppo, sources of reads (except a load that reads its own thread's plain store), order of writes, from-read.

Event e of thread p at address a, with ``prev`` its predecessor in p, is reported iff, with D the writes to a that are
hb*-before or equal to ``prev``, and w the last of D (if e is a load) or its last plain store (otherwise): w exists, is
not p's, and precedes in ghb* no f of p with (f, e) in ppo. A lock is never reported: see docs.
"""

from __future__ import annotations

from collections.abc import Sequence

from executions import conflict
from teetotal.answers.events import Event, Kind, Semantics


def exact(events: Sequence[Event], model: str, semantics: Semantics) -> list[tuple[int, int, int]]:
    """(delayed, previous, deciding) of every report."""
    n = range(len(events))
    program_order = {(i, j) for j in n for i in range(j) if events[i].thread == events[j].thread}
    hb = _closure(program_order | {(i, j) for j in n for i in range(j) if conflict(events[i], events[j])}, len(events))
    ppo = {(i, j) for i, j in program_order if kept(events, i, j, model, semantics)}
    ghb = _closure(ppo | {(i, j) for j in n for i in range(j) if _seen_by_all(events, i, j)}, len(events))
    found = []
    for e in n:
        earlier = [f for f in range(e) if events[f].thread == events[e].thread]
        if not earlier or events[e].kind.is_fence or events[e].kind is Kind.LOCK:
            continue
        prev = earlier[-1]
        plain_only = events[e].kind is not Kind.LD
        known = [
            w
            for w in range(e)
            if events[w].writes and events[w].address == events[e].address and (w == prev or (w, prev) in hb)
            if not plain_only or events[w].kind is Kind.ST
        ]
        if not known or events[known[-1]].thread == events[e].thread:
            continue
        w = known[-1]
        if not any((w, f) in ghb for f in earlier if (f, e) in ppo):
            found.append((w, prev, e))
    return found


def kept(events: Sequence[Event], f: int, e: int, model: str, semantics: Semantics) -> bool:
    """ppo, for f before e in one thread. An unlock that is a fence is an mfence and then an rmw."""
    first, second = events[f], events[e]
    fence = semantics.mutex == "fence"
    between = [events[i] for i in range(f + 1, e) if events[i].thread == first.thread]
    if first.kind is not Kind.ST or any(_is_mfence(b, fence) for b in between) or _is_mfence(second, fence):
        return True
    if model == "tso":
        return second.kind not in (Kind.LD, Kind.SFENCE)
    if second.kind in (Kind.LD, Kind.SFENCE):
        return False
    if second.address == first.address or any(b.kind is Kind.SFENCE for b in between):
        return True
    return second.kind.is_atomic and semantics.rmw == "all"


def _is_mfence(event: Event, unlock_is_fence: bool) -> bool:
    return event.kind is Kind.MFENCE or (event.kind is Kind.UNLOCK and unlock_is_fence)


def _seen_by_all(events: Sequence[Event], i: int, j: int) -> bool:
    """src, co or fr from event i to a later one."""
    if not conflict(events[i], events[j]):
        return False
    if events[j].writes:
        return True  # co, fr, or src of an rmw
    overwritten = any(events[k].writes and events[k].address == events[j].address for k in range(i + 1, j))
    forwarded = events[i].thread == events[j].thread and events[i].kind is Kind.ST and events[j].kind is Kind.LD
    return not overwritten and not forwarded


def _closure(pairs: set[tuple[int, int]], size: int) -> set[tuple[int, int]]:
    after = [0] * size  # bit sets
    for i in range(size - 1, -1, -1):  # every pair goes forwards
        for j in range(i + 1, size):
            if (i, j) in pairs:
                after[i] |= 1 << j | after[j]
    return {(i, j) for i in range(size) for j in range(size) if after[i] >> j & 1}
