"""New text for a function of IR: what is put before and behind lines, names for it, and the declarations that it needs.

Everything that is put in is straight-line code with names of its own (``%tt.1``): no block is split, so that phis, jump
tables and landing pads stay as they were, and nothing is renumbered.
"""

from __future__ import annotations

from itertools import count

from teetotal.programs.c.ir.operands import Operand
from teetotal.programs.c.ir.reading import Instruction, Module
from teetotal.programs.c.ir.types import Type


class Emitter:
    """Of a whole module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.before: dict[int, list[str]] = {}
        self.behind: dict[int, list[str]] = {}
        self.instead: dict[int, list[str]] = {}
        self.declared: dict[str, str] = {}
        self.pointer_type = "ptr" if module.opaque else "i8*"
        self._numbers = count(1)

    def name(self) -> str:
        return f"%tt.{next(self._numbers)}"

    def declare(self, name: str, result: str, parameters: str) -> None:
        if name not in self.module.declared and self.module.function(name) is None:
            self.declared[name] = f"declare {result} @{name}({parameters})"

    def put(self, at: int, lines: list[str]) -> None:
        """Before a line, behind what was put there already."""
        self.before.setdefault(at, []).extend(lines)

    def put_behind(self, at: int, lines: list[str]) -> None:
        self.behind.setdefault(at, []).extend(lines)

    def replace(self, instruction: Instruction, lines: list[str]) -> None:
        self.instead[instruction.first] = lines
        for line in range(instruction.first + 1, instruction.last + 1):
            self.instead[line] = []

    def address(self, pointer: Operand, lines: list[str]) -> str:
        """As hooks take it, with its type; where pointers have types that is one of bytes."""
        if pointer.type.number:
            return self._counted_from_thread(pointer, lines)
        if self.module.opaque or pointer.type.text == "i8*":
            return f"{self.pointer_type} {pointer.value}"
        if not pointer.value.startswith("%"):
            return f"i8* bitcast ({pointer.type.text} {pointer.value} to i8*)"
        name = self.name()
        lines.append(f"  {name} = bitcast {pointer.type.text} {pointer.value} to i8*")
        return f"i8* {name}"

    def _counted_from_thread(self, pointer: Operand, lines: list[str]) -> str:
        """Of memory that is reached by ``%fs``, whose first word says where it begins."""
        space, begin, offset, at, name = pointer.type.number, *(self.name() for _ in range(4))
        first = f"ptr addrspace({space})" if self.module.opaque else f"i64 addrspace({space})*"
        lines.append(f"  {begin} = load i64, {first} null")
        lines.append(f"  {offset} = ptrtoint {pointer.type.text} {pointer.value} to i64")
        lines.append(f"  {at} = add i64 {begin}, {offset}")
        lines.append(f"  {name} = inttoptr i64 {at} to {self.pointer_type}")
        return f"{self.pointer_type} {name}"

    def integer(self, value: Operand, bits: int, lines: list[str]) -> str:
        """A value as the integer that has its bits."""
        if value.type.kind == "integer":
            return value.value
        name = self.name()
        how = "ptrtoint" if value.type.kind == "pointer" else "bitcast"
        lines.append(f"  {name} = {how} {value.type.text} {value.value} to i{bits}")
        return name

    def from_integer(self, result: str, kind: Type, bits: int, value: str, tail: str) -> str:
        """The line that gives a result its type again."""
        how = "inttoptr" if kind.kind == "pointer" else "bitcast"
        return f"  {result} = {how} i{bits} {value} to {kind.text}{tail}"

    def as_word(self, value: str, kind: Type, lines: list[str]) -> str | None:
        """A value as an ``i64``; None where it is larger."""
        bits = kind.number if kind.kind == "integer" else 0
        if kind.kind == "integer" and bits <= 64:
            if bits == 64:
                return value
            name = self.name()
            lines.append(f"  {name} = zext {kind.text} {value} to i64")
            return name
        if kind.kind == "pointer" and not kind.number:
            name = self.name()
            lines.append(f"  {name} = ptrtoint {kind.text} {value} to i64")
            return name
        if kind.kind == "double":
            name = self.name()
            lines.append(f"  {name} = bitcast double {value} to i64")
            return name
        if kind.kind == "float":
            word, name = self.name(), self.name()
            lines.append(f"  {word} = bitcast float {value} to i32")
            lines.append(f"  {name} = zext i32 {word} to i64")
            return name
        return None

    def text(self) -> str:
        """The module, with all that was put in."""
        result: list[str] = []
        for at, line in enumerate(self.module.lines):
            result += self.before.get(at, ())
            if (lines := self.instead.get(at)) is None:
                result.append(line)
            else:
                result += lines
            result += self.behind.get(at, ())
        return "\n".join([*result, *self.declared.values(), ""])


def tail(instruction: Instruction) -> str:
    """The place in the source, as a call that stands for an instruction has it."""
    return f", !dbg {instruction.location}" if instruction.location else ""
