"""The code of an x86 test: a table with a column for each thread, rows ending in ``;``, cells between ``|``."""

from __future__ import annotations

from typing import NamedTuple

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.programs.litmus.layout import Part
from teetotal.programs.litmus.tokens import number
from teetotal.programs.litmus.x86_decode import Decoded, UnsupportedError, decode
from teetotal.programs.program import refuse_many


class Line(NamedTuple):
    """An instruction where it stands."""

    decoded: Decoded
    location: Location


class Column(NamedTuple):
    """A thread's instructions; a label is the number of the instruction behind it."""

    lines: list[Line]
    labels: dict[str, int]


def columns(part: Part, bits: int, file: str) -> list[Column]:
    rows = part.text.split(";")
    line = part.line
    found: list[Column] = []
    order: list[int] = []
    for row in rows[:-1]:
        cells = row.split("|")
        here = Location(file, line + row[: len(row) - len(row.lstrip())].count("\n"))
        line += row.count("\n")
        if not order:
            if len(rows) > 1 and not row.strip() and not found:
                continue  # herd lets a `;` stand before the first row
            order = _heads(cells, here)
            found = [Column([], {}) for _ in order]
            continue
        if len(cells) != len(order):
            raise ParseError(f"this row has {len(cells)} columns, but there are {len(order)} threads", here)
        for thread, cell in zip(order, cells, strict=True):
            cell = cell.strip()
            if cell:
                _add(cell, found[thread], bits, here)
    rest = rows[-1]
    if rest.strip():
        here = Location(file, line + rest[: len(rest) - len(rest.lstrip())].count("\n"))
        raise ParseError(f"`{_shown(rest)}`: a row of code ends with `;`. Is the file cut off?", here)
    if not order:
        raise ParseError("no code: expected a row of threads, as in `P0 | P1 ;`", Location(file, part.line))
    for thread, column in enumerate(found):
        for decoded, here in column.lines:
            if decoded.label and decoded.label not in column.labels:
                raise ParseError(f"P{thread} jumps to {decoded.label}, which is no label of this thread", here)
    return found


def _heads(cells: list[str], here: Location) -> list[int]:
    """The thread that each column belongs to."""
    refuse_many(threads=len(cells), location=here)
    heads = [cell.strip() for cell in cells]
    threads: dict[int, None] = {}
    for head in heads:
        value = number(head[1:]) if head[:1] == "P" else None
        if value is None or value < 0:
            raise ParseError(f"expected a row of threads, as in `P0 | P1 ;`, found `{_shown(head)}`", here)
        if value in threads:
            raise ParseError(f"two threads are called P{value}", here)
        threads[value] = None
    if max(threads) >= len(threads):
        raise ParseError(f"threads are numbered from P0 without a gap, but there is P{max(threads)}", here)
    return list(threads)


def _add(cell: str, column: Column, bits: int, here: Location) -> None:
    while ":" in cell:
        label, cell = cell.split(":", 1)
        label, cell = label.strip(), cell.strip()
        if not label.replace("_", "").replace(".", "").isalnum() or not label.isascii():
            raise ParseError(f"`{_shown(label)}:` is not a label", here)
        if label in column.labels:
            raise ParseError(f"the label {label} stands twice in one thread", here)
        column.labels[label] = len(column.lines)
    if cell:
        try:
            column.lines.append(Line(decode(cell, bits), here))
        except UnsupportedError as problem:
            raise ParseError(f"`{_shown(cell)}`: {problem}", here) from None


def _shown(text: str) -> str:
    return " ".join(text.split())[:60]
