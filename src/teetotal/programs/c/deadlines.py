"""Looks at the clock whose only use is the limit of a wait: ``clock_gettime``, a second more, ``pthread_cond_timedwait``.

What waits with a limit is explored either way, whatever the limit. So such a look decides nothing and is not named, if no
other use can be made of what it shows. That is so where, in the code of one function (which is not optimised),

- the clock is asked to write to a variable of the frame, and no address of that variable or of what lies below it in the
  frame, which it might be a part of, goes anywhere but to clocks and to waits with a limit;
- what is read from the variable is moved between registers, added to, subtracted from, and stored in the variable again;
  or compared, and the branch behind that skips nothing but more of the same;
- where the nanoseconds are changed, they are compared with a second: a wait whose limit is out of range fails at once.

Anything else that sees such a value, an instruction or a call, leaves the look what it was: named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from teetotal.programs.c.assembly import Function, Item, Text
from teetotal.programs.c.machine import RBP, REGISTERS, Access, decode
from teetotal.programs.c.objects import Object

_RAX, _RCX, _RDX, _RSI, _RDI, _R8, _R9 = (
    REGISTERS.index(name) for name in ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9")
)
_FLAGS = 16
_ARGUMENTS = (_RDI, _RSI, _RDX, _RCX, _R8, _R9)
_GIVEN = {*_ARGUMENTS, REGISTERS.index("r10")}
"""To a call: r10 leads nested functions to the frame around them."""
_LOST = {*_GIVEN, _RAX, REGISTERS.index("r11"), _FLAGS}
"""By a call."""
_CLOCKS = {"clock_gettime": _RSI, "timespec_get": _RDI}
"""Where they write to."""
_WAITS = {
    **dict.fromkeys(("sem_timedwait", "mtx_timedlock", "pthread_mutex_timedlock"), _RSI),
    **dict.fromkeys(("pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock"), _RSI),
    **dict.fromkeys(("pthread_cond_timedwait", "cnd_timedwait", "pthread_mutex_clocklock", "sem_clockwait"), _RDX),
    "pthread_cond_clockwait": _RCX,
}
"""Where they read their limit."""
_HOOKS = re.compile(r"__tsan_(unaligned_)?(read|write)\d+$|__tsan_func_(entry|exit)$")
_COMPUTES = ("mov", "lea", "add", "sub", "inc", "dec", "cmp", "test")
_SECOND = (999_999_999, 1_000_000_000)
_SIZE = 16


class _Used(Exception):
    """The program may make another use of what the clock shows."""


class _Registers(NamedTuple):
    clock: set[int]
    """Those that hold what depends on it, the flags among them."""
    addresses: dict[int, int]
    """Those that hold an address in the frame, counted from rbp."""


class DeadlineWatch:
    """A pass over the assembly: such looks become calls of a function that names nothing."""

    def __init__(self) -> None:
        self.relied_on: set[str] = set()
        """Functions that must be those of the C library."""

    def own(self, linked: Path) -> set[str]:
        """The functions relied on here that are not the library's: the program defines or wraps them."""
        if not self.relied_on:
            return set()
        defined = {symbol.name for symbol in Object(linked.read_bytes()).symbols if symbol.section}
        return {name for name in self.relied_on if {name, f"__wrap_{name}"} & defined}

    def __call__(self, program: Text, functions: Sequence[Function]) -> None:
        for function in functions:
            looks = [item for block in function.blocks for item in block if item.calls in _CLOCKS]
            if looks and _only_limits(function.blocks):
                calls = {item.calls for block in function.blocks for item in block}
                self.relied_on |= calls & {*_CLOCKS, *_WAITS}
                for item in looks:
                    item.statement.text = item.statement.text.replace(item.calls, f"teetotal_{item.calls}_for_limit")


def _only_limits(blocks: Sequence[Sequence[Item]]) -> bool:
    try:
        limits = _written_by_clocks(blocks)
        entering: set[int] = set()
        while True:
            check = _Check(blocks, limits, entering)
            check.run()
            if check.leaving <= entering:
                return not check.changes_nanoseconds or check.knows_a_second
            entering = entering | check.leaving
    except _Used:
        return False


def _written_by_clocks(blocks: Sequence[Sequence[Item]]) -> set[int]:
    found = set()
    for block in blocks:
        addresses: dict[int, int] = {}
        for item in block:
            if item.calls in _CLOCKS:
                if _CLOCKS[item.calls] not in addresses:
                    raise _Used
                found.add(addresses[_CLOCKS[item.calls]])
            _follow(item, addresses)
    return found


def _follow(item: Item, addresses: dict[int, int]) -> None:
    """Where the registers point to behind an instruction."""
    instruction = item.instruction
    became = _moved(item, addresses)
    for register in _LOST if instruction.is_call else instruction.writes:
        addresses.pop(register, None)
    if became is not None:
        addresses[instruction.operands[0][1]] = became


def _moved(item: Item, addresses: dict[int, int]) -> int | None:
    """The address in the frame that the register which is written holds then, if it does."""
    instruction = item.instruction
    operands, address = instruction.operands, instruction.address
    if instruction.width != 8 or not operands or operands[0][0] != "r":
        return None
    if instruction.name == "lea" and address is not None and address.scaled < 0 and not item.relocations:
        base = 0 if address.base == RBP else addresses.get(address.base)
        return None if base is None else base + address.displacement
    if instruction.name == "mov" and operands[1][0] == "r":
        return addresses.get(operands[1][1])
    if instruction.name == "add" and operands[1][0] == "i" and operands[0][1] in addresses:
        return addresses[operands[0][1]] + operands[1][1]
    return None


