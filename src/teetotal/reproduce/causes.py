"""Why a number of ours is not the paper's, row by row: causes that were tested, and nothing else.

A cause is something that the paper does not tell and that can be done in another way: where threads are preempted, what
makes two violations one. It is tested by doing it so. Where the number is then the paper's, that is the explanation; where
none of them makes it so, it says ``not explained``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from teetotal.answers.events import Kind

Numbers = Mapping[str, int]
Test = tuple[str, Callable[[], Numbers]]
"""What is done in another way, and the numbers that this gives: all of them, or some."""

LOADS = (Kind.LD,)
STORES = (Kind.ST,)
DATA = (Kind.LD, Kind.ST, Kind.RMW)
WITHOUT_LOADS = (Kind.ST, Kind.RMW, Kind.LOCK, Kind.UNLOCK)
PREEMPTED = {
    "threads preempted before loads alone": LOADS,
    "threads preempted before stores alone": STORES,
    "threads preempted before accesses to data alone": DATA,
    "threads not preempted before loads": WITHOUT_LOADS,
}


def differences(ours: Numbers, paper: Numbers, tests: Iterable[Test]) -> str:
    """Of each number that both have."""
    open_ = {name: number for name, number in paper.items() if name in ours and ours[name] != number}
    if not open_:
        return "none"
    told: list[str] = []
    nearest: dict[str, tuple[int, str]] = {}
    for words, measure in tests:
        if not open_:
            break
        for name, number in measure().items():
            if name not in open_:
                continue
            if number == open_[name]:
                told.append(f"{name}: {number:,} with {words}")
                del open_[name]
            elif abs(number - open_[name]) < abs(nearest.get(name, (ours[name], ""))[0] - open_[name]):
                nearest[name] = number, words
    for name in open_:
        near = f"; {nearest[name][0]:,} with {nearest[name][1]}" if name in nearest else ""
        told.append(f"{name}: not explained{near}")
    return ". ".join(told)
