"""Trace files: ``python benchmarks/bench_trace_files.py [N]``: bytes an event, and millions of events a second written,
read and checked, and monitored end to end. CPU time of one core; a trace of N events (default 10^6, JSON lines a tenth
of it) of four threads over 1,000 addresses.

``--memory [N]``: the memory of ``teetotal monitor`` on N events, and on ten times as many.
"""

from __future__ import annotations

import os
import subprocess
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


def memory(largest: int) -> None:
    """Of the largest process, in MB; what starts a process counts as its memory too, so others write the traces."""
    print(f"{'format':14}{'events':>12}{'file MB':>10}{'MB':>8}{'more for each event':>22}")
    with tempfile.TemporaryDirectory() as folder:
        for suffix, format in traces.SUFFIXES.items():
            before = 0
            for times in (1, 10):
                n = largest * times // (10 if format == "jsonl" else 1)
                path = Path(folder) / f"trace{suffix}"
                writing = os.fork()
                if writing == 0:
                    traces.write(recorded(n), path)
                    os._exit(0)
                os.waitpid(writing, 0)
                asked = subprocess.Popen(
                    [sys.executable, "-m", "teetotal", "monitor", "--json", str(path)], stdout=subprocess.DEVNULL
                )
                _, _, used = os.wait4(asked.pid, 0)
                asked.returncode = 0
                more = f"{(used.ru_maxrss - before) * 1024 / (n - n // 10):.1f} bytes" if before else ""
                print(
                    f"{format:14}{n:12,}{path.stat().st_size >> 20:10,}{used.ru_maxrss >> 10:8,}{more:>22}", flush=True
                )
                before = used.ru_maxrss
            path.unlink()


def main() -> None:
    sizes = [int(float(word)) for word in sys.argv[1:] if not word.startswith("-")]
    largest = sizes[0] if sizes else 10**6
    if "--memory" in sys.argv:
        return memory(largest)
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
