"""Expressions of a process as Python functions, and conditions over ghost variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from teetotal.programs.expressions import Const, Expr, Old, Op, Reg, evaluate


def python(expression: Expr, registers: list[str]) -> Callable[..., int]:
    """An expression as a Python function of the registers and of what an rmw read."""
    return eval(f"lambda r, old: {_python(expression, registers)}", {})  # type: ignore[no-any-return]


_PYTHON = {"and": "({0} != 0 and {1} != 0)", "or": "({0} != 0 or {1} != 0)", "not": "({0} == 0)", "~": "(~{0})"}


def _python(expression: Expr, registers: list[str]) -> str:
    match expression:
        case Const(value):
            return f"({value})"
        case Reg(name):
            return f"r[{registers.index(name)}]"
        case Old():
            return "old"
        case Op(name, operands):
            parts = [_python(operand, registers) for operand in operands]
            if name in ("==", "!=", "<", "<=", ">", ">=", "and", "or", "not"):
                return f"int{_PYTHON.get(name, '({0} ' + name + ' {1})').format(*parts)}"
            return _PYTHON.get(name, "({0} " + name + " {1})").format(*parts)
    raise AssertionError(f"not an expression of a process: {expression}")


def ghosts_hold(condition: Expr, memory: Mapping[str, int]) -> bool:
    """A condition over ghost variables, each a ``Reg`` of its name."""

    def lookup(leaf: object) -> int:
        assert isinstance(leaf, Reg)
        return memory[leaf.name]

    return bool(evaluate(condition, lookup))
