"""Fences of the benchmark programs, beside the published numbers; and what they do on this machine's own processor.

python benchmarks/bench_fences.py [--quick]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from rows import tell
from teetotal.answers.costs import parse
from teetotal.answers.events import Kind
from teetotal.answers.options import FenceOptions
from teetotal.answers.verdict import Goal
from teetotal.fences.fencing import fence
from teetotal.fences.linden_wolper import insert_fences
from teetotal.programs.promela import load

HERE = Path(__file__).parent
PUBLISHED = {
    "dekker": (4, 0),
    "peterson": (2, 2),
    "peterson_n": (3, 3),
    "bakery": (4, 2),
    "burns": (2, 0),
    "szymanski": (6, 0),
    "dijkstra": (2, 0),
    "lamport_fast": (4, 4),
    "alternating_bit": (0, 0),
    "clh": (0, 0),
    "increasing_sequence": (0, 0),
}
"""mfences and sfences, each counted once for every process: Linden, Wolper (TACAS 2013), Table 1."""


def c_programs(quick: bool) -> None:
    print("C programs, robust under TSO and PSO, one set for both; a fence counts once, where it is written")
    print(
        f"{'program':16}{'mfence':>8}{'sfence':>8}{'cost':>7}{'least cost':>12}{'explored':>10}{'CPU s':>8}  {'verdict':9}"
        "least cost with --strengthen"
    )
    for path in sorted((HERE / "programs").glob("*.c"))[: 4 if quick else None]:
        began = _processor_time()
        result = fence(str(path)).answer
        spent = _processor_time() - began
        least = fence(str(path), FenceOptions(minimum=True)).answer.cost
        stronger = fence(str(path), FenceOptions(minimum=True, strengthen=True)).answer
        told = ", ".join(f"{count} {kind}" for kind, count in Counter(f.kind for f in stronger.fences).items())
        kinds = Counter(placed.kind for placed in result.fences)
        print(
            f"{path.stem:16}{kinds['mfence']:>8}{kinds['sfence']:>8}{result.cost:>7g}{least:>12g}{result.checks:>10}"
            f"{spent:>8.2f}  {result.verdict!s:9}{stronger.cost:g}{f': {told}' if told else ''}",
            flush=True,
        )
        cells = {"program": path.stem, "cost": result.cost, "explored": result.checks, "CPU seconds": round(spent, 2)}
        tell("fences", "Fences for C programs, robust under TSO and PSO", cells)


def _processor_time() -> float:
    """Of this process and of those that it waited for: the compiler and the explorer."""
    return sum(os.times()[:4])


def promela_programs() -> None:
    print("\nPromela programs, unbounded buffers, mfences + sfences, counted once for every process as the paper does")
    print("paper, safe, robust: at stores, by the paper's algorithm; fewest: in any gap")
    print(f"{'program':22}{'paper':>8}{'safe':>8}{'robust':>8}{'fewest, safe':>14}{'robust':>8}{'CPU s':>8}")
    for path in sorted((HERE / "promela").glob("*.pml")):
        published = "{}+{}".format(*PUBLISHED[path.stem]) if path.stem in PUBLISHED else "-"
        began = _processor_time()
        row = f"{_counts(path, 'safe'):>8}{_counts(path, 'robust'):>8}"
        row += f"{_fewest(path, 'safe'):>14}{_fewest(path, 'robust'):>8}"
        print(f"{path.stem:22}{published:>8}{row}{_processor_time() - began:>8.2f}", flush=True)


def _counts(path: Path, goal: Goal) -> str:
    found = insert_fences(load(str(path)), goal=goal)
    return f"{found.count(Kind.MFENCE)}+{found.count(Kind.SFENCE)}"


def _fewest(path: Path, goal: Goal) -> str:
    """Of as many fences, those with fewer mfences. What a place costs tells how many processes have it."""
    costs = {"mfence": 100, "sfence": 99}
    options = FenceOptions(goal=goal, minimum=True, costs=parse("mfence=100,sfence=99,loop=1"))
    placed = fence(str(path), options).answer.fences
    return "+".join(f"{sum(each.cost for each in placed if each.kind == kind) / costs[kind]:g}" for kind in costs)


def stress(rounds: int) -> dict[str, tuple[int, int]]:
    """By compiler, how often both threads miss the other's store on this processor: before the patch, and after it."""
    source = HERE / "stress" / "store_buffering.c"
    patched = fence(str(source)).text
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for compiler in filter(shutil.which, ("gcc", "clang")):
            counts = []
            for name, text in (("before", source.read_text()), ("after", patched)):
                file = Path(folder) / f"{name}.c"
                file.write_text(text)
                command = [
                    compiler,
                    "-O2",
                    "-pthread",
                    f"-DROUNDS={rounds}",
                    str(file),
                    "-o",
                    str(file.with_suffix("")),
                ]
                subprocess.run(command, check=True)
                done = subprocess.run([file.with_suffix("")], check=True, capture_output=True, text=True)
                counts.append(int(done.stdout))
            found[compiler] = (counts[0], counts[1])
    return found


def main() -> None:
    quick = "--quick" in sys.argv
    c_programs(quick)
    promela_programs()
    rounds = 20_000 if quick else 200_000
    print(
        f"\nStore buffering on this processor, {rounds} rounds: rounds in which both threads missed the other's store"
    )
    print(f"{'compiler':10}{'before':>10}{'after':>10}")
    for compiler, (before, after) in stress(rounds).items():
        print(f"{compiler:10}{before:>10}{after:>10}")


if __name__ == "__main__":
    main()
