"""Answers as JSON, one line each. The keys are a contract: add, do not rename.

Event kinds are told by name, ``kind``; their numbers stay beside them as ``kind_number`` for the time being.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from teetotal.answers.events import Kind
from teetotal.answers.history import HistoryAnswer
from teetotal.answers.replay import ReplayAnswer

AnAnswer = TypeVar("AnAnswer", bound=msgspec.Struct)
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


def from_json(text: str | bytes, kind: type[AnAnswer]) -> AnAnswer:
    """The answer that ``to_json`` wrote."""
    plain = msgspec.json.decode(text)
    _number_kinds(plain)
    return msgspec.convert(plain, kind)


def _number_kinds(plain: Any) -> None:
    if isinstance(plain, dict):
        if "kind_number" in plain:
            plain["kind"] = plain.pop("kind_number")
        for value in plain.values():
            _number_kinds(value)
    elif isinstance(plain, list):
        for value in plain:
            _number_kinds(value)


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
