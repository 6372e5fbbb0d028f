"""Puts hooks into a module of IR.

A function that has to be followed gets a record of its own in its frame (``%tt.frame``), which is linked with those of its
callers: its locals that others may know are listed there while they live, and from its entry on it has a number that
stands for where its callers are (``%tt.base``; see runtime/schedule/rounds.hpp). Before each instruction on a way round
that may read what others write a hook is given what is live.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from teetotal.programs.c.ir import addresses
from teetotal.programs.c.ir.accesses import Hooks
from teetotal.programs.c.ir.deadlines import quiet_looks, relied_on
from teetotal.programs.c.ir.debug import is_of_system
from teetotal.programs.c.ir.emitting import Emitter, tail
from teetotal.programs.c.ir.flow import returns_twice
from teetotal.programs.c.ir.liveness import Liveness
from teetotal.programs.c.ir.reading import Block, Function, Instruction, Module, Operand, operand
from teetotal.programs.c.ir.seeing import LIFETIME, MEMORY, NOTHING, Memory, Point, Seeing, called
from teetotal.programs.c.ir.types import Type, split
from teetotal.programs.c.ir.unwritten import Look, Looks

_PROMISES = re.compile(
    r"(?:^|(?<= ))(?:readnone|readonly|writeonly|argmemonly|inaccessiblememonly|inaccessiblemem_or_argmemonly|nosync|nofree"
    r"|willreturn|speculatable|mustprogress|norecurse|memory\([^)]*\)|\"?nocallback\"?)(?: |$)"
)
"""What is false of functions once they call hooks."""
_KNOWN = frozenset(
    (
        "ret", "br", "switch", "indirectbr", "invoke", "callbr", "resume", "unreachable", "fneg", "add", "fadd",
        "sub", "fsub", "mul", "fmul", "udiv", "sdiv", "fdiv", "urem", "srem", "frem", "shl", "lshr", "ashr", "and",
        "or", "xor", "extractelement", "insertelement", "shufflevector", "extractvalue", "insertvalue", "alloca",
        "load", "store", "fence", "cmpxchg", "atomicrmw", "getelementptr", "trunc", "zext", "sext", "fptrunc",
        "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "inttoptr", "bitcast", "addrspacecast", "icmp",
        "fcmp", "phi", "select", "freeze", "call", "va_arg", "landingpad", "ptrtoaddr",
    )
)  # fmt: skip
_RESULT_DECIDES = ("pthread_barrier_wait",)
"""Functions with which it matters to the number of executions whether somebody looks at what they return."""
_OURS = ("__tsan_", "teetotal_")
"""What hooks are called."""
_FRAME_WORDS = 3


class Unseen(NamedTuple):
    function: Function
    instruction: Instruction | None
    what: str


class Written(NamedTuple):
    text: str
    unseen: list[Unseen]
    points: int
    relied_on: set[str]
    """Functions that must be the C library's own."""


def write(module: Module, hooks: type[Hooks] = Hooks) -> Written:
    """The module with hooks."""
    emitter = Emitter(module)
    unseen: list[Unseen] = []
    resolvers = {
        match.group(1).strip('"')
        for line in module.lines
        if " ifunc " in line and (match := re.search(r'@("[^"]*"|[\w.$-]+)$', line)) is not None
    }
    points = 0
    relied: set[str] = set()
    for function in module.functions:
        if " available_externally " in f" {function.before_name}" or is_naked(module, function):
            continue
        if function.name.startswith(_OURS):
            unseen.append(Unseen(function, None, "which the program defines itself"))
            continue
        if function.name in resolvers and function.name.endswith(".resolver"):
            continue  # the compiler's own, which chooses before any hook is bound
        writer = _Writer(emitter, function, unseen, hooks)
        points += writer.write()
        relied |= writer.relied_on
    for at, line in enumerate(module.lines):
        if line.startswith("attributes #") and " = { " in line:
            head, _, rest = line.partition(" = { ")
            emitter.instead[at] = [f"{head} = {{ {_without_promises(rest)}"]
    return Written(emitter.text(), unseen, points, relied)


def _without_promises(text: str) -> str:
    while (shorter := _PROMISES.sub("", text)) != text:
        text = shorter
    return text


def is_naked(module: Module, function: Function) -> bool:
    return any(re.search(r"\bnaked\b", module.groups.get(one, "")) for one in function.groups)


