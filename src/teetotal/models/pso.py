"""Partial store order: Burnim, Sen, Stergiou (TACAS 2011), Fig. 3, with the sfence of Linden, Wolper (TACAS 2013).

===================================  =======================
Fig. 3, and section 2 of the other   here
===================================  =======================
``m[Adr] : Val``                     ``Memory.m``
``B[Proc][Adr] : FIFOQueue``         ``PSO.B``
``store_PSO(p, a, v)``               ``PSO.store``
``store^c_PSO(p, a)``                ``PSO.commit``
``load_PSO(p, a)``                   ``PSO.load``
``atomic_PSO(p, a, f)``              ``PSO.atomic``
``sfence(p)``: ``★^t`` to every      ``PSO.sfence``: ``Marker`` to every buffer
buffer of p
``commit(p, m)`` at ``★^t``: all     ``PSO._drop_markers``
buffers of p must start with it
===================================  =======================

Deviations. A marker goes as soon as it heads all buffers of its thread, instead of with the next commit: the same
commits are possible at the same times. What an atomic flushes is an option: its own address (Fig. 3) or everything.
When it flushes its own address only, and a marker stands in that address's buffer, the stores before the marker go
first, whether or not a store of that address stands behind it: what an atomic writes is a later store of its thread.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from itertools import takewhile
from typing import NamedTuple, Self

from teetotal.answers.events import Commit, EventId, Semantics
from teetotal.models.memory import Memory, Write


class Marker(NamedTuple):
    """``★^t``, the trace of an sfence in every buffer of its thread. ``serial`` tells one from the next."""

    serial: int


class PSO(Memory):
    def __init__(self, initial: Mapping[str, int], threads: int, semantics: Semantics) -> None:
        super().__init__(initial, threads, semantics)
        self.B: list[dict[str, tuple[Write | Marker, ...]]] = [dict.fromkeys(initial, ()) for _ in range(threads)]

    def store(self, thread: int, write: Write) -> None:
        self.B[thread][write.address] += (write,)

    def commit(self, step: Commit) -> None:
        assert step.address is not None
        oldest, *rest = self.B[step.thread][step.address]
        assert isinstance(oldest, Write), "a store behind an sfence cannot commit yet"
        self.B[step.thread][step.address] = tuple(rest)
        self.publish(oldest)
        self._drop_markers(step.thread)

    def load(self, thread: int, address: str) -> Write:
        for entry in reversed(self.B[thread][address]):
            if isinstance(entry, Write):
                return entry
        return self.m[address]

    def atomic(
        self, thread: int, address: str, function: Callable[[int], int | None], event: EventId
    ) -> tuple[Write, int | None]:
        if self.semantics.rmw == "all":
            self.mfence(thread)
        while self.B[thread][address]:
            if isinstance(self.B[thread][address][0], Write):
                self.commit(Commit(thread, address))
            else:
                self._commit_up_to_marker(thread)
        return self.update(address, function, event)

    def mfence(self, thread: int) -> None:
        while any(self.B[thread].values()):
            self._commit_up_to_marker(thread)

    def sfence(self, thread: int) -> None:
        serial = 1 + max((e.serial for b in self.B[thread].values() for e in b if isinstance(e, Marker)), default=0)
        for address in self.B[thread]:
            self.B[thread][address] += (Marker(serial),)
        self._drop_markers(thread)

    def commits(self) -> list[Commit]:
        return [
            Commit(thread, address)
            for thread in range(self.threads)
            for address, buffer in self.B[thread].items()
            if buffer and isinstance(buffer[0], Write)
        ]

    def buffered(self, thread: int) -> list[Write | None]:
        """Up to the first marker by address, then what follows it, and so on."""
        buffers = dict(self.B[thread])
        pending: list[Write | None] = []
        while any(buffers.values()):
            for address, buffer in buffers.items():
                while buffer and isinstance(buffer[0], Write):
                    pending.append(buffer[0])
                    buffer = buffer[1:]
                buffers[address] = buffer[1:]
            if any(buffers.values()):
                pending.append(None)
        return pending

    def copy(self) -> Self:
        other = super().copy()
        other.B = [dict(buffers) for buffers in self.B]
        return other

    def state(self) -> Hashable:
        return super().state(), tuple(tuple(buffers.values()) for buffers in self.B)

    def _drop_markers(self, thread: int) -> None:
        buffers = self.B[thread]
        while buffers and all(buffer and isinstance(buffer[0], Marker) for buffer in buffers.values()):
            for address in buffers:
                buffers[address] = buffers[address][1:]

    def _commit_up_to_marker(self, thread: int) -> None:
        """Every store that no marker holds back, and with the last of them the marker behind it."""
        for address, buffer in list(self.B[thread].items()):
            for _ in takewhile(lambda entry: isinstance(entry, Write), buffer):
                self.commit(Commit(thread, address))
