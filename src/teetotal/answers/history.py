"""The answer of ``teetotal history`` about one history: verdict, witness and its check, proof, kernel."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from teetotal.answers.answer import Answer
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Violation

HistoryModel = Literal["sc", "tso", "pso", "wsc", "ccm"]
Engine = Literal[
    "auto", "wsc+enum", "ccm+enum", "enum", "dbcop", "wsc+dbcop", "sat",
    "six+enum", "six+dbcop", "guess+enum", "guess+dbcop",
]  # fmt: skip
HistoryKind = Literal["sc", "tso", "pso", "corrupted", "fig1c", "fig5", "ring", "formula"]
"""What can be generated."""
HISTORY_MODELS: tuple[HistoryModel, ...] = get_args(HistoryModel)
ENGINES: tuple[Engine, ...] = get_args(Engine)
HISTORY_KINDS: tuple[HistoryKind, ...] = get_args(HistoryKind)


class HistoryViolation(Violation, frozen=True, kw_only=True, omit_defaults=True):
    """Why it is inconsistent: the operations of a minimal part, a proof over them, and the cycle that ends it."""

    model: HistoryModel  # type: ignore[assignment]  # two more than programs have
    operations: list[int]
    proof: list[str]
    threads: list[str] = []
    """Of each event, as the file names it."""
    finals: list[str] = []
    """Final values that are part of it: ``x = 1``."""
    minimal: bool = True


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of writes of one address: all, those that every witness orders alike, and those that a saturation finds."""

    pairs: int
    kernel: int
    wsc: int
    ccm: int
    six: int = 0
    guess: int = 0


class HistoryAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """``notes``: what was asked for beside the verdict, and is missing."""

    name: str
    model: HistoryModel
    engine: Engine
    decided_by: str
    operations: int
    threads: int
    addresses: int
    index: int = 0
    """Its place among the histories of the file."""
    duplicates: int = 0
    models: dict[str, Verdict] = {}
    """Of an inconsistent history: what each model says about it."""
    witness: list[int] | None = None
    witness_steps: int | None = None
    witness_checked: bool | None = None
    violations: list[HistoryViolation] = []
    kernel: Kernel | None = None
    learned: str = ""
    effort: dict[str, int] = {}

    @property
    def headline(self) -> str:
        return f"{super().headline} under {self.model.upper()}"
