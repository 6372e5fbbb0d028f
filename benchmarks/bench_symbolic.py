"""How fast programs are verified and fenced, and how it grows with the number of processes, beside SPIN under SC; and with
identical processes and with owners of slots, with their symmetry and without.

python benchmarks/bench_symbolic.py [--quick]
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path

from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.verify import Outcome, robust, verify
from teetotal.fences.linden_wolper import insert_fences
from teetotal.programs.promela import compile_text
from teetotal.reproduce.tacas13 import measured, programs

LIMIT = 20.0


def sized(name: str, n: int) -> str:
    """A program for n processes."""
    text = re.sub(r"#define N \d+", f"#define N {n}", (programs() / f"{name}.pml").read_text())
    text = re.sub(r"active \[2\]", f"active [{n}]", re.sub(r"(next|locked)\[3\]", rf"\1[{n + 1}]", text))
    pairs = " || ".join(f"(P[{a}]@cs && P[{b}]@cs)" for a, b in combinations(range(n), 2))
    return re.sub(r"forbidden\(mutex, .*\)", f"forbidden(mutex, {pairs})", text)


def spin(text: str) -> tuple[str, str]:
    """States and user seconds of SPIN's exhaustive search under SC, compiled with -O2."""
    if shutil.which("spin") is None:
        return "-", "no SPIN"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(programs() / "teetotal.h", folder)
        (Path(folder) / "model.pml").write_text(text)
        subprocess.run(["spin", "-a", "model.pml"], cwd=folder, check=True, capture_output=True)
        flags = ["-O2", "-w", "-DSAFETY", "-DNOREDUCE", "-DCOLLAPSE", "-DMEMLIM=4000"]
        subprocess.run(["gcc", *flags, "-o", "pan", "pan.c"], cwd=folder, check=True)
        try:
            done = subprocess.run(
                ["./pan", "-E", "-m5000000"], cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=True
            )
        except subprocess.TimeoutExpired:
            return "-", f"> {LIMIT:.0f}"
    found = re.search(r"errors: (\d+)", done.stdout)
    assert found is not None
    assert found[1] == "0"
    states = re.search(r"(\d+) states, stored", done.stdout.replace("e+", "e"))
    seconds = re.search(r"elapsed time ([\d.]+) seconds", done.stdout)
    return (states[1] if states else "?"), (seconds[1] if seconds else "0")


def main() -> None:
    quick = "--quick" in sys.argv
    print("Table 1 (CPU seconds, one core): verification and insertion of all rows, and the slowest proof")
    table = measured()
    total = sum(row.seconds[0] for row in table)
    print(f"  {total:.3f} s; the paper 227.0 s; ratio {227.0 / total:.0f}")
    print(f"  slowest proof of a fenced program {max(row.proof_seconds for row in table):.3f} s")
    print(
        f"{'growth':16}{'n':>3}{'TSO states':>12}{'s':>9}{'PSO states':>12}{'s':>9}"
        f"{'robust, TSO':>13}{'s':>9}{'SPIN (SC) states':>18}{'s':>9}"
    )
    sizes = {"peterson_n": range(2, 4 if quick else 7), "filter": range(2, 4 if quick else 7)}
    sizes["mcs"] = range(2, 4 if quick else 7)
    sizes["lamport_fast"] = range(2, 3 if quick else 6)
    for name, numbers in sizes.items():
        small = compile_text(sized(name, 2), f"{name}.pml")
        wanted = {(fence.site.kind, fence.site.location.line) for fence in insert_fences(small).fences}
        for n in numbers:
            text = sized(name, n)
            program = compile_text(text, f"{name}.pml")
            fences = frozenset(i for i, s in enumerate(program.sites) if (s.kind, s.location.line) in wanted)
            graph = ControlGraph(program)
            cells = []
            for ask, model, width in ((verify, "tso", 12), (verify, "pso", 12), (robust, "tso", 13)):
                cells.append(cell(ask(graph, model, fences=fences, budget=Budget(seconds=LIMIT)), width))
            states, seconds_text = spin(text)
            print(f"{name:16}{n:>3}{''.join(cells)}{states:>18}{seconds_text:>9}", flush=True)
    symmetric_clients(range(2, 5 if quick else 9))


def symmetric_clients(numbers: range) -> None:
    """Processes that nothing, or nothing but their own slots, tells apart: how many states with symmetry, and without."""
    print(
        f"{'symmetric':16}{'n':>3}{'TSO states':>12}{'s':>9}{'PSO states':>12}{'s':>9}{'TSO, no symmetry':>18}{'s':>9}"
    )
    for name, n in [*(("ticket", n) for n in numbers), *(("mcs", n) for n in numbers)]:
        program = compile_text(sized(name, n), f"{name}.pml")
        cells = []
        for model, symmetry, width in (("tso", True, 12), ("pso", True, 12), ("tso", False, 18)):
            graph = ControlGraph(program, symmetry=symmetry)
            cells.append(cell(verify(graph, model, budget=Budget(seconds=LIMIT)), width))
        print(f"{name:16}{n:>3}{''.join(cells)}", flush=True)


def cell(outcome: Outcome, width: int) -> str:
    """The number of states, or what else came out, and the seconds."""
    shown = str(outcome.states) if outcome.verdict is Verdict.SAFE else outcome.verdict.value
    return f"{shown:>{width}}{outcome.seconds:>9.3f}"


if __name__ == "__main__":
    main()
