"""The answer of ``teetotal verify`` about one Promela program."""

from __future__ import annotations

import msgspec

from teetotal.answers.answer import Answer
from teetotal.answers.check import ModelAnswer
from teetotal.answers.events import ModelName
from teetotal.answers.violation import Violation


class FenceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A fence of the text: directly ``after`` the store on that line, or before it; ``processes`` have it."""

    kind: str
    file: str
    line: int
    after: bool
    processes: int


class VerifyAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """The answer about one file. ``complete`` is true only if nothing was cut off."""

    goal: str
    engine: str
    models: dict[ModelName, ModelAnswer]
    states: int
    violations: list[Violation] = []
    fences: list[FenceRow] | None = None
    sets: list[list[FenceRow]] | None = None
    iterations: int | None = None
    verifications: int | None = None
    witness: dict[ModelName, str] = {}
    diff: str = ""
    backup: str | None = None


class Confirmation(Answer, frozen=True, kw_only=True):
    """Whether a ``certificate`` proves that the program is safe under the ``model``; the ``reason`` if it does not."""

    model: ModelName
    states: int
    certificate: str | None
    accepted: bool
    reason: str | None

    @property
    def headline(self) -> str:
        return f"{super().headline} under {self.model.upper()}"

    @property
    def found(self) -> list[str]:
        return [] if self.reason is None else [self.reason]
