"""One history of many operations: ``python benchmarks/bench_large_history.py [--in-order] [MILLIONS]…`` (default: 1 4 20).

Writes an SC history of 8 threads and 64 addresses into a file, piece by piece, and asks ``teetotal history`` about it: as
it stands, where the file's order is a witness; and with one value changed far behind, which no SC run reads. Prints the
size of the file, seconds by the clock and of processors, and the memory of the largest process, also per operation. A
hundred million take a file of 1.8 GB, minutes to write it, 4 GB ``--in-order`` and three times as much to be decided.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from rows import tell

THREADS, ADDRESSES = 8, 64
PIECE = 1_000_000


def write(path: Path, operations: int) -> None:
    """Values are counted up per address, so a read sees how many writes there were."""
    chance = np.random.default_rng(operations)
    written = np.zeros(ADDRESSES, np.int64)
    with path.open("w") as file:
        for begin in range(0, operations, PIECE):
            size = min(PIECE, operations - begin)
            thread = chance.integers(0, THREADS, size)
            address = chance.integers(0, ADDRESSES, size)
            writes = chance.random(size) < 0.5
            value = np.empty(size, np.int64)
            for one in range(ADDRESSES):
                here = address == one
                value[here] = written[one] + np.cumsum(writes[here])
                written[one] += np.count_nonzero(writes[here])
            signs = np.where(writes, ":=", "==").tolist()
            rows = zip(thread.tolist(), address.tolist(), signs, value.tolist(), strict=True)
            file.writelines(map("%d: M[%d] %s %d\n".__mod__, rows))
        file.write("check\n")


def spoil(path: Path) -> None:
    """The last read of its thread's own past: of the first value of an address that was written since."""
    with path.open("r+b") as file:
        file.seek(-len(b"check\n"), os.SEEK_END)
        file.write(b"0: M[0] == 1\ncheck\n")


def ask(name: str, path: Path, operations: int) -> None:
    command = [sys.executable, "-m", "teetotal", "history", "--no-explain", str(path)]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said = process.stdout.readline().split()[0]
    process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds, cpu = time.monotonic() - began, used.ru_utime + used.ru_stime
    megabytes = used.ru_maxrss / 1024
    cells = {
        "operations": operations, "history": name, "answer": said, "file MB": path.stat().st_size >> 20,
        "seconds": round(seconds, 1), "CPU s": round(cpu, 1), "MB": round(megabytes),
        "bytes each": round(used.ru_maxrss * 1024 / operations),
    }  # fmt: skip
    tell("large histories", "One large history", cells)
    print(
        "".join(f"{value:>14,}" if isinstance(value, int) else f"{value!s:>14}" for value in cells.values()), flush=True
    )


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:] if word.isdigit()] or [1, 4, 20]
    titles = ("operations", "history", "answer", "file MB", "seconds", "CPU s", "MB", "bytes each")
    print("".join(f"{title:>14}" for title in titles))
    for millions in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.axe"
            writing = os.fork()  # what starts a process counts as its memory, too
            if writing == 0:
                write(path, millions * 1_000_000)
                os._exit(0)
            os.waitpid(writing, 0)
            ask("in order", path, millions * 1_000_000)
            if "--in-order" not in sys.argv:
                spoil(path)
                ask("spoilt", path, millions * 1_000_000)


if __name__ == "__main__":
    main()
