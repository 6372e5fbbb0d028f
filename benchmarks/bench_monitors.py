"""How fast the monitors are: events a second, growth in N and in P, and memory.

    python benchmarks/bench_monitors.py            N from 10^5 to 10^7
    python benchmarks/bench_monitors.py --full     up to 10^8

CPU time of one core, from columns in memory to reports counted by place. The execution is random: kinds, threads and
addresses are drawn anew for every event, which no branch predictor and no cache likes; long ones repeat a block of a
million events, so that only the monitor could use more memory. Ratios compare figures of the same run.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from rows import tell
from teetotal.engines.executions.monitors import MONITORS, Columns, Stream

BLOCK = 1_000_000
ADDRESSES = 256
KINDS = {0: 0.55, 1: 0.35, 2: 0.05, 3: 0.02, 4: 0.01, 5: 0.01, 6: 0.01}


def block(threads: int, addresses: int = ADDRESSES) -> Columns:
    rng = np.random.default_rng(threads)
    return Columns(
        rng.integers(0, threads, BLOCK, np.uint32),
        rng.choice(np.array(list(KINDS), np.uint8), BLOCK, p=list(KINDS.values())),
        np.ones(BLOCK, np.uint8),
        rng.integers(0, addresses, BLOCK, np.uint32),
        rng.integers(0, 12, BLOCK, np.uint32),
        threads,
    )


def periodic_block() -> Columns:
    """The random block with kinds and threads that repeat every 97 events; addresses stay random, and shared."""
    random, turn = block(4), np.arange(BLOCK) % 97
    return random._replace(thread=random.thread[turn].copy(), kind=random.kind[turn].copy())


def private_block() -> Columns:
    """The random block with every address used by one thread only: the same work on clocks, and nothing to find."""
    random = block(4)
    return random._replace(address=random.address // 4 * 4 + random.thread)


def first(events: Columns, count: int) -> Columns:
    columns = ("thread", "kind", "writes", "address", "location")
    return events._replace(**{column: getattr(events, column)[:count] for column in columns})


def measure(name: str, events: Columns, count: int) -> tuple[float, int]:
    """Seconds for ``count`` events, and the bytes that the monitor's state took at the end."""
    stream = Stream(name, threads=events.threads)
    start = time.process_time()
    for done in range(0, count, BLOCK):
        stream.summarise(first(events, min(BLOCK, count - done)))
    return time.process_time() - start, stream.bytes


def by_threads(count: int) -> None:
    sizes = (2, 4, 8, 16, 64)
    blocks = {threads: block(threads) for threads in sizes}
    print(f"\nmillions of events a second, N = {count:,}, {ADDRESSES} addresses")
    print(f"{'':16}" + "".join(f"{f'P={threads}':>9}" for threads in sizes) + "   time at P=64 / P=4 (P: x16)")
    for name in MONITORS:
        seconds = {threads: measure(name, blocks[threads], count)[0] for threads in sizes}
        rates = "".join(f"{count / seconds[threads] / 1e6:9.1f}" for threads in sizes)
        print(f"{name:16}{rates}{seconds[64] / seconds[4]:10.1f}")
        each = {f"P={threads}": round(count / seconds[threads] / 1e6, 1) for threads in sizes}
        tell("monitors", "Monitors: millions of events a second, by threads", {"monitor": name, **each})


def by_length(largest: int) -> None:
    counts = [10**exponent for exponent in range(5, 9) if 10**exponent <= largest]
    events = block(4)
    print("\nP = 4: millions of events a second, and KiB of the monitor's state")
    print(f"{'':16}" + "".join(f"{f'N={count:.0e}':>18}" for count in counts) + "   time per event, last / first")
    for name in MONITORS:
        figures = [measure(name, events, count) for count in counts]
        cells = "".join(
            f"{count / seconds / 1e6:10.1f}{size // 1024:8}"
            for count, (seconds, size) in zip(counts, figures, strict=True)
        )
        ratio = (figures[-1][0] / counts[-1]) / (figures[0][0] / counts[0])
        print(f"{name:16}{cells}{ratio:10.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"peak memory of the whole process: {peak} MiB")


def by_addresses(count: int) -> None:
    blocks = {f"{addresses:,}": block(4, addresses) for addresses in (16, 256, 4096)}
    blocks |= {"periodic": periodic_block(), "private": private_block()}
    print(
        f"\nmillions of events a second, P = 4, N = {count:,}, by the number of addresses; 256 in two other executions"
    )
    print(f"{'':16}" + "".join(f"{title:>9}" for title in blocks))
    for name in MONITORS:
        rates = (count / measure(name, events, count)[0] / 1e6 for events in blocks.values())
        print(f"{name:16}" + "".join(f"{rate:9.1f}" for rate in rates))


def of_orders(count: int) -> None:
    """exact-c11, which takes back what it has seen and so keeps it: over atomic accesses, without seq_cst and with it."""
    sizes = (2, 4, 8, 16)
    print(f"\nexact-c11: millions of events a second, N = {count:,}, {ADDRESSES} addresses")
    print(f"{'orders':16}" + "".join(f"{f'P={threads}':>9}" for threads in sizes))
    for title, strong in (("up to acq_rel", 0.0), ("a fifth seq_cst", 0.2)):
        cells = {}
        for threads in sizes:
            events = block(threads)
            rng = np.random.default_rng(threads)
            orders = rng.integers(1, 5, BLOCK, np.uint8)  # relaxed to acq_rel
            orders[rng.random(BLOCK) < strong] = 5
            seconds, _ = measure("exact-c11", events._replace(order=orders), count)
            cells[f"P={threads}"] = round(count / seconds / 1e6, 1)
        print(f"{title:16}" + "".join(f"{rate:9.1f}" for rate in cells.values()))
        tell("monitors-c11", "exact-c11: millions of events a second, by threads", {"orders": title, **cells})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="up to 10^8 events")
    arguments = parser.parse_args()
    by_threads(4_000_000)
    by_addresses(4_000_000)
    of_orders(200_000)
    by_length(10**8 if arguments.full else 10**7)


if __name__ == "__main__":
    main()
