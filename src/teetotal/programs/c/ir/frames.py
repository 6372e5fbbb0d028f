"""The record that a function keeps in its frame, and the points at which it says what is live in it.

The record (runtime/schedule/rounds.hpp) is linked with those of its callers. It lists the locals that others may know, from
where their life begins up to where it ends. ``%tt.base`` stands for where the callers are; before each instruction on a
way round that may read what others write ``teetotal_round`` is given what is live.
"""

from __future__ import annotations

from teetotal.programs.c.ir.emitting import Emitter, tail
from teetotal.programs.c.ir.operands import Operand, operand
from teetotal.programs.c.ir.reading import Block, Instruction
from teetotal.programs.c.ir.seeing import LIFETIME, Memory, Point, Seeing, called
from teetotal.programs.c.ir.types import Type, split

_FRAME_WORDS = 3
"""Of a record, before its slots."""


class FrameRecord:
    """Of one function. ``allocated`` are locals of ours, and ``entering`` what comes behind them."""

    def __init__(self, emitter: Emitter, seeing: Seeing) -> None:
        self.emitter, self.seeing = emitter, seeing
        self.module, self.function = seeing.module, seeing.function
        self.allocated: list[str] = []
        self.entering: list[str] = []
        self.spilled: dict[str, str] = {}

    def follow(self, escaped: list[Memory]) -> None:
        emitter, pointer = self.emitter, self.emitter.pointer_type
        words = _FRAME_WORDS + 2 * len(escaped)
        self.allocated.append(f"  %tt.record = alloca [{words} x i64], align 8")
        lines: list[str] = []
        array = Type("pointer", f"[{words} x i64]*" if not self.module.opaque else "ptr")
        lines.append(
            f"  %tt.frame = bitcast {array.text} %tt.record to {pointer}"
            if not self.module.opaque
            else "  %tt.frame = bitcast ptr %tt.record to ptr"
        )
        emitter.declare("teetotal_function_begins", "i64", f"{pointer}, i64")
        lines.append(f"  %tt.base = call i64 @teetotal_function_begins({pointer} %tt.frame, i64 {len(escaped)})")
        self.entering = lines
        marks = self.marks("start")
        for number, memory in enumerate(escaped):
            begun = marks.get(memory.name, [])
            if memory.by_value:
                lines += self._local("given", number, memory, None)
            elif memory.size is None or not self.in_entry(memory):
                assert memory.instruction is not None
                emitter.put_behind(memory.instruction.last, self._local("grown", number, memory, memory.instruction))
            elif not begun:
                lines += self._local("begins", number, memory, None)
            for instruction in begun:
                emitter.put_behind(instruction.last, self._local("begins", number, memory, instruction))
            for instruction in self.marks("end").get(memory.name, []):
                emitter.declare("teetotal_local_ends", "void", f"{pointer}, i64")
                emitter.put(
                    instruction.first,
                    [f"  call void @teetotal_local_ends({pointer} %tt.frame, i64 {number}){tail(instruction)}"],
                )
        self._leave()

    def marks(self, which: str) -> dict[str, list[Instruction]]:
        """Of each local, where its lifetime starts or ends."""
        found: dict[str, list[Instruction]] = {}
        for instruction in self.function.instructions:
            told = called(instruction)
            if told is not None and (mark := LIFETIME.match(told.name)) is not None and mark.group(1) == which:
                root = self.seeing.roots.get(told.arguments[-1].value, "")
                found.setdefault(root, []).append(instruction)
        return found

    def in_entry(self, memory: Memory) -> bool:
        return memory.instruction is not None and memory.instruction in self.leading()

    def leading(self) -> list[Instruction]:
        """The locals with which a function begins."""
        found: list[Instruction] = []
        for instruction in self.function.blocks[0].instructions:
            if instruction.opcode == "alloca":
                found.append(instruction)
            elif not instruction.is_debug:
                break
        return [one for one in found if self.seeing.memory[one.result].size is not None]

    def _local(self, how: str, number: int, memory: Memory, at: Instruction | None) -> list[str]:
        emitter, pointer = self.emitter, self.emitter.pointer_type
        lines: list[str] = []
        address = self.address(memory, lines)
        size = str(memory.size)
        if memory.size is None:
            size = self._dynamic_size(memory, lines)
        name = f"teetotal_local_{how}"
        emitter.declare(name, "void", f"{pointer}, i64, {pointer}, i64")
        place = tail(at) if at is not None else ""
        lines.append(f"  call void @{name}({pointer} %tt.frame, i64 {number}, {address}, i64 {size}){place}")
        return lines

    def _dynamic_size(self, memory: Memory, lines: list[str]) -> str:
        assert memory.instruction is not None
        told = operand(split(memory.instruction.body)[1])
        wide, name = told.value, self.emitter.name()
        if told.type.text != "i64":
            wide = self.emitter.name()
            lines.append(f"  {wide} = zext {told.type.text} {told.value} to i64")
        lines.append(f"  {name} = mul i64 {wide}, {self.module.layout.size(memory.type)}")
        return name

    def _leave(self) -> None:
        """Before each return, and before a call that stands in its place."""
        emitter, pointer = self.emitter, self.emitter.pointer_type
        emitter.declare("teetotal_function_ends", "void", f"{pointer}, {pointer}")
        frame = "llvm.frameaddress.p0" if self.module.opaque else "llvm.frameaddress.p0i8"
        emitter.declare(frame, pointer, "i32")
        for block in self.function.blocks:
            if not block.instructions or block.instructions[-1].opcode != "ret":
                continue
            at = block.instructions[-1]
            for instruction in block.instructions[-3:-1]:
                if instruction.text.lstrip().startswith("musttail") or "= musttail call" in instruction.text:
                    at = instruction
            name = emitter.name()
            emitter.put(
                at.first,
                [
                    f"  {name} = call {pointer} @{frame}(i32 0)",
                    f"  call void @teetotal_function_ends({pointer} %tt.frame, {pointer} {name}){tail(at)}",
                ],
            )

    def come_back(self, instruction: Instruction) -> None:
        """Where frames below this one have ended without a return."""
        emitter, pointer = self.emitter, self.emitter.pointer_type
        emitter.declare("teetotal_back", "void", f"{pointer}, i64")
        emitter.declare("teetotal_frame_ends", "void", "")
        lines = [
            f"  call void @teetotal_back({pointer} %tt.frame, i64 %tt.base){tail(instruction)}",
            f"  call void @teetotal_frame_ends(){tail(instruction)}",
        ]
        if instruction.ends_block:
            return
        emitter.put_behind(instruction.last, lines)

    # -- rounds --------------------------------------------------------------------------------------------------------

    def leave_loops(self, points: dict[int, Point]) -> None:
        """Where a way leads out of all loops that may wait."""
        if not points:
            return
        flow = self.seeing.flow
        inside = {
            number for number, block in enumerate(flow.blocks) if any(one.first in points for one in block.instructions)
        }
        circular = flow.circular()
        self.emitter.declare("teetotal_left", "void", "i64")
        for number, block in enumerate(flow.blocks):
            if number in circular or not any(one in circular for one in flow.predecessors[number]):
                continue
            if inside and (first := _first_place(block)) is not None:
                self.emitter.put(first.first, [f"  call void @teetotal_left(i64 %tt.base){tail(first)}"])

    def point(self, instruction: Instruction, point: Point) -> None:
        emitter, pointer = self.emitter, self.emitter.pointer_type
        lines: list[str] = []
        words: list[str] = []
        ranges: list[str] = []
        for name, kind in point.values:
            word = emitter.as_word(name, kind, lines)
            if word is not None:
                words.append(f"i64 {word}")
                continue
            size = self.module.layout.store_size(kind)
            spill = self.spilled.get(name)
            if spill is None:
                spill = self.spilled[name] = emitter.name()
                self.allocated.append(f"  {spill} = alloca {kind.text}")
            to = "ptr" if self.module.opaque else f"{kind.text}*"
            lines.append(f"  store {kind.text} {name}, {to} {spill}")
            address = emitter.address(Operand(Type("pointer", to), "", spill), lines)
            ranges += [address, f"i64 {size}"]
        for memory, begin, end in point.contents:
            address = self.address(memory, lines)
            if begin:
                name = emitter.name()
                lines.append(f"  {name} = getelementptr i8, {address}, i64 {begin}")
                address = f"{pointer} {name}"
            ranges += [address, f"i64 {end - begin}"]
        if point.grows:
            stack = emitter.name()
            save = "llvm.stacksave" if "llvm.stacksave.p0" not in self.module.declared else "llvm.stacksave.p0"
            emitter.declare(save, pointer, "")
            lines.append(f"  {stack} = call {pointer} @{save}()")
            word = emitter.as_word(stack, Type("pointer", pointer), lines)
            words.append(f"i64 {word}")
        emitter.declare("teetotal_round", "void", "i64, i32, i32, ...")
        given = ", ".join(["i64 %tt.base", f"i32 {len(words)}", f"i32 {len(ranges) // 2}", *words, *ranges])
        lines.append(f"  call void (i64, i32, i32, ...) @teetotal_round({given}){tail(instruction)}")
        emitter.put(instruction.first, lines)

    def address(self, memory: Memory, lines: list[str]) -> str:
        kind = self.seeing.types.of(memory.name)
        assert kind is not None
        return self.emitter.address(Operand(kind, "", memory.name), lines)


def _first_place(block: Block) -> Instruction | None:
    """The first instruction before which a call may stand."""
    for instruction in block.instructions:
        if instruction.opcode not in ("phi", "landingpad") and not instruction.is_debug:
            return instruction
    return None
