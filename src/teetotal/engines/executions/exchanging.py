"""Threads that do the same, exchanged in what one execution shows (Theorem 5 of docs/explanation/exploration.md).

``twins`` are those of ``encoding.twins``: of each thread, the latest before it that does the same, or -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product


def exchanged(schedule: list[int], delayed: int, deciding: int, twins: Sequence[int]) -> Iterator[list[int]]:
    """The schedule with every two threads that do what those two do in their place, and others that do the same in
    theirs: whose store is delayed and whose event decides make a violation distinct."""

    def alike(thread: int) -> list[int]:
        first = _first(thread, twins)
        return [other for other in range(len(twins)) if _first(other, twins) == first] or [thread]

    for first, second in product(alike(delayed), alike(deciding)):
        if (first == second) != (delayed == deciding):
            continue
        names = _swapped({}, delayed, first)
        names = _swapped(names, deciding, second)
        yield [names.get(thread, thread) for thread in schedule]


def _first(thread: int, twins: Sequence[int]) -> int:
    while thread < len(twins) and twins[thread] >= 0:
        thread = twins[thread]
    return thread


def _swapped(names: dict[int, int], thread: int, name: int) -> dict[int, int]:
    """With ``name`` for that thread, and what it had for whoever had that."""
    had = names.get(thread, thread)
    owner = next((other for other, given in names.items() if given == name), name)
    return {**names, owner: had, thread: name}
