"""Expressions of a process as Python functions, and conditions over ghost variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from teetotal.programs.expressions import Const, Expr, Old, Op, Reg, evaluate

MOST_NESTED = 60
"""Parentheses within each other in one function, of which Python reads 200."""


def python(expression: Expr, registers: list[str]) -> Callable[..., int]:
    """An expression as a Python function of the registers and of what an rmw read."""
    parts: dict[str, Callable[..., int]] = {}
    text, _ = _python(expression, registers, parts)
    return _function(text, parts)


def _function(text: str, parts: dict[str, Callable[..., int]]) -> Callable[..., int]:
    return eval(f"lambda r, old: {text}", parts)  # type: ignore[no-any-return]


_PYTHON = {"and": "({0} != 0 and {1} != 0)", "or": "({0} != 0 or {1} != 0)", "not": "({0} == 0)", "~": "(~{0})"}


def _python(expression: Expr, registers: list[str], parts: dict[str, Callable[..., int]]) -> tuple[str, int]:
    """An expression in Python, and how deep its parentheses are. What would be too deep calls one of ``parts``."""
    match expression:
        case Const(value):
            return f"({value})", 1
        case Reg(name):
            return f"r[{registers.index(name)}]", 1
        case Old():
            return "old", 0
        case Op(name, operands):
            found = [_python(operand, registers, parts) for operand in operands]
            text = _PYTHON.get(name, "({0} " + name + " {1})").format(*(text for text, _ in found))
            if name in ("==", "!=", "<", "<=", ">", ">=", "and", "or", "not"):
                text = f"int{text}"
            depth = 1 + max(depth for _, depth in found)
            if depth < MOST_NESTED:
                return text, depth
            part = f"part{len(parts)}"
            parts[part] = _function(text, parts)
            return f"{part}(r, old)", 1
    raise AssertionError(f"not an expression of a process: {expression}")


def ghosts_hold(condition: Expr, memory: Mapping[str, int]) -> bool:
    """A condition over ghost variables, each a ``Reg`` of its name."""

    def lookup(leaf: object) -> int:
        assert isinstance(leaf, Reg)
        return memory[leaf.name]

    return bool(evaluate(condition, lookup))
