"""Python's integer expressions as ``Expr``: what threads, the functions of an rmw, and conditions have in common.

What can be known before the program runs (strings, arrays, arguments, constants) is computed by Python itself, and
only the rest becomes an ``Expr``. Everything that an ``Expr`` cannot say exactly is refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, NoReturn

import msgspec

from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Location
from teetotal.programs.expressions import Addr, Const, Expr, Op, op, wrap
from teetotal.programs.python.code import boolean, negate, select
from teetotal.programs.python.operations import Address

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
WHY_NOT: dict[type[ast.operator], str] = {
    ast.Div: "`/` gives a float: use `//`",
    ast.Pow: "`**` is possible only between constants",
    ast.MatMult: "`@` has no meaning for integers",
}


class Known(NamedTuple):
    """A value of any type, known before the program runs."""

    value: Any


class Cell(msgspec.Struct, frozen=True):
    """A location whose address is computed at run time: ``flag[i]``."""

    address: Expr


class Unusable(NamedTuple):
    """What a name holds where it cannot be said: reading it is refused."""

    why: str


Value = Known | Cell | Expr


def is_integer(value: object) -> bool:
    """Whether a register can hold it."""
    return isinstance(value, Address) or hasattr(type(value), "__index__")


class Expressions:
    """Subclasses say what is known, what a leaf means, and how to evaluate only one side of a choice."""

    file: str

    def known(self, node: ast.expr) -> Known | None:
        """The value, if it is the same in every run."""
        raise NotImplementedError

    def leaf(self, node: ast.expr) -> Value:
        """What is not an operator: names, calls, ``yield``."""
        raise NotImplementedError

    def conditional(self, test: Expr, then: Callable[[], Expr], otherwise: Callable[[], Expr]) -> Expr:
        """``then() if test else otherwise()``."""
        return select(test, then(), otherwise())

    def require(self, condition: Expr, node: ast.expr) -> bool:
        """Have the program check this when it runs, where that is possible."""
        return False

    def location(self, node: ast.AST) -> Location:
        return Location(self.file, getattr(node, "lineno", 1))

    def refuse(self, node: ast.AST, message: str) -> NoReturn:
        raise ProgramError(message, self.location(node))

    # -- the three ways to look at an expression ----------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        known = self.known(node)
        if known is not None:
            return known
        match node:
            case ast.BinOp(left, op, right):
                return self.binary(node, op, self.integer(left), right)
            case ast.UnaryOp(op, operand):
                return self._unary(op, operand)
            case ast.BoolOp(op, operands):
                return self._choose(op, operands, self.value)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp(test, body, orelse):
                decided = self.truth(test)
                if isinstance(decided, bool):
                    return self.value(body if decided else orelse)
                return self.conditional(decided, partial(self.integer, body), partial(self.integer, orelse))
        return self.leaf(node)

    def integer(self, node: ast.expr) -> Expr:
        return self.to_integer(self.value(node), node)

    def truth(self, node: ast.expr) -> bool | Expr:
        """Whether it is true: decided already, or an expression that is 0 or 1."""
        if isinstance(node, ast.BoolOp):
            value = self._choose(node.op, node.values, self._truth_value)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.truth(node.operand)
            return (not inner) if isinstance(inner, bool) else negate(inner)
        else:
            value = self.value(node)
        if isinstance(value, Known):
            return bool(value.value)
        return boolean(self.to_integer(value, node))

    def condition(self, node: ast.expr) -> Expr:
        """Whether it is true, as an expression that is 0 or 1."""
        decided = self.truth(node)
        return Const(int(decided)) if isinstance(decided, bool) else decided

    def to_integer(self, value: Value, node: ast.expr) -> Expr:
        if isinstance(value, Cell):
            text = ast.unparse(node)
            self.refuse(node, f"{text} is a location: load it with `yield ld({text})`")
        if not isinstance(value, Known):
            return value
        if isinstance(value.value, Address):
            return Addr(str(value.value))
        try:
            number = operator.index(value.value)
        except TypeError:
            kind = type(value.value).__name__
            hint = '; the address of a location is `address("x")`' if isinstance(value.value, str) else ""
            self.refuse(node, f"`{ast.unparse(node)}` is a {kind}, and the program computes with integers only{hint}")
        if wrap(number) != number:
            self.refuse(node, f"`{ast.unparse(node)}` is not between -2**63 and 2**63 - 1")
        return Const(number)

    # -- operators ----------------------------------------------------------------------------------------------------

    def binary(self, node: ast.AST, sign: ast.operator, left: Expr, right: ast.expr) -> Expr:
        """``left sign right``, where ``right`` is still to be evaluated."""
        if type(sign) in WHY_NOT:
            self.refuse(node, WHY_NOT[type(sign)])
        name = BINARY[type(sign)]
        operand = self.integer(right)
        if name in ("//", "%") and (not isinstance(operand, Const) or operand.value == 0):
            self.refuse(right, f"`{name}` needs a constant other than 0 on its right, `{ast.unparse(right)}` is not")
        if name in ("<<", ">>"):
            self._check_shift(operand, right)
        return op(name, left, operand)

    def _check_shift(self, amount: Expr, node: ast.expr) -> None:
        """Python shifts by any natural number, a machine by 0 to 63."""
        fits = op("and", op(">=", amount, Const(0)), op("<=", amount, Const(63)))
        if fits != Const(1) and (isinstance(amount, Const) or not self.require(fits, node)):
            self.refuse(node, f"a shift by `{ast.unparse(node)}`, which is not a constant from 0 to 63")

    def _unary(self, op: ast.unaryop, operand: ast.expr) -> Value:
        match op:
            case ast.Not():
                inner = self.truth(operand)
                return Known(not inner) if isinstance(inner, bool) else negate(inner)
            case ast.USub():
                return Op("-", (Const(0), self.integer(operand)))
            case ast.Invert():
                return Op("~", (self.integer(operand),))
        return self.integer(operand)

    def _choose(self, op: ast.boolop, operands: list[ast.expr], evaluate: Callable[[ast.expr], Value]) -> Value:
        """``and`` and ``or``: the first operand that decides, the others not evaluated."""
        first, *others = operands
        value = evaluate(first)
        if not others:
            return value
        if isinstance(value, Known):
            return self._choose(op, others, evaluate) if bool(value.value) == isinstance(op, ast.And) else value
        left = self.to_integer(value, first)

        def right() -> Expr:
            return self.to_integer(self._choose(op, others, evaluate), others[0])

        then, otherwise = (right, lambda: left) if isinstance(op, ast.And) else (lambda: left, right)
        return self.conditional(left, then, otherwise)

    def _truth_value(self, node: ast.expr) -> Value:
        decided = self.truth(node)
        return Known(decided) if isinstance(decided, bool) else decided

    def _compare(self, node: ast.Compare) -> Expr:
        return self._chain(self.value(node.left), node.ops, [node.left, *node.comparators])

    def _chain(self, left: Value, ops: list[ast.cmpop], operands: list[ast.expr]) -> Expr:
        """``a < b < c``: the first pair, and only if that holds the others. The first operand has its value already."""
        node, other = operands[:2]
        if isinstance(ops[0], ast.Is | ast.IsNot):
            self.refuse(node, "`is` compares objects: use `==`")
        if isinstance(ops[0], ast.In | ast.NotIn):
            if len(ops) > 1:
                self.refuse(node, "`in` stands alone: use `and`")
            found = self._member(self.to_integer(left, node), other)
            return negate(found) if isinstance(ops[0], ast.NotIn) else found
        right = self.value(other)
        pair = op(COMPARISONS[type(ops[0])], self.to_integer(left, node), self.to_integer(right, other))
        if len(ops) == 1:
            return pair
        return self.conditional(pair, partial(self._chain, right, ops[1:], operands[1:]), lambda: Const(0))

    def _member(self, item: Expr, container: ast.expr) -> Expr:
        known = self.known(container)
        if known is not None and isinstance(known.value, Iterable):
            values = [self.to_integer(Known(value), container) for value in known.value]
        elif isinstance(container, ast.Tuple | ast.List | ast.Set):
            values = [self.integer(element) for element in container.elts]
        else:
            self.refuse(container, "`in` needs a tuple, a list or a constant on its right")
        found: Expr = Const(0)
        for value in values:
            equal = op("==", item, value)
            found = equal if found == Const(0) else select(found, found, equal)
        return found
