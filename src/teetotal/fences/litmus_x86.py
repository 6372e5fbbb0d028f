"""Fences in the table of an x86 litmus test: a row of its own, with the fence in its thread's column."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from teetotal.answers.events import Kind, Location
from teetotal.answers.remedies import Remedy
from teetotal.fences.edits import Edit, Patched, apply, newline_of
from teetotal.fences.sources import Place, all_fences
from teetotal.programs import litmus
from teetotal.programs.litmus import layout, tokens
from teetotal.programs.program import Fence, Program

Key = tuple[int, int]
"""A row of the table, and a thread."""


class _Cell(NamedTuple):
    """``word``: what is in it, without blanks around; ``end``: where that ends. ``width``: of its last line."""

    end: int
    width: int
    word: str


class _Row(NamedTuple):
    """``end``: where a row after it begins."""

    line: int
    end: int
    cells: list[_Cell]


class X86Litmus:
    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.notes: list[str] = []
        self.newline = newline_of(text)
        head, *self.rows = _rows(text, path)
        self.threads = [tokens.number(cell.word[1:]) or 0 for cell in head.cells]
        self.widths = [
            max((row.cells[column].width for row in [head, *self.rows]), default=0)
            for column in range(len(self.threads))
        ]
        self.places: dict[object, Place] = dict(self._places())

    def _places(self) -> Iterator[tuple[Key, Place]]:
        for column, thread in enumerate(self.threads):
            used = [number for number, row in enumerate(self.rows) if _instruction(row.cells[column].word)]
            for number in used:
                row = self.rows[number]
                word = _instruction(row.cells[column].word)
                place = Location(self.path, row.line)
                if word in ("mfence", "sfence"):
                    kind = Kind.MFENCE if word == "mfence" else Kind.SFENCE
                    yield (-1 - number, thread), Place(place, existing=kind)
                if number != used[-1]:
                    yield (number, thread), Place(place, after=" ".join(word.split()))

    def everywhere(self) -> Patched:
        return self.patched(all_fences(self.places))

    def patched(self, chosen: Sequence[tuple[object, Remedy]], removed: Collection[object] = ()) -> Patched:
        """Fences of one kind after the same row share a new row."""
        rows: dict[tuple[int, Kind], list[int]] = {}
        for key, kind in chosen:
            assert isinstance(key, tuple)
            assert isinstance(kind, Kind)
            rows.setdefault((key[0], kind), []).append(key[1])
        edits = [
            Edit(self.rows[number].end, self.rows[number].end, self._row(kind, threads), (number, kind))
            for (number, kind), threads in sorted(rows.items())
        ]
        for key in removed:
            assert isinstance(key, tuple)
            edits.append(_without_fence(self.rows[-1 - key[0]], self.threads.index(key[1])))
        done = apply(self.text, edits)
        return done._replace(lines={(key, kind): done.lines[(key[0], kind)] for key, kind in chosen})  # type: ignore[index]

    def _row(self, kind: Kind, threads: Collection[int]) -> str:
        cells = [
            (f" {kind}" if thread in threads else "").ljust(width)
            for thread, width in zip(self.threads, self.widths, strict=True)
        ]
        return self.newline + "|".join(cells) + ";"

    def programs(self, text: str) -> list[Program]:
        return [litmus.read(text, self.path)]

    def site_of(self, thread: int, fence: Fence, everywhere: Patched) -> tuple[object, Remedy] | None:
        assert fence.location is not None
        for key, line in everywhere.lines.items():
            assert isinstance(key, tuple)
            (number, of_thread), kind = key
            if line == fence.location.line and of_thread == thread and kind is fence.kind:
                return (number, of_thread), kind
        for key, place in self.places.items():
            assert isinstance(key, tuple)
            was = everywhere.was[fence.location.line]
            if place.existing is fence.kind and key[1] == thread and place.location.line == was:
                return key, fence.kind
        return None


def _without_fence(row: _Row, column: int) -> Edit:
    cell = row.cells[column]
    size = len(_instruction(cell.word))
    return Edit(cell.end - size, cell.end, " " * size)


def _instruction(cell: str) -> str:
    return cell.rpartition(":")[2].strip()


def _rows(text: str, path: str) -> Iterator[_Row]:
    """The rows as they stand in the text, the row of threads first. Comments count as blanks."""
    parts = layout.split(text, path)
    code = parts.code.text
    position = start = len(text) - len(parts.condition.text) - len(code)  # layout blanks comments, it moves nothing
    for row in code.split(";")[:-1]:
        cells = []
        at = position
        for cell in row.split("|"):
            cells.append(_Cell(at + len(cell.rstrip()), len(cell.rpartition("\n")[2]), cell.strip()))
            at += len(cell) + 1
        if row.strip():
            blank = len(row) - len(row.lstrip())
            end = position + len(row) + 1
            yield _Row(1 + text.count("\n", 0, position + blank), end + _comment(code[end - start :]), cells)
        position += len(row) + 1


def _comment(rest: str) -> int:
    """How much of the line behind a row is blank, or a comment: that stays with its row."""
    line, newline, _ = rest.partition("\n")
    return len(line.rstrip("\r")) if newline and not line.strip() else 0
