"""The answer of ``teetotal fence``."""

from __future__ import annotations

import msgspec

from teetotal.answers.answer import Answer
from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import ModelName
from teetotal.answers.remedies import RemedyName
from teetotal.answers.targets import Target
from teetotal.answers.triage import Triage
from teetotal.answers.verdict import Goal, Verdict
from teetotal.answers.violation import Violation


class PlacedFence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``line`` is that of the statement ``after`` which (or ``before`` which) the fence goes, or of the store ``at``
    which the order becomes stronger, in the file as it is; ``patched_line`` that of the fence or store in the patched
    file. ``was``: the order that it had, where that is C11's. ``breaks``: the places of the violations that it prevents."""

    kind: RemedyName
    was: str = ""
    file: str
    line: int
    after: str
    before: str = ""
    at: str = ""
    patched_line: int | None = None
    cost: float = 0.0
    in_loop: bool = False
    passes: float = 1.0
    breaks: list[str] = []

    @property
    def change(self) -> str:
        """What it is: a fence, a stronger store, or an order that becomes another."""
        return f"{self.was} → {self.kind}" if self.was else self.kind

    @property
    def side(self) -> str:
        return "after" if self.after else "before" if self.before else "at"

    def __str__(self) -> str:
        return f"{self.change} {self.side} {self.file}:{self.line} ({self.after or self.before or self.at})"


class FenceAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """``verdict`` is what ``check`` says of the patched program for the goal, explored again whole: with ``robust``, too, a
    program that fails is a violation. ``met``: whether it is what the goal names, whatever else is wrong with it; a
    program can be robust, and fail under SC. ``minimality`` says what is proved of ``fences``. ``sets`` are all minimal
    sets, where asked for; ``fences`` is the first of them. ``unnecessary`` are fences of the program that could go, each by
    itself; ``removed`` those that the patch takes out. ``backups``: with ``--write``, where each file is as it was;
    ``backup`` is the first. ``triage``, of the program as it was: whether what ``fences`` prevent breaks anything; ``buys``
    says it in a line. Under C11 ``target`` is the processor whose costs count; with ``--weaken`` ``cost`` is that of the
    orders that are left, ``cost_before`` that of those that were written."""

    models: list[ModelName]
    goal: Goal
    met: bool | None = None
    fences: list[PlacedFence] = []
    cost: float = 0.0
    least_cost: bool = False
    minimality: str = ""
    sets: list[list[PlacedFence]] = []
    unnecessary: list[PlacedFence] = []
    removed: list[PlacedFence] = []
    diff: str = ""
    patched: list[CheckAnswer] = []
    violations: list[Violation] = []
    checks: int = 0
    backup: str | None = None
    backups: dict[str, str] = {}
    triage: Triage | None = None
    buys: str = ""
    target: Target | None = None
    cost_before: float = 0.0

    @property
    def proved(self) -> bool:
        """The fences do what they are for."""
        return self.met is True or self.verdict is Verdict.SAFE

    @property
    def found(self) -> list[str]:
        """The changes; where there are none and it is not safe, why."""
        changes = [*map(str, self.fences), *(f"without {fence}" for fence in self.removed)]
        return changes if changes or self.verdict is Verdict.SAFE else super().found
