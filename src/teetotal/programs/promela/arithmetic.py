"""Promela's operators and types in terms of ``teetotal.programs.expressions``."""

from __future__ import annotations

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.programs.expressions import Const, Expr, Op
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.folding import IN_WORDS, fold


def operation(operator: str, operands: tuple[Expr, ...], location: Location) -> Expr:
    """Promela's operators in terms of ``expressions.OPERATORS``; constants are computed at once."""
    if operator == "?:":
        yes = Op("*", (Op("!=", (operands[0], Const(0))), operands[1]))
        return Op("+", (yes, Op("*", (Op("==", (operands[0], Const(0))), operands[2]))))
    if operator == "-" and len(operands) == 1:
        operands = (Const(0), *operands)
    if operator in ("/", "%"):
        number, divisor = operands
        if not isinstance(divisor, Const) or divisor.value <= 0:
            raise ParseError(f"{operator} needs a positive constant on its right", location)
        up = Op("and", (Op("<", (number, Const(0))), Op("!=", (Op("%", operands), Const(0)))))
        quotient = Op("+", (Op("//", operands), up))  # C rounds towards zero
        return quotient if operator == "/" else Op("-", (number, Op("*", (quotient, divisor))))
    if all(isinstance(operand, Const) for operand in operands):
        numbers = tuple(s.Number(operand.value) for operand in operands if isinstance(operand, Const))
        folded = fold(s.Operation(operator, numbers, location))
        assert isinstance(folded, s.Number)
        return Const(folded.value)
    return Op(IN_WORDS.get(operator, operator), operands)


BITS: dict[s.TypeName, int] = {"bit": 1, "bool": 1, "byte": 8, "mtype": 8, "pid": 8, "short": 16, "int": 32}


def truncate(kind: s.TypeName, value: Expr) -> Expr:
    """What a variable of that type keeps of a value."""
    if isinstance(value, Const):
        return Const(truncate_value(kind, value.value))
    bits = BITS[kind]
    if isinstance(value, Op) and value.operator in ("==", "!=", "<", "<=", ">", ">=", "and", "or", "not"):
        return value
    if bits <= 8:
        return Op("&", (value, Const((1 << bits) - 1)))
    half = 1 << (bits - 1)
    return Op("-", (Op("&", (Op("+", (value, Const(half))), Const((1 << bits) - 1))), Const(half)))


def truncate_value(kind: s.TypeName, value: int) -> int:
    bits = BITS[kind]
    if bits <= 8:
        return value % (1 << bits)
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half
