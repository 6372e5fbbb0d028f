"""The papers' monitors as their figures have them: queues and clocks by name, nothing clever. What the core must equal.

``burnim``: TACAS 2011, Figs 4 and 5, or the technical report's (``variant``). ``sober``: MSR-TR-2008-12, Figs 2 and 3, as
printed or with the correction. Added to all: fences, locks that decide nothing, compare-and-swaps that fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from executions import dependent
from teetotal.answers.events import Event, Kind, Semantics

Found = tuple[int, int, int]
"""(delayed, previous, deciding)"""


def burnim(events: Sequence[Event], model: str, semantics: Semantics, variant: bool) -> list[Found]:
    before = happens_before(events)
    buffers: dict[int, list[int | None]] = {event.thread: [] for event in events}  # numbers of stores; None: an sfence
    prev: dict[int, int] = {}
    found = []

    def commit(thread: int, store: int) -> None:
        """The store, after all that must go before it."""
        buffer = buffers[thread]
        at = buffer.index(store)
        marked = max((i for i in range(at) if buffer[i] is None), default=-1)
        for i in range(at + 1):
            entry = buffer[i]
            first = entry is not None and (
                model == "tso" or i < marked or events[entry].address == events[store].address
            )
            if first or i <= marked:
                buffer[i] = -1
        buffers[thread] = [entry for entry in buffer if entry != -1]

    def pending(thread: int, address: str | None) -> list[int]:
        return [s for s in buffers[thread] if s is not None and events[s].address == address]

    for number, e in enumerate(events):
        if not e.kind.is_fence:
            for other in buffers:
                stores = pending(other, e.address) if other != e.thread else []
                if stores and e.kind is not Kind.LOCK and e.thread in prev:
                    candidates = stores[-1:] if variant else stores
                    known = [s for s in candidates if s == prev[e.thread] or (s, prev[e.thread]) in before]
                    if known:
                        found.append((known[-1], prev[e.thread], number))
                if stores:
                    commit(other, stores[-1])
        prev[e.thread] = number
        own = pending(e.thread, e.address)
        if e.kind is Kind.ST:
            if model == "pso" and variant and own:
                commit(e.thread, own[-1])
            buffers[e.thread].append(number)
        elif e.kind is Kind.SFENCE and model == "pso":
            buffers[e.thread].append(None)
        elif e.kind is Kind.MFENCE or (e.kind.is_atomic and flushes_all(e.kind, model, semantics)):
            buffers[e.thread] = []
        elif e.kind.is_atomic:
            markers = [i for i, entry in enumerate(buffers[e.thread]) if entry is None]
            if markers:
                del buffers[e.thread][: markers[-1] + 1]
            for store in pending(e.thread, e.address)[-1:]:
                commit(e.thread, store)
    return found


def flushes_all(kind: Kind, model: str, semantics: Semantics) -> bool:
    return model == "tso" or semantics.rmw == "all" or (kind is Kind.UNLOCK and semantics.mutex == "fence")


def sober(events: Sequence[Event], corrected: bool) -> list[Found]:
    before = happens_before(events)
    threads = sorted({event.thread for event in events})
    addresses = {event.address for event in events}
    zero = dict.fromkeys(((t, kind) for t in threads for kind in ("loads", "stores")), 0)
    lc = dict.fromkeys(threads, zero)
    sc = dict.fromkeys(threads, zero)
    mc1 = {(p, a): zero for p in threads for a in addresses}
    mc2 = dict.fromkeys(addresses, zero)
    stamp: list[dict[tuple[int, str], int]] = []
    writes: dict[str | None, list[int]] = {a: [] for a in addresses}
    last: dict[int, int] = {}
    last_read: dict[int, int] = {}
    found = []
    for number, e in enumerate(events):
        p, a = e.thread, e.address
        if e.kind is Kind.LD and p in last:
            for write in reversed(writes[a]):  # Fig. 2
                if events[write].thread == p:
                    break
                if p in last_read and all(stamp[write][k] <= stamp[last_read[p]][k] for k in zero):
                    break
                if write == last[p] or (write, last[p]) in before:
                    found.append((write, last[p], number))
                    break
        # Fig. 3
        if e.kind is Kind.LD:
            ts = advance(merge(lc[p], mc1[p, a]), (p, "loads"))
            lc[p] = merge(lc[p], ts)
            mc2[a] = merge(mc2[a], ts)
        elif e.kind is Kind.ST:
            ts = advance(merge(sc[p], lc[p], mc2[a]), (p, "stores"))
            for q in threads:
                if q != p:
                    mc1[q, a] = merge(mc1[q, a], ts)
            if corrected:
                mc1[p, a] = zero
            mc2[a] = merge(mc2[a], ts)
            sc[p] = merge(sc[p], ts)
        elif e.kind is Kind.SFENCE:
            ts = zero
        elif e.kind is Kind.MFENCE:  # an atomic operation on a private location
            ts = advance(merge(sc[p], lc[p]), (p, "loads"), (p, "stores"))
            lc[p] = sc[p] = ts
        elif e.writes:
            ts = advance(merge(sc[p], lc[p], mc2[a]), (p, "loads"), (p, "stores"))
            for q in threads:
                mc1[q, a] = merge(mc1[q, a], ts)
            mc2[a] = merge(mc2[a], ts)
            lc[p] = sc[p] = ts
        else:  # a failed compare-and-swap reads its source, which is not in its buffer any more
            source = stamp[writes[a][-1]] if writes[a] else zero
            ts = advance(merge(sc[p], lc[p], source), (p, "loads"))
            lc[p] = sc[p] = ts
            mc2[a] = merge(mc2[a], ts)
        stamp.append(ts)
        if e.writes:
            writes[a].append(number)
        if e.reads or e.kind is Kind.MFENCE:
            last_read[p] = number
        last[p] = number
    return found


def merge(*stamps: dict[tuple[int, str], int]) -> dict[tuple[int, str], int]:
    return {key: max(stamp[key] for stamp in stamps) for key in stamps[0]}


def advance(stamp: dict[tuple[int, str], int], *keys: tuple[int, str]) -> dict[tuple[int, str], int]:
    return {**stamp, **{key: stamp[key] + 1 for key in keys}}


def happens_before(events: Sequence[Event]) -> set[tuple[int, int]]:
    after = [0] * len(events)  # bit sets
    for i in range(len(events) - 1, -1, -1):
        for j in range(i + 1, len(events)):
            if dependent(events[i], events[j]):
                after[i] |= 1 << j | after[j]
    return {(i, j) for i in range(len(events)) for j in range(len(events)) if after[i] >> j & 1}
