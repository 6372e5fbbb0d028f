"""What teetotal answers: verdicts, violations and results, plain values that serialise to JSON and add up with ``+``.

Adding is how one core, many processes and a cluster run the same code: each part of the work gives a result, and the
sum of the parts is the answer. The JSON keys are a contract: add, do not rename.
"""

from __future__ import annotations

import json
import sys
from enum import Enum
from typing import Any, Literal

import msgspec

from teetotal.answers.events import Event, EventId, ModelName


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

    @property
    def exit_status(self) -> int:
        return {Verdict.SAFE: 0, Verdict.VIOLATION: 1, Verdict.INCONCLUSIVE: 3}[self]


Goal = Literal["robust", "safe"]
"""Of ``check`` and ``fence``: every execution sequentially consistent, or nothing fails."""

Reason = Literal["po", "src", "co", "fr"]


class Edge(msgspec.Struct, frozen=True):
    """One step of a happens-before cycle, between positions in the violation's ``events``, and why it holds."""

    source: int
    target: int
    reason: Reason
    because: str = ""


ViolationKind = Literal[
    "robustness",
    "assertion",
    "final assertion",
    "deadlock",
    "wild access",
    "replay",
    "livelock",
    "crash",
    "use after free",
    "use after return",
    "heap overflow",
    "misuse",
    "abort",
]
"""``replay`` is an execution shown again, whether or not it violates anything. Those after it are of C programs."""


class StoryStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step of a violating execution as told to a person: an event of a thread, or the commit of one of its stores,
    and what the buffers of all threads hold after it (oldest store first, ``sfence`` for a marker)."""

    thread: int
    action: Literal["event", "commit"]
    event: int
    buffers: list[list[str]] = []


class Violation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Evidence against robustness or safety. ``events`` are those of the whole execution where it is
    short, else those of the cycle; ``steps`` tell it; ``replay`` is the command that shows it again."""

    model: ModelName
    kind: ViolationKind
    events: list[Event]
    cycle: list[Edge] = []
    steps: list[StoryStep] = []
    locations: list[str] = []
    monitor: str | None = None
    message: str = ""
    replay: str = ""

    @property
    def shape(self) -> frozenset[tuple[EventId, EventId, Reason]]:
        """The cycle by itself: two violations of the same shape are one, reached on different ways."""
        ends = ((self.events[edge.source].id, self.events[edge.target].id, edge.reason) for edge in self.cycle)
        return frozenset(ends)


class ModelResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What holds under one model. ``robust`` and ``safe`` are None where unknown or not asked. ``complete``: every state
    was visited, so ``outcomes`` are all there are; where not, ``observation`` is None unless it is certain already."""

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

    def __add__(self, other: ModelResult) -> ModelResult:
        """Two shares of the same program's executions under one model. Outcomes belong to whole programs: they are
        kept from the side that has them."""
        described = self if self.outcomes is not None else other
        return ModelResult(
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
        )


class CheckResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of ``teetotal check`` about one program."""

    input: str
    command: str
    models: dict[ModelName, ModelResult]
    verdict: Verdict
    complete: bool
    seconds: float
    name: str = ""
    executions: int | None = None
    blocked: int | None = None
    states: int | None = None
    violations: list[Violation] = []
    notes: list[str] = []
    cpu: float | None = None
    goal: Goal = "robust"

    def __post_init__(self) -> None:
        # Whether a string is the default, and so left out of the JSON, is decided by identity: a result that came from
        # another process must not differ from one that was made here.
        msgspec.structs.force_setattr(self, "goal", sys.intern(self.goal))

    def __add__(self, other: CheckResult) -> CheckResult:
        names = [*self.models, *(name for name in other.models if name not in self.models)]
        return CheckResult(
            input=self.input,
            command=self.command,
            name=self.name,
            models={name: _add_optional(self.models.get(name), other.models.get(name)) for name in names},
            verdict=self.verdict + other.verdict,
            complete=self.complete and other.complete,
            seconds=self.seconds + other.seconds,
            executions=total(self.executions, other.executions),
            blocked=total(self.blocked, other.blocked),
            states=total(self.states, other.states),
            violations=self.violations + other.violations,
            notes=list(dict.fromkeys(self.notes + other.notes)),
            cpu=None if self.cpu is None or other.cpu is None else self.cpu + other.cpu,
            goal=self.goal,
        )


def both(a: bool | None, b: bool | None) -> bool | None:
    """Whether two parts hold together: no if one does not, unknown if one is unknown."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def total(a: int | None, b: int | None) -> int | None:
    return a if b is None else b if a is None else a + b


def to_json(result: msgspec.Struct) -> str:
    """One line of JSON."""
    try:
        return msgspec.json.encode(result, enc_hook=_encode_other).decode()
    except UnicodeEncodeError:  # the name of a file that is not UTF-8: its odd bytes become \\udc80 to \\udcff
        return json.dumps(msgspec.to_builtins(result, enc_hook=_encode_other), separators=(",", ":"))


def _encode_other(value: Any) -> Any:
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def _add_optional(a: ModelResult | None, b: ModelResult | None) -> ModelResult:
    if a is None or b is None:
        present = a or b
        assert present is not None
        return present
    return a + b


class MonitorViolation(msgspec.Struct, frozen=True, kw_only=True):
    """What a monitor saw in a recorded trace ``count`` times at the same places, told by the first time.

    ``events`` holds the delayed store, the events between, and last the event that overtakes it, as far as they are
    known, and ``cycle`` the way round; it is empty where the events lie too far apart, which ``message`` says.
    ``delayed``, ``previous`` and ``deciding`` are the numbers of the three events in the trace, from 0.
    """

    model: ModelName
    monitor: str
    locations: list[str]
    count: int
    delayed: int
    previous: int
    deciding: int
    events: list[Event]
    cycle: list[Edge]
    message: str
    kind: ViolationKind = "robustness"


class MonitorModel(msgspec.Struct, frozen=True, kw_only=True):
    """``robust`` is False where a violation was seen: one trace without any proves nothing about its program."""

    verdict: Verdict
    robust: bool | None
    reports: dict[str, int]


class MonitorResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of ``teetotal monitor`` about one recorded trace. ``safe``: nothing can be seen in this trace."""

    input: str
    command: str
    models: dict[ModelName, MonitorModel]
    verdict: Verdict
    complete: bool
    seconds: float
    events: int
    threads: int
    group: Literal["pair", "triple"]
    violations: list[MonitorViolation]
    error: str | None = None
    notes: list[str] = []


class Interrupted(KeyboardInterrupt):
    """The user ended it; ``result`` is what was found until then."""

    def __init__(self, result: CheckResult) -> None:
        super().__init__()
        self.result = result
