"""The answer of ``teetotal replay``: one execution, told again."""

from __future__ import annotations

from teetotal.answers.answer import Answer
from teetotal.answers.violation import Violation


class ReplayAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """``violation`` where the ``execution`` is not sequentially consistent, or ends badly. ``judged``: whether the former
    could be decided; a run with atomic blocks is not. In JSON the keys of the execution stand beside the others."""

    name: str
    execution: Violation
    judged: bool = True

    @property
    def found(self) -> list[str]:
        """Its events, and what they show."""
        return [*map(str, self.execution.events), str(self.execution)]
