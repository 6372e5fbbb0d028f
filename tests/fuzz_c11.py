"""C11 against its definition, for as many random programs as one likes; prints a table in Markdown.

    python tests/fuzz_c11.py --programs 100000 --seed 1

Of every program the monitor, which sees one SC execution of each class, must say what all graphs of the specification
say (``reference/c11_many.py``): race, weak or robust; each pair that it tells must race there; each weak graph that it
tells was confirmed by ``models.c11``; and the load-buffering hazard must be that of its definition. It stops at the first
program of which one of these is wrong, and prints it.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from c11_many import verdicts
from c11_programs import awaited, random_program
from going_on import State, add_state
from load_buffering import has_hazard
from teetotal.answers.options import ReleaseSequence
from teetotal.engines.executions.robustness import robustness
from teetotal.programs.hazards import hazards
from teetotal.programs.program import Program

AT_ONCE = 100
RULES: tuple[ReleaseSequence, ...] = ("c20", "c20", "c11")
ROWS = ("programs", "race", "weak", "robust", "hazard", "portable", "graphs", "classes")


class Wrong(AssertionError):
    """What was told of a program is not what it is."""


def compare(programs: Sequence[Program], release_sequence: ReleaseSequence) -> Counter[str]:
    """The monitor's verdict, races and hazards against all graphs; ``Wrong`` where they differ."""
    total: Counter[str] = Counter()
    loopless = [awaited(program) for program in programs]
    for program, plain, expected in zip(programs, loopless, verdicts(loopless, release_sequence), strict=True):
        found = robustness(program, ["c11"], release_sequence=release_sequence)
        told = "race" if found.races else "weak" if found.violations["c11"] else "robust"
        pairs = {frozenset({race.first.id, race.second.id}) for race in found.races}
        hazard = bool(hazards(program))
        if not found.complete or told != expected.verdict:
            raise Wrong(f"{told} where it is {expected.verdict}, rs={release_sequence}: {program}")
        if not pairs <= expected.racing:
            raise Wrong(f"{pairs - expected.racing} do not race, rs={release_sequence}: {program}")
        if hazard != has_hazard(plain):
            raise Wrong(f"hazard: {hazard} where it is {not hazard}: {program}")
        total.update(programs=1, graphs=expected.graphs, classes=found.executions, hazard=hazard)
        total.update([told, *(["portable"] if told == "robust" and not hazard else [])])
    return total


def drawn(count: int, seed: int) -> Iterator[tuple[list[Program], ReleaseSequence]]:
    """Every second one with as many operations as fit; every fifth waits often, at locations that are not only atomic."""
    for begin in range(0, count, AT_ONCE):
        rng = random.Random(f"{seed} {begin}")
        programs = [
            random_program(rng, awaits=0.5, plain=0.25) if n % 5 == 0 else random_program(rng, full=n % 2 == 1)
            for n in range(begin, min(begin + AT_ONCE, count))
        ]
        yield programs, rng.choice(RULES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    add_state(parser)
    arguments = parser.parse_args()
    start = time.process_time()
    with State(arguments) as state:
        total = Counter[str](state.known.get("total"))
        batches = state.known.get("batches", 0)
        for programs, release_sequence in islice(drawn(arguments.programs, state.seed), batches, None):
            try:
                total += compare(programs, release_sequence)
            except AssertionError as wrong:
                print(f"--seed {state.seed}, after {total['programs']:,} programs: {wrong}", file=sys.stderr)
                return 1
            batches += 1
            state.done(batches=batches, total=total)
            if sys.stderr.isatty():
                print(f"\r{total['programs']:,} programs", end="", file=sys.stderr)
        state.end()
    print("| " + " | ".join(ROWS) + " |\n|" + "---:|" * len(ROWS))
    print("| " + " | ".join(f"{total[row]:,}" for row in ROWS) + " |")
    print(f"\nnothing wrong, {time.process_time() - start:,.0f} s of CPU time", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
