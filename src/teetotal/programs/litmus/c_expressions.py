"""C expressions: a pure value as an Expr, and the accesses on the way as instructions, from left to right.

``&&`` and ``||`` go round an access on their right when the left decides. Division is C's, towards zero, by a constant.
Values have 64 bits whatever the type, as in herd, and signs. In a test with an unsigned type, where C's numbers are modulo
a power of 2 instead, that makes no difference as long as no number is negative or large, so whatever could make one so is
refused there: ``-``, ``~``, ``*``, ``<<`` and large constants.
"""

from __future__ import annotations

import re
from typing import Any

from teetotal.programs.expressions import Addr, Const, Expr, Reg
from teetotal.programs.litmus.c_calls import CALLS, ORDERS, Local
from teetotal.programs.litmus.c_code import Code, Jump, Label
from teetotal.programs.litmus.folding import op
from teetotal.programs.litmus.tokens import Tokens, number
from teetotal.programs.program import Assign

TOKEN = re.compile(
    r"""[A-Za-z_]\w* | [0-9]\w* | << | >> | <= | >= | == | != | && | \|\| | \+\+ | -- | -> | [-+*/%&|^]= | \S""",
    re.ASCII | re.VERBOSE,
)
_SUFFIX = re.compile(r"[uUlL]+\Z")
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)

_BINDING = {
    operator: strength
    for strength, operators in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %"), start=1
    )
    for operator in operators.split()
}
"""How tightly each binary operator binds; all of them to the left."""
DEEPEST = 40
"""An expression deeper than this is cut in two by a register, so that no evaluator's stack minds."""
SMALL = 1 << 31
"""Numbers below it are the same in all types, and so are sums of a few of them."""
_WORDS = {"||": "or", "&&": "and"}


