"""C's integer types, as far as they make a difference: usual arithmetic conversions, and what operators then do.

Without an unsigned type in a test nothing makes one: every value is ``PLAIN``, 64 bits with a sign whatever is declared, as
in herd. With one, values have their types. An unsigned one of 32 bits lies in 0 … 2³²-1; one of 64 bits is the signed
number with the same bits. What is signed stays as it is, even where it overflows (C does not say what happens then),
unless it is converted from another type: that cuts it to its width.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from teetotal.programs.expressions import Const, Expr, Old, op, wrap
from teetotal.programs.litmus.init import UNSIGNED, WIDTHS
from teetotal.programs.litmus.tokens import number

_MASK = Const(0xFFFF_FFFF)
_LOWEST = Const(-(1 << 63))
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


class CType(NamedTuple):
    """Of a number; or of what a pointer leads to, through so many stars."""

    bits: int
    signed: bool
    stars: int = 0

    @property
    def is_wide_unsigned(self) -> bool:
        return self.bits == 64 and not self.signed

    def __str__(self) -> str:
        return f"{'' if self.signed else 'u'}int{self.bits}_t{'*' * self.stars}"


PLAIN = CType(64, True)
INT = CType(32, True)
UINT = CType(32, False)
ULONG = CType(64, False)


class Typed(NamedTuple):
    value: Expr
    type: CType


_MAYBE_UNSIGNED = re.compile(r"\b(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}(?=[lL]*[uU]))[uUlL]*\b", re.ASCII)


def has_unsigned(declarations: str, code: str) -> bool:
    """Whether a test names an unsigned type, or has a number of one in its code."""
    if any(UNSIGNED.search(text) for text in (declarations, code)):
        return True
    numbers = ((found[0], found[1], number(found[1])) for found in _MAYBE_UNSIGNED.finditer(code))
    return any(not of_literal(text, digits, value).signed for text, digits, value in numbers if value is not None)


def declared(words: Iterable[str]) -> CType:
    """What the words of a declaration mean."""
    words = list(words)
    unsigned = any(UNSIGNED.fullmatch(word) for word in words)
    wide = any(WIDTHS.get(word) == 64 for word in words)
    return CType(64 if wide else 32, not unsigned, words.count("*"))


def of_literal(token: str, digits: str, value: int) -> CType:
    """C17 6.4.4.1: the first type of its list in which it fits; ``value`` has at most 64 bits."""
    suffix = token[len(digits) :].lower()
    decimal = not digits.lower().startswith("0x")
    candidates = [INT, UINT, PLAIN, ULONG]
    if "u" in suffix:
        candidates = [UINT, ULONG]
    elif decimal:
        candidates = [INT, PLAIN, ULONG]
    if "l" in suffix:
        candidates = [candidate for candidate in candidates if candidate.bits == 64]
    return next(candidate for candidate in candidates if value < 1 << (candidate.bits - candidate.signed))


def common(a: CType, b: CType) -> CType:
    """The usual arithmetic conversions, C17 6.3.1.8: the wider one; of the same width the unsigned one."""
    return max(a, b, key=lambda each: (each.bits, not each.signed))


def fitted(value: int, kind: CType) -> int:
    """A number that stands in the text, in that type."""
    found = converted(Typed(Const(wrap(value)), PLAIN), kind)
    assert isinstance(found, Const)
    return found.value


def converted(operand: Typed, to: CType) -> Expr:
    """The value in another type of numbers."""
    value, kind = operand
    if kind == to or kind.stars or to.stars or to.bits == 64:
        return value
    if to == UINT:
        return op("&", value, _MASK)
    return op(">>", op("<<", value, Const(32)), Const(32))


def narrowed(value: Expr, kind: CType) -> Expr:
    """The result of an operation in that type, which may have left its range."""
    return op("&", value, _MASK) if kind == UINT else value


def arithmetic(operator: str, left: Typed, right: Typed) -> Typed:
    """All binary operators but ``/``, ``%``, ``&&`` and ``||``."""
    if operator in ("<<", ">>"):
        return Typed(_shifted(operator, *left, right.value), left.type)
    kind = common(left.type, right.type)
    a, b = converted(left, kind), converted(right, kind)
    if operator not in COMPARISONS:
        result = op(operator, a, b)
        return Typed(narrowed(result, kind) if operator in ("+", "-", "*") else result, kind)
    if kind.is_wide_unsigned and operator not in ("==", "!="):
        a, b = op("^", a, _LOWEST), op("^", b, _LOWEST)
    return Typed(op(operator, a, b), INT)


def _shifted(operator: str, value: Expr, kind: CType, by: Expr) -> Expr:
    if operator == "<<" or not kind.is_wide_unsigned:
        return narrowed(op(operator, value, by), kind)
    high = op("<<", op(">>", _LOWEST, by), Const(1))  # the bits that copies of the sign would fill
    return op("&", op(">>", value, by), op("~", high))


def divided(operator: str, value: Expr, divisor: int, kind: CType) -> Expr:
    """``value`` is a leaf, as it occurs several times; the divisor is not 0, and of that type."""
    size = Const(divisor)
    if kind == UINT:
        return op("//" if operator == "/" else "%", value, size)
    if not kind.is_wide_unsigned:
        return _towards_zero(operator, value, divisor)
    if divisor < 0:  # 2⁶³ or more: it goes in once or not at all
        quotient = arithmetic(">=", Typed(value, kind), Typed(size, kind)).value
    else:
        half = op("//", _shifted(">>", value, kind, Const(1)), size)
        most = op("*", half, Const(2))
        rest = Typed(op("-", value, op("*", most, size)), kind)
        quotient = op("+", most, arithmetic(">=", rest, Typed(size, kind)).value)
    return quotient if operator == "/" else op("-", value, op("*", quotient, size))


def _towards_zero(operator: str, left: Expr, divisor: int) -> Expr:
    """Python rounds down, C towards zero: they differ by one where a negative number is not divided evenly."""
    size = Const(abs(divisor))
    uneven = op("and", op("<", left, Const(0)), op("!=", op("%", left, size), Const(0)))
    if operator == "%":
        return op("-", op("%", left, size), op("*", size, uneven))
    quotient = op("+", op("//", left, size), uneven)
    return quotient if divisor > 0 else op("-", Const(0), quotient)


def fetched(operator: str, value: Typed) -> Expr:
    """What a fetch-and-op writes: ``value`` is of the location's type."""
    return arithmetic(operator, Typed(Old(), value.type), value).value
