"""Whose an address is: memory that is handed out anew begins a new life, and who had it before does not share it.

What two threads do to different lives of one address is no conflict, though no hook sees the allocator's own
synchronisation.
"""

from __future__ import annotations

import bisect
from typing import NamedTuple


class Life(NamedTuple):
    """``place``: the line of the program that asked for it; 0 for a thread's stack."""

    begin: int
    end: int
    number: int
    thread: int
    place: int


SHIFT = 64
"""An address of life N is told by ``address + (N << SHIFT)``: intervals of different lives never overlap."""


class Lives:
    """The latest of each address."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._lives: list[Life] = []
        self.all: list[Life] = []

    def begin(self, address: int, size: int, thread: int, place: int) -> None:
        life = Life(address, address + max(size, 1), len(self.all) + 1, thread, place)
        self.all.append(life)
        first = bisect.bisect_right(self._begins, life.begin)
        if first and self._lives[first - 1].end > life.begin:
            first -= 1
        last = bisect.bisect_left(self._begins, life.end)
        rest = [part for old in self._lives[first:last] for part in _without(old, life)]
        put = sorted([*rest, life])
        self._lives[first:last] = put
        self._begins[first:last] = [part.begin for part in put]

    def in_its_life(self, address: int) -> int:
        """The address, as one of its life."""
        position = bisect.bisect_right(self._begins, address) - 1
        if position >= 0 and address < self._lives[position].end:
            return address + (self._lives[position].number << SHIFT)
        return address

    def life_of(self, address: int) -> Life | None:
        return self.all[(address >> SHIFT) - 1] if address >> SHIFT else None


def _without(old: Life, new: Life) -> list[Life]:
    parts = (old._replace(end=min(old.end, new.begin)), old._replace(begin=max(old.begin, new.end)))
    return [part for part in parts if part.begin < part.end]
