"""Sequential consistency: Burnim, Sen, Stergiou (TACAS 2011), Fig. 1.

======================  =======================
Fig. 1                  here
======================  =======================
``m[Adr] : Val``        ``Memory.m``
``store_SC(p, a, v)``   ``SC.store``
``load_SC(p, a)``       ``SC.load``
``atomic_SC(p, a, f)``  ``SC.atomic``
======================  =======================

Added: the fences, which have nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Callable

from teetotal.answers.events import Commit, EventId
from teetotal.models.memory import Memory, Write


class SC(Memory):
    def store(self, thread: int, write: Write) -> None:
        self.publish(write)

    def load(self, thread: int, address: str) -> Write:
        return self.m[address]

    def atomic(
        self, thread: int, address: str, function: Callable[[int], int | None], event: EventId
    ) -> tuple[Write, int | None]:
        return self.update(address, function, event)

    def mfence(self, thread: int) -> None:
        pass

    def sfence(self, thread: int) -> None:
        pass

    def commits(self) -> list[Commit]:
        return []

    def commit(self, step: Commit) -> None:
        raise ValueError("an SC machine has nothing to commit")

    def buffered(self, thread: int) -> list[Write | None]:
        return []
