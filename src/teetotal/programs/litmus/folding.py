"""Building expressions."""

from __future__ import annotations

from teetotal.programs.expressions import OPERATORS, Const, Expr, Op, wrap


def op(operator: str, *operands: Expr) -> Expr:
    """The operation, carried out at once where all is known."""
    values = [operand.value for operand in operands if isinstance(operand, Const)]
    if len(values) == len(operands):
        return Const(wrap(OPERATORS[operator](*values)))
    return Op(operator, operands)
