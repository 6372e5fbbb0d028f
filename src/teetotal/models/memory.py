"""What the three machines share: the memory array ``m`` and the order in which writes become visible, all and by address.

The papers' machines hold values. Ours hold *writes*, each with the event that made it, so that ``src`` (which write
a read saw) and ``co`` (the order in which the writes of an address became globally visible) fall out of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, Self

from teetotal.answers.events import Commit, EventId, Semantics


class Write(NamedTuple):
    """A write on its way to memory or in it. ``event`` is None for an initial value."""

    address: str
    value: int
    event: EventId | None


class Memory:
    """The array ``m[Adr]`` and the methods that a program calls; each machine fills in the buffers."""

    def __init__(self, initial: Mapping[str, int], threads: int, semantics: Semantics) -> None:
        self.m = {address: Write(address, value, None) for address, value in initial.items()}
        self.visible: list[Write] = []
        self.order: dict[str, tuple[EventId, ...]] = dict.fromkeys(initial, ())
        self.threads = threads
        self.semantics = semantics

    def publish(self, write: Write) -> None:
        """``m[a] := v``: from now on every thread sees this write."""
        self.m[write.address] = write
        self.visible.append(write)
        assert write.event is not None, "an initial value is there from the start"
        self.order[write.address] = (*self.order.get(write.address, ()), write.event)

    def update(self, address: str, function: Callable[[int], int | None], event: EventId) -> tuple[Write, int | None]:
        """``ret := m[a]; m[a] := f(m[a]); return ret``, with what was written, None if nothing was."""
        old = self.m[address]
        new = function(old.value)
        if new is None and self.semantics.failed_cas == "write":
            new = old.value
        if new is not None:
            self.publish(Write(address, new, event))
        return old, new

    def store(self, thread: int, write: Write) -> None:
        raise NotImplementedError

    def load(self, thread: int, address: str) -> Write:
        raise NotImplementedError

    def atomic(
        self, thread: int, address: str, function: Callable[[int], int | None], event: EventId
    ) -> tuple[Write, int | None]:
        raise NotImplementedError

    def mfence(self, thread: int) -> None:
        """Wait until every earlier store of the thread is visible."""
        raise NotImplementedError

    def sfence(self, thread: int) -> None:
        """Keep the thread's earlier stores before its later ones."""
        raise NotImplementedError

    def commits(self) -> list[Commit]:
        """The internal steps possible now."""
        raise NotImplementedError

    def commit(self, step: Commit) -> None:
        raise NotImplementedError

    def buffered(self, thread: int) -> list[Write | None]:
        """The thread's pending writes, oldest first; None stands for an sfence's marker."""
        raise NotImplementedError

    def copy(self) -> Self:
        """A machine in the same state that goes its own way from here."""
        other = object.__new__(type(self))
        other.m = dict(self.m)
        other.visible = list(self.visible)
        other.order = dict(self.order)
        other.threads = self.threads
        other.semantics = self.semantics
        return other

    def state(self) -> Hashable:
        """All that the future depends on."""
        return tuple(self.m.values())
