"""How fast programs are explored: litmus tests against herd7, and growth with threads and stores.

``python benchmarks/bench_explore.py [FOLDER]`` reads every litmus test of a folder (default: the repository's corpus, and
the shared data where it lies beside the checkout). CPU time, one process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "reference"))

from rows import tell
from sc_executions import executions
from teetotal.answers.events import MODELS
from teetotal.answers.strategies import Strategy
from teetotal.engines.executions.robustness import robustness
from teetotal.engines.states import outcomes
from teetotal.programs import litmus
from teetotal.programs.expressions import Addr, Const
from teetotal.programs.observation import observation
from teetotal.programs.program import Instruction, Load, Program, Store, Thread

HERD_MILLISECONDS = 17.0
"""CPU time of herd7 7.58 per test under TSO on the shared x86 corpus, one process per run of all tests."""

ROOT = Path(__file__).resolve().parents[1]


def milliseconds(work: Callable[[], object]) -> float:
    """The fastest of three, in CPU time."""
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best * 1000


def litmus_tests(folder: Path) -> None:
    files = sorted(folder.rglob("*.litmus"))
    if not files:
        return
    print(f"\nlitmus tests of {folder.name} ({len(files)}): read, explore, judge; CPU ms per test")
    texts = [(file.read_text(), str(file)) for file in files]
    programs = [litmus.read(*text) for text in texts]
    reading = milliseconds(lambda: [litmus.read(*text) for text in texts]) / len(files)
    print(f"  {'reading':<22}{reading:8.3f}")
    for model in MODELS:

        def judge() -> None:
            for program in programs:
                observation(program, outcomes(program, model).values)  # noqa: B023 - used before the next round

        spent = milliseconds(judge) / len(files) + reading
        ratio = f"   herd7 / ours = {HERD_MILLISECONDS / spent:.0f}" if model == "tso" else ""
        print(f"  {'read and ' + model:<22}{spent:8.3f}{ratio}")
    robust = milliseconds(lambda: [robustness(program, ("tso", "pso")) for program in programs]) / len(files)
    print(f"  {'robust, tso and pso':<22}{robust:8.3f}")


def ring(threads: int, stores: int) -> Program:
    """Each thread stores to its own location ``stores`` times and reads its neighbour's: store buffering in a ring."""

    def code(number: int) -> tuple[Instruction, ...]:
        own, next_ = f"v{number}", f"v{(number + 1) % threads}"
        writes = [Store(address=Addr(own), value=Const(value)) for value in range(1, stores + 1)]
        return (*writes, Load(register="r", address=Addr(next_)))

    return Program(
        name="ring",
        threads=tuple(Thread(f"P{number}", code(number), {"r": 0}) for number in range(threads)),
        memory={f"v{number}": 0 for number in range(threads)},
    )


def growth() -> None:
    print("\ngrowth: rings of threads, each with some stores and a load; states, and CPU ms")
    print(f"  {'threads':>7} {'stores':>6} " + "".join(f"{model + ' states':>14} {'ms':>9}" for model in MODELS))
    for threads, stores in ((2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (2, 2), (2, 4), (2, 8), (2, 16), (3, 4), (3, 8)):
        program = ring(threads, stores)
        cells = []
        for model in MODELS:
            found = outcomes(program, model)
            cells.append(f"{found.states:>14,} {milliseconds(lambda: outcomes(program, model)):>9.2f}")  # noqa: B023
        print(f"  {threads:>7} {stores:>6} " + "".join(cells))


def searches() -> None:
    print("\nSC executions per CPU second")
    pairs = 5
    code = [
        tuple(
            step
            for i in range(pairs)
            for step in (Load(register=f"r{i}", address=Addr("x")), Store(address=Addr("x"), value=Const(10 * t + i)))
        )
        for t in (1, 2)
    ]
    registers = {f"r{i}": 0 for i in range(pairs)}
    program = Program(
        name="pairs", threads=tuple(Thread(f"P{t}", code[t], registers) for t in range(2)), memory={"x": 0}
    )
    for name, work, count in (
        ("one per class", lambda: executions(program), executions(program).executions),
        ("the same, monitored", lambda: robustness(program, ("tso", "pso")), executions(program).executions),
        ("every interleaving", lambda: executions(program, Strategy("interleavings")), 184756),
    ):
        spent = milliseconds(work)
        print(f"  {name:<22}{count:>10,} executions {count / spent * 1000:>14,.0f} a second")
        tell("explore", "SC executions of a program", {"search": name, "a second": round(count / spent * 1000)})


def main() -> None:
    folders = [Path(argument) for argument in sys.argv[1:]]
    for folder in folders or [ROOT / "tests" / "corpus", ROOT.parent / "shared" / "data" / "litmus-x86"]:
        litmus_tests(folder)
    growth()
    searches()


if __name__ == "__main__":
    main()
