"""Where a program treats addresses as numbers: compares them with ``<``, shifts, multiplies, divides or masks them.

Whether one object begins where another ends is not asked: of two equal addresses nobody can say which objects they were
made from, and every comparison with an object that has a neighbour would be named.

Which of two objects lies lower, and what the bits of an address are, is nobody's promise: it differs from build to build
and from run to run, and here it is always the same. So such instructions get a hook (runtime/memory/addresses.cpp) that
looks at the values: numbers pass, and so do two addresses of one object. Others are named, and then nothing is proved.

- Order: ``cmp`` of two values of eight bytes behind which somebody looks which was less (by the carry, as compilers do it
  for pointers, or by the sign, where the program made an ``intptr_t`` of them); and ``sub``, since the sign of a distance
  is an order too.
- Equality: ``cmp`` behind which somebody looks whether they were equal. Memory is not given out twice in one execution, so
  that an address of freed memory is never found again, as it could be.
- Bits: right shifts, rotations, products, quotients, masks and exclusive ors of eight bytes; and fractions that are made of
  these.

A value that is small is passed by without a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from teetotal.programs.c.assembly import Function, Item, Text
from teetotal.programs.c.instrument import SYMBOLIC, att, hook_call, symbol_of
from teetotal.programs.c.machine import REGISTERS, RSP, Instruction
from teetotal.programs.c.objects import Object

_COMPARE, _HASH, _MASK, _EQUAL = 9, 10, 11, 14
_LOOKS_AT_ORDER = re.compile(r"(j|set|cmov)(ae?|be?|ge?|le?)$")
_LOOKS_AT_EQUALITY = re.compile(r"(j|set|cmov)n?e$")
_HASHES = re.compile(r"(i?mul|i?div|xor|shr|sar|ro[lr]|v?cvtsi2s[sd]|fild)$")
_TO_FRACTION = re.compile(r"v?cvtsi2s[sd]$")
_UPPER_HALF = -1 << 32
_WHOLE = 47
"""A shift to the right by so many bits leaves nothing of an address."""
_ALIGNED = 4
"""So many bits of what malloc gives are zero, and of what is on a stack as the compiler wants them: an array's begin."""
_SMALL = 0x7EE6_FFFF
"""No address is below, nor the handle of a thread."""
_FLAGS, _RAX = 16, 0
_VARIABLE = 1
_HARMLESS = re.compile(
    r"_ZNKSt4lessIPK?[cwDahs]|_ZNSt8__detail18__waiter_pool_base6_S_for"
    r"|_ZNSt8__detail12_GLOBAL__N_1L?(?:8state_of|7is_word)"  # atomic_waits.cpp
)
"""Strings of the C++ library ask in this way whether what they are given is a part of themselves; and those who wait for
an atomic object share what they wait at with others, who are woken for no reason and wait again."""


