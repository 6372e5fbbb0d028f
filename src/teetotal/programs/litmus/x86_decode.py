"""One x86 instruction as text, taken apart: operation, width, lock prefix, operands.

The two formats write the same instruction differently: ``X86_64`` as the GNU assembler does, source first
(``movq $1,(x)``), ``X86`` destination first (``MOV [x],$1``). Decoded, the destination is always first.
Names of operations and registers are read in either case, with or without ``%`` and ``$``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from teetotal.programs.expressions import Addr, Expr, Reg
from teetotal.programs.litmus.tokens import number

_INSTRUCTION = re.compile(r"(?:(lock)\s+)?([a-z]\w*)\s*(.*)\Z", re.IGNORECASE | re.ASCII | re.DOTALL)
_MEMORY = re.compile(r"([-\w]*)\s*[(\[]\s*(%?)([A-Za-z_][\w.]*)\s*[)\]]\Z", re.ASCII)
_WORD = re.compile(r"[%$]?[A-Za-z_][\w.]*\Z", re.ASCII)

_OLD_NAMES = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")


def _registers(bits: int) -> dict[str, tuple[str, int]]:
    """From each name in lower case to the name that a Program uses and the width that the name means."""
    table: dict[str, tuple[str, int]] = {}
    for old in _OLD_NAMES:
        whole = f"r{old}" if bits == 64 else f"E{old.upper()}"
        if bits == 64:
            table[f"r{old}"] = (whole, 64)
        table[f"e{old}"] = (whole, 32)
        table[old] = (whole, 16)
        table[f"{old[0]}l" if old.endswith("x") else f"{old}l"] = (whole, 8)
        if old.endswith("x"):
            table[f"{old[0]}h"] = (whole, 8)
    if bits == 64:
        for n in range(8, 16):
            table |= {f"r{n}": (f"r{n}", 64), f"r{n}d": (f"r{n}", 32), f"r{n}w": (f"r{n}", 16), f"r{n}b": (f"r{n}", 8)}
    return table


REGISTERS = {64: _registers(64), 32: _registers(32)}
"""By the machine's bits: 64 for ``X86_64``, 32 for ``X86``."""

_TWO = ("mov", "add", "sub", "and", "or", "xor", "cmp", "test", "xchg", "cmpxchg", "xadd")
_ONE = ("inc", "dec", "neg", "not")
LOCKABLE = frozenset(("add", "sub", "and", "or", "xor", "xchg", "cmpxchg", "xadd", "inc", "dec", "neg", "not"))
NOTHING = frozenset(("nop", "pause", "lfence", "endbr64", "endbr32"))
"""No effect here: loads stay in order under TSO and PSO, so that an lfence has nothing to do."""
_PLAIN = NOTHING | {"mfence", "sfence", "ret", "retq"}
_SUFFIXES = {"b": 8, "w": 16, "l": 32, "q": 64}
_OPERATIONS: dict[str, tuple[str, int | None]] = {
    name + suffix: (name, width) for name in _TWO + _ONE for suffix, width in {"": None, **_SUFFIXES}.items()
}

JUMPS: dict[str, str] = {
    **dict.fromkeys(("e", "z"), "e"),
    **dict.fromkeys(("ne", "nz"), "ne"),
    **dict.fromkeys(("l", "lt", "nge"), "l"),
    **dict.fromkeys(("le", "ng"), "le"),
    **dict.fromkeys(("g", "gt", "nle"), "g"),
    **dict.fromkeys(("ge", "nl"), "ge"),
    **dict.fromkeys(("b", "c", "nae"), "b"),
    **dict.fromkeys(("be", "na"), "be"),
    **dict.fromkeys(("a", "nbe"), "a"),
    **dict.fromkeys(("ae", "nb", "nc"), "ae"),
    **{name: name for name in ("s", "ns", "o", "no")},
}
"""The ending of a conditional jump, all its spellings, and the one that ``x86_flags`` knows."""


class Operand(NamedTuple):
    """``register`` (``value`` is a Reg), ``number`` (``immediate``), ``address`` (``value`` is an Addr, as a number) or
    ``memory`` (``value`` is the address: an Addr or a Reg)."""

    kind: str
    value: Expr | None = None
    width: int | None = None
    immediate: int = 0


