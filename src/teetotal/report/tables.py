"""The papers' tables, made again, as text: a line a row, as soon as it is known."""

from __future__ import annotations

from collections.abc import Sequence


def row(values: Sequence[object], columns: Sequence[str]) -> str:
    return "  ".join(_cell(value, column) for value, column in zip(values, columns, strict=True))


def _cell(value: object, column: str) -> str:
    text = f"{value:,}" if isinstance(value, int | float) else str(value)
    if column == "what":
        return f"{text:<32}"
    if column == "differences":
        return text
    return f"{text:<26}" if column == "program" else f"{text:>{max(len(column), 9)}}"
