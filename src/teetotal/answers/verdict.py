"""Three-valued verdicts, and what they are made of."""

from __future__ import annotations

from enum import Enum
from typing import Literal


class Verdict(Enum):
    """Three-valued, because "nothing found before the budget ran out" is neither safe nor a violation.

    ``SAFE`` is proved for the stated bounds. ``VIOLATION`` comes with evidence. ``INCONCLUSIVE`` means that the budget
    ran out or that the question cannot be decided.
    """

    SAFE = "safe"
    VIOLATION = "violation"
    INCONCLUSIVE = "inconclusive"

    def __str__(self) -> str:
        return self.value

    def __add__(self, other: Verdict) -> Verdict:
        """Both together: one violation is enough, and safe needs both."""
        for verdict in (Verdict.VIOLATION, Verdict.INCONCLUSIVE):
            if verdict in (self, other):
                return verdict
        return Verdict.SAFE

    @classmethod
    def of(cls, holds: bool | None) -> Verdict:
        """Of something that holds, does not, or is not known to."""
        return cls.INCONCLUSIVE if holds is None else cls.SAFE if holds else cls.VIOLATION

    @property
    def holds(self) -> bool | None:
        return None if self is Verdict.INCONCLUSIVE else self is Verdict.SAFE

    @property
    def exit_status(self) -> int:
        return {Verdict.SAFE: 0, Verdict.VIOLATION: 1, Verdict.INCONCLUSIVE: 3}[self]


Goal = Literal["robust", "safe"]
"""Of ``fence`` and ``verify``: every execution sequentially consistent, or nothing fails."""
CheckGoal = Literal["robust", "safe", "both"]
"""Of ``check``. ``robust``: every execution sequentially consistent, and no assertion fails. ``safe``: nothing fails, and
what a litmus test claims holds. ``both``: both."""


def both(a: bool | None, b: bool | None) -> bool | None:
    """Whether two parts hold together: no if one does not, unknown if one is unknown."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def total(a: int | None, b: int | None) -> int | None:
    return a if b is None else b if a is None else a + b


Waiting = Literal["skip", "count"]
"""Whether rounds of a loop in which nothing happens are left out of executions, or counted as what the papers call
executions: docs/explanation/waiting.md."""

Symmetry = Literal["on", "off"]
"""Whether executions that differ in which of several identical threads did what are explored once."""
