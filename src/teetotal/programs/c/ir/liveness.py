"""What is live in a function: a backward analysis of SSA values and of the contents of private locals.

A private local is one place: a store to all of it, and the marks of its lifetime, end what it held before; a store to a
part of it does not; each load from it, and each copy out of it, uses all of it. Where something returns twice, everything
private is live everywhere: whoever comes back finds it as it was left.
"""

from __future__ import annotations

from collections.abc import Sequence

from teetotal.programs.c.ir.reading import Instruction
from teetotal.programs.c.ir.seeing import _LIFETIME, _MEMORY, Memory, Point, Seeing, accessed, called
from teetotal.programs.c.ir.types import Type, Unreadable, split


class Liveness:
    """Places are values and ``=name`` for the contents of a local; each has a bit."""

    def __init__(self, seeing: Seeing) -> None:
        self.seeing = seeing
        self.function = seeing.function
        self.places = [name for name in seeing.function.defined if name not in seeing.roots or name in seeing.memory]
        self.contents = sorted(seeing.private)
        bits = {name: 1 << at for at, name in enumerate([*self.places, *(f"={one}" for one in self.contents)])}
        self.bits = bits
        self.everything = sum(bits[f"={one}"] for one in self.contents) if seeing.flow.twice else 0
        self.steps: list[list[tuple[int, int]]] = [
            [self._effect(one) for one in block.instructions] for block in seeing.flow.blocks
        ]
        self.of_phis = self._phis()
        self.before = self._solved()

    def _solved(self) -> list[int]:
        """Live where each block begins."""
        flow = self.seeing.flow
        before = [0] * len(flow.blocks)
        waiting = list(range(len(flow.blocks)))
        while waiting:
            number = waiting.pop()
            live = self._behind(number, before)
            for used, killed in reversed(self.steps[number]):
                live = (live & ~killed) | used
            live |= self.everything
            if live != before[number]:
                before[number] = live
                waiting += flow.predecessors[number]
        return before

    def _behind(self, number: int, before: Sequence[int]) -> int:
        live = self.everything
        for following in self.seeing.flow.successors[number]:
            live |= before[following] | self.of_phis.get((number, following), 0)
        return live

    def _phis(self) -> dict[tuple[int, int], int]:
        """What a block hands on to another: uses of phis lie at the end of where they come from."""
        flow = self.seeing.flow
        numbers = {block.name: number for number, block in enumerate(flow.blocks)}
        found: dict[tuple[int, int], int] = {}
        for number, block in enumerate(flow.blocks):
            for instruction in block.instructions:
                if instruction.opcode != "phi":
                    continue
                body = instruction.body[instruction.body.index("[") :]
                for pair in split(body):
                    value, _, origin = pair.strip("[] ").rpartition(",")
                    source = numbers.get(origin.strip())
                    if source is not None:
                        bit = self._bit(value.strip())
                        found[source, number] = found.get((source, number), 0) | bit
        return found

    def _bit(self, name: str) -> int:
        """Of a value. Addresses of locals are the same each time."""
        if name in self.seeing.roots and name not in self.seeing.memory:
            return 0
        return self.bits.get(name, 0)

    def _effect(self, instruction: Instruction) -> tuple[int, int]:
        """What it uses, and what it ends."""
        if instruction.opcode == "phi":
            return 0, self._bit(instruction.result)
        if instruction.is_debug:
            return 0, 0
        seeing = self.seeing
        told = called(instruction)
        if told is not None and told.name.startswith("llvm.dbg."):
            return 0, 0
        used = killed = 0
        for name in instruction.names:
            used |= self._bit(name)
            root = seeing.roots.get(name)
            if root is not None and name not in seeing.memory:
                used |= self._offset(name)
        if instruction.result:
            killed |= self._bit(instruction.result)
        if instruction.opcode == "alloca":
            killed |= self.bits.get(f"={instruction.result}", 0)
        contents, ended = self._contents(instruction)
        return used | contents, killed | ended

    def _offset(self, name: str) -> int:
        """The values that an address in a local is computed from."""
        instruction = self.seeing.function.defined.get(name)
        found = 0
        for _ in range(32):
            if instruction is None or instruction.opcode == "alloca":
                break
            onward = None
            for one in instruction.names:
                if one in self.seeing.roots:
                    onward = self.seeing.function.defined.get(one)
                else:
                    found |= self.bits.get(one, 0)
            instruction = onward
        return found

    def _contents(self, instruction: Instruction) -> tuple[int, int]:
        """Of private locals."""
        seeing = self.seeing

        def of(pointer: str) -> int:
            return self.bits.get(f"={seeing.roots.get(pointer, '')}", 0)

        def size(pointer: str) -> int | None:
            return seeing.memory[seeing.roots[pointer]].size

        if (touched := accessed(instruction)) is not None:
            place = of(touched.pointer.value)
            if not place:
                return 0, 0
            if touched.kind != "store":
                return place, 0
            try:
                whole = self.seeing.module.layout.store_size(touched.type) == size(touched.pointer.value)
            except Unreadable:
                whole = False
            return 0, place if whole and touched.pointer.value in seeing.whole else 0
        told = called(instruction)
        if told is None:
            return 0, 0
        if (marked := _LIFETIME.match(told.name)) is not None and marked is not None:
            return 0, of(told.arguments[-1].value)
        if _MEMORY.match(told.name):
            target = told.arguments[0].value
            used = 0 if told.name.startswith("llvm.memset") else of(told.arguments[1].value)
            place = of(target)
            whole = bool(place) and told.arguments[2].value == str(size(target)) and target in seeing.whole
            return used, place if whole else 0
        return sum({of(one.value) for one in told.arguments if "byval" in one.attributes}), 0

    # -- what of it is handed on --------------------------------------------------------------------------------------

    def at(self, wanted: set[int]) -> dict[int, Point]:
        """Before the instructions that begin in some lines. Where something live has a type that cannot be handed to a
        hook, there is no point: whoever stands there is never where it was."""
        grows = any(
            one.opcode == "alloca" and (seeing_size(self.seeing, one) is None or number)
            for number, block in enumerate(self.seeing.flow.blocks)
            for one in block.instructions
        )
        found: dict[int, Point] = {}
        for number, block in enumerate(self.seeing.flow.blocks):
            if not any(one.first in wanted for one in block.instructions):
                continue
            live = self._behind(number, self.before)
            for instruction, (used, killed) in zip(
                reversed(block.instructions), reversed(self.steps[number]), strict=True
            ):
                live = (live & ~killed) | used | self.everything
                if instruction.first in wanted and (point := self._point(live, grows)) is not None:
                    found[instruction.first] = point
        return found

    def _point(self, live: int, grows: bool) -> Point | None:
        values: list[tuple[str, Type]] = []
        for name in self.places:
            if live & self.bits[name] and name not in self.seeing.memory:
                kind = self.seeing.types.of(name)
                if kind is None or not self._can_be_given(kind):
                    return None
                values.append((name, kind))
        contents: list[Memory] = []
        for name in self.contents:
            if live & self.bits[f"={name}"]:
                if self.seeing.memory[name].size is None:
                    return None
                contents.append(self.seeing.memory[name])
        return Point(values, contents, grows)

    def _can_be_given(self, kind: Type) -> bool:
        try:
            return self.seeing.module.layout.store_size(kind) > 0
        except Unreadable:
            return False

    def unwritten(self) -> list[str]:
        """Private locals that some way may read before it writes them."""
        found: set[str] = set()
        for number, block in enumerate(self.seeing.flow.blocks):
            live = self._behind(number, self.before)
            for instruction, (used, killed) in zip(
                reversed(block.instructions), reversed(self.steps[number]), strict=True
            ):
                if (begun := self._begins(instruction)) and live & self.bits.get(f"={begun}", 0):
                    found.add(begun)
                live = (live & ~killed) | used | self.everything
        return sorted(found)

    def _begins(self, instruction: Instruction) -> str:
        """The private local whose time begins there."""
        if instruction.opcode == "alloca":
            return instruction.result if instruction.result in self.seeing.private else ""
        told = called(instruction)
        if told is not None and told.name.startswith("llvm.lifetime.start"):
            root = self.seeing.roots.get(told.arguments[-1].value, "")
            return root if root in self.seeing.private else ""
        return ""


def seeing_size(seeing: Seeing, instruction: Instruction) -> int | None:
    memory = seeing.memory.get(instruction.result)
    return memory.size if memory is not None else None
