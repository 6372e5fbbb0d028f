"""One history of many operations: ``python benchmarks/bench_large_history.py [--only WORD] [MILLIONS]…`` (default: 1 4 20).

Writes an SC history of 8 threads and 64 addresses into a file, piece by piece, and asks ``teetotal history`` about it:

=========  ============================================================================================================
in order   as it stands, where the file's order is a witness
spoilt     with one value changed far behind, which no SC run reads: saturation finds that out
searched   as it stands, but the file's order is not tried (``--no-order``): saturation, and then a search for another one
rounds     the same of one that takes 64 new addresses every 100,000 operations: independent parts, one after the other
=========  ============================================================================================================

Prints the size of the file, seconds by the clock and of processors, and the memory of the largest process, also per
operation. A hundred million take a file of 2 GB, minutes to write it, and 4 GB in order; by what each operation takes in
smaller ones, 12 GB spoilt and 20 to be searched.
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
PIECE = 100_000


def write(path: Path, operations: int, *, rounds: bool = False) -> None:
    """Values are counted up per address, so a read sees how many writes there were. ``rounds``: each piece has addresses
    of its own."""
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
            if rounds:
                address += begin // PIECE * ADDRESSES
                written[:] = 0
            signs = np.where(writes, ":=", "==").tolist()
            rows = zip(thread.tolist(), address.tolist(), signs, value.tolist(), strict=True)
            file.writelines(map("%d: M[%d] %s %d\n".__mod__, rows))
        file.write("check\n")


def spoil(path: Path) -> None:
    """The last read of its thread's own past: of the first value of an address that was written since."""
    with path.open("r+b") as file:
        file.seek(-len(b"check\n"), os.SEEK_END)
        file.write(b"0: M[0] == 1\ncheck\n")


def ask(name: str, path: Path, operations: int, *options: str) -> None:
    command = [sys.executable, "-m", "teetotal", "history", "--no-explain", "--workers", "1", *options, str(path)]
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
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    titles = ("operations", "history", "answer", "file MB", "seconds", "CPU s", "MB", "bytes each")
    print("".join(f"{title:>14}" for title in titles))
    for operations in (millions * 1_000_000 for millions in sizes):
        for kinds in (("in order", "searched", "spoilt"), ("rounds",)):
            asked = [kind for kind in kinds if only in kind]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "large.axe"
                writing = os.fork() if asked else None  # what starts a process counts as its memory, too
                if writing == 0:
                    write(path, operations, rounds=asked == ["rounds"])
                    os._exit(0)
                if writing is not None:
                    os.waitpid(writing, 0)
                for kind in asked:
                    if kind == "spoilt":
                        spoil(path)
                    ask(kind, path, operations, *(["--no-order"] if kind in ("searched", "rounds") else []))


if __name__ == "__main__":
    main()
