"""Operations on constants, computed as C does."""

from __future__ import annotations

from collections.abc import Callable

from teetotal.answers.errors import ParseError
from teetotal.programs.expressions import OPERATORS
from teetotal.programs.promela import syntax as s

IN_WORDS = {"&&": "and", "||": "or", "!": "not"}
"""Operators that ``expressions.OPERATORS`` has under another name."""
_SAME = ("|", "^", "&", "==", "!=", "<", "<=", ">", ">=", "<<", ">>", "+", "*", "~")
_FOLD: dict[str, Callable[..., int]] = {
    **{operator: OPERATORS[operator] for operator in _SAME},
    **{operator: OPERATORS[word] for operator, word in IN_WORDS.items()},
    "-": lambda a, b=None: -a if b is None else a - b,
    "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    "?:": lambda a, b, c: b if a else c,
}


def fold(expression: s.Expression) -> s.Expression:
    """A constant in place of an operation on constants."""
    if not isinstance(expression, s.Operation):
        return expression
    values = [operand.value for operand in expression.operands if isinstance(operand, s.Number)]
    if len(values) < len(expression.operands):
        return expression
    if expression.operator in ("/", "%") and values[1] == 0:
        raise ParseError("division by zero", expression.location)
    if expression.operator in ("<<", ">>") and not 0 <= values[1] < 32:
        raise ParseError("a shift by less than 0 or more than 31", expression.location)
    return s.Number(_FOLD[expression.operator](*values))
