"""The vocabulary of shared memory: kinds of events, events, requests, steps, and the options of every model.

An *event* is one shared-memory operation that happened. A *request* is what a thread asks of memory before it
happens. Everything else in teetotal is built from these two.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Literal, NamedTuple

import msgspec

from teetotal.answers import numbers


class Kind(IntEnum):
    """What an event does. The numbers are those of the core and of trace files."""

    LD = numbers.Kind.LD
    ST = numbers.Kind.ST
    RMW = numbers.Kind.RMW
    MFENCE = numbers.Kind.MFENCE
    SFENCE = numbers.Kind.SFENCE
    LOCK = numbers.Kind.LOCK
    UNLOCK = numbers.Kind.UNLOCK
    FENCE = numbers.Kind.FENCE  # of C11 alone: TSO and PSO keep the order that it asks for anyway

    def __str__(self) -> str:
        return self.name.lower()

    @property
    def is_fence(self) -> bool:
        return self in _FENCES

    @property
    def is_atomic(self) -> bool:
        """Reads and writes in one step: an rmw, or a mutex operation, which is an rmw on the mutex."""
        return self in _ATOMIC


_FENCES = (Kind.MFENCE, Kind.SFENCE, Kind.FENCE)  # once: a member is looked up slowly
_ATOMIC = (Kind.RMW, Kind.LOCK, Kind.UNLOCK)

MemoryOrder = Literal["na", "relaxed", "acquire", "release", "acq_rel", "seq_cst"]
ORDERS: tuple[MemoryOrder, ...] = ("na", "relaxed", "acquire", "release", "acq_rel", "seq_cst")
"""C11's, by the core's numbers. An access of order ``na`` is not atomic; a fence of that order is none of C11's: it stands
for part of an access on TSO or PSO."""


class Location(NamedTuple):
    """A place in a source file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class EventId(NamedTuple):
    """Which event: the ``index``-th (from 0) of its thread."""

    thread: int
    index: int  # type: ignore[assignment]  # hides a tuple's method of that name, which nobody needs here


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One shared-memory operation that happened.

    ``value`` is what it wrote, or, for a load, what it read. ``read`` is what an atomic operation saw before it
    wrote. An atomic operation that wrote nothing (a failed compare-and-swap) has no ``value``. Where a recorder did
    not say the values, both are None, and ``wrote`` marks an atomic operation that wrote. ``words`` say what it is to a
    person where its kind does not: creating a thread, signalling a condition. ``within``: for what stands in a library's
    header, and is told by the ``location`` of the program's own call, the calling function and the header's line.
    ``order`` is C11's, of a failed compare-and-swap the one for failure.
    """

    thread: int
    index: int
    kind: Kind
    address: str | None = None
    value: int | None = None
    read: int | None = None
    location: Location | None = None
    wrote: bool = False
    words: str = ""
    within: str = ""
    order: MemoryOrder = "na"

    def __post_init__(self) -> None:
        if self.order == "na":  # the same object in all processes: only then is it left out of the JSON
            msgspec.structs.force_setattr(self, "order", "na")

    @property
    def id(self) -> EventId:
        return EventId(self.thread, self.index)

    @property
    def reads(self) -> bool:
        return self.kind is Kind.LD or self.kind.is_atomic

    @property
    def writes(self) -> bool:
        return self.kind is Kind.ST or (self.kind.is_atomic and (self.wrote or self.value is not None))

    def __str__(self) -> str:
        return f"T{self.thread}: {self.text}"

    @property
    def text(self) -> str:
        """The operation alone, as a person would write it."""
        return self.words or self.by_kind

    @property
    def by_kind(self) -> str:
        """The same where nobody has better words for it: ``st x = 1``, ``ld y → 0``, ``rmw z: 0 → 1``."""
        match self.kind:
            case Kind.LD | Kind.ST | Kind.RMW if self.value is None and self.read is None:
                unchanged = self.kind is Kind.RMW and not self.wrote
                return f"{self.kind} {self.address}{', unchanged' if unchanged else ''}"
            case Kind.LD:
                return f"ld {self.address} → {self.value}"
            case Kind.ST:
                return f"st {self.address} = {self.value}"
            case Kind.RMW if self.value is None:
                return f"rmw {self.address}: {self.read}, unchanged"
            case Kind.RMW:
                return f"rmw {self.address}: {self.read} → {self.value}"
            case Kind.LOCK | Kind.UNLOCK:
                return f"{self.kind} {self.address}"
            case _:
                return str(self.kind)


class Request(NamedTuple):
    """What a thread asks of memory next: the paper's ``next(p, σ)``.

    ``value`` belongs to a store, ``function`` to an rmw: from the old value to the new one, or to None where
    nothing is to be written (a failed compare-and-swap), which has the order ``failure``.
    """

    kind: Kind
    address: str | None = None
    value: int | None = None
    function: Callable[[int], int | None] | None = None
    location: Location | None = None
    order: MemoryOrder = "na"
    failure: MemoryOrder = "na"


class Issue(NamedTuple):
    """A step of the program: the thread's next request."""

    thread: int


class Commit(NamedTuple):
    """An internal step: ``st^c(p)`` under TSO (no address), ``st^c(p, a)`` under PSO."""

    thread: int
    address: str | None = None


Step = Issue | Commit
"""What a schedule is made of."""

MachineName = Literal["sc", "tso", "pso"]
ModelName = Literal["sc", "tso", "pso", "c11"]
MODELS: tuple[MachineName, ...] = ("sc", "tso", "pso")
"""Those that are machines, by the core's numbers. C11 is none: a condition on graphs."""
CHECKED: tuple[ModelName, ...] = (*MODELS, "c11")


class Semantics(msgspec.Struct, frozen=True):
    """Choices that the literature leaves open; the same options on every verb and in every engine.

    ``rmw``: what a PSO rmw flushes, ``all`` of its thread's buffers (what processors do) or only its own
    ``address`` (the papers' PSO). ``mutex``: whether an unlock is also a full ``fence`` (what every real mutex is)
    or a bare ``rmw``. ``failed_cas``: whether a failed compare-and-swap only ``read``s or ``write``s the old value
    back, as the papers model it.
    """

    rmw: Literal["all", "address"] = "all"
    mutex: Literal["fence", "rmw"] = "fence"
    failed_cas: Literal["read", "write"] = "read"
