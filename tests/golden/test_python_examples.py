"""The examples: each state space is finite and walked whole, and each verdict is the textbooks'."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from python_reference import agree
from teetotal import Program, load, models
from teetotal.answers.events import MODELS, ModelName, Semantics
from teetotal.programs.python import program as build

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RELAXED: tuple[ModelName, ...] = ("tso", "pso")


def programs() -> dict[str, Program]:
    return {f"{path.stem}.{p.name}": p for path in sorted(EXAMPLES.glob("*.py")) for p in load(path)}


PROGRAMS = programs()


def unsafe(program: Program, model: ModelName) -> bool:
    """Whether an assertion, in a thread or at the end, fails in any reachable state."""
    stack = [models.Run(program, model, Semantics())]
    seen: set[Any] = set()
    while stack:
        run = stack.pop()
        if run.state() in seen:
            continue
        seen.add(run.state())
        if any(state.status in ("failed", "wild") for state in run.locals):
            return True
        steps = run.steps()
        if not steps and run.finished() and program.final_assertion is not None:
            outcome = program.outcome(tuple(run.locals), run.final_memory())
            if not program.predicate(program.final_assertion)(outcome):
                return True
        for step in steps:
            successor = run.copy()
            successor.take(step)
            stack.append(successor)
    return False


UNSAFE_ON = {
    "dekker.unfenced": {"tso", "pso"},
    "dekker.fenced": set(),
    "message_passing.unfenced": {"pso"},
    "message_passing.fenced": set(),
    "peterson.unfenced": {"tso", "pso"},
    "peterson.fenced": set(),
    "spinlock.exchange": set(),
    "spinlock.compare_and_swap": set(),
    "spinlock.no_lock": {"sc", "tso", "pso"},
    "store_buffering.store_buffering": set(),
    "store_buffering.fenced": set(),
    "treiber_stack.stack": set(),
}
NOT_ROBUST_ON = {
    **{name: where - {"sc"} for name, where in UNSAFE_ON.items()},
    "store_buffering.store_buffering": {"tso", "pso"},
}


def test_every_example_has_an_expected_verdict() -> None:
    assert PROGRAMS.keys() == UNSAFE_ON.keys()


@pytest.mark.parametrize("name", UNSAFE_ON)
def test_safe_or_not(name: str) -> None:
    assert {model for model in MODELS if unsafe(PROGRAMS[name], model)} == UNSAFE_ON[name]


@pytest.mark.parametrize("name", UNSAFE_ON)
def test_robust_or_not(name: str) -> None:
    """Spin loops have traces without end, so each thread gets two rounds."""
    program = msgspec.structs.replace(PROGRAMS[name], loop_bound=2)
    assert {model for model in RELAXED if not models.robust(program, model)} == NOT_ROBUST_ON[name]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
@pytest.mark.parametrize("seed", range(10))
def test_python_runs_the_examples_as_they_are_compiled(path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[list[Any], Program]] = []

    def record(*threads: Any, **options: Any) -> Program:
        program = build(*threads, **options)
        made.append((list(threads), program))
        return program

    monkeypatch.setattr("teetotal.program", record)
    load(path, trust=True)  # in this process, where what it calls can be recorded
    assert made
    for threads, program in made:
        agree(lambda threads=threads: threads, program, seed)
