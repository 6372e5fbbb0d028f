"""What a question may cost, and who is told how far the answer is: one mechanism for all engines.

A ``Budget`` begins when it is made. Engines ask it what is ``left`` and hand that to their kernels, which also call back
now and then (``counting``); Ctrl-C reaches them through the same calls.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

from teetotal.scale import supervision
from teetotal.scale.crew import Answer, Item, Work, WorkerDied, each, in_order
from teetotal.scale.local import Processes
from teetotal.scale.scale import Scale

Watcher = Callable[[str, int, float], None]
"""Told now and then what is being counted, how many there are so far, and an estimate of the fraction done (0: unknown)."""


class Budget:
    """So many seconds from now on (None or infinity: no limit), so many megabytes, and whoever helps."""

    def __init__(
        self,
        seconds: float | None = None,
        megabytes: float | None = None,
        watcher: Watcher | None = None,
        scale: Scale | None = None,
    ) -> None:
        self.started = time.monotonic()
        self.seconds = math.inf if seconds is None else seconds
        self.megabytes = megabytes
        self.watcher = watcher
        self.scale = scale or Scale()

    @property
    def passed(self) -> float:
        return time.monotonic() - self.started

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - self.passed)

    @property
    def until(self) -> float:
        """The moment at which it is over, as of ``time.monotonic``."""
        return self.started + self.seconds

    @property
    def limit(self) -> float | None:
        """The same, for kernels and those to whom None is without a limit."""
        return None if self.left == math.inf else self.left

    @property
    def over(self) -> bool:
        return self.left == 0.0

    def begin(self) -> None:
        """From here on an engine looks at the clock itself: before, whoever works too long is ended."""
        supervision.looks_at_the_clock()

    def end(self) -> None:
        """Nothing more is to be done: what is known is told."""
        self.seconds = 0.0

    def counting(self, what: str) -> Callable[[int, float], None] | None:
        """What a kernel calls with a count and the fraction done; None where nobody watches."""
        watcher = self.watcher
        if watcher is None:
            return None
        return lambda count, fraction: watcher(what, count, fraction)

    def copies(self, work: Work[Item, Answer], most: int) -> Processes[Item, Answer]:
        """Processes that are copies of this one, wherever else others are: for work that cannot be sent. Nobody helps
        them, and they tell nothing but their answers."""

        def alone(item: Item) -> Answer:
            self.watcher, self.scale = None, Scale()
            return work(item)

        crew = Processes(alone, min(most, self.scale.workers))
        self.scale.crews.append(crew.tallies)
        return crew

    def by_copies(self, work: Work[Item, Answer], items: Sequence[Item]) -> Iterator[Answer]:
        """The answers in order, where there are several workers each by a copy; what one that died would have answered is
        found out here."""
        if min(self.scale.workers, len(items)) <= 1:
            yield from map(work, items)
            return
        for item, answer in zip(items, in_order(each(self.copies(work, len(items)), items)), strict=True):
            yield work(item) if isinstance(answer, WorkerDied) else answer
