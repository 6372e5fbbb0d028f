"""Expressions over integers: what a thread computes between two accesses, and what a condition says at the end.

Values are 64-bit and wrap. The address of a location is an integer too, so that pointers can be stored and followed:
the first location of a program has address 1, and 0 is nobody's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

import msgspec


class Const(msgspec.Struct, frozen=True, tag=True):
    value: int


class Reg(msgspec.Struct, frozen=True, tag=True):
    """A register of the thread that evaluates the expression."""

    name: str


class Addr(msgspec.Struct, frozen=True, tag=True):
    """The address of a shared location."""

    name: str


class Old(msgspec.Struct, frozen=True, tag=True):
    """Inside an rmw: the value that it read."""


class Final(msgspec.Struct, frozen=True, tag=True):
    """Inside a condition: what a register of a thread, or a location (no thread), holds at the end."""

    thread: int | None
    name: str

    def __str__(self) -> str:
        return self.name if self.thread is None else f"{self.thread}:{self.name}"


class Op(msgspec.Struct, frozen=True, tag=True):
    operator: str
    operands: tuple[Expr, ...]


Expr = Const | Reg | Addr | Old | Final | Op
Outcome = tuple[int, ...]

OPERATORS: dict[str, Callable[..., int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "and": lambda a, b: int(bool(a) and bool(b)),
    "or": lambda a, b: int(bool(a) or bool(b)),
    "not": lambda a: int(not a),
    "~": operator.invert,
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "//": operator.floordiv,
    "%": operator.mod,
}
"""The order is the numbering of the core's opcodes. The divisor of ``//`` and ``%`` is a constant other than 0."""
BINDING = {
    operator: strength
    for strength, operators in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %"), start=1
    )
    for operator in operators.split()
}
"""How tightly each of C's binary operators binds; all of them to the left."""


def wrap(value: int) -> int:
    """The value as a signed 64-bit integer."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def op(operator: str, *operands: Expr) -> Expr:
    """The operation, carried out at once where all is known."""
    values = [operand.value for operand in operands if isinstance(operand, Const)]
    if len(values) == len(operands):
        return Const(wrap(OPERATORS[operator](*values)))
    return Op(operator, operands)


def evaluate(expression: Expr, lookup: Callable[[Reg | Addr | Old | Final], int]) -> int:
    if isinstance(expression, Const):
        return wrap(expression.value)
    if isinstance(expression, Op):
        return wrap(OPERATORS[expression.operator](*[evaluate(operand, lookup) for operand in expression.operands]))
    return lookup(expression)


def predicate(expression: Expr, leaf: Callable[[Addr | Final], Callable[[Outcome], int]]) -> Callable[[Outcome], int]:
    """A condition as a function of an outcome, for those who ask it of many: ``leaf`` says where a value is found."""
    if isinstance(expression, Const):
        value = wrap(expression.value)
        return lambda _: value
    if isinstance(expression, Op):
        operands = [predicate(operand, leaf) for operand in expression.operands]
        if expression.operator == "and":
            return lambda outcome: int(all(operand(outcome) for operand in operands))
        if expression.operator == "or":
            return lambda outcome: int(any(operand(outcome) for operand in operands))
        function = OPERATORS[expression.operator]
        return lambda outcome: wrap(function(*[operand(outcome) for operand in operands]))
    assert isinstance(expression, Addr | Final), "a condition is about final values"
    return leaf(expression)


def leaves(expression: Expr) -> Iterator[Const | Reg | Addr | Old | Final]:
    if isinstance(expression, Op):
        for operand in expression.operands:
            yield from leaves(operand)
    else:
        yield expression


def render(expression: Expr) -> str:
    """As Python would write it."""
    match expression:
        case Const(value):
            return str(value)
        case Reg(name):
            return name
        case Addr(name):
            return f"&{name}"
        case Old():
            return "old"
        case Final():
            return str(expression)
        case Op(name, (operand,)):
            return f"({name} {render(operand)})"
        case Op(name, (left, right)):
            return f"({render(left)} {name} {render(right)})"
    raise ValueError(f"not an expression: {expression!r}")