class Expressions:
    """Reads expressions of one thread. ``locations`` are its parameters, which point to shared memory."""

    def __init__(self, tokens: Tokens, code: Code, locations: set[str], unsigned: str | None = None) -> None:
        self.tokens = tokens
        self.unsigned = unsigned
        self.code = code
        self.locations = locations

        self.depths: dict[int, tuple[int, Expr]] = {}

    def may_wrap(self, what: str) -> None:
        """Refuses what C would compute modulo a power of 2 in this test, and we would not."""
        if self.unsigned is not None:
            self.tokens.fail(f"`{what}` is not supported in a test with an unsigned type ({self.unsigned})")

    def build(self, operator: str, *operands: Expr) -> Expr:
        depth = 1 + max(self.depths.get(id(operand), (0, operand))[0] for operand in operands)
        value = op(operator, *operands)
        if depth > DEEPEST:
            depth, value = 0, self.code.held(value)
        self.depths[id(value)] = (depth, value)
        return value

    def expression(self, weakest: int = 1) -> Expr:
        """Operators that bind at least as tightly as the weakest."""
        left = self.unary()
        while (strength := _BINDING.get(self.tokens.peek(), 0)) >= weakest:
            operator = self.tokens.next()
            combine = self.logical if operator in _WORDS else self.binary
            left = combine(operator, left, strength + 1)
        return left

    def binary(self, operator: str, left: Expr, weakest: int) -> Expr:
        here = self.tokens.position
        if operator in ("-", "*", "<<"):
            self.may_wrap(operator)
        right = self.expression(weakest)
        if operator not in ("/", "%"):
            return self.build(operator, left, right)
        if not isinstance(right, Const) or right.value in (0, -(1 << 63)):
            self.tokens.position = here
            self.tokens.fail(f"`{operator}` is supported with a constant divisor other than 0")
        return self.divide(operator, self.code.held(left), right.value)

    def divide(self, operator: str, left: Expr, divisor: int) -> Expr:
        """Python rounds down, C towards zero: they differ by one where a negative number is not divided evenly."""
        size = Const(abs(divisor))
        uneven = op("and", op("<", left, Const(0)), op("!=", op("%", left, size), Const(0)))
        if operator == "%":
            return op("-", op("%", left, size), op("*", size, uneven))
        quotient = op("+", op("//", left, size), uneven)
        return quotient if divisor > 0 else op("-", Const(0), quotient)

    def logical(self, operator: str, left: Expr, weakest: int) -> Expr:
        code, before = self.code, len(self.code.items)
        right = self.expression(weakest)
        if len(code.items) == before:
            return self.build(_WORDS[operator], left, right)
        result, done = code.temporary(), Label()
        decided = Reg(result) if operator == "||" else op("not", Reg(result))
        code.items[before:before] = [
            Assign(register=result, value=op("!=", left, Const(0)), location=code.here),
            Jump(done, decided, code.here),
        ]
        code.items.append(Assign(register=result, value=op("!=", right, Const(0)), location=code.here))
        code.bind(done)
        return Reg(result)

    def unary(self) -> Expr:
        tokens = self.tokens
        token = tokens.peek()
        if token in ("-", "!", "~", "+", "*", "("):
            tokens.next()
            tokens.deeper()
            if token == "(":
                inner = self.expression()
                tokens.expect(")", "to close a parenthesis")
            else:
                if token in ("-", "~"):
                    self.may_wrap(token)
                operand = self.unary()
                inner = {
                    "-": lambda: self.build("-", Const(0), operand),
                    "!": lambda: self.build("not", operand),
                    "~": lambda: self.build("~", operand),
                    "+": lambda: operand,
                    "*": lambda: self.code.load(operand),
                }[token]()
            tokens.shallower()
            return inner
        return self.primary()

    def primary(self) -> Expr:
        tokens = self.tokens
        token = tokens.peek()
        if token[:1].isdigit():
            digits = _SUFFIX.sub("", token)
            value = number(digits)
            if value is None or (digits[0] == "0" and digits.isdigit() and len(digits) > 1):
                tokens.fail(f"cannot read the number {token[:40]}")
            if value >= SMALL:
                self.may_wrap(token)
            tokens.next()
            return op("+", Const(value), Const(0))
        if _NAME.match(token) is None:
            tokens.fail(f"expected an expression, found {tokens.describe()}")
        if tokens.peek(1) == "(":
            value_of_call = self.call()
            if value_of_call is None:
                tokens.fail(f"{token} has no value")
            return value_of_call
        if token == "NULL":
            tokens.next()
            return Const(0)
        if tokens.peek(1) in ("[", "->", ".", "?", "++", "--"):
            tokens.position += 1
            tokens.fail(f"`{tokens.peek()}` is not supported here")
        known = self.variable(token)
        tokens.next()
        return known

    def variable(self, name: str) -> Expr:
        if name in self.code.registers:
            return Reg(name)
        if name in self.locations:
            return Addr(name)
        self.tokens.fail(f"{name} is not declared")

    # -- calls ----------------------------------------------------------------------------------------------------

    def call(self) -> Expr | None:
        tokens = self.tokens
        name = tokens.peek()
        if name not in CALLS:
            tokens.fail(f"{name} is not supported")
        start = tokens.position
        tokens.position += 2
        tokens.deeper()
        if name.startswith("atomic_fetch_sub"):
            self.may_wrap(name)
        kinds, operation = CALLS[name]
        arguments: list[Any] = []
        for i, kind in enumerate(kinds):
            if i:
                tokens.expect(",", f"between arguments of {name}")
            arguments.append(self.argument(kind, name))
        tokens.expect(")", f"after {len(kinds)} argument{'s' * (len(kinds) != 1)} of {name}")
        tokens.shallower()
        end, tokens.position = tokens.position, start
        self.code.here = tokens.location
        tokens.position = end
        return operation(self.code, *arguments)

    def argument(self, kind: str, name: str) -> Expr | str | Local:
        tokens = self.tokens
        if kind == "o":
            order = tokens.peek().removeprefix("memory_order_")
            if order == tokens.peek() or order not in ORDERS:
                tokens.fail(f"{name} needs a memory order, found {tokens.describe()}")
            tokens.next()
            return order
        if kind == "l":
            return self.place(name)
        if kind == "e" and tokens.peek() == "&":
            tokens.next()
            local = tokens.peek()
            if local not in self.code.registers:
                tokens.fail(f"`&{local[:40]}`: only a local variable has its address taken, as an expected value")
            tokens.next()
            return Local(local)
        return self.expression()

    def place(self, where: str) -> Expr:
        """``*pointer``, as the address that it names."""
        depth = 0
        while self.tokens.accept("("):
            depth += 1
        self.tokens.expect("*", f"in {where}, before a pointer")
        address = self.unary()
        for _ in range(depth):
            self.tokens.expect(")", "to close a parenthesis")
        return address