class _Writer:
    def __init__(self, emitter: Emitter, function: Function, unseen: list[Unseen], hooks: type[Hooks]) -> None:
        self.emitter, self.module, self.function = emitter, emitter.module, function
        self.seeing = Seeing(self.module, function)
        self.hooks = hooks(emitter, self.seeing)
        self.unseen = unseen
        self.allocated: list[str] = []
        """Locals of ours, for the beginning."""
        self.quiet = {one.first for one in quiet_looks(self.seeing)}
        self.relied_on = relied_on(function) if self.quiet else set[str]()
        self.entering: list[str] = []
        self.filling: list[str] = []
        self.spilled: dict[str, str] = {}

    def write(self) -> int:
        if not self.function.blocks:
            return 0
        seeing = self.seeing
        points = seeing.points
        escaped = [one for one in seeing.memory.values() if one.name not in seeing.private]
        pads = [one for one in self.function.instructions if one.opcode == "landingpad"]
        twice = [one for one in self.function.instructions if returns_twice(self.module, one)]
        followed = bool(points or escaped or pads or twice or self._gives_by_value())
        if followed:
            self._follow(escaped)
            for instruction in (*pads, *twice):
                self._come_back(instruction)
            self._leave_loops(points)
        for instruction in self.function.instructions:
            if (point := points.get(instruction.first)) is not None:
                self._point(instruction, point)
            self._instruction(instruction)
        self._private()
        self._begin()
        self.unseen += [Unseen(self.function, one, what) for one, what in self.hooks.unseen]
        return len(points)

    def _gives_by_value(self) -> bool:
        """Whether it keeps room in its frame for what it gives, which others may know while the call lasts."""
        return any(
            "byval" in one.attributes
            for instruction in self.function.instructions
            if (told := called(instruction)) is not None
            for one in told.arguments
        )

    # -- single instructions -------------------------------------------------------------------------------------------

    def _instruction(self, instruction: Instruction) -> None:
        if instruction.is_debug:
            return
        if instruction.opcode != "phi":  # before which no call may stand
            addresses.watch(self.emitter, instruction)
        if (told := self.seeing.hooked(instruction)) is not None:
            self.hooks.access(instruction, told)
        elif instruction.opcode == "fence":
            self.hooks.fence(instruction)
        elif instruction.is_call:
            self._call(instruction)
        elif instruction.opcode not in _KNOWN:
            self.hooks.unseen.append((instruction, f"the instruction {instruction.opcode}"))

    def _call(self, instruction: Instruction) -> None:
        told = called(instruction)
        if told is None:
            self.hooks.unseen.append((instruction, "a call that is not understood"))
            return
        if told.is_assembly:
            return
        if (kind := MEMORY.match(told.name)) is not None:
            self.hooks.copy(instruction, told, kind.group(1))
        elif told.name.startswith("llvm.stackrestore"):
            self.emitter.declare("teetotal_frame_ends", "void", "")
            self.emitter.put_behind(instruction.last, [f"  call void @teetotal_frame_ends(){tail(instruction)}"])
        elif instruction.first in self.quiet:
            name = f"teetotal_{told.name}_for_limit"
            parameters = ", ".join(one.type.text for one in told.arguments)
            self.emitter.declare(name, told.result.text, parameters)
            self.emitter.replace(instruction, [instruction.text.replace(f"@{told.name}(", f"@{name}(", 1)])
        elif told.name in _RESULT_DECIDES and not self._is_used(instruction.result):
            self.emitter.declare("teetotal_result_unused", "void", "")
            self.emitter.put(instruction.first, [f"  call void @teetotal_result_unused(){tail(instruction)}"])
        elif not told.name.startswith("llvm."):
            self.hooks.by_value(instruction, told)
        elif "fence" in told.name or NOTHING.match(told.name) is None:
            self.hooks.intrinsic(instruction, told)

    def _is_used(self, name: str) -> bool:
        return bool(name) and any(name in one.names for one in self.function.instructions)

    # -- the record of the frame ---------------------------------------------------------------------------------------

    def _follow(self, escaped: list[Memory]) -> None:
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
        marks = self._marks("start")
        for number, memory in enumerate(escaped):
            begun = marks.get(memory.name, [])
            if memory.by_value:
                lines += self._local("given", number, memory, None)
            elif memory.size is None or not self._in_entry(memory):
                assert memory.instruction is not None
                emitter.put_behind(memory.instruction.last, self._local("grown", number, memory, memory.instruction))
            elif not begun:
                lines += self._local("begins", number, memory, None)
            for instruction in begun:
                emitter.put_behind(instruction.last, self._local("begins", number, memory, instruction))
            for instruction in self._marks("end").get(memory.name, []):
                emitter.declare("teetotal_local_ends", "void", f"{pointer}, i64")
                emitter.put(
                    instruction.first,
                    [f"  call void @teetotal_local_ends({pointer} %tt.frame, i64 {number}){tail(instruction)}"],
                )
        self._leave()

    def _marks(self, which: str) -> dict[str, list[Instruction]]:
        """Of each local, where its lifetime starts or ends."""
        found: dict[str, list[Instruction]] = {}
        for instruction in self.function.instructions:
            told = called(instruction)
            if told is not None and (mark := LIFETIME.match(told.name)) is not None and mark.group(1) == which:
                root = self.seeing.roots.get(told.arguments[-1].value, "")
                found.setdefault(root, []).append(instruction)
        return found

    def _in_entry(self, memory: Memory) -> bool:
        return memory.instruction is not None and memory.instruction in self._leading()

    def _leading(self) -> list[Instruction]:
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
        address = self._address(memory, lines)
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

    def _come_back(self, instruction: Instruction) -> None:
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

    def _leave_loops(self, points: dict[int, Point]) -> None:
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

    def _point(self, instruction: Instruction, point: Point) -> None:
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
            address = self._address(memory, lines)
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

    # -- locals that nobody else can reach ------------------------------------------------------------------------------

    def _private(self) -> None:
        """Those that some way may read before it writes them are filled, and looked at."""
        if not self.seeing.private:
            return
        starts = self._marks("start")
        fresh: set[str] = set()
        for name in Liveness(self.seeing).unwritten():
            memory = self.seeing.memory[name]
            if memory.size is None or memory.by_value or memory.instruction is None:
                continue
            fresh.add(name)
            if self._in_entry(memory):
                self.filling += self._fill(memory, None)
            else:
                self.emitter.put_behind(memory.instruction.last, self._fill(memory, None))
            for instruction in starts.get(name, []):
                self.emitter.put_behind(instruction.last, self._fill(memory, instruction))
        if not is_of_system(self.module, self.function):
            for look in Looks(self.seeing, fresh).wanted():
                self._look(look)

    def _fill(self, memory: Memory, at: Instruction | None) -> list[str]:
        emitter = self.emitter
        lines: list[str] = []
        address = self._address(memory, lines)
        emitter.declare("teetotal_fresh", "void", f"{emitter.pointer_type}, i64")
        place = tail(at) if at is not None else ""
        return [*lines, f"  call void @teetotal_fresh({address}, i64 {memory.size}){place}"]

    def _look(self, look: Look) -> None:
        emitter, pointer = self.emitter, self.emitter.pointer_type
        lines: list[str] = []
        begin = emitter.address(look.pointer, lines)
        emitter.declare("teetotal_look_at_own", "void", f"{pointer}, i64, i32")
        for offset, size in look.parts:
            address = begin
            if offset:
                name = emitter.name()
                lines.append(f"  {name} = getelementptr i8, {begin}, i64 {offset}")
                address = f"{pointer} {name}"
            place = tail(look.instruction)
            lines.append(f"  call void @teetotal_look_at_own({address}, i64 {size}, i32 {int(look.half)}){place}")
        emitter.put(look.instruction.first, lines)

    def _address(self, memory: Memory, lines: list[str]) -> str:
        kind = self.seeing.types.of(memory.name)
        assert kind is not None
        return self.emitter.address(Operand(kind, "", memory.name), lines)

    def _begin(self) -> None:
        """Behind the locals with which the function begins."""
        leading = self._leading()
        lines = [*self.hooks.copies, *self.allocated, *self.entering, *self.filling]
        if not lines:
            return
        first = self.function.blocks[0].instructions[0]
        if leading:
            self.emitter.behind[leading[-1].last] = [*lines, *self.emitter.behind.get(leading[-1].last, [])]
        else:
            self.emitter.before[first.first] = [*lines, *self.emitter.before.get(first.first, [])]


def _first_place(block: Block) -> Instruction | None:
    """The first instruction before which a call may stand."""
    for instruction in block.instructions:
        if instruction.opcode not in ("phi", "landingpad") and not instruction.is_debug:
            return instruction
    return None
