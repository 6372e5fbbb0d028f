"""What reading and writing a litmus test costs: CPU time a file over a folder of tests (default: the shared corpus)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from teetotal.programs import litmus
from teetotal.programs.litmus import init, layout
from teetotal.programs.litmus.x86_decode import decode

SHARED = Path(os.environ.get("TEETOTAL_SHARED", Path(__file__).resolve().parents[2] / "shared"))
ROUNDS = 7
TARGET = 1.7
"""Milliseconds: a tenth of what herd7 takes for a test of this corpus, exploration included."""


def cost(work: Callable[[], None]) -> float:
    """CPU seconds, the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED / "data" / "litmus-x86"
    texts = [(path.read_text(), str(path)) for path in sorted(folder.glob("*.litmus"))]
    if not texts:
        print(f"no litmus tests in {folder}")
        return
    programs = [litmus.read(text, file) for text, file in texts]
    parts = [(layout.split(text, file), file) for text, file in texts]

    def read_cold() -> None:
        decode.cache_clear()
        for text, file in texts:
            litmus.read(text, file)
            decode.cache_clear()

    def each(work: Callable[[str, str], object]) -> Callable[[], None]:
        return lambda: [work(text, file) for text, file in texts] and None

    rows = [
        ("read", cost(each(litmus.read))),
        ("read, no instruction seen before", cost(read_cold)),
        ("  of which: cut into parts", cost(each(layout.split))),
        ("  of which: initial state", cost(lambda: [init.parse(p.init, f) for p, f in parts] and None)),
        ("  of which: checks of Program", cost(lambda: [p._check() for p in programs] and None)),
        ("write", cost(lambda: [litmus.write(p) for p in programs] and None)),
    ]
    print(f"{len(texts)} tests, {sum(len(t.code) for p in programs for t in p.threads)} instructions, {folder.name}")
    print(f"{'':<34}{'ms a test':>10}{f'of {TARGET} ms':>12}")
    for name, seconds in rows:
        each_ms = 1000 * seconds / len(texts)
        print(f"{name:<34}{each_ms:>10.3f}{each_ms / TARGET:>12.1%}")


if __name__ == "__main__":
    main()
