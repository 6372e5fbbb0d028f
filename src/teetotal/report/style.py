"""The sheet that answers are written on: how wide it is, and whether it has colours.

A renderer asks its ``Page`` for both and knows no terminal. A colour is a mark in the text, a character that Unicode
keeps for a program's own use; ``streams`` makes escape sequences of marks where there is a terminal, and shows every
escape sequence that comes from elsewhere. Text in memory, files and pipes has no marks.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

NARROWEST, WIDEST = 60, 200
_END = "\ufddf"
MARKS = {
    "\ufdd0": "\x1b[1;31m",  # bad
    "\ufdd1": "\x1b[1;32m",  # good
    "\ufdd2": "\x1b[1;33m",  # in doubt
    "\ufdd3": "\x1b[1m",  # strong
    "\ufdd4": "\x1b[2m",  # faint
    "\ufdd5": "\x1b[36m",  # a place
    _END: "\x1b[0m",
}
"""What a terminal is told for each mark."""


class Page(NamedTuple):
    """``width`` None: lines are as long as they are, to be searched and compared. ``unfolded``: nothing is left out that
    could be told."""

    width: int | None = None
    colours: bool = False
    unfolded: bool = False

    def bad(self, text: str) -> str:
        return self._marked("\ufdd0", text)

    def good(self, text: str) -> str:
        return self._marked("\ufdd1", text)

    def doubt(self, text: str) -> str:
        return self._marked("\ufdd2", text)

    def strong(self, text: str) -> str:
        return self._marked("\ufdd3", text)

    def faint(self, text: str) -> str:
        return self._marked("\ufdd4", text)

    def place(self, text: str) -> str:
        return self._marked("\ufdd5", text)

    def _marked(self, mark: str, text: str) -> str:
        return f"{mark}{text}{_END}" if self.colours and text else text

    def fits(self, length: int) -> bool:
        return self.width is None or length <= self.width

    def kept(self, text: str) -> list[str]:
        """A line with an indent of its own, in lines of the page's width."""
        return self.wrapped(text.lstrip(), text[: len(text) - len(text.lstrip())])

    def wrapped(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """In lines of the page's width, those after the first with a ``hanging`` indent. Words are not broken: a command
        must stay one."""
        if self.width is None:
            return [indent + text]
        following = indent + "  " if hanging is None else hanging
        return textwrap.wrap(
            text, self.width, initial_indent=indent, subsequent_indent=following,
            break_long_words=False, break_on_hyphens=False,
        ) or [indent.rstrip()]  # fmt: skip


PLAIN = Page()


def page(*, unfolded: bool = False) -> Page:
    """That of standard output: a terminal's width, or TEETOTAL_COLUMNS; colours on a terminal, unless NO_COLOR or a dumb
    TERM says otherwise, and elsewhere where FORCE_COLOR asks for them."""
    from teetotal.report import streams

    return Page(_width(), streams.colours(), unfolded)


def _width() -> int | None:
    asked = os.environ.get("TEETOTAL_COLUMNS", "")  # not COLUMNS, which some libraries set for all that they start
    if asked.isdecimal() and int(asked):
        return min(max(int(asked), NARROWEST), WIDEST)
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return None
    return min(max(columns, NARROWEST), WIDEST) if columns else None


def columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Rows of cells, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def counted(number: int, noun: str) -> str:
    """``1 fence``, ``2 fences``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
