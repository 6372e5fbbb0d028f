"""What processes of a Promela program are made of: the instructions of ``teetotal.programs.program``, and five more.

A nondeterministic choice, a place where a fence could be, a label that a property speaks about, and the begin and end of an
atomic block. Then the control states that processes stand in, what they can do there, and what must not happen.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from teetotal.answers.events import Kind, Location
from teetotal.programs.expressions import Expr
from teetotal.programs.program import Assert, Assign, Assume, Branch, Fence, Load, Lock, Rmw, Store, Unlock
from teetotal.programs.promela.syntax import Span


class InBounds(Assert, frozen=True, kw_only=True):
    """An index lies inside its array: where it does not, the access is wild."""


class Blocks(Assume, frozen=True, kw_only=True):
    """Inside an atomic block, not at its head: SPIN would let the block be interrupted here, so this is refused."""


class Choose(msgspec.Struct, frozen=True, kw_only=True):
    """Go to the target of any arm whose condition holds, or to ``otherwise`` if none does (None: wait for ever)."""

    arms: tuple[tuple[Expr, int], ...]
    otherwise: int | None = None
    location: Location | None = None


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """A fence, if that fence is in the set; nothing, if not."""

    fence: int
    location: Location | None = None


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """The process stands at these labels."""

    labels: tuple[str, ...]
    location: Location | None = None


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """What follows, up to ``End``, is one step. Without ``ghost``, on an empty store buffer and straight to memory, as a
    locked instruction; with it, only ghost variables are used, and the buffer does not matter."""

    ghost: bool
    location: Location | None = None


class End(msgspec.Struct, frozen=True, kw_only=True):
    location: Location | None = None


Access = Load | Store | Rmw | Fence | Lock | Unlock
Instruction = Access | Assign | Branch | Assert | Assume | Choose | Slot | Mark | Begin | End
STOPS = (Load, Store, Rmw, Fence, Lock, Unlock, Slot, Mark, Begin)
Status = Literal["running", "ended", "failed", "cut"]


class Control(NamedTuple):
    """A process's control state."""

    pc: int
    registers: tuple[int, ...]
    status: Status = "running"


class FenceSite(msgspec.Struct, frozen=True):
    """Where a fence could be: directly ``after`` the statement with that span, or before it. Or the statement is that
    fence: then ``instead`` is what the text needs in its place to be without it."""

    kind: Literal[Kind.MFENCE, Kind.SFENCE]
    location: Location
    span: Span
    after: bool
    instead: str | None = None

    @property
    def existing(self) -> bool:
        return self.instead is not None


class Literals(msgspec.Struct, frozen=True):
    """One conjunction of a forbidden condition: (process, label, whether it stands there), and a condition over ghost
    variables (their addresses are in ``Reg`` names)."""

    labels: tuple[tuple[int, str, bool], ...]
    ghosts: tuple[Expr, ...]


class Property(msgspec.Struct, frozen=True):
    """No reachable state satisfies any of ``cases``."""

    name: str
    cases: tuple[Literals, ...]
    location: Location


class Process(msgspec.Struct, frozen=True):
    """``number`` is its ``_pid``; ``start`` is where it begins (``init`` after its last ``run``)."""

    name: str
    number: int
    code: tuple[Instruction, ...]
    registers: dict[str, int]
    start: int = 0


class Tau(NamedTuple):
    target: Control


class Atomically(NamedTuple):
    """``outcomes`` of the values of ``footprint``: what is written where, and the control state after it.

    ``needs``: None if the buffer does not matter, ``all`` if it must be empty, or the one address that no store in the
    buffer may have for ``Semantics.rmw == "address"``.
    """

    footprint: tuple[int, ...]
    needs: int | Literal["all"] | None


class AccessAction(NamedTuple):
    """A load, a store, or a fence."""

    kind: Kind
    address: int
    value: int


class Fenced(NamedTuple):
    """A fence's place: what happens depends on whether the fence is in the set."""

    fence: int
    target: Control


Action = Tau | Atomically | AccessAction | Fenced
Writes = tuple[tuple[int, int], ...]
Outcome = tuple[Writes, Control]
