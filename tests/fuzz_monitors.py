"""The monitors against brute force, for as many random programs as one likes; prints a table in Markdown.

    python tests/fuzz_monitors.py --programs 17000 --operations 4,3,2

Each family gets that many programs. Every program is checked as test_monitors.py does it: all TSO and PSO executions,
all classes and all interleavings of its SC executions, every report replayed. It stops at the first thing that is
wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

from monitor_checks import RELAXED, check
from random_programs import ALL_SEMANTICS, SHAPES, seeded

ROWS = (
    "programs",
    "classes",
    "interleavings",
    *(
        row
        for model in RELAXED
        for row in (
            f"{model}: not robust",
            f"{model}: missed by exact",
            f"{model}: missed by burnim-{model} on interleavings",
            f"{model}: missed by burnim-{model}-report on interleavings",
            f"{model}: missed by burnim-{model} on classes",
            *(f"{model}: missed by {name} on classes" for name in ("sober-corrected", "sober") if model == "tso"),
            f"{model}: classes of programs not robust",
            f"{model}: such classes flagged by exact",
            f"{model}: such classes flagged by burnim-{model}",
            *(f"{model}: such classes flagged by {name}" for name in ("sober-corrected", "sober") if model == "tso"),
            f"{model}: reports replayed",
        )
    ),
)


def fuzz(family: str, programs: int, seed: int, operations: tuple[int, int, int]) -> Counter[str]:
    total: Counter[str] = Counter()
    for number, program in enumerate(seeded(seed, programs, SHAPES[family]._replace(operations=operations))):
        semantics = ALL_SEMANTICS[number % len(ALL_SEMANTICS)]
        complete = () if family == "wild" else RELAXED
        total.update(check(program, semantics, random.Random(number), complete))
        if sys.stderr.isatty() and number % 100 == 99:
            print(f"\r{family}: {number + 1} programs", end="", file=sys.stderr)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000, help="of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--operations", default="5,3,2", help="at most, in each of 2, 3, 4 threads")
    parser.add_argument("--families", default=",".join(SHAPES), help="comma-separated")
    arguments = parser.parse_args()
    start = time.process_time()
    families = arguments.families.split(",")
    two, three, four = map(int, arguments.operations.split(","))
    totals = {f: fuzz(f, arguments.programs, arguments.seed, (two, three, four)) for f in families}
    print("| |" + "".join(f" {family} |" for family in families))
    print("|---|" + "---:|" * len(families))
    for row in ROWS:
        print(f"| {row} |" + "".join(f" {totals[family][row]:,} |" for family in families))
    print(f"\n{arguments.programs * len(families):,} programs, {time.process_time() - start:,.0f} s of CPU time")


if __name__ == "__main__":
    main()