class Decoded(NamedTuple):
    operation: str
    width: int | None = None
    locked: bool = False
    operands: tuple[Operand, ...] = ()
    label: str = ""


class UnsupportedError(Exception):
    """What is wrong with an instruction; the reader adds the file and the line."""


@lru_cache(maxsize=4096)
def decode(text: str, bits: int) -> Decoded:
    """``text`` has no blanks around it; the same instruction is taken apart once, however often it occurs."""
    match = _INSTRUCTION.match(text)
    if match is None:
        raise UnsupportedError("this is not an instruction")
    lock, name, rest = match.groups()
    name = name.lower()
    if name in _PLAIN:
        if rest or lock:
            raise UnsupportedError(f"{name} stands alone")
        return Decoded("ret" if name == "retq" else name)
    if name == "jmp" or (name[0] == "j" and name[1:] in JUMPS):
        if lock or not re.fullmatch(r"[A-Za-z_.][\w.]*", rest, re.ASCII):
            raise UnsupportedError("a jump needs a label")
        return Decoded("jmp" if name == "jmp" else "j" + JUMPS[name[1:]], label=rest)
    if name not in _OPERATIONS:
        raise UnsupportedError(f"{name} is not supported")
    operation, width = _OPERATIONS[name]
    operands = tuple(_operand(operand.strip(), bits) for operand in rest.split(",")) if rest else ()
    expected = 1 if operation in _ONE else 2
    if len(operands) != expected:
        raise UnsupportedError(f"{name} takes {expected} operand{'s' * (expected > 1)}, not {len(operands)}")
    if bits == 64:
        operands = operands[::-1]
    if operation in ("cmpxchg", "xchg", "xadd") and operands[1].kind == "memory" != operands[0].kind:
        operands = operands[::-1]  # herd writes the memory operand on either side
    for operand in operands:
        if operand.kind == "register":
            if width not in (None, operand.width):
                raise UnsupportedError(f"{name} has {width} bits, but a register of {operand.width}")
            width = operand.width
    if width in (8, 16) or (width == 64 and bits == 32):
        raise UnsupportedError(f"accesses of {width} bits are not supported")
    if width is None and bits == 32:
        width = 32
    _check(operation, operands, bool(lock))
    return Decoded(operation, width, bool(lock), operands)


def _check(operation: str, operands: tuple[Operand, ...], locked: bool) -> None:
    target = operands[0]
    if target.kind in ("number", "address") and operation not in ("cmp", "test"):
        raise UnsupportedError("the destination is a number")
    if len(operands) == 2 and target.kind == operands[1].kind == "memory":
        raise UnsupportedError("both operands are in memory")
    if operation in ("xchg", "cmpxchg", "xadd") and operands[1].kind != "register":
        raise UnsupportedError(f"{operation} needs a register")
    if operation == "cmpxchg" and not (locked and target.kind == "memory"):
        raise UnsupportedError("cmpxchg is supported with lock and a location only")
    if locked and (operation not in LOCKABLE or target.kind != "memory"):
        raise UnsupportedError("lock belongs to an operation that reads and writes memory")


def _operand(text: str, bits: int) -> Operand:
    value = number(text[1:] if text.startswith("$") else text)
    if value is not None:
        return Operand("number", immediate=value)
    memory = _MEMORY.match(text)
    if memory is not None:
        displacement, percent, name = memory.groups()
        if displacement and number(displacement) != 0:
            raise UnsupportedError(f"`{text}`: an address with a displacement is not supported")
        known = REGISTERS[bits].get(name.lower())
        if known is not None:
            if known[1] != bits:
                raise UnsupportedError(f"`{text}`: an address has {bits} bits")
            return Operand("memory", Reg(known[0]))
        if percent:
            raise UnsupportedError(f"%{name} is not a register of this machine")
        return Operand("memory", Addr(name))
    if _WORD.match(text) is None:
        raise UnsupportedError(f"cannot read the operand `{text}`" if text else "an operand is missing")
    if text[0] == "$":
        return Operand("address", Addr(text[1:]))
    known = REGISTERS[bits].get(text.lstrip("%").lower())
    if known is None:
        raise UnsupportedError(
            f"{text} is not a register of this machine (a location is written in parentheses or brackets)"
        )
    if known[1] < 32:
        raise UnsupportedError(f"{text}: registers of {known[1]} bits are not supported")
    return Operand("register", Reg(known[0]), known[1])
