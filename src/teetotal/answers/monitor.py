"""The answer of ``teetotal monitor`` about one recorded trace."""

from __future__ import annotations

from typing import Literal

import msgspec

from teetotal.answers.answer import Answer
from teetotal.answers.events import ModelName
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Violation


class MonitorViolation(Violation, frozen=True, kw_only=True, omit_defaults=False):
    """What a monitor saw in a recorded trace ``count`` times at the same places, told by the first time.

    ``events`` holds the delayed store, the events between, and last the event that overtakes it, as far as they are
    known, and ``cycle`` the way round; it is empty where the events lie too far apart, which ``message`` says.
    ``delayed``, ``previous`` and ``deciding`` are the numbers of the three events in the trace, from 0.
    """

    count: int
    delayed: int
    previous: int
    deciding: int


class MonitorModel(msgspec.Struct, frozen=True, kw_only=True):
    """``robust`` is False where a violation was seen: one trace without any proves nothing about its program."""

    verdict: Verdict
    robust: bool | None
    reports: dict[str, int]


class MonitorAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of ``teetotal monitor`` about one recorded trace. ``safe``: nothing can be seen in this trace."""

    models: dict[ModelName, MonitorModel]
    events: int
    threads: int
    group: Literal["pair", "triple"]
    violations: list[MonitorViolation]
    error: str | None = None
