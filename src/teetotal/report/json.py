"""Answers as JSON, one line each. The keys are a contract: add, do not rename.

Event kinds are told by name, ``kind``; their numbers stay beside them as ``kind_number`` for the time being.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from teetotal.answers.events import Kind
from teetotal.answers.history import HistoryAnswer
from teetotal.answers.replay import ReplayAnswer

_NAMES = {int(kind): str(kind) for kind in Kind}


def to_json(answer: msgspec.Struct) -> str:
    """One line of JSON."""
    plain = msgspec.to_builtins(answer)
    if isinstance(answer, ReplayAnswer):
        plain |= plain.pop("execution")
    _name_kinds(plain)
    if isinstance(answer, HistoryAnswer) and answer.violations:
        from teetotal.report.history import explanation

        plain["text"] = explanation(answer)
    try:
        return msgspec.json.encode(plain).decode()
    except UnicodeEncodeError:  # the name of a file that is not UTF-8: its odd bytes become \\udc80 to \\udcff
        return json.dumps(plain, separators=(",", ":"))


def _name_kinds(plain: Any) -> None:
    if isinstance(plain, dict):
        if type(plain.get("kind")) is int:
            plain["kind_number"] = plain["kind"]
            plain["kind"] = _NAMES[plain["kind"]]
        for value in plain.values():
            _name_kinds(value)
    elif isinstance(plain, list) and plain and isinstance(plain[0], dict | list):
        for value in plain:
            _name_kinds(value)
