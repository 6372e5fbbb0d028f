"""What is live in a function: a backward analysis of SSA values and of the contents of private locals.

Contents are followed byte by byte, in locals that are not large. A store ends what its bytes held before, and so do the
marks of a lifetime; a load uses its bytes, and where nobody knows which these are, all of them; a copy does both. Where
something returns twice, everything private is live everywhere: whoever comes back finds it as it was left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from teetotal.programs.c.ir.reading import Instruction
from teetotal.programs.c.ir.seeing import LIFETIME, MEMORY, Memory, Part, Point, Seeing, accessed, called
from teetotal.programs.c.ir.types import Type, Unreadable, split

_LARGE = 512
"""Bytes of a local beyond which it is one place."""


class Liveness:
    """Sets of places are numbers with a bit for each: for values, then for the bytes of each private local."""

    def __init__(self, seeing: Seeing) -> None:
        self.seeing = seeing
        self.function = seeing.function
        self.grown = {
            one.instruction.result
            for one in seeing.memory.values()
            if one.instruction is not None and (one.size is None or one.instruction not in self._entry())
        }
        """Locals whose address is not the same each time."""
        self.places = [name for name in seeing.function.defined if name not in seeing.roots or name in self.grown]
        self.bits = {name: 1 << at for at, name in enumerate(self.places)}
        self.contents = sorted(seeing.private)
        self.first: dict[str, int] = {}
        """Of each private local, the number of its first bit."""
        self.width: dict[str, int] = {}
        at = len(self.places)
        for name in self.contents:
            size = seeing.memory[name].size
            self.first[name] = at
            self.width[name] = size if size is not None and 0 < size <= _LARGE else 1
            at += self.width[name]
        self.everything = sum(map(self._all, self.contents)) if seeing.flow.twice else 0
        self.steps: list[list[tuple[int, int]]] = [
            [self._effect(one) for one in block.instructions] for block in seeing.flow.blocks
        ]
        self.of_phis = self._phis()
        self.before = self._solved()

    def _entry(self) -> list[Instruction]:
        return self.function.blocks[0].instructions if self.function.blocks else []

    def _all(self, name: str) -> int:
        """All bytes of a private local."""
        return ((1 << self.width[name]) - 1) << self.first[name] if name in self.first else 0

    # -- the analysis --------------------------------------------------------------------------------------------------

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

    def _backwards(self, number: int) -> Iterator[tuple[Instruction, int]]:
        """The instructions of a block, last first, each with what is live behind it."""
        live = self._behind(number, self.before)
        instructions = self.seeing.flow.blocks[number].instructions
        for instruction, (used, killed) in zip(reversed(instructions), reversed(self.steps[number]), strict=True):
            yield instruction, live
            live = (live & ~killed) | used | self.everything

    def _phis(self) -> dict[tuple[int, int], int]:
        """What a block hands on to another: uses of phis lie at the end of where they come from."""
        flow = self.seeing.flow
        numbers = {block.name: number for number, block in enumerate(flow.blocks)}
        found: dict[tuple[int, int], int] = {}
        for number, block in enumerate(flow.blocks):
            for instruction in block.instructions:
                if instruction.opcode != "phi":
                    continue
                for pair in split(instruction.body[instruction.body.index("[") :]):
                    value, _, origin = pair.strip("[] ").rpartition(",")
                    source = numbers.get(origin.strip())
                    if source is not None:
                        key = source, number
                        found[key] = found.get(key, 0) | self.bits.get(value.strip(), 0)
        return found

    # -- what an instruction does -------------------------------------------------------------------------------------

    def _effect(self, instruction: Instruction) -> tuple[int, int]:
        """What it uses, and what it ends."""
        if instruction.opcode == "phi":
            return 0, self.bits.get(instruction.result, 0)
        told = called(instruction)
        if instruction.is_debug or (told is not None and told.name.startswith("llvm.dbg.")):
            return 0, 0
        used = 0
        for name in instruction.names:
            used |= self.bits.get(name, 0)
            if name in self.seeing.roots and name not in self.seeing.memory:
                used |= self._offset(name)
        killed = self.bits.get(instruction.result, 0)
        if instruction.opcode == "alloca":
            killed |= self._all(instruction.result)
        reads, ends = self._contents(instruction)
        return used | reads, killed | ends

    def _offset(self, name: str) -> int:
        """The values that an address in a local is computed from."""
        instruction = self.function.defined.get(name)
        found = 0
        for _ in range(32):
            if instruction is None or instruction.opcode == "alloca":
                break
            onward = None
            for one in instruction.names:
                found |= self.bits.get(one, 0)
                if one in self.seeing.roots:
                    onward = self.function.defined.get(one)
            instruction = onward
        return found

    def _bytes(self, pointer: str, size: int | None) -> tuple[int, bool]:
        """Of a private local: the bytes that an access may touch, and whether it surely touches them all."""
        root = self.seeing.roots.get(pointer, "")
        if root not in self.first:
            return 0, False
        begin, whole = self.seeing.offsets[pointer], self.seeing.memory[root].size
        if size is None or begin is None or whole is None or begin < 0 or begin + size > whole:
            return self._all(root), False
        if self.width[root] != whole:
            return self._all(root), begin == 0 and size == whole
        return ((1 << size) - 1) << (self.first[root] + begin), True

    def _contents(self, instruction: Instruction) -> tuple[int, int]:
        """What it uses of private locals, and what it ends."""
        if (touched := accessed(instruction)) is not None:
            try:
                size: int | None = self.seeing.module.layout.store_size(touched.type)
            except Unreadable:
                size = None
            place, sure = self._bytes(touched.pointer.value, size)
            return (place, 0) if touched.kind != "store" else (0, place if sure else 0)
        told = called(instruction)
        if told is None:
            return 0, 0
        if LIFETIME.match(told.name):
            return 0, self._all(self.seeing.roots.get(told.arguments[-1].value, ""))
        if MEMORY.match(told.name):
            size = int(told.arguments[2].value) if told.arguments[2].value.isdigit() else None
            target, sure = self._bytes(told.arguments[0].value, size)
            fills = told.name.startswith("llvm.memset")
            source = 0 if fills else self._bytes(told.arguments[1].value, size)[0]
            return source, target if sure else 0
        given = [self.seeing.roots.get(one.value, "") for one in told.arguments if "byval" in one.attributes]
        return sum({self._all(root) for root in given}), 0

    # -- what of it is handed on --------------------------------------------------------------------------------------

    def at(self, wanted: set[int]) -> dict[int, Point]:
        """Before the instructions that begin in some lines. Where something live has a type that cannot be handed to a
        hook, there is no point: whoever stands there is never where it was."""
        found: dict[int, Point] = {}
        for number, block in enumerate(self.seeing.flow.blocks):
            if not any(one.first in wanted for one in block.instructions):
                continue
            for (instruction, behind), (used, killed) in zip(
                self._backwards(number), reversed(self.steps[number]), strict=True
            ):
                if instruction.first in wanted:
                    point = self._point((behind & ~killed) | used | self.everything)
                    if point is not None:
                        found[instruction.first] = point
        return found

    def _point(self, live: int) -> Point | None:
        values: list[tuple[str, Type]] = []
        for name in self.places:
            if live & self.bits[name]:
                kind = self.seeing.types.of(name)
                if kind is None or not self._can_be_given(kind):
                    return None
                values.append((name, kind))
        contents: list[Part] = []
        for name in self.contents:
            if not (part := live >> self.first[name] & ((1 << self.width[name]) - 1)):
                continue
            memory = self.seeing.memory[name]
            if memory.size is None:
                return None
            contents += _parts(memory, part) if self.width[name] == memory.size else [Part(memory, 0, memory.size)]
        return Point(values, contents, bool(self.grown))

    def _can_be_given(self, kind: Type) -> bool:
        try:
            return self.seeing.module.layout.store_size(kind) > 0
        except Unreadable:
            return False

    def unwritten(self) -> list[str]:
        """Private locals of which some way may read a part before it is written."""
        found: set[str] = set()
        for number in range(len(self.seeing.flow.blocks)):
            for instruction, behind in self._backwards(number):
                if (begun := self._begins(instruction)) and behind & self._all(begun):
                    found.add(begun)
        return sorted(found)

    def _begins(self, instruction: Instruction) -> str:
        """The private local whose time begins there."""
        root = ""
        if instruction.opcode == "alloca":
            root = instruction.result
        elif (told := called(instruction)) is not None and told.name.startswith("llvm.lifetime.start"):
            root = self.seeing.roots.get(told.arguments[-1].value, "")
        return root if root in self.seeing.private else ""


def _parts(memory: Memory, bits: int) -> Iterator[Part]:
    """The runs of bytes that are in a set."""
    at = 0
    while bits:
        skipped = (bits & -bits).bit_length() - 1
        bits >>= skipped
        length = (~bits & (bits + 1)).bit_length() - 1
        yield Part(memory, at + skipped, at + skipped + length)
        bits >>= length
        at += skipped + length
