"""What a question may cost, and who is told how far the answer is: one mechanism for all engines.

A ``Budget`` begins when it is made. Engines ask it what is ``left`` and hand that to their kernels, which also call back
now and then (``counting``); Ctrl-C reaches them through the same calls.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from teetotal.scale import supervision
from teetotal.scale.crew import Answer, Item, Work, WorkerDied
from teetotal.scale.local import Processes
from teetotal.scale.scale import Scale

Watcher = Callable[[str, int, float], None]
"""Told now and then what is being counted, how many there are so far, and an estimate of the fraction done (0: unknown)."""


_AGAIN = 0.3
"""Seconds after which those who are in no hurry are asked again."""


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

    def by_copies(self, work: Work[Item, Answer], items: Sequence[Item]) -> tuple[list[Answer | None], bool]:
        """The answers, where there are several workers each by a copy, and whether somebody interrupted it: those that are
        at work then tell what they have. What one that died would have answered is found out here."""
        found: list[Answer | None] = [None] * len(items)
        if min(self.scale.workers, len(items)) <= 1:
            for number, item in enumerate(items):
                found[number] = work(item)
            return found, False
        crew = self.copies(work, len(items))
        waiting, running, interrupted = list(range(len(items))), set[int](), False
        try:
            while running or (waiting and not interrupted):
                try:
                    while crew.free and waiting and not interrupted:
                        running.add(waiting[0])
                        crew.submit(waiting[0], items[waiting.pop(0)])
                    for number in running if interrupted else ():  # again and again: it may be about to begin
                        crew.hurry(number)
                    if (told := crew.receive(_AGAIN if interrupted else None)) is not None:
                        number, answer = told
                        running.discard(number)
                        if not isinstance(answer, WorkerDied):
                            found[number] = answer
                        elif not interrupted:
                            found[number] = work(items[number])
                except KeyboardInterrupt:
                    if interrupted:
                        raise
                    interrupted = True
        finally:
            crew.close()
        return found, interrupted
