"""How long a trace of N events takes: to be made, its happens-before, whether it is SC, its shortest cycle.

CPU time of one core, as millions of events a second. Four traces: an SC execution; late stores that go unnoticed
(happens-before has edges against the order of appearance, and no cycle); store buffering in many places; and a ring of
threads under TSO, each of which stores to its own address and loads the next thread's, where cycles are long and all
events are in one component.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from teetotal.traces.trace import Trace

THREADS, ADDRESSES = 4, 1000


def sc_columns(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    return {
        "thread": rng.integers(0, THREADS, n, np.int32),
        "kind": rng.choice(np.array([0, 0, 0, 1, 1, 2], np.uint8), n),
        "address": rng.integers(0, ADDRESSES, n, np.int32),
    }


def delayed(n: int) -> Trace:
    """Pairs of threads that store, load something else, and see each other's store late: SC still, but out of order."""
    return blocks(
        n, thread=[0, 1, 0, 1], kind=[1, 0, 0, 0], address=[0, 0, 1, 1], src=[-1, -1, -1, -1], co=[0, -1, -1, -1]
    )


def store_buffering(n: int) -> Trace:
    return blocks(n, thread=[0, 0, 1, 1], kind=[1, 0, 1, 0], address=[0, 1, 1, 0], src=[-1] * 4, co=[0, -1, 0, -1])


def ring(n: int, threads: int = 4, delay: int = 30) -> Trace:
    rng = np.random.default_rng(n)
    thread = rng.integers(0, threads, n, np.int32)
    kind = rng.integers(0, 2, n).astype(np.uint8)
    src, co = np.full(n, -1), np.full(n, -1)
    time_of_commit = np.arange(n) + rng.integers(0, delay, n)
    for t in range(threads):
        writes = np.flatnonzero((thread == t) & (kind == 1))
        co[writes] = np.arange(len(writes))
        readers = np.flatnonzero((thread == (t + threads - 1) % threads) & (kind == 0))
        visible = np.searchsorted(np.maximum.accumulate(time_of_commit[writes]), readers)
        src[readers] = np.where(visible == 0, -1, writes[visible - 1])
    return Trace(thread=thread, kind=kind, address=(thread + 1 - kind) % threads, src=src, co=co)


def blocks(n: int, thread: list[int], kind: list[int], address: list[int], src: list[int], co: list[int]) -> Trace:
    """The same four events over and over, each time with threads and addresses of their own for a while."""
    count = n // 4
    number = np.repeat(np.arange(count), 4)
    source = np.tile(src, count)
    return Trace(
        thread=(np.tile(thread, count) + 2 * (number % (THREADS // 2))).astype(np.int32),
        kind=np.tile(kind, count).astype(np.uint8),
        address=(np.tile(address, count) + 2 * number).astype(np.int32),
        src=np.where(source < 0, -1, source + 4 * number),
        co=np.tile(co, count).astype(np.int64),
        addresses=range(2 * count),  # type: ignore[arg-type]  # names are not looked at here
    )


def rate(n: int, work: Callable[[], Any]) -> tuple[str, Any]:
    start = time.process_time()
    result = work()
    return f"{n / (time.process_time() - start) / 1e6:10.1f}", result


def main() -> None:
    largest = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7
    print(f"{'million events a second':26}{'events':>10}{'make':>10}{'hb edges':>10}{'is_sc':>10}{'cycle':>10}")
    sizes = [size for size in (10**5, 10**6, 10**7, 10**8) if size <= largest]
    for n in sizes:
        columns = sc_columns(n)
        row("SC execution", n, lambda columns=columns: Trace.from_sc(**columns))
    for n in sizes:
        row("late stores, still SC", n, lambda n=n: delayed(n))
    for n in sizes:
        row("store buffering all over", n, lambda n=n: store_buffering(n))
    for n in sizes:
        row("ring of 4 under TSO", n, lambda n=n: ring(n))
    for n in sizes:
        row("ring of 16 under TSO", n, lambda n=n: ring(n, 16, 200))


def row(name: str, n: int, make: Callable[[], Trace]) -> None:
    made, trace = rate(n, make)
    figures = [rate(n, work)[0] for work in (trace.happens_before, trace.is_sc, trace._graph.shortest_cycle)]
    print(f"{name:26}{n:10}{made}{''.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
