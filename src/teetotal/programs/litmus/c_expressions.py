"""C expressions: a pure value as an Expr, and the accesses on the way as instructions, from left to right.

``&&`` and ``||`` go round an access on their right when the left decides. Division is C's, towards zero, by a constant. In
a test with an unsigned type each value has its type (``c_types``); in others all are alike.
"""

from __future__ import annotations

import re
from typing import Any

from teetotal.programs.expressions import BINDING, Addr, Const, Expr, Reg, op
from teetotal.programs.labels import Jump, Label
from teetotal.programs.litmus.c_calls import CALLS, ORDERS, Local
from teetotal.programs.litmus.c_code import Code
from teetotal.programs.litmus.c_types import (
    INT,
    PLAIN,
    CType,
    Typed,
    arithmetic,
    common,
    converted,
    divided,
    fitted,
    narrowed,
    of_literal,
)
from teetotal.programs.litmus.tokens import Tokens, number
from teetotal.programs.program import Assign

TOKEN = re.compile(
    r"""[A-Za-z_]\w* | [0-9]\w* | << | >> | <= | >= | == | != | && | \|\| | \+\+ | -- | -> | [-+*/%&|^]= | \S""",
    re.ASCII | re.VERBOSE,
)
_SUFFIX = re.compile(r"[uUlL]+\Z")
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)

DEEPEST = 40
"""An expression deeper than this is cut in two by a register, so that no evaluator's stack minds."""
_WORDS = {"||": "or", "&&": "and"}