class AddressWatch:
    """A pass over the assembly. ``found``: whether there was anything to watch."""

    def __init__(self) -> None:
        self.found = False
        self._numbers = count()

    def __call__(self, program: Text, functions: Sequence[Function]) -> None:
        for function in functions:
            if _HARMLESS.match(function.name):
                continue
            for block in function.blocks:
                for number, item in enumerate(block):
                    if item.whole and not item.statement.app and _operates_on_eight(item.instruction):
                        if _fills_lower_half(block, number):
                            continue
                        lines = list(self._watched(item, block[number + 1 :]))
                        item.statement.before += lines
                        self.found = self.found or bool(lines)

    def _watched(self, item: Item, following: Sequence[Item]) -> Iterator[str]:
        instruction = item.instruction
        name, operands = instruction.name, instruction.operands
        registers = [number for kind, number in operands if kind == "r"]
        constants = [number for kind, number in operands if kind == "i"]
        if name in ("cmp", "sub"):
            if constants or RSP in registers:
                return
            if _looks(following, _LOOKS_AT_ORDER) if name == "cmp" else _is_kept(item, following):
                kind = _COMPARE
            elif name == "cmp" and _looks(following, _LOOKS_AT_EQUALITY):
                kind = _EQUAL
            else:
                return
        elif name == "and":
            kind = _MASK
        elif _HASHES.match(name):
            if name in ("shr", "sar", "ror", "rol"):
                back = following[0].instruction if following else None
                aligns = back is not None and back.name in ("shl", "sal") and back.operands == operands
                if constants and (constants[0] >= _WHOLE or (aligns and constants[0] <= _ALIGNED)):
                    return
                registers = registers[:1] if operands[0][0] == "r" else []
            elif name == "xor":
                if operands[0] == operands[1] or (constants and abs(constants[0]) < 1 << _ALIGNED):
                    return
            elif len(operands) == 1 and name != "fild":
                registers = [_RAX, *registers]
            elif len(operands) == 3:
                registers = registers[1:]  # the first is what it becomes
            kind, constants = _HASH, []
        else:
            return
        access = next(iter(instruction.accesses), None)
        flags, symbol = 0, "0"
        if access is not None and (access.segment or (access.relative and not item.relocations)):
            return
        if item.relocations:
            found = symbol_of(item) if access is not None and access.relative else None
            if found is None:
                return
            flags, symbol = SYMBOLIC, f"{found} - ."
        if not registers and access is None:
            return
        skip = f".Lteetotal_small_{next(self._numbers)}"
        if registers and kind in (_COMPARE, _EQUAL):
            yield from att([f"\tcmpq ${_SMALL}, %{REGISTERS[registers[0]]}", f"\tjbe {skip}"], item.statement)
        base, scaled, scale, size, displacement = -1, -1, 1, 0, 0
        if access is not None:
            base, scaled, scale, size = access.base, access.scaled, access.scale, 8
            displacement = 0 if flags else access.displacement
        first, second = [number + 1 for number in registers[:2]] + [0] * (2 - len(registers[:2]))
        if access is not None:
            second = 0
        yield from hook_call(
            f".Lteetotal_address_{next(self._numbers)}",
            "teetotal_access",
            [
                f"\t.byte {kind}, {flags}, {base}, {scaled}, {scale}, -1, {first}, {second}",
                f"\t.long {size}, {symbol}",
                f"\t.quad {constants[0] if constants and access is None else displacement}",
            ],
            item.statement,
        )
        yield f"{skip}:"


def _fills_lower_half(block: Sequence[Item], number: int) -> bool:
    """gcc passes a small struct by value as the whole of its registers, and puts an int into the lower half of one: the
    upper half is padding, whatever was in the register, and nobody looks at it. The lambda of ``std::atomic::wait`` is
    passed so. What a program masks itself is not put back into the register that it was taken from."""
    around = [item.instruction for item in block[max(number - 3, 0) : number + 3]]
    if number < 3 or len(around) != 6 or [one.name for one in around] != ["mov", "mov", "movabs", "and", "or", "mov"]:
        return False
    part, copied, mask, kept, filled, back = (one.operands for one in around)
    whole, copy, rest, lower = copied[1], copied[0], kept[0], part[0]
    return (
        (around[0].width, around[1].width, around[5].width) == (4, 8, 8)
        and mask == (rest, ("i", _UPPER_HALF))
        and (kept, filled, back) == ((rest, copy), (lower, rest), (whole, lower))
        and len({whole, copy, rest, lower}) == 4
        and all(kind == "r" for kind, _ in (whole, copy, rest, lower))
    )


def _operates_on_eight(instruction: Instruction) -> bool:
    """Bytes, which may be an address."""
    return (instruction.narrow if _TO_FRACTION.match(instruction.name) else instruction.width) == 8


def _looks(following: Sequence[Item], how: re.Pattern[str]) -> bool:
    for item in following:
        if how.match(item.instruction.name):
            return True
        if _FLAGS in item.instruction.writes or item.instruction.is_call:
            return False
    return False


def _is_kept(distance: Item, following: Sequence[Item]) -> bool:
    """clang asks by a distance whether a swap was done, and puts the answer in its place."""
    if not following or following[0].instruction.name not in ("sete", "setne"):
        return True
    return following[0].instruction.operands[:1] != distance.instruction.operands[:1]


def variables(program: Path) -> list[tuple[int, int]]:
    """Where each variable of a linked program begins and ends."""
    symbols = Object(program.read_bytes()).symbols
    return sorted({(one.value, one.value + one.size) for one in symbols if one.kind == _VARIABLE and one.size})
