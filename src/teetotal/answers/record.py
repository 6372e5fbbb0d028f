"""The answers of ``teetotal record``: what was recorded; and what a machine showed of a litmus test."""

from __future__ import annotations

from typing import Literal

import msgspec

from teetotal.answers.answer import Answer
from teetotal.answers.events import Event, ModelName
from teetotal.answers.verdict import Verdict


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A history: its ``events``, and of each the thread as the history names it."""

    name: str
    threads: list[str]
    events: list[Event]


class RecordAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """So many ``histories`` went to a file. They are recorded, not judged, and so never ``safe``. ``complete``: as many as
    were asked for."""

    verdict: Verdict = msgspec.field(default_factory=lambda: Verdict.INCONCLUSIVE)
    histories: int = msgspec.field(default_factory=int)  # made, so that JSON does not leave it out
    operations: int = msgspec.field(default_factory=int)
    file: str | None = None
    first: Shown | None = None


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome that was seen so often. ``sc`` and ``model``: whether they allow it, None where that is not known;
    ``positive``: whether it satisfies the test's condition."""

    outcome: dict[str, int]
    count: int
    sc: bool | None
    model: bool | None
    positive: bool


class StressAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """A violation is an outcome that the machine's ``model`` forbids; one that SC forbids is not. Never ``safe``: that none
    was seen in so many ``rounds``, of which those ``unfinished`` have no outcome, proves nothing."""

    name: str
    model: ModelName
    rounds: int
    histogram: list[Seen]
    observation: Literal["Always", "Sometimes", "Never"]
    positive: int
    negative: int
    unfinished: int = 0
