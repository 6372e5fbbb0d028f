"""Loads of private locals that may see what nobody has written, and make use of it.

A local that some way may read before it writes it is filled where its life begins (runtime/memory/unwritten.hpp), and a
load gets a hook that looks whether it sees nothing but that. A value that is only moved on to memory has not been used, as
when a struct is copied piece by piece, but leaves unwritten what it is moved to: so loads are looked at of all private
locals that it can come to in this way, and of structs that a call has returned, or that were given in registers. Nor has
one been used that goes back to where it came from with some bits changed, in programs with bit-fields; nor a part of a
struct that is handed over in registers, with its padding. Where others may know a local, the hooks of its accesses look.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from teetotal.programs.c.ir.operands import Access, Operand
from teetotal.programs.c.ir.reading import Instruction
from teetotal.programs.c.ir.seeing import MEMORY, Seeing, accessed, called
from teetotal.programs.c.ir.types import Unreadable

_LOOKED_AT = (1, 2, 4, 8, 10)
_WHOLE = 8
_CHANGES_BITS = ("and", "or", "shl", "zext")


class Look(NamedTuple):
    """``half``: it could be half of a store to a bit-field. ``parts``: offsets and sizes of what is looked at: each half of
    what is compared, since a half may go unused elsewhere, as in structs that are passed in registers."""

    instruction: Instruction
    pointer: Operand
    half: bool
    parts: tuple[tuple[int, int], ...]


class Looks:
    """Of one function: ``fresh`` are its private locals that may be read before they are written."""

    def __init__(self, seeing: Seeing, fresh: set[str]) -> None:
        self.seeing = seeing
        self.uses: dict[str, list[Instruction]] = {}
        for instruction in seeing.function.instructions:
            if not instruction.is_debug:
                for name in set(instruction.names):
                    self.uses.setdefault(name, []).append(instruction)
        self.carriers = fresh | self._structs_from_elsewhere()
        self._spread()

    def _structs_from_elsewhere(self) -> set[str]:
        """Private locals that a call, or a caller, has put a struct into, by its registers."""
        given = {one.value for one in self.seeing.function.parameters}
        found: set[str] = set()
        for instruction in self.seeing.function.instructions:
            told = accessed(instruction)
            if told is None or told.kind != "store" or told.value is None or not self._is_part(told):
                continue
            value = told.value.value
            source = self.seeing.function.defined.get(value)
            if value in given or (source is not None and (source.is_call or source.opcode == "extractvalue")):
                found.add(self._root(told.pointer.value))
        return found

    def _root(self, pointer: str) -> str:
        """The private local that an address lies in, or nothing."""
        root = self.seeing.roots.get(pointer, "")
        return root if root in self.seeing.private else ""

    def _spread(self) -> None:
        """Follows values from one private local to another."""
        more = bool(self.carriers)
        while more:
            reached = {self._root(target) for target in self._moved()} - self.carriers - {""}
            self.carriers |= reached
            more = bool(reached)

    def _moved(self) -> Iterator[str]:
        """Where what is loaded of them is put."""
        for instruction in self.seeing.function.instructions:
            told = accessed(instruction)
            if told is not None and told.kind == "load" and self._root(told.pointer.value) in self.carriers:
                for use in self.uses.get(instruction.result, []):
                    stored = accessed(use)
                    if stored is not None and stored.kind == "store":
                        yield stored.pointer.value
            calls = called(instruction)
            if calls is not None and MEMORY.match(calls.name) and not calls.name.startswith("llvm.memset"):
                target, source = (one.value for one in calls.arguments[:2])
                if self._root(source) in self.carriers:
                    yield target

    def wanted(self) -> Iterator[Look]:
        for instruction in self.seeing.function.instructions:
            told = accessed(instruction)
            if told is None or told.kind == "store" or not instruction.result:
                continue
            if self._root(told.pointer.value) not in self.carriers:
                continue
            try:
                size = self.seeing.module.layout.store_size(told.type)
            except Unreadable:
                continue
            if size in _LOOKED_AT and self._is_used(instruction, told):
                compared = any(one.opcode == "icmp" for one in self.uses.get(instruction.result, []))
                parts = ((0, 4), (4, 4)) if size == _WHOLE and compared and self._is_part(told) else ((0, size),)
                yield Look(instruction, told.pointer, self._goes_back(instruction, told), parts)

    def _is_used(self, load: Instruction, told: Access) -> bool:
        uses = self.uses.get(load.result, [])
        if all(self._moves(one, load.result) for one in uses):
            return False
        handed_over = all(one.is_call or one.opcode in ("ret", "insertvalue") for one in uses)
        return not (handed_over and self._is_part(told))

    def _moves(self, use: Instruction, name: str) -> bool:
        told = accessed(use)
        return told is not None and told.kind == "store" and not told.order and told.pointer.value != name

    def _is_part(self, told: Access) -> bool:
        """Of something that has parts."""
        memory = self.seeing.memory.get(self.seeing.roots.get(told.pointer.value, ""))
        try:
            return memory is not None and self.seeing.module.layout.resolved(memory.type).kind in ("struct", "array")
        except Unreadable:
            return False

    def _goes_back(self, load: Instruction, told: Access) -> bool:
        """Whether it is the first half of a store to some of its bits."""
        name = load.result
        for _ in range(4):
            uses = self.uses.get(name, [])
            if len(uses) != 1:
                return False
            stored = accessed(uses[0])
            if stored is not None:
                return stored.kind == "store" and stored.pointer.value == told.pointer.value and name != load.result
            if uses[0].opcode not in _CHANGES_BITS:
                return False
            name = uses[0].result
        return False
