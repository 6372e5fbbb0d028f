"""Programs with loops that wait against brute force, interpreted and in C: ``python tests/fuzz_waiting.py 20000 --seed 1``.

Of each program: one execution for each class of waitless ones, under SC, and in C under TSO and PSO too; robust up to
waiting by its definition; failures, hangs and outcomes (reference/waiting_checks.py). It stops at the first thing that is
wrong and prints the program and how to repeat it; otherwise what there was, in Markdown.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "reference"))

from going_on import State, add_state
from looping_programs import looping_program
from teetotal.answers.events import Semantics
from teetotal.programs.program import Program
from waiting_checks import Definition, in_one_object, interpreted
from waitless import TooMany

BATCH = 100
"""Programs in one object: it takes seconds to build, and each of them milliseconds to explore."""
WORKERS = 10
"""Of so many programs one is explored by several workers too."""
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


def drawn(seed: int) -> tuple[Program, Semantics]:
    rng = random.Random(seed)
    program = looping_program(rng, mutexes=rng.random() < 0.1, alike=rng.random() < 0.2)
    return program, Semantics(failed_cas="write" if rng.random() < 0.1 else "read")


@contextmanager
def repeatable(seed: int, definition: Definition, compiler: str | None) -> Iterator[None]:
    try:
        yield
    except AssertionError:
        print(f"wrong: python {sys.argv[0]} 1 --seed {seed} --compiler {compiler}\n{definition.program}", flush=True)
        raise


def batch(seeds: range, compiler: str | None) -> Counter[str]:
    """``compiler``: None for interpreted programs alone."""
    total: Counter[str] = Counter()
    definitions: dict[int, Definition] = {}
    for seed in seeds:
        try:
            definitions[seed] = Definition(*drawn(seed))
        except TooMany:
            total["programs too large"] += 1
    for seed, definition in definitions.items():
        with repeatable(seed, definition, None):
            interpreted(definition)
            total += definition.counted()
    if compiler is None:
        return total
    with in_one_object(definitions.values(), compiler) as together:
        for number, (seed, definition) in enumerate(definitions.items()):
            with repeatable(seed, definition, compiler):
                together.agrees(definition, number)
                total[f"in C, {compiler}"] += 1
                if number % WORKERS == 0:
                    together.agrees_in_parts(number)
                    total["in C, by several workers"] += 1
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compiler", choices=("gcc", "clang", "None"), help="by turns, if none is given")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no further batch after these")
    add_state(parser)
    given = parser.parse_args()
    state = State(given)
    start, end = time.monotonic(), state.seed + given.programs
    first, total = state.known.get("first", state.seed), Counter[str](state.known.get("total"))
    with suppress(KeyboardInterrupt), state:  # what there was until then is kept and told
        while first < end and time.monotonic() - start < given.seconds:
            by_turns = COMPILERS[first // BATCH % len(COMPILERS)] if COMPILERS else "None"
            compiler = given.compiler or by_turns
            seeds = range(first, min(first + BATCH, end))
            total += batch(seeds, None if compiler == "None" else compiler)
            first = seeds.stop
            state.done(first=first, total=total)
            print(f"{first - state.seed:,} programs", file=sys.stderr, flush=True)
        if first == end:
            state.end()
    print(f"seeds {state.seed} to {first - 1}\n\n| | |\n|---|---:|")
    for row, count in total.items():
        print(f"| {row} | {count:,} |")


if __name__ == "__main__":
    main()
