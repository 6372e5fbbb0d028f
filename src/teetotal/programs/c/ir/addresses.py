"""Addresses that a program treats as numbers where no instruction of the processor shows it.

Most of that is found in the assembly of the last stage (programs/c/addresses.py, which says what is looked for and why):
comparisons, shifts, products, masks. Two variables that are compared in a constant expression, and integers that become
fractions, are not: the one is decided by the linker, the other is done by vectors and constants. These get hooks here.
"""

from __future__ import annotations

import re

from teetotal.programs.c.ir.emitting import Emitter, tail
from teetotal.programs.c.ir.operands import Operand, operand, operands
from teetotal.programs.c.ir.reading import NAME, Instruction
from teetotal.programs.c.ir.types import Unreadable, after_group, split

_ORDERED = re.compile(r"\bicmp [us][lg][te] \(")
_ORDER = re.compile(r"(?:samesign )?[us][lg][te] ")
_CONSTANT = re.compile(r"(?:^| )(?:@|getelementptr |bitcast )")
_VARIABLE = re.compile(rf"@{NAME}")
_FRACTION = re.compile(r"\b[us]itofp \(")
_FRACTIONS = ("uitofp", "sitofp")


def watch(emitter: Emitter, instruction: Instruction) -> None:
    """Puts a hook before an instruction of these."""
    for found in _ORDERED.finditer(instruction.body):
        try:
            pair = operands(instruction.body[found.end() : after_group(instruction.body, found.end() - 1) - 1])
        except Unreadable:
            continue
        variables = {name for one in pair for name in _VARIABLE.findall(one.value)}
        if len(variables) == 2:
            _hook(emitter, instruction, "teetotal_addresses_ordered", [])
    if instruction.opcode == "icmp" and (order := _ORDER.match(instruction.body)) is not None:
        parts = split(instruction.body[order.end() :])
        constants = all(_CONSTANT.search(one) for one in parts)
        if constants and len(set(_VARIABLE.findall(instruction.body))) == 2:
            _hook(emitter, instruction, "teetotal_addresses_ordered", [])
    for found in _FRACTION.finditer(instruction.body):
        inside = instruction.body[found.end() : after_group(instruction.body, found.end() - 1) - 1]
        _fraction(emitter, instruction, inside)
    if instruction.opcode in _FRACTIONS:
        _fraction(emitter, instruction, instruction.body)


def _fraction(emitter: Emitter, instruction: Instruction, text: str) -> None:
    """``text``: a type and a value, and what it becomes."""
    try:
        value = operand(text.rpartition(" to ")[0])
    except Unreadable:
        return
    if value.type.text == "i64":
        _hook(emitter, instruction, "teetotal_address_hashed", [value])


def _hook(emitter: Emitter, instruction: Instruction, name: str, values: list[Operand]) -> None:
    lines: list[str] = []
    given = [f"i64 {emitter.as_word(one.value, one.type, lines)}" for one in values]
    emitter.declare(name, "void", ", ".join(["i64"] * len(values)))
    emitter.put(instruction.first, [*lines, f"  call void @{name}({', '.join(given)}){tail(instruction)}"])
