"""What the tests of the litmus reader share: outcomes by the specification, with names on them."""

from __future__ import annotations

from teetotal import models
from teetotal.answers.events import ModelName, Semantics
from teetotal.programs import litmus
from teetotal.programs.program import Program


def outcomes(program: Program, model: ModelName, semantics: Semantics = Semantics()) -> set[tuple[int, ...]]:
    """What the machines in ``models`` let this program end in."""
    found = models.final_states(program, model, semantics)
    return {program.outcome(states, dict(memory)) for states, memory in found}  # type: ignore[arg-type]


def x86(code: str, condition: str, init: str = "", architecture: str = "X86_64") -> Program:
    """A test from its parts. ``code`` has the rows without the heads of the columns."""
    rows = [row for row in code.strip().split("\n") if row.strip()]
    heads = " | ".join(f"P{i}" for i in range(rows[0].count("|") + 1))
    table = "\n".join(row.strip().rstrip(";") + " ;" for row in [heads, *rows])
    return litmus.read(f"{architecture} test\n{{ {init} }}\n{table}\n{condition}\n", "test.litmus")


def finals(program: Program, model: ModelName = "sc") -> set[str]:
    """Outcomes as text: ``0:rax=1; x=2``."""
    return {
        "; ".join(f"{what}={value}" for what, value in zip(program.observed, outcome, strict=True))
        for outcome in outcomes(program, model)
    }
