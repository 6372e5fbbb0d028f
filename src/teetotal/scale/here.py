"""The crew of one: whoever asks does the work, when the answer is waited for."""

from __future__ import annotations

import time
from collections import deque
from typing import Generic

from teetotal.scale.crew import Answer, Item, Tally, Work, WorkerDied, timed


class Here(Generic[Item, Answer]):
    def __init__(self, work: Work[Item, Answer]) -> None:
        self.work = work
        self.size = 1
        self.tallies = [Tally()]
        self.waiting: deque[tuple[int, Item]] = deque()

    @property
    def free(self) -> int:
        return 1 - len(self.waiting)

    def submit(self, number: int, item: Item) -> None:
        self.waiting.append((number, item))

    def receive(self, seconds: float | None = None) -> tuple[int, Answer | WorkerDied] | None:
        if not self.waiting:
            return None
        number, item = self.waiting.popleft()
        began = time.monotonic()
        answer, cpu = timed(self.work, item)
        (tally,) = self.tallies
        tally.busy += time.monotonic() - began
        tally.done(answer, cpu)
        return number, answer

    def hurry(self, number: int) -> bool:
        return False  # whoever could say so is at work

    def cancel(self, number: int) -> None:
        self.waiting = deque((other, item) for other, item in self.waiting if other != number)

    def close(self) -> None:
        self.waiting.clear()
