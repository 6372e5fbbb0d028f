"""Answers as JSON, one line each. The keys are a contract: add, do not rename.

The kind of an event is told by name, as ``kind``. Its number stands beside it as ``kind_number``, for who reads files that
were written when ``kind`` was that number; what answers hold in Python is the number, so both ways it is translated here.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from teetotal.answers.arguments import checked
from teetotal.answers.events import Kind
from teetotal.answers.history import HistoryAnswer
from teetotal.answers.replay import ReplayAnswer
from teetotal.report.sources import sources

AnAnswer = TypeVar("AnAnswer", bound=msgspec.Struct)
_NAMES = {int(kind): str(kind) for kind in Kind}


@checked
def to_json(answer: msgspec.Struct) -> str:
    """One line of JSON."""
    return encoded(to_plain(answer))


@checked
def to_plain(answer: msgspec.Struct) -> dict[str, Any]:
    """What the JSON holds, as dictionaries and lists."""
    plain: dict[str, Any] = msgspec.to_builtins(answer)
    if isinstance(answer, ReplayAnswer):
        plain |= plain.pop("execution")
    _name_kinds(plain)
    if isinstance(answer, HistoryAnswer) and answer.violations:
        from teetotal.report.history import explanation

        plain["text"] = explanation(answer)
    if found := sources(plain):
        plain["sources"] = found
    return plain


def encoded(plain: dict[str, Any]) -> str:
    """As one line."""
    try:
        return msgspec.json.encode(plain).decode()
    except UnicodeEncodeError:  # the name of a file that is not UTF-8: its odd bytes become \\udc80 to \\udcff
        import json

        return json.dumps(plain, separators=(",", ":"))


def from_json(text: str | bytes, kind: type[AnAnswer]) -> AnAnswer:
    """The answer that ``to_json`` wrote."""
    return msgspec.convert(numbered(msgspec.json.decode(text)), kind)


def numbered(plain: Any) -> Any:
    """A copy in which the kinds of events are numbers again."""
    if isinstance(plain, dict):
        copy = {key: numbered(value) for key, value in plain.items()}
        if "kind_number" in copy:
            copy["kind"] = copy.pop("kind_number")
        return copy
    return [numbered(value) for value in plain] if isinstance(plain, list) else plain


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
