"""A piece of text as a row of tokens that a parser walks along; lines are counted only when somebody asks."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NoReturn

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location

_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})\Z")
LARGEST_NESTING = 60
"""Parentheses, blocks and negations nested deeper than this are refused, before Python's own stack gives out."""


class Tokens:
    """Beyond the last token stands an endless row of empty ones."""

    def __init__(self, pattern: re.Pattern[str], text: str, line: int, file: str) -> None:
        self.pattern = pattern
        self.text = text
        self.first_line = line
        self.file = file
        self.tokens: list[str] = pattern.findall(text)
        self.tokens += ("", "", "", "")
        self.position = 0
        self.nesting = 0
        self._lines: list[int] | None = None

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)]

    def next(self) -> str:
        token = self.tokens[self.position]
        if token:
            self.position += 1
        return token

    def accept(self, token: str) -> bool:
        if self.tokens[self.position] != token:
            return False
        self.position += 1
        return True

    def expect(self, token: str, where: str) -> None:
        if not self.accept(token):
            self.fail(f"expected `{token}` {where}, found {self.describe()}")

    def describe(self) -> str:
        token = self.peek()
        return f"`{token[:40]}`" if token else "the end"

    def deeper(self) -> None:
        self.nesting += 1
        if self.nesting > LARGEST_NESTING:
            self.fail(f"nested more than {LARGEST_NESTING} deep")

    def shallower(self) -> None:
        self.nesting -= 1

    @property
    def line(self) -> int:
        """The line of the token that comes next; at the end, of the last one."""
        if self._lines is None:
            newlines = [match.start() for match in re.finditer("\n", self.text)]
            starts = [match.start() for match in self.pattern.finditer(self.text)]
            self._lines = [self.first_line + bisect_right(newlines, start) for start in starts] or [self.first_line]
        return self._lines[min(self.position, len(self._lines) - 1)]

    @property
    def location(self) -> Location:
        return Location(self.file, self.line)

    def fail(self, message: str) -> NoReturn:
        raise ParseError(message, self.location)


def number(text: str) -> int | None:
    """A decimal or hexadecimal number that fits 64 bits, signed or not; otherwise None."""
    if _NUMBER.match(text) is None:
        return None
    value = int(text, 16 if "x" in text or "X" in text else 10)
    return value if -(1 << 63) <= value < (1 << 64) else None
