"""What a thread asks of shared memory, as the small values that its generator yields.

They are plain ``Request`` values, so a program's threads are also ordinary Python generators: anything that answers
their requests can run them.

Orders are C11's. Without one, ``ld`` and ``st`` are not atomic, an rmw is seq_cst; TSO and PSO see what a compiler makes of
the order (``accesses.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from teetotal.answers.arguments import fits
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Kind, MemoryOrder, Request
from teetotal.programs.program import refuse_many

relaxed: MemoryOrder = "relaxed"
acquire: MemoryOrder = "acquire"
release: MemoryOrder = "release"
acq_rel: MemoryOrder = "acq_rel"
seq_cst: MemoryOrder = "seq_cst"


def ld(address: str | int, order: MemoryOrder = "na") -> Request:
    """Load: ``r = yield ld("x")``, ``r = yield ld("x", acquire)``."""
    return Request(Kind.LD, _place(address), order=order)


def st(address: str | int, value: int, order: MemoryOrder = "na") -> Request:
    """Store: ``yield st("x", 1)``, ``yield st("x", 1, release)``."""
    return Request(Kind.ST, _place(address), value, order=order)


def rmw(
    address: str | int,
    function: Callable[[int], int | None],
    order: MemoryOrder | None = None,
    failure: MemoryOrder | None = None,
) -> Request:
    """Read, and in the same step write what ``function`` makes of it, nothing if that is None. Gives the old value."""
    success, otherwise = rmw_orders(order, failure)
    return Request(Kind.RMW, _place(address), None, function, None, success, otherwise)


def cas(
    address: str | int,
    expected: int,
    new: int,
    order: MemoryOrder | None = None,
    failure: MemoryOrder | None = None,
) -> Request:
    """Compare and swap: writes ``new`` only where it finds ``expected``. Gives the old value."""
    return rmw(address, lambda old: new if old == expected else None, order, failure)


def fetch_add(address: str | int, amount: int, order: MemoryOrder | None = None) -> Request:
    """Add in one step. Gives the old value."""
    return rmw(address, lambda old: old + amount, order)


def xchg(address: str | int, value: int, order: MemoryOrder | None = None) -> Request:
    """Exchange: write ``value``, give the old one."""
    return rmw(address, lambda old: value, order)


def rmw_orders(order: MemoryOrder | None, failure: MemoryOrder | None) -> tuple[MemoryOrder, MemoryOrder]:
    """For success and for failure, where they may be left out: as C11's functions have it."""
    success = _order(order or "seq_cst")
    weaker: dict[MemoryOrder, MemoryOrder] = {"release": "relaxed", "acq_rel": "acquire"}
    return success, failure or weaker.get(success, success)


def _order(order: MemoryOrder) -> MemoryOrder:
    if not isinstance(order, str):
        raise ProgramError(f"{order!r} is no memory order")
    return order


def thread_fence(order: MemoryOrder) -> Request:
    """C11's ``atomic_thread_fence``."""
    kind = {"seq_cst": Kind.MFENCE, "release": Kind.SFENCE, "acq_rel": Kind.SFENCE}.get(_order(order), Kind.FENCE)
    return Request(kind, order=order)


def mfence() -> Request:
    """Wait until every earlier store of this thread is visible. ``yield mfence`` does as well. C11: a seq_cst fence."""
    return thread_fence("seq_cst")


def sfence() -> Request:
    """Keep earlier stores of this thread before its later ones. ``yield sfence`` does as well. C11: a release fence."""
    return thread_fence("release")


def lock(address: str | int) -> Request:
    """Wait until the mutex is 0 and make it 1."""
    return Request(Kind.LOCK, _place(address))


def unlock(address: str | int) -> Request:
    """Make the mutex 0."""
    return Request(Kind.UNLOCK, _place(address))


class Blocked(Exception):
    """An assumption does not hold: only seen by who runs a thread as a plain generator."""


def assume(condition: object) -> None:
    """Only executions in which this holds count; the thread stops where it does not. A statement, not to be yielded."""
    if not condition:
        raise Blocked


class Element(str):
    """The name of an array's element: an ordinary address that remembers its array."""

    array: Array


class Address(str):
    """The address of a location as a value: it can be stored, loaded, compared, and used to load and store."""

    array: Array | None = None


def address(location: str) -> Address:
    """``&location``. In memory it is an integer, and 0 is no location's address."""
    pointer = Address(location)
    if isinstance(location, Element):
        pointer.array = location.array
    return pointer


class Array(msgspec.Struct, frozen=True):
    """Consecutive locations ``name[0]``, ``name[1]``, …; the index may be computed at run time."""

    name: str
    initial: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.initial)

    def __getitem__(self, index: int) -> Element:
        if not 0 <= index < len(self.initial):
            raise IndexError(f"{self.name}[{index}]: the array has {len(self.initial)} elements")
        element = Element(f"{self.name}[{index:d}]")
        element.array = self
        return element

    def __iter__(self) -> Iterator[Element]:
        return (self[index] for index in range(len(self.initial)))


def array(name: str, length: int, initial: int | Sequence[int] = 0) -> Array:
    """An array of shared locations, declared by being used. ``initial`` is one value for all, or a value for each."""
    if not fits(length, int):
        raise ProgramError(f"array {name!r} has {length!r} elements; that must be a number")
    refuse_many(locations=length)
    if not isinstance(initial, int | Address | Sequence):
        raise ProgramError(f"array {name!r} begins with {initial!r}; locations hold integers")
    values = (initial,) * length if isinstance(initial, int | Address) else tuple(initial)
    for value in values:
        if not isinstance(value, int | Address):
            raise ProgramError(f"array {name!r} begins with {value!r}; locations hold integers")
    if length < 1 or len(values) != length:
        raise ProgramError(f"array {name!r} of length {length} with {len(values)} initial values")
    return Array(name, values)


def _place(location: str | int) -> str:
    """Addresses in real runs are names; a pointer that is 0 or any other number leads nowhere."""
    return location if isinstance(location, str) else f"wild address {location}"


OPERATIONS = (ld, st, rmw, cas, fetch_add, xchg, mfence, sfence, thread_fence, lock, unlock)


def is_operation(what: object) -> bool:
    return any(what is operation for operation in OPERATIONS)
