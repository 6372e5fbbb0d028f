"""How many executions programs have whose threads wait, without waiting rounds and with them.

``python benchmarks/bench_waiting.py`` prints the table of docs/explanation/waiting.md: complete executions + those in
which a round was begun in vain; their CPU time; the number where rounds count, up to a limit. GenMC's figures (complete +
blocked) were recorded with version 0.11, ``--sc``, on the same algorithms in C.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "reference"))

from sc_executions import executions
from teetotal.programs.program import Program
from waiting_programs import await_n, dekker, mcs_lock, peterson, spin_lock, swapping, tas, ticket_lock, ttas

SECONDS = 2.0
"""For counting with rounds: then there are more."""

PROGRAMS: list[tuple[str, Program, str]] = [
    *((f"await {n:,}", await_n(n), "1" if n <= 16 else "") for n in (4, 8, 16, 1000)),
    *((f"Dekker, {n} sections", dekker(n), peer) for n, peer in ((1, "4+6"), (2, "71+123"), (3, "1,344+2,326"), (4, ""))),
    *((f"Peterson, {n} sections", peterson(n), peer) for n, peer in ((1, "4+4"), (2, "48+67"), (3, "588+843"), (4, ""))),
    *((f"test-and-set, {n} threads", spin_lock(tas, n), p) for n, p in ((2, "2+2"), (3, "6+18"), (4, "24+168"), (5, ""))),
    *((f"compare-and-swap, {n}", spin_lock(swapping, n), p) for n, p in ((2, "2+1"), (3, "6+6"), (4, "24+34"))),
    *((f"test and test-and-set, {n}", spin_lock(ttas, n), p) for n, p in ((2, "4+2"), (3, "36+28"), (4, "576+556"))),
    *((f"ticket, {n}", ticket_lock(n), p) for n, p in ((2, "2+1"), (3, "6+8"), (4, "24+66"), (5, ""))),
    *((f"MCS, {n}", mcs_lock(n), p) for n, p in ((2, "6+3"), (3, "66+60"), (4, "1,080+1,057"))),
]  # fmt: skip


def main() -> None:
    print(f"{'program':28}{'executions':>16}{'ms':>9}{'GenMC':>14}{'--waiting count':>18}")
    for name, program, peer in PROGRAMS:
        started = time.process_time()
        found = executions(program)
        spent = time.process_time() - started
        counted = executions(program, waiting="count", seconds=SECONDS)
        more = "" if counted.complete else "> "
        count = f"{found.executions - found.blocked:,}+{found.vain:,}"
        print(f"{name:28}{count:>16}{spent * 1000:>9.1f}{peer:>14}{more + f'{counted.executions:,}':>18}")


if __name__ == "__main__":
    main()
