"""Random walks in parts: each depends on the seed and on its number alone (core/search/random.hpp), so a part is a range.

As text, a part is ``FROM (WHOSE UNTIL)…``: it has come to the walk FROM; then come those until the first UNTIL, and so on.
WHOSE is 0 where they are its own, or the number of the part that they were given to. Whoever does them
(Explorer::explore_walks) looks at the first range alone. The same verbs as those of core/search/merging.hpp.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise

import msgspec

Range = tuple[int, int]
"""Whose, and until which."""


class State(msgspec.Struct, frozen=True):
    finished: bool
    next: int
    open: int
    explored: float


class Walks:
    def __init__(self, count: int) -> None:
        self.count = count

    def whole_search(self) -> str:
        return _text(0, [(0, self.count)])

    def state_of_part(self, text: str) -> State:
        first, ranges = _read(text)
        if not ranges:
            return State(True, 0, 0, 1.0)
        whose, until = ranges[0]
        return State(False, whose, 0 if whose else until - first - 1, first / self.count)

    def give_parts(self, text: str, most: int, number: int) -> tuple[str, list[str]]:
        """What it keeps of its first range, and as much for each of so many others."""
        first, ranges = _read(text)
        if not ranges or ranges[0][0]:
            return text, []
        until = ranges[0][1]
        shares = min(most + 1, until - first)
        ends = [first + (until - first) * (share + 1) // shares for share in range(shares)]
        given = [(number + position, end) for position, end in enumerate(ends[1:])]
        texts = [_text(begin, [(0, end)]) for begin, end in pairwise(ends)]
        return _text(first, [(0, ends[0]), *given, *ranges[1:]]), texts

    def take_back(self, text: str, numbers: Container[int]) -> str:
        first, ranges = _read(text)
        return _text(first, [(0 if whose in numbers else whose, until) for whose, until in ranges])

    def marks_of_part(self, text: str) -> list[int]:
        return [whose for whose, _ in _read(text)[1] if whose]

    def merge_part(self, text: str, merged: str, asks: str) -> tuple[str, str] | None:
        """It has come to a range of somebody else, who has come further."""
        _, ranges = _read(text)
        first, theirs = _read(merged)
        return _text(first, [*theirs, *ranges[1:]]), asks


def _text(first: int, ranges: list[Range]) -> str:
    return f"{first} " + "".join(f"{whose} {until} " for whose, until in ranges)


def _read(text: str) -> tuple[int, list[Range]]:
    """The ranges with something in them; of its own, those beside each other as one."""
    first, *numbers = map(int, text.split())
    ranges: list[Range] = []
    begin = first
    for whose, until in zip(numbers[::2], numbers[1::2], strict=True):
        if until > begin:
            if ranges and whose == 0 == ranges[-1][0]:
                ranges.pop()
            ranges.append((whose, until))
            begin = until
    return first, ranges