class _Check:
    """One walk over the blocks of a function, with the registers that may depend on the clock where one begins."""

    def __init__(self, blocks: Sequence[Sequence[Item]], limits: set[int], entering: set[int]) -> None:
        self._blocks = blocks
        self._limits = limits
        self._entering = entering
        self._highest = max(limits) + _SIZE
        self.leaving: set[int] = set()
        self.changes_nanoseconds = False
        self.knows_a_second = False

    def run(self) -> None:
        skipped: set[int] = set()
        for number, block in enumerate(self._blocks):
            registers = _Registers(set(self._entering) if number else set(), {})
            for item in block:
                if number in skipped:
                    self._expect_harmless(item, registers)
                self._see(item, registers)
                if number in skipped and not item.instruction.is_call:
                    registers.clock.update(item.instruction.writes)
                if item.instruction.ends_block and _FLAGS in item.instruction.reads and _FLAGS in registers.clock:
                    skipped.update(self._skipped_by(item, number))
            if not block or not block[-1].instruction.ends_block or block[-1].instruction.name != "ret":
                self.leaving |= registers.clock | {r for r, at in registers.addresses.items() if at < self._highest}

    def _see(self, item: Item, registers: _Registers) -> None:
        instruction, clock = item.instruction, registers.clock
        if item.statement.app or not item.whole or instruction.oddity or instruction.locked or instruction.repeated:
            raise _Used
        if instruction.is_call:
            self._see_call(item, registers)
        elif instruction.name == "ret":
            if clock & {_RAX, _RDX}:
                raise _Used
        else:
            self._see_instruction(item, registers)
        _follow(item, registers.addresses)
        if instruction.is_call:
            clock -= _LOST

    def _see_call(self, item: Item, registers: _Registers) -> None:
        hook = _HOOKS.match(item.calls) is not None
        limit = {**_CLOCKS, **_WAITS}.get(item.calls)
        called = item.instruction
        if (registers.clock & _GIVEN and not hook) or registers.clock & set(called.reads):
            raise _Used
        if any(access.base == RBP and self._field(access) for access in called.accesses):
            raise _Used
        for register in _GIVEN:
            at = registers.addresses.get(register, self._highest)
            if at < self._highest and not hook and (register != limit or at not in self._limits):
                raise _Used

    def _see_instruction(self, item: Item, registers: _Registers) -> None:
        instruction, clock = item.instruction, registers.clock
        name, operands = instruction.name, instruction.operands
        points = {register for register, at in registers.addresses.items() if at < self._highest}
        reads, stores = False, False
        for access in instruction.accesses:
            if (access.base == RBP and access.scaled >= 0) or {access.base, access.scaled} & clock:
                raise _Used
            if access.base == RBP and self._field(access):
                reads = reads or access.direction != "w"
                stores = stores or access.direction != "r"
        if item.instruction.ends_block:
            if clock & (set(instruction.reads) - {_FLAGS}):
                raise _Used
            return
        seen = reads or bool(clock & set(instruction.reads))
        if points & set(instruction.reads) and _moved(item, registers.addresses) is None:
            raise _Used
        if seen and (name not in _COMPUTES or instruction.width != 8):
            raise _Used
        if seen and operands[0][0] not in ("r", "m"):
            raise _Used
        if seen and name not in ("cmp", "test") and operands[0][0] == "m" and not stores:
            raise _Used  # it is kept elsewhere
        nanoseconds = any(a.base == RBP and a.displacement - 8 in self._limits for a in instruction.accesses)
        constant = name == "mov" and operands[-1][0] == "i"
        self.changes_nanoseconds = self.changes_nanoseconds or (stores and nanoseconds and not constant)
        if seen and name == "cmp" and operands[1][0] == "i" and operands[1][1] in _SECOND:
            self.knows_a_second = True
        clock -= set(instruction.writes)
        if seen:
            clock |= set(instruction.writes)

    def _field(self, access: Access) -> bool:
        """Whether it is one of the fields that a clock writes, whole; what overlaps them otherwise is not followed."""
        begin, end = access.displacement, access.displacement + access.size
        for limit in self._limits:
            if begin in (limit, limit + 8) and access.size == 8:
                return True
            if begin < limit + _SIZE and end > limit:
                raise _Used
        return False

    def _expect_harmless(self, item: Item, registers: _Registers) -> None:
        """Where the clock decides whether it is done: nothing but what clocks write is touched."""
        instruction = item.instruction
        if instruction.is_call:
            at = registers.addresses.get(_RDI)
            if not _HOOKS.match(item.calls) or not {at, at - 8 if at is not None else at} & self._limits:
                raise _Used
        elif instruction.ends_block or not all(
            access.base == RBP and self._field(access) for access in instruction.accesses
        ):
            raise _Used

    def _skipped_by(self, jump: Item, number: int) -> list[int]:
        """The blocks between a branch and where it goes."""
        whole = decode(jump.code)  # an item's own instruction is without its target
        if whole is None or jump.relocations or whole[0].operands[0][0] != "i":
            raise _Used
        left = whole[0].operands[0][1] - whole[0].size
        between = []
        for later in range(number + 1, len(self._blocks)):
            if left <= 0:
                break
            between.append(later)
            left -= sum(len(item.code) for item in self._blocks[later])
        if left != 0:
            raise _Used
        return between
