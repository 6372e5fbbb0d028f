"""Total store order: Burnim, Sen, Stergiou (TACAS 2011), Fig. 2.

=============================  =======================
Fig. 2                         here
=============================  =======================
``m[Adr] : Val``               ``Memory.m``
``B[Proc] : FIFOQueue``        ``TSO.B``
``store_TSO(p, a, v)``         ``TSO.store``
``store^c_TSO(p)``             ``TSO.commit``
``load_TSO(p, a)``             ``TSO.load``
``atomic_TSO(p, a, f)``        ``TSO.atomic``
=============================  =======================

Added: mfence, which flushes as an atomic does, and sfence, which does nothing: a FIFO buffer keeps stores in order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Self

from teetotal.answers.events import Commit, EventId, Semantics
from teetotal.models.memory import Memory, Write


class TSO(Memory):
    def __init__(self, initial: Mapping[str, int], threads: int, semantics: Semantics) -> None:
        super().__init__(initial, threads, semantics)
        self.B: list[tuple[Write, ...]] = [()] * threads

    def store(self, thread: int, write: Write) -> None:
        self.B[thread] += (write,)

    def commit(self, step: Commit) -> None:
        oldest, *rest = self.B[step.thread]
        self.B[step.thread] = tuple(rest)
        self.publish(oldest)

    def load(self, thread: int, address: str) -> Write:
        for write in reversed(self.B[thread]):
            if write.address == address:
                return write
        return self.m[address]

    def atomic(
        self, thread: int, address: str, function: Callable[[int], int | None], event: EventId
    ) -> tuple[Write, int | None]:
        self.mfence(thread)
        return self.update(address, function, event)

    def mfence(self, thread: int) -> None:
        while self.B[thread]:
            self.commit(Commit(thread))

    def sfence(self, thread: int) -> None:
        pass

    def commits(self) -> list[Commit]:
        return [Commit(thread) for thread in range(self.threads) if self.B[thread]]

    def buffered(self, thread: int) -> list[Write | None]:
        return list(self.B[thread])

    def copy(self) -> Self:
        other = super().copy()
        other.B = list(self.B)
        return other

    def state(self) -> Hashable:
        return super().state(), tuple(self.B)
