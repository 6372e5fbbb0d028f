"""Trace files: bytes an event, and millions of events a second written, read and checked, and monitored end to end.

CPU time of one core; a trace of N events (default 10^6, JSON lines a tenth of it) of four threads over 1,000 addresses.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from teetotal import traces
from teetotal.answers.events import Location
from teetotal.answers.options import MonitorOptions
from teetotal.traces import monitoring
from teetotal.traces.trace import Trace


def recorded(n: int) -> Trace:
    rng = np.random.default_rng(n)
    kind = rng.choice(np.array([0, 0, 0, 1, 1, 2, 3], np.uint8), n)
    return Trace.from_sc(
        thread=rng.integers(0, 4, n, np.int32),
        kind=kind,
        address=np.where(kind == 3, -1, rng.integers(0, 1000, n)).astype(np.int32),
        location=rng.integers(0, 20, n, np.int32),
        locations=[Location("program.c", line) for line in range(20)],
    )


def read(path: Path) -> None:
    with traces.open_trace(path) as reader:
        for _ in reader.batches():
            pass


def watch(path: Path) -> None:
    with traces.open_trace(path) as reader:
        monitoring.monitor(reader, MonitorOptions(monitors=("exact-tso",)))


def rate(n: int, work: Callable[..., Any], *arguments: Any) -> str:
    start = time.process_time()
    work(*arguments)
    return f"{n / (time.process_time() - start) / 1e6:10.2f}"


def main() -> None:
    largest = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    print(f"{'format':14}{'events':>10}{'bytes':>8}{'write':>10}{'read':>10}{'exact-tso':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for suffix, format in traces.SUFFIXES.items():
            n = largest // 10 if format == "jsonl" else largest
            trace, path = recorded(n), Path(folder) / f"trace{suffix}"
            written = rate(n, traces.write, trace, path)
            figures = written + rate(n, read, path) + rate(n, watch, path)
            print(f"{format:14}{n:10}{path.stat().st_size / n:8.1f}{figures}", flush=True)


if __name__ == "__main__":
    main()
