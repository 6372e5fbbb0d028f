"""The answer of ``teetotal check`` about one program."""

from __future__ import annotations

import sys
from typing import Literal

import msgspec

from teetotal.answers.answer import Answer
from teetotal.answers.events import ModelName
from teetotal.answers.triage import Triage, worst
from teetotal.answers.verdict import CheckGoal, Verdict, Waiting, both, total
from teetotal.answers.violation import Hazard, Race, Violation


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What holds under one model. ``robust`` and ``safe`` are None where unknown or not asked. ``complete``: every state
    was visited, so ``outcomes`` are all there are; where not, ``observation`` is None unless it is certain already.
    ``triage``: where the program is not robust, what that means for what it asserts; ``executions``: those of this model
    that were explored for that (C)."""

    verdict: Verdict
    robust: bool | None
    safe: bool | None
    complete: bool = True
    violations: list[Violation] = []
    observation: Literal["Always", "Sometimes", "Never"] | None = None
    positive: int | None = None
    negative: int | None = None
    outcomes: list[dict[str, int]] | None = None
    states: int | None = None
    seconds: float | None = None
    executions: int | None = None
    triage: Triage | None = None
    reason: str = ""
    """Why not, or why it is not known, in a line."""
    race_free: bool | msgspec.UnsetType | None = msgspec.UNSET
    portable: bool | msgspec.UnsetType | None = msgspec.UNSET
    """Of C11 alone: no data race under SC; and robust, race-free and without hazard, so that SC's executions are all that
    any processor and compiler has."""
    by_default: bool = False
    """Of C11 alone: nobody asked for it; the program uses atomics."""

    def __add__(self, other: ModelAnswer) -> ModelAnswer:
        """Two shares of the same program's executions under one model. Outcomes belong to whole programs: they are
        kept from the side that has them."""
        described = self if self.outcomes is not None else other
        return ModelAnswer(
            verdict=self.verdict + other.verdict,
            robust=both(self.robust, other.robust),
            safe=both(self.safe, other.safe),
            complete=self.complete and other.complete,
            violations=self.violations + other.violations,
            observation=described.observation,
            positive=described.positive,
            negative=described.negative,
            outcomes=described.outcomes,
            states=total(self.states, other.states),
            race_free=_both_set(self.race_free, other.race_free),
            portable=_both_set(self.portable, other.portable),
            executions=total(self.executions, other.executions),
            triage=worst([self.triage, other.triage]),
            reason=self.reason or other.reason,
            by_default=self.by_default or other.by_default,
        )


class CheckAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of ``teetotal check`` about one program."""

    models: dict[ModelName, ModelAnswer]
    name: str = ""
    executions: int | None = None
    blocked: int | None = None
    states: int | None = None
    violations: list[Violation] = []
    cpu: float | None = None
    goal: CheckGoal = "robust"
    triage: Triage | None = None
    waiting: Waiting = "skip"
    symmetric: bool = False
    races: list[Race] = []
    hazards: list[Hazard] = []
    isolated: bool | None = None
    """False: the program ran with its user's network and files, since this machine gives it none of its own."""

    def __post_init__(self) -> None:
        # Whether a string is the default, and so left out of the JSON, is decided by identity: a result that came from
        # another process must not differ from one that was made here.
        msgspec.structs.force_setattr(self, "goal", sys.intern(self.goal))
        msgspec.structs.force_setattr(self, "waiting", sys.intern(self.waiting))

    def __add__(self, other: CheckAnswer) -> CheckAnswer:
        names = [*self.models, *(name for name in other.models if name not in self.models)]
        return CheckAnswer(
            input=self.input,
            command=self.command,
            name=self.name,
            models={name: _add_optional(self.models.get(name), other.models.get(name)) for name in names},
            verdict=self.verdict + other.verdict,
            complete=self.complete and other.complete,
            seconds=(self.seconds or 0.0) + (other.seconds or 0.0),
            executions=total(self.executions, other.executions),
            blocked=total(self.blocked, other.blocked),
            states=total(self.states, other.states),
            violations=self.violations + other.violations,
            notes=list(dict.fromkeys(self.notes + other.notes)),
            cpu=None if self.cpu is None or other.cpu is None else self.cpu + other.cpu,
            goal=self.goal,
            waiting=self.waiting,
            symmetric=self.symmetric or other.symmetric,
            races=self.races + other.races,
            hazards=self.hazards + other.hazards,
            triage=worst([self.triage, other.triage]),
            isolated=False if False in (self.isolated, other.isolated) else None,
        )


def _both_set(
    a: bool | msgspec.UnsetType | None, b: bool | msgspec.UnsetType | None
) -> bool | msgspec.UnsetType | None:
    if a is msgspec.UNSET or b is msgspec.UNSET:
        return a if b is msgspec.UNSET else b
    return both(a, b)


def _add_optional(a: ModelAnswer | None, b: ModelAnswer | None) -> ModelAnswer:
    if a is None or b is None:
        present = a or b
        assert present is not None
        return present
    return a + b
