"""x86's flags as registers of a thread, so that a conditional jump is one expression over them.

========  ====================================================================================
register  1 when
========  ====================================================================================
``zf``    the result is 0
``sf``    the result is negative
``lt``    SF ≠ OF: as exact integers, the first operand is less than the second (a subtraction),
          or the sum is negative (an addition)
``cf``    a borrow or a carry left the highest bit
========  ====================================================================================

OF is then ``sf ≠ lt``. A thread gets only the flags that its jumps look at. The expressions are exact, overflow
included; ``inc`` and ``dec`` leave ``cf`` alone, as the machine does.
"""

from __future__ import annotations

from teetotal.programs.expressions import Const, Expr, Reg, op, wrap

LOWEST = Const(-(1 << 63))
LOW_HALF = Const(0xFFFF_FFFF)
ZERO = Const(0)

ZF, SF, LT, CF = Reg("zf"), Reg("sf"), Reg("lt"), Reg("cf")


JUMP_CONDITIONS: dict[str, tuple[Expr, tuple[str, ...]]] = {
    "je": (ZF, ("zf",)),
    "jne": (op("not", ZF), ("zf",)),
    "jl": (LT, ("lt",)),
    "jge": (op("not", LT), ("lt",)),
    "jle": (op("or", LT, ZF), ("zf", "lt")),
    "jg": (op("not", op("or", LT, ZF)), ("zf", "lt")),
    "jb": (CF, ("cf",)),
    "jae": (op("not", CF), ("cf",)),
    "jbe": (op("or", CF, ZF), ("zf", "cf")),
    "ja": (op("not", op("or", CF, ZF)), ("zf", "cf")),
    "js": (SF, ("sf",)),
    "jns": (op("not", SF), ("sf",)),
    "jo": (op("!=", SF, LT), ("sf", "lt")),
    "jno": (op("==", SF, LT), ("sf", "lt")),
}
"""When each jump is taken, and the flags that it looks at."""


class Arithmetic:
    """How a machine keeps values of a width in its 64-bit registers.

    ``X86_64`` keeps 32 bits with zeros above them, since that is what the machine does; ``X86`` knows nothing but 32
    bits and keeps them as the signed numbers that its conditions speak of.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def fit(self, value: int, width: int | None) -> int:
        """A number as a register keeps it."""
        if width != 32:
            return wrap(value)
        low = value & 0xFFFF_FFFF
        return low if self.bits == 64 or low < 1 << 31 else low - (1 << 32)

    def narrow(self, value: Expr, width: int) -> Expr:
        """The result of an operation, cut to its width."""
        if width == 64:
            return value
        return op("&", value, LOW_HALF) if self.bits == 64 else _sign(value)

    def signed(self, value: Expr, width: int) -> Expr:
        return _sign(value) if width == 32 and self.bits == 64 else value

    def below(self, a: Expr, b: Expr, width: int) -> Expr:
        """Whether a < b, both taken as unsigned."""
        if width == 32 and self.bits == 64:
            return op("<", a, b)
        return op("<", op("^", a, LOWEST), op("^", b, LOWEST))

    def invert(self, value: Expr, width: int) -> Expr:
        return op("^", value, LOW_HALF) if width == 32 and self.bits == 64 else op("~", value)

    # -- what an operation does to the flags ----------------------------------------------------------------------

    def flags(self, operation: str, a: Expr, b: Expr, width: int) -> dict[str, Expr]:
        """The flags that ``a operation b`` sets."""
        if operation in ("cmp", "sub", "dec"):
            result = self.narrow(op("-", a, b), width)
            zero = op("==", a, b)
            less = op("<", self.signed(a, width), self.signed(b, width))
            carry = self.below(a, b, width)
        elif operation in ("add", "inc"):
            result = self.narrow(op("+", a, b), width)
            zero = op("==", result, ZERO)
            less = self._sum_is_negative(a, b, result, width)
            carry = self.below(result, a, width)
        else:  # and, or, xor: neither overflow nor carry
            result = op(operation, a, b)
            zero = op("==", result, ZERO)
            less = op("<", self.signed(result, width), ZERO)
            carry = ZERO
        flags = {"zf": zero, "sf": op("<", self.signed(result, width), ZERO), "lt": less, "cf": carry}
        if operation in ("inc", "dec"):
            del flags["cf"]
        return flags

    def _sum_is_negative(self, a: Expr, b: Expr, result: Expr, width: int) -> Expr:
        """SF ≠ OF. Two operands of one sign and a result of the other are an overflow, and then the sign lies."""
        if width == 32:
            return op("<", op("+", self.signed(a, 32), self.signed(b, 32)), ZERO)
        overflow = op("&", op("^", a, result), op("^", b, result))
        return op("<", op("^", overflow, result), ZERO)


def _sign(value: Expr) -> Expr:
    return op(">>", op("<<", value, Const(32)), Const(32))
