"""Many histories of each simulated protocol, none of which may be rejected, and how soon each bug is caught:
``python tests/fuzz_simulator.py [COUNT [PROTOCOL…]]``."""

from __future__ import annotations

import sys
import time

from teetotal import record
from teetotal.answers.verdict import Verdict
from teetotal.histories.check import check

SHAPE = record.Shape(threads=4, operations=100, addresses=8, rmws=0.05, fences=0.05)
BUG_HISTORIES = 1000


def rejected(machine: record.Machine, count: int) -> list[int]:
    """Which of the first histories the machine's model does not allow."""
    model = "tso" if machine.buffer else "sc"
    histories = record.simulate(machine, SHAPE, count=count)
    return [n for n, one in enumerate(histories, 1) if check(one.history, model).verdict is not Verdict.SAFE]


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    wrong = 0
    for protocol in sys.argv[2:] or record.PROTOCOLS:
        for buffer in (0, 4):
            begun = time.monotonic()
            bad = rejected(record.Machine(protocol=protocol, buffer=buffer), count)
            wrong += len(bad)
            print(f"{protocol:8} buffer {buffer}: {len(bad)} of {count:,} rejected, {time.monotonic() - begun:.0f} s")
        for bug in (bug for bug, used in record.BUGS.items() if protocol in used):
            buffer = 4 if bug in record.NEED_BUFFERS else 0
            bad = rejected(record.Machine(protocol=protocol, bug=bug, buffer=buffer), BUG_HISTORIES)
            wrong += not bad
            first = f"the first is number {bad[0]}" if bad else "not caught"
            print(f"{protocol:8} {bug:24} {len(bad):5} of {BUG_HISTORIES:,} rejected, {first}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
