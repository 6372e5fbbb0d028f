"""The syntax tree of a Promela file, as far as it is supported: see docs/reference/promela.md."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from teetotal.answers.events import Kind, Location

TypeName = Literal["bit", "bool", "byte", "short", "int", "mtype", "pid"]


class Span(NamedTuple):
    """Where a statement's text lies, as offsets in the file; ``whole`` is False if a macro made only a part of it
    together with something else, so that nothing can be inserted there. ``first`` of its sequence; ``follows``: where the
    separator behind it ends, None if another statement or a macro's text comes at once. At the end of the sequence,
    where none is needed, that is ``end``."""

    start: int
    end: int
    whole: bool
    first: bool = False
    follows: int | None = None


class Number(msgspec.Struct, frozen=True):
    value: int


class Name(msgspec.Struct, frozen=True):
    """A variable, or an element of an array."""

    name: str
    index: Expression | None
    location: Location


class Operation(msgspec.Struct, frozen=True):
    """``?:`` is Promela's ``(a -> b : c)``."""

    operator: str
    operands: tuple[Expression, ...]
    location: Location


class At(msgspec.Struct, frozen=True):
    """``P[i]@label``: the process with number ``i`` stands at that label. Only in ``forbidden``."""

    proctype: str
    process: Expression | None
    label: str
    location: Location


Expression = Number | Name | Operation | At


class Declaration(msgspec.Struct, frozen=True):
    type: TypeName
    name: str
    size: int | None
    initial: Expression | None
    ghost: bool
    location: Location


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    location: Location
    span: Span
    labels: tuple[str, ...] = ()


class Declare(Statement, frozen=True, kw_only=True):
    variables: tuple[Declaration, ...]


class Skip(Statement, frozen=True, kw_only=True):
    pass


class Guard(Statement, frozen=True, kw_only=True):
    """An expression as a statement: waits until it holds."""

    condition: Expression


class Else(Statement, frozen=True, kw_only=True):
    pass


class Set(Statement, frozen=True, kw_only=True):
    target: Name
    value: Expression


class Claim(Statement, frozen=True, kw_only=True):
    """``assert``"""

    condition: Expression


class FenceStatement(Statement, frozen=True, kw_only=True):
    kind: Literal[Kind.MFENCE, Kind.SFENCE]


class Atomically(Statement, frozen=True, kw_only=True):
    """``cas(r, x, old, new)``, ``xchg(r, x, new)``, ``fetch_add(r, x, d)``; ``lock(x)``, ``unlock(x)``."""

    operation: Literal["cas", "xchg", "fetch_add", "lock", "unlock"]
    result: Name | None
    target: Name
    arguments: tuple[Expression, ...]


class Select(Statement, frozen=True, kw_only=True):
    """``if`` or ``do``"""

    loops: bool
    options: tuple[tuple[Statement, ...], ...]


class Pick(Statement, frozen=True, kw_only=True):
    """``select (x : low .. high)``"""

    target: Name
    low: Expression
    high: Expression


class Break(Statement, frozen=True, kw_only=True):
    pass


class Goto(Statement, frozen=True, kw_only=True):
    target: str


class Block(Statement, frozen=True, kw_only=True):
    """``{ … }``, or an inline's body in place of its call: names declared inside are the process's own."""

    body: tuple[Statement, ...]


class Atomic(Statement, frozen=True, kw_only=True):
    """``atomic`` or ``d_step``"""

    body: tuple[Statement, ...]


class RunStatement(Statement, frozen=True, kw_only=True):
    proctype: str
    arguments: tuple[Expression, ...]


class Proctype(msgspec.Struct, frozen=True):
    name: str
    active: int
    parameters: tuple[Declaration, ...]
    body: tuple[Statement, ...]
    location: Location


class Forbidden(msgspec.Struct, frozen=True):
    name: str
    condition: Expression
    location: Location


class Module(msgspec.Struct, frozen=True):
    """A file. ``init`` is the proctype named ``:init:``, in its place among the others."""

    file: str
    text: str
    variables: tuple[Declaration, ...]
    mtypes: dict[str, int]
    proctypes: tuple[Proctype, ...]
    forbidden: tuple[Forbidden, ...]