class Expressions:
    """Reads expressions of one thread. ``locations`` are its parameters, which point to shared memory. ``types``: of these
    and of local variables, or None in a test without unsigned types."""

    def __init__(self, tokens: Tokens, code: Code, locations: set[str], types: dict[str, CType] | None = None) -> None:
        self.tokens = tokens
        self.types = types
        self.code = code
        self.locations = locations

        self.depths: dict[int, tuple[int, Expr]] = {}

    def build(self, result: Expr, *operands: Expr) -> Expr:
        """The result of an operation, in a register if it is too deep."""
        depth = 1 + max(self.depths.get(id(operand), (0, operand))[0] for operand in operands)
        if depth > DEEPEST:
            depth, result = 0, self.code.held(result)
        self.depths[id(result)] = (depth, result)
        return result

    def type_of(self, name: str) -> CType:
        return PLAIN if self.types is None else self.types[name]

    def combined(self, operator: str, left: Typed, right: Typed) -> Typed:
        if (left.type.stars or right.type.stars) and operator not in ("==", "!="):
            self.tokens.fail(f"`{operator}` of a pointer is not supported in a test with an unsigned type")
        if operator == ">>" and left.type.is_wide_unsigned:
            right = right._replace(value=self.code.held(right.value))
        result = arithmetic(operator, left, right)
        return result._replace(value=self.build(result.value, left.value, right.value))

    def pointee(self, pointer: Typed) -> CType:
        if self.types is None:
            return PLAIN
        if not pointer.type.stars:
            self.tokens.fail("`*` of what is declared as a number is not supported in a test with an unsigned type")
        return pointer.type._replace(stars=pointer.type.stars - 1)

    def expression(self, wanted: CType | None = None) -> Expr:
        """A value, in the type that is wanted, if it matters."""
        found = self.typed()
        return found.value if wanted is None else self.convert(found, wanted)

    def convert(self, found: Typed, wanted: CType) -> Expr:
        if wanted.stars and found.type != wanted and not isinstance(found.value, Const):
            self.tokens.fail(f"{found.type} as {wanted} is not supported in a test with an unsigned type")
        return converted(found, wanted)

    def typed(self, weakest: int = 1) -> Typed:
        """Operators that bind at least as tightly as the weakest."""
        left = self.unary()
        while (strength := BINDING.get(self.tokens.peek(), 0)) >= weakest:
            operator = self.tokens.next()
            combine = self.logical if operator in _WORDS else self.binary
            left = combine(operator, left, strength + 1)
        return left

    def binary(self, operator: str, left: Typed, weakest: int) -> Typed:
        here = self.tokens.position
        right = self.typed(weakest)
        if operator not in ("/", "%"):
            return self.combined(operator, left, right)
        kind = common(left.type, right.type)
        divisor = converted(right, kind)
        if not isinstance(divisor, Const) or divisor.value in (0, -(1 << 63)):
            self.tokens.position = here
            self.tokens.fail(f"`{operator}` is supported with a constant divisor other than 0")
        if left.type.stars:
            self.tokens.fail(f"`{operator}` of a pointer is not supported in a test with an unsigned type")
        return Typed(divided(operator, self.code.held(converted(left, kind)), divisor.value, kind), kind)

    def logical(self, operator: str, left_side: Typed, weakest: int) -> Typed:
        code, before, left = self.code, len(self.code.items), left_side.value
        right = self.typed(weakest).value
        if len(code.items) == before:
            return Typed(self.build(op(_WORDS[operator], left, right), left, right), INT)
        result, done = code.temporary(), Label()
        decided = Reg(result) if operator == "||" else op("not", Reg(result))
        code.items[before:before] = [
            Assign(register=result, value=op("!=", left, Const(0)), location=code.here),
            Jump(done, decided, code.here),
        ]
        code.items.append(Assign(register=result, value=op("!=", right, Const(0)), location=code.here))
        code.bind(done)
        return Typed(Reg(result), INT)

    def unary(self) -> Typed:
        tokens = self.tokens
        token = tokens.peek()
        if token in ("-", "!", "~", "+", "*", "("):
            tokens.next()
            tokens.deeper()
            if token == "(":
                inner = self.typed()
                tokens.expect(")", "to close a parenthesis")
            else:
                operand = self.unary()
                value, kind = operand
                inner = {
                    "-": lambda: self.combined("-", Typed(Const(0), INT if self.types is not None else PLAIN), operand),
                    "!": lambda: Typed(self.build(op("not", value), value), INT),
                    "~": lambda: Typed(self.build(narrowed(op("~", value), kind), value), kind),
                    "+": lambda: operand,
                    "*": lambda: Typed(self.code.load(value), self.pointee(operand)),
                }[token]()
            tokens.shallower()
            return inner
        return self.primary()

    def primary(self) -> Typed:
        tokens = self.tokens
        token = tokens.peek()
        if token[:1].isdigit():
            digits = _SUFFIX.sub("", token)
            value = number(digits)
            if value is None or (digits[0] == "0" and digits.isdigit() and len(digits) > 1):
                tokens.fail(f"cannot read the number {token[:40]}")
            tokens.next()
            kind = PLAIN if self.types is None else of_literal(token, digits, value)
            return Typed(Const(fitted(value, kind)), kind)
        if _NAME.match(token) is None:
            tokens.fail(f"expected an expression, found {tokens.describe()}")
        if tokens.peek(1) == "(":
            value_of_call = self.call()
            if value_of_call is None:
                tokens.fail(f"{token} has no value")
            return value_of_call
        if token == "NULL":
            tokens.next()
            return Typed(Const(0), PLAIN)
        if tokens.peek(1) in ("[", "->", ".", "?", "++", "--"):
            tokens.position += 1
            tokens.fail(f"`{tokens.peek()}` is not supported here")
        known = self.variable(token)
        tokens.next()
        return known

    def variable(self, name: str) -> Typed:
        if name in self.code.registers:
            return Typed(Reg(name), self.type_of(name))
        if name in self.locations:
            return Typed(Addr(name), self.type_of(name))
        self.tokens.fail(f"{name} is not declared")

    # -- calls ----------------------------------------------------------------------------------------------------

    def call(self) -> Typed | None:
        tokens = self.tokens
        name = tokens.peek()
        if name not in CALLS:
            tokens.fail(f"{name} is not supported")
        start = tokens.position
        tokens.position += 2
        tokens.deeper()
        kinds, operation = CALLS[name]
        arguments: list[Any] = []
        accessed = INT  # what the first argument, a pointer, leads to
        for i, kind in enumerate(kinds):
            if i:
                tokens.expect(",", f"between arguments of {name}")
            if kind in "pl":
                pointer = self.typed() if kind == "p" else self.place(name)
                accessed = self.pointee(pointer)
                arguments.append(pointer.value)
            else:
                arguments.append(self.argument(kind, name, accessed))
        tokens.expect(")", f"after {len(kinds)} argument{'s' * (len(kinds) != 1)} of {name}")
        tokens.shallower()
        end, tokens.position = tokens.position, start
        self.code.here = tokens.location
        tokens.position = end
        result = operation(self.code, *arguments)
        return None if result is None else Typed(result, INT if "e" in kinds else accessed)

    def argument(self, kind: str, name: str, accessed: CType) -> Expr | str | Local | Typed:
        tokens = self.tokens
        if kind == "o":
            order = tokens.peek().removeprefix("memory_order_")
            if order == tokens.peek() or order not in ORDERS:
                tokens.fail(f"{name} needs a memory order, found {tokens.describe()}")
            tokens.next()
            return order
        if kind == "e" and tokens.peek() == "&":
            tokens.next()
            local = tokens.peek()
            if local not in self.code.registers:
                tokens.fail(f"`&{local[:40]}`: only a local variable has its address taken, as an expected value")
            if self.type_of(local) != accessed:
                tokens.fail(f"{local} is no {accessed}, and a pointer to it is none to what is expected")
            tokens.next()
            return Local(local)
        if kind == "e":
            expected = self.typed()
            if self.pointee(expected) != accessed:
                tokens.fail(f"{name} expects what is no {accessed}")
            return expected.value
        if accessed.stars and kind == "a" and self.types is not None:
            tokens.fail(f"{name} of a pointer is not supported in a test with an unsigned type")
        value = self.expression(accessed)
        return Typed(value, accessed) if kind == "a" else value

    def place(self, where: str) -> Typed:
        """``*pointer``, as the address that it names."""
        depth = 0
        while self.tokens.accept("("):
            depth += 1
        self.tokens.expect("*", f"in {where}, before a pointer")
        pointer = self.unary()
        for _ in range(depth):
            self.tokens.expect(")", "to close a parenthesis")
        return pointer
