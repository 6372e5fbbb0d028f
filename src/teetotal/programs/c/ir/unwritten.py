"""Loads of private locals that may see what nobody has written, and make use of it.

Such a local is filled where its life begins (runtime/memory/unwritten.hpp), and a load of it gets a hook that looks whether
it sees nothing but that. A value that is only moved on to memory has not been used, as when a struct is copied piece by
piece; nor has one that goes back to where it came from with some bits changed, as a store to a bit-field does; nor a part
of a struct that is handed over in registers, with its padding. Where others may know a local, the hooks of its accesses
look.
"""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.programs.c.ir.reading import Access, Instruction
from teetotal.programs.c.ir.seeing import Seeing, accessed
from teetotal.programs.c.ir.types import Unreadable

_LOOKED_AT = (1, 2, 4, 8)
_CHANGES_BITS = ("and", "or", "shl", "zext")


class Looks:
    """Of one function: ``fresh`` are its private locals that may be read before they are written."""

    def __init__(self, seeing: Seeing, fresh: set[str]) -> None:
        self.seeing, self.fresh = seeing, fresh
        self.uses: dict[str, list[Instruction]] = {}
        for instruction in seeing.function.instructions:
            if not instruction.is_debug:
                for name in set(instruction.names):
                    self.uses.setdefault(name, []).append(instruction)

    def wanted(self) -> Iterator[tuple[Instruction, Access]]:
        for instruction in self.seeing.function.instructions:
            told = accessed(instruction)
            if told is None or told.kind == "store" or not instruction.result:
                continue
            if self.seeing.roots.get(told.pointer.value) not in self.fresh:
                continue
            try:
                size = self.seeing.module.layout.store_size(told.type)
            except Unreadable:
                continue
            if size in _LOOKED_AT and self._is_used(instruction, told):
                yield instruction, told

    def _is_used(self, load: Instruction, told: Access) -> bool:
        uses = self.uses.get(load.result, [])
        if all(self._moves(one, load.result) for one in uses):
            return False
        if self._is_part(told) and all(one.is_call or one.opcode in ("ret", "insertvalue") for one in uses):
            return False
        return not self._goes_back(load, told)

    def _moves(self, use: Instruction, name: str) -> bool:
        touched = accessed(use)
        return touched is not None and touched.kind == "store" and touched.pointer.value != name

    def _is_part(self, told: Access) -> bool:
        """Of something that has parts."""
        memory = self.seeing.memory[self.seeing.roots[told.pointer.value]]
        try:
            return self.seeing.module.layout.resolved(memory.type).kind in ("struct", "array")
        except Unreadable:
            return False

    def _goes_back(self, load: Instruction, told: Access) -> bool:
        """Whether it is the first half of a store to some of its bits."""
        name = load.result
        for _ in range(4):
            uses = self.uses.get(name, [])
            if len(uses) != 1:
                return False
            touched = accessed(uses[0])
            if touched is not None:
                return touched.kind == "store" and touched.pointer.value == told.pointer.value and name != load.result
            if uses[0].opcode not in _CHANGES_BITS:
                return False
            name = uses[0].result
        return False
