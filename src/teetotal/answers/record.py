"""The answer of ``teetotal record hardware TEST.litmus``: what a machine showed."""

from __future__ import annotations

from typing import Literal

import msgspec

from teetotal.answers.answer import Answer
from teetotal.answers.events import ModelName


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome that was seen so often. ``sc`` and ``model``: whether they allow it, None where that is not known;
    ``positive``: whether it satisfies the test's condition."""

    outcome: dict[str, int]
    count: int
    sc: bool | None
    model: bool | None
    positive: bool


class StressAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """A violation is an outcome that the machine's ``model`` forbids; one that SC forbids is not. ``safe`` says that none
    was seen in so many ``rounds``, of which those ``unfinished`` have no outcome."""

    name: str
    model: ModelName
    rounds: int
    histogram: list[Seen]
    observation: Literal["Always", "Sometimes", "Never"]
    positive: int
    negative: int
    unfinished: int = 0
