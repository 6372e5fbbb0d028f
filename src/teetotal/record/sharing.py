"""What threads share, of all that they access: from the accesses of one window to cells.

An access is kept where somebody else accesses a part of it, too. Accesses that overlap are of one cell; long ones are first
cut, where they are shared, at the bounds of all others: what is accessed as a whole is one cell.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

LONGEST = 16
"""Bytes that one instruction accesses."""


class Extent(NamedTuple):
    begin: int
    end: int


class Touch(NamedTuple):
    """What one access touches, and of which thread it is."""

    begin: int
    end: int
    thread: int


def shared_regions(touches: Iterable[Touch]) -> list[Extent]:
    """Where at least two threads access, in order."""
    bounds: list[tuple[int, int, int]] = []
    for touch in touches:
        bounds += ((touch.begin, 1, touch.thread), (touch.end, -1, touch.thread))
    bounds.sort()
    open_: Counter[int] = Counter()
    several, began = 0, 0
    found: list[Extent] = []
    for where, change, thread in bounds:
        before = several
        open_[thread] += change
        if open_[thread] == 1 and change == 1:
            several += 1
        elif open_[thread] == 0:
            several -= 1
        if before < 2 <= several:
            began = where
        elif several < 2 <= before and where > began:
            if found and found[-1].end == began:
                found[-1] = Extent(found[-1].begin, where)
            else:
                found.append(Extent(began, where))
    return found


class Regions:
    """``cuts``: where long accesses are cut, in order."""

    def __init__(self, regions: Sequence[Extent], cuts: Sequence[int] = ()) -> None:
        self._regions, self._cuts = regions, cuts
        self._begins = [region.begin for region in regions]

    def parts(self, begin: int, end: int) -> Iterator[Extent]:
        """An access, if any of it is shared; of a long one the parts that are."""
        first = max(0, bisect.bisect_right(self._begins, begin) - 1)
        for position in range(first, len(self._regions)):
            region = self._regions[position]
            if region.begin >= end:
                return
            if region.end <= begin:
                continue
            if end - begin <= LONGEST:
                yield Extent(begin, end)
                return
            here, last = max(begin, region.begin), min(end, region.end)
            for cut in range(bisect.bisect_right(self._cuts, here), bisect.bisect_left(self._cuts, last)):
                yield Extent(here, self._cuts[cut])
                here = self._cuts[cut]
            yield Extent(here, last)


def shared_parts(touches: Iterable[Touch]) -> Regions:
    """Of what is shared, all that accesses of one instruction reach into."""
    all_ = set(touches)
    regions = shared_regions(all_)
    shared = Regions(regions)
    short = cells(Extent(touch.begin, touch.end) for touch in all_ if touch.end - touch.begin <= LONGEST)
    cuts = {bound for cell in short for bound in cell}
    cuts |= {bound for touch in all_ if touch.end - touch.begin > LONGEST for bound in (touch.begin, touch.end)}
    return Regions(cells([*regions, *(cell for cell in short if any(shared.parts(*cell)))]), sorted(cuts))


def cells(parts: Iterable[Extent]) -> list[Extent]:
    """Those that overlap are one, in order."""
    found: list[Extent] = []
    for part in sorted(set(parts)):
        if found and part.begin < found[-1].end:
            found[-1] = Extent(found[-1].begin, max(found[-1].end, part.end))
        else:
            found.append(part)
    return found
