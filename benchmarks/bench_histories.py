"""How fast histories are read and decided: CPU seconds, one core, without help from the file's order.

python benchmarks/bench_histories.py              about two minutes
python benchmarks/bench_histories.py --engines    only the engines compared, in the paper's settings
python benchmarks/bench_histories.py --large      also a million operations on 64 threads and on many addresses
"""

from __future__ import annotations

import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rows import tell
from teetotal.answers.events import Semantics
from teetotal.answers.history import Engine, HistoryModel
from teetotal.histories.check import check
from teetotal.histories.generate import corrupted_history, random_history, to_axe
from teetotal.histories.history import History
from teetotal.histories.problem import Problem
from teetotal.histories.readers import read

THEIRS = {4: 1.4, 8: 1.9, 16: 10.0}
"""dbcop's CPU seconds on 800 operations of SC-valid histories with 8 addresses, measured once on another machine."""
LIMIT = 2
"""CPU seconds that an engine may spend on one row of the paper's settings, ten histories."""
COMPARED: tuple[Engine, ...] = (
    "auto", "wsc+dbcop", "dbcop", "wsc+enum", "ccm+enum", "enum", "six+dbcop", "guess+dbcop",
)  # fmt: skip


def cpu(function: Callable[[], object]) -> float:
    """CPU seconds of this process and of those it waited for."""
    start = time.process_time() + children()
    function()
    return time.process_time() + children() - start


def children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def history(threads: int, operations: int, addresses: int = 8, *, valid: bool = True, seed: int = 1) -> History:
    shape = {"threads": threads, "operations": operations, "addresses": addresses, "by_thread": True, "seed": seed}
    return random_history(**shape) if valid else corrupted_history(**shape)  # type: ignore[arg-type]


def decide(one: History, model: HistoryModel = "sc", engine: Engine = "auto") -> tuple[float, str]:
    found = []
    seconds = cpu(lambda: found.append(check(one, model, engine=engine, use_order=False, seconds=None)))
    return seconds, str(found[0].verdict)


def peak_memory() -> int:
    """Of this process alone, in MB: what getrusage tells includes the parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def reading() -> None:
    print("Reading and validating axe text (half writes, 16 threads, 8 addresses)")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.axe"
        path.write_text(to_axe(history(16, 1_000_000)))
        seconds = min(cpu(lambda: Problem(read(path)[0], "sc", Semantics())) for _ in range(3))
        size = path.stat().st_size
    print(
        f"  1,000,000 operations, {size / 1e6:.0f} MB: {seconds:.3f} s, {1 / seconds:.1f} million operations a second\n"
    )


def one_size(threads: int, operations: int, addresses: int) -> None:
    """A row of the table, in a process of its own so that the memory is its own."""
    one = history(threads, operations, addresses)
    before = peak_memory()
    valid = [decide(one, model)[0] for model in ("sc", "tso")]
    memory = peak_memory()
    pso = f"{decide(one, 'pso')[0]:10.3f}" if threads * addresses <= 1024 and operations <= 100_000 else f"{'-':>10}"
    wrong, verdict = decide(history(threads, operations, addresses, valid=False))
    columns = "".join(f"{seconds:10.3f}" for seconds in valid)
    print(
        f"{threads:>8}{operations:>11,}{addresses:>10}{columns}{pso}{wrong:>11.3f} {verdict:10}{memory:>6} ({before})",
        flush=True,
    )


def sizes(large: bool) -> None:
    print("auto, CPU seconds after reading; MB at the peak, and before deciding")
    print(
        f"{'threads':>8}{'operations':>11}{'addresses':>10}{'SC':>10}{'TSO':>10}{'PSO':>10}{'corrupted':>11}{'':11}{'MB':>6}"
    )
    rows = [(t, n, 8) for t in (4, 8, 16, 64) for n in (1_000, 10_000, 100_000)]
    rows += [(16, 100_000, 64), (16, 100_000, 1024), (4, 1_000_000, 8), (16, 1_000_000, 8)]
    if large:
        rows += [(8, 1_000_000, 8), (16, 1_000_000, 64), (64, 100_000, 64), (64, 1_000_000, 8)]
    for row in rows:
        subprocess.run([sys.executable, __file__, "--row", *map(str, row)], check=True)
    print()


def growth() -> None:
    print("Growth on 16 threads and 8 addresses, SC; a bar's length is the logarithm")
    for operations in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000):
        seconds, _ = decide(history(16, operations))
        bar = "#" * max(1, round(12 * (math.log10(seconds) + 4)))
        print(f"{operations:>9,} {seconds:8.4f} s  {1e6 * seconds / operations:5.2f} µs each  {bar}")
        tell(
            "histories",
            "SC histories of 16 threads, 8 addresses",
            {"operations": f"{operations:,}", "seconds": seconds},
        )
    print()


def engines() -> None:
    print("The paper's settings (Figs 6 to 8), mean CPU seconds of 5 valid and 5 corrupted histories with 8 addresses;")
    print(f"'> {LIMIT / 10:.1f}': stopped after {LIMIT} s")
    print(
        f"{'threads':>8}{'operations':>11}"
        + "".join(f"{engine:>12}" for engine in COMPARED)
        + f"{'dbcop tool':>12}{'ratio':>8}"
    )
    for engine in COMPARED:  # what they import when first asked is no part of the measure
        check(history(2, 10), engine=engine, use_order=False)
    settings = [(6, n) for n in (200, 400, 600, 800)] + [(t, 50 * t) for t in (4, 8, 12, 16)]
    for threads, operations in dict.fromkeys(settings + [(t, 800) for t in THEIRS]):
        histories = [history(threads, operations, valid=v, seed=seed) for v in (True, False) for seed in range(5)]
        means = {engine: mean_seconds(histories, engine) for engine in COMPARED}
        least = f"> {LIMIT / len(histories):.1f}"
        row = "".join(f"{least:>12}" if mean is None else f"{mean:>12.4f}" for mean in means.values())
        theirs, ours = THEIRS.get(threads) if operations == 800 else None, means["auto"]
        tail = f"{theirs:>12.1f}{theirs / ours:>8.0f}" if theirs and ours else ""
        print(f"{threads:>8}{operations:>11}{row}{tail}", flush=True)
    print()


def mean_seconds(histories: list[History], engine: Engine) -> float | None:
    """In a process of its own, so that an engine can be stopped wherever it is: then None."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
        start = time.thread_time()  # with a limit, the clock of the process has the kernel's ticks only
        for one in histories:
            check(one, engine=engine, use_order=False)
        os.write(writer, str((time.thread_time() - start) / len(histories)).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as answers:
        answer = answers.read()
    _, status = os.waitpid(child, 0)
    if answer:
        return float(answer)
    if os.waitstatus_to_exitcode(status) not in (-signal.SIGXCPU, -signal.SIGKILL):
        raise RuntimeError(f"{engine} failed")
    return None


def main() -> None:
    if "--row" in sys.argv:
        one_size(*map(int, sys.argv[-3:]))
        return
    if "--engines" not in sys.argv:
        reading()
        sizes("--large" in sys.argv)
        growth()
    engines()


if __name__ == "__main__":
    main()
