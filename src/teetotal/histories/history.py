"""Histories: what was observed of a run, per thread the operations in program order with the values they read and wrote.

The columns live in the core (``core/histories/history.hpp``); this is how Python sees them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from teetotal import _core
from teetotal.answers.errors import ArgumentError, TeetotalError
from teetotal.answers.events import Kind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[np.generic[Any]]

RESULT_UNKNOWN = 1
WRITES_NOTHING = 2
NO_ADDRESS = 0xFFFFFFFF
UNKNOWN_SOURCE = 0xFFFFFFFF
INITIAL_SOURCE = 0xFFFFFFFE


class Nil(int):
    """A database's initial state: the number -2⁶³ in the columns of a history that has it."""

    def __str__(self) -> str:
        return "nil"


NIL = Nil(-(2**63))


class HistoryError(TeetotalError):
    """A history that cannot be: a value was read that nobody wrote."""


class Operation(NamedTuple):
    """One operation. ``read`` is what a load or an rmw saw, None if that was not recorded; ``written`` what a store or
    an rmw wrote, None if nothing."""

    thread: str
    kind: Kind
    address: str | None = None
    read: int | None = None
    written: int | None = None
    line: int = 0

    @property
    def reads(self) -> bool:
        return self.kind in (Kind.LD, Kind.RMW)

    @property
    def text(self) -> str:
        """As our own format has it."""
        read, written = show(self.read), show(self.written)
        match self.kind:
            case Kind.LD:
                return f"ld {self.address} -> {read}"
            case Kind.ST:
                return f"st {self.address} = {written}"
            case Kind.RMW if self.written is None:
                return f"rmw {self.address}: {read}, unchanged"
            case Kind.RMW:
                return f"rmw {self.address}: {read} -> {written}"
            case _:
                return str(self.kind)

    def __str__(self) -> str:
        return f"{thread_name(self.thread)}: {self.text}"


def show(value: int | None) -> str:
    """A value as our own format has it: ``?`` if it was not recorded, ``nil`` for a database's initial state."""
    return "?" if value is None else str(value)


def thread_name(name: str) -> str:
    """Threads that are mere numbers in the file are shown as T0, T1, …"""
    return f"T{name}" if name.isdigit() else name


class History:
    """A sequence of operations in the order of the file, with initial and final values."""

    def __init__(self, columns: Any) -> None:
        if not isinstance(columns, _core.HistoryColumns):
            raise ArgumentError(f"a history is made by read_histories, not of {columns!r}")
        self.columns = columns
        self.name: str = columns.name
        self.threads: list[str] = columns.threads
        self.addresses: list[str] = columns.addresses
        self.parts: Any = None
        """What ``parts.divided`` has found out of it."""

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        return f"<History{name}: {len(self)} operations of {len(self.threads)} threads>"

    @classmethod
    def of(
        cls,
        operations: Iterable[Operation],
        *,
        name: str = "",
        initial: dict[str, int] | None = None,
        final: dict[str, int] | None = None,
    ) -> History:
        """From operations, those of a thread in program order. Addresses start as 0 unless ``initial`` says otherwise."""
        import numpy as np

        operations = list(operations)
        threads = {name: i for i, name in enumerate(dict.fromkeys(op.thread for op in operations))}
        used = [op.address for op in operations if op.address is not None]
        addresses = {name: i for i, name in enumerate(dict.fromkeys([*used, *(initial or {}), *(final or {})]))}
        flags = [
            (RESULT_UNKNOWN if op.reads and op.read is None else 0)
            | (WRITES_NOTHING if op.kind is Kind.RMW and op.written is None else 0)
            for op in operations
        ]
        bound = [*(initial or {}).values(), *(final or {}).values()]
        has_nil = any(isinstance(v, Nil) for op in operations for v in (op.read, op.written)) or any(
            isinstance(v, Nil) for v in bound
        )
        values = [(op.read if op.kind is Kind.LD else op.written) or 0 for op in operations]
        return cls(
            _core.make_history(
                name,
                np.array([threads[op.thread] for op in operations], np.uint32),
                np.array([op.kind for op in operations], np.uint8),
                np.array([NO_ADDRESS if op.address is None else addresses[op.address] for op in operations], np.uint32),
                np.array(values, np.int64),
                np.array([op.read or 0 for op in operations], np.int64),
                np.array(flags, np.uint8),
                np.array([op.line for op in operations], np.uint32),
                list(threads),
                list(addresses),
                [(addresses[a], v) for a, v in (initial or {}).items()],
                [(addresses[a], v) for a, v in (final or {}).items()],
                has_nil,
            )
        )

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, index: int) -> Operation:
        columns = self.columns
        kind = Kind(int(columns.kind[index]))
        line = int(columns.line[index])
        thread = self.threads[int(columns.thread[index])]
        if kind.is_fence:
            return Operation(thread, kind, line=line)
        flags = int(columns.flags[index])
        value = self._value(columns.value[index])
        read = value if kind is Kind.LD else self._value(columns.read[index]) if kind is Kind.RMW else None
        return Operation(
            thread=thread,
            kind=kind,
            address=self.addresses[int(columns.address[index])],
            read=None if flags & RESULT_UNKNOWN else read,
            written=None if kind is Kind.LD or flags & WRITES_NOTHING else value,
            line=line,
        )

    def _value(self, number: Any) -> int:
        return NIL if number == NIL and self.columns.nil else int(number)

    def __iter__(self) -> Iterator[Operation]:
        return (self[i] for i in range(len(self)))

    @property
    def initial(self) -> dict[str, int]:
        """The initial values that are not 0 by default."""
        return {self.addresses[a]: self._value(v) for a, v, _ in self.columns.initial}

    @property
    def final(self) -> dict[str, int]:
        return {self.addresses[a]: self._value(v) for a, v, _ in self.columns.final}

    def restricted(self, keep: Sequence[int], *, final: dict[str, int] | None = None) -> History:
        """The history of these operations alone."""
        return History.of((self[i] for i in sorted(keep)), name=self.name, initial=self.initial, final=final)


def to_text(history: History) -> str:
    """In our own format; ``readers.read_text`` reads it back."""
    lines = [f"history {history.name}"] if history.name else []
    lines += [f"init {address} = {show(value)}" for address, value in history.initial.items()]
    lines += [str(operation) for operation in history]
    lines += [f"final {address} = {show(value)}" for address, value in history.final.items()]
    return "\n".join(lines) + "\n"
