"""The JSON schema of what ``--json`` prints, made from the types of the answers and from what ``report.json`` does to them.

An object of this schema is one line of ``--json``. Keys are added over time: a reader should not mind those that it does
not know, and so this schema allows them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from teetotal.answers.answer import Refusal, Undecided
from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import Kind
from teetotal.answers.fence import FenceAnswer
from teetotal.answers.history import HistoryAnswer
from teetotal.answers.monitor import MonitorAnswer
from teetotal.answers.record import RecordAnswer, StressAnswer
from teetotal.answers.replay import ReplayAnswer
from teetotal.answers.verify import Confirmation, VerifyAnswer

_RECORDS = ("record hardware", "record simulate", "record program", "record redis", "record postgres")
_VERBS: dict[type[msgspec.Struct], str | tuple[str, ...]] = {
    CheckAnswer: "check",
    FenceAnswer: "fence",
    HistoryAnswer: "history",
    MonitorAnswer: "monitor",
    StressAnswer: "record hardware",
    RecordAnswer: _RECORDS,
    ReplayAnswer: "replay",
    VerifyAnswer: "verify",
    Confirmation: "verify",
}
ANSWERS: tuple[type[msgspec.Struct], ...] = (*_VERBS, Undecided, Refusal)
_ROW = {
    "title": "Row",
    "description": "A row of a table of ``teetotal reproduce``.",
    "type": "object",
    "properties": {
        "table": {"type": "string"},
        "title": {"type": "string"},
        "columns": {"type": "array", "items": {"type": "string"}},
        "row": {"type": "array"},
    },
    "required": ["table", "columns", "row"],
}
_PLOT = {
    "title": "Plot",
    "description": "A figure of a table of ``teetotal reproduce``: curves, each a list of points; logarithmic.",
    "type": "object",
    "properties": {
        "plot": {"type": "string"},
        "title": {"type": "string"},
        "across": {"type": "string"},
        "up": {"type": "string"},
        "curves": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
            },
        },
    },
    "required": ["plot", "title", "across", "up", "curves"],
}
_SOURCES = {
    "type": "object",
    "additionalProperties": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"line": {"type": "integer"}, "text": {"type": "array", "items": {"type": "string"}}},
            "required": ["line", "text"],
        },
    },
}


def schema() -> dict[str, Any]:
    """Of one object: the answer of any verb, or a row of a table, or a figure."""
    references, components = msgspec.json.schema_components(ANSWERS, ref_template="#/$defs/{name}")
    made: dict[str, dict[str, Any]] = {name: dict(one) for name, one in components.items()}
    kind = made.pop("Kind")
    event = made["Event"]
    event["properties"] = {
        **event["properties"],
        "kind": {"enum": [str(one) for one in Kind]},
        "kind_number": {"enum": kind["enum"]},
    }
    for name in ("CheckAnswer", "FenceAnswer", "ReplayAnswer", "VerifyAnswer"):
        made[name]["properties"] = {**made[name]["properties"], "sources": _SOURCES}
    history = made["HistoryAnswer"]
    history["properties"] = {**history["properties"], "text": {"type": "array", "items": {"type": "string"}}}
    _beside(made["ReplayAnswer"], made["Violation"])
    for answer in ANSWERS:
        always = ("verdict", "complete", "seconds", "version")
        made[answer.__name__]["required"] += [key for key in always if key not in made[answer.__name__]["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An answer of teetotal",
        "anyOf": [
            *(_branch(answer, reference) for answer, reference in zip(ANSWERS, references, strict=True)),
            {"$ref": "#/$defs/Row"},
            {"$ref": "#/$defs/Plot"},
        ],
        "$defs": {**made, "Row": _ROW, "Plot": _PLOT},
    }


def _branch(answer: type[msgspec.Struct], reference: dict[str, Any]) -> dict[str, Any]:
    """Which answer an object is: its verb says it, and of those that found nothing that nothing is told."""
    if answer in (Undecided, Refusal):
        told = [{"required": [key]} for key in ("model", "models", "violations")]
        inconclusive = {"verdict": {"const": "inconclusive"}}
        return {**reference, "properties": inconclusive, "not": {"anyOf": told}}
    verb = _VERBS[answer]
    return {**reference, "properties": {"command": {"const": verb} if isinstance(verb, str) else {"enum": [*verb]}}}


def _beside(replay: dict[str, Any], execution: dict[str, Any]) -> None:
    """The keys of a replay's execution stand beside its own."""
    own = {key: value for key, value in replay["properties"].items() if key != "execution"}
    replay["properties"] = {**execution["properties"], **own}
    replay["required"] = [key for key in replay["required"] if key != "execution"] + execution.get("required", [])
