"""What ``--json`` printed, read again: answers as dictionaries, each found to be one before anybody works with it."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

from teetotal import reading
from teetotal.answers.arguments import checked
from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.report import found


@checked
def read(path: str | PathLike[str]) -> list[dict[str, Any]]:
    """One object a line, or one on many lines, or a list of them; ``-`` is standard input."""
    path = str(path)
    try:
        text = reading.read(path).decode()
    except UnicodeDecodeError:
        raise ParseError(f"{path} is not JSON: not even text") from None
    try:
        whole = json.loads(text)
        several = [(1, one) for one in (whole if isinstance(whole, list) else [whole])]
    except ValueError:
        several = []
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                several += [(number, json.loads(line))] if line.strip() else []
            except ValueError as error:
                raise ParseError(f"not JSON: {error}", Location(path, number)) from None
    for number, answer in several:
        if wrong := oddity(answer):
            raise ParseError(wrong, Location(path, number))
    if not several:
        raise ParseError(f"{path}: there is no answer in it")
    return [answer for _, answer in several]


def oddity(answer: Any) -> str:
    """Why it is no answer, nor a row of a table, nor a figure; empty if it is one."""
    if not _is_answer(answer):
        return "not an answer of teetotal: --json prints them"
    wrong = found.oddity(answer) if "command" in answer else ""
    return wrong and f"not an answer of teetotal: {wrong}"


def _is_answer(answer: Any) -> bool:
    """As far as a look at it tells."""
    match answer:
        case {"input": str(), "command": str(), "verdict": "safe" | "violation" | "inconclusive"}:
            return True
        case {"table": str(), "columns": list(), "row": list()}:
            return True
        case {"plot": str(), "title": str(), "across": str(), "up": str(), "curves": dict(curves)}:
            return all(_is_curve(curve) for curve in curves.values())
    return False


def _is_curve(curve: Any) -> bool:
    """A list of points."""
    return isinstance(curve, list) and all(
        isinstance(point, list) and len(point) == 2 and all(isinstance(number, int | float) for number in point)
        for point in curve
    )
