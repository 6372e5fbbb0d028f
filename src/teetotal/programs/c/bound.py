"""Variables that a program binds to registers (``register long n asm("rcx")``), and what its assembly leaves in some.

gcc keeps such a variable in its register and nowhere else; a call may overwrite it, as the manual says. The compiler's
hooks are calls that the source does not have. So registers which somebody still reads behind a hook are put by around it:
by a backward analysis, as in ``liveness``, over those that calls overwrite. What is put by lies below the frame, where
nobody looks for local state; so nobody is said to wait in such a program.

One that is bound for all of a program cannot be kept: functions that know nothing of it have hooks too. It is found
where a function reads it before anything is written there, and named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from teetotal.programs.c.assembly import Function, Item, Text
from teetotal.programs.c.control_flow import Flow, Labels, labels
from teetotal.programs.c.instrument import att
from teetotal.programs.c.live_table import nobody_waits
from teetotal.programs.c.machine import REGISTERS, Instruction

_HOOK = re.compile(r"__tsan_|teetotal_copy_|teetotal_look_at_guard")
_RETURNS = re.compile(r"__tsan_atomic|__tsan_mutex_pre_unlock|teetotal_look_at_guard")
_LOST = tuple(REGISTERS.index(name) for name in ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"))
_RESULTS = 1 | 1 << REGISTERS.index("rdx")
_VECTORS = len(REGISTERS)
"""The first vector register; there are 32."""
_OVERWRITTEN = sum(1 << number for number in _LOST) | ((1 << 32) - 1) << _VECTORS
_NEVER_GIVEN = 1 << REGISTERS.index("r11") | ((1 << 24) - 1) << (_VECTORS + 8)
"""Registers in which no function is given anything."""
_CLEARS = re.compile(r"v?p?(xor|sub|andn|cmpeq)\w*$|sbb$")
"""With a register and itself: what was there does not matter."""
_LOOKS = re.compile(r"v?u?comis[sd]$|v?ptest$|v?testp[sd]$")
_MERGES = re.compile(r"v(cvt\w+2s[sd]|(r?sqrt|rcp|round)s[sd])$")
"""Which take the rest of a vector, that nobody looks at, from their second operand: compilers name any register there."""
_WIDTH = 64


class BoundRegisters:
    """A pass over the assembly; behind ``Liveness``, whose labels stand right behind calls."""

    def __init__(self) -> None:
        self.unseen: list[str] = []

    def __call__(self, program: Text, functions: Sequence[Function]) -> None:
        found = labels(program.statements)
        for function in functions:
            self._keep(function, found)

    def _keep(self, function: Function, found: Labels) -> None:
        kept: list[tuple[Item, int]] = []
        begins = [_through(block, 0, kept) for block in function.blocks]
        if kept or any(begins[1:]):  # nearly never
            flow = Flow(function, found)
            stray = _settle(flow, begins)
            kept = []
            for number, block in enumerate(function.blocks):
                _through(block, _behind(flow, number, begins, stray), kept)
        for register in _each(begins[0] & _NEVER_GIVEN):
            self.unseen.append(
                f"%{_name(register)} in {function.name}(), which is bound to a variable of all functions"
            )
        for item, registers in kept:
            _put_by(item, [_whole_name(register, function) for register in _each(registers)])


def _settle(flow: Flow, begins: list[int]) -> int:
    """What is live where each block begins; given back: and at whatever a table leads to."""
    stray, more = 0, True
    while more:
        more = False
        for number in reversed(range(len(begins))):
            live = _through(flow.blocks[number], _behind(flow, number, begins, stray), [])
            strays = stray | (live if flow.anywhere[number] and number else 0)
            if (live, strays) != (begins[number], stray):
                begins[number], stray, more = live, strays, True
    return stray


def _behind(flow: Flow, number: int, begins: Sequence[int], stray: int) -> int:
    live = stray if flow.strays(number) else 0
    for following in flow.successors(number):
        live |= begins[following]
    return live


def _through(block: Sequence[Item], live: int, kept: list[tuple[Item, int]]) -> int:
    """From the end of a block to its begin; ``kept``: with what must outlive each hook."""
    for item in reversed(block):
        if _is_hook(item):
            returned = _RESULTS if _RETURNS.match(item.calls) else 0
            if (lost := live & _OVERWRITTEN & ~returned) and not item.statement.text.startswith("#"):  # not dropped
                kept.append((item, lost))
            live &= ~returned
        elif item.instruction.is_call:
            live &= ~_OVERWRITTEN
        else:
            live = _before(item.instruction, live)
    return live


def _is_hook(item: Item) -> bool:
    return not item.statement.app and _HOOK.match(item.calls) is not None


def _before(instruction: Instruction, live: int) -> int:
    operands = instruction.operands
    for register in instruction.writes:
        if register in _LOST:
            live &= ~(1 << register)
    if operands and operands[0][0] == "x" and operands[0][1] >= 0:
        live &= ~(1 << (_VECTORS + operands[0][1]))
    return live | _reads(instruction)


def _reads(instruction: Instruction) -> int:
    operands = instruction.operands
    if len(operands) > 1 and operands[-1] == operands[-2] and _CLEARS.match(instruction.name):
        return 0
    read = sum(1 << register for register in instruction.reads if register in _LOST)
    merged = len(operands) > 2 and _MERGES.match(instruction.name) is not None
    looked_at = operands if _LOOKS.match(instruction.name) else operands[1 + merged :]
    for kind, number in looked_at:
        if kind == "x" and number >= 0:
            read |= 1 << (_VECTORS + number)
    return read


def _each(registers: int) -> list[int]:
    return [number for number in range(_VECTORS + 32) if registers >> number & 1]


def _name(register: int) -> str:
    return REGISTERS[register] if register < _VECTORS else f"xmm{register - _VECTORS}"


def _whole_name(register: int, function: Function) -> str:
    """With all that the function knows of it."""
    if register < _VECTORS:
        return REGISTERS[register]
    texts = " ".join(item.instruction.text for block in function.blocks for item in block)
    return str(max(re.findall(rf"\b[xyz]mm{register - _VECTORS}\b", texts)))


def _put_by(hook: Item, registers: Sequence[str]) -> None:
    size = _WIDTH * len(registers)
    before, after = [f"\tleaq -{size}(%rsp), %rsp"], []
    for at, name in enumerate(registers):
        move = {"r": "movq", "x": "movups"}.get(name[0], "vmovups")
        before.append(f"\t{move} %{name}, {_WIDTH * at}(%rsp)")
        after.append(f"\t{move} {_WIDTH * at}(%rsp), %{name}")
    hook.statement.before += att([*nobody_waits(), *before], hook.statement)
    hook.last.after += att([*after, f"\tleaq {size}(%rsp), %rsp"], hook.last)
