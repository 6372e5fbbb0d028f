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
from teetotal.programs.c.ir.frames import FrameRecord
from teetotal.programs.c.ir.liveness import Liveness
from teetotal.programs.c.ir.operands import Access
from teetotal.programs.c.ir.reading import Function, Instruction, Module
from teetotal.programs.c.ir.seeing import MEMORY, NOTHING, Memory, Seeing, accessed, called
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
        self.frame = FrameRecord(emitter, self.seeing)
        self.quiet = {one.first for one in quiet_looks(self.seeing)}
        self.relied_on = relied_on(function) if self.quiet else set[str]()
        self.filling: list[str] = []

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
            self.frame.follow(escaped)
            for instruction in (*pads, *twice):
                self.frame.come_back(instruction)
            self.frame.leave_loops(points)
        for instruction in self.function.instructions:
            if (point := points.get(instruction.first)) is not None:
                self.frame.point(instruction, point)
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
        elif (own := accessed(instruction)) is not None:
            self._stay_inside(instruction, own)
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

    # -- locals that nobody else can reach ------------------------------------------------------------------------------

    def _private(self) -> None:
        """Those that some way may read before it writes them are filled, and looked at."""
        if not self.seeing.private:
            return
        starts = self.frame.marks("start")
        fresh: set[str] = set()
        for name in Liveness(self.seeing).unwritten():
            memory = self.seeing.memory[name]
            if memory.size is None or memory.by_value or memory.instruction is None:
                continue
            fresh.add(name)
            if self.frame.in_entry(memory):
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
        address = self.frame.address(memory, lines)
        emitter.declare("teetotal_fresh", "void", f"{emitter.pointer_type}, i64")
        place = tail(at) if at is not None else ""
        return [*lines, f"  call void @teetotal_fresh({address}, i64 {memory.size}){place}"]

    def _stay_inside(self, instruction: Instruction, told: Access) -> None:
        """An access whose place in a private local only the running program knows: beyond it may lie another one."""
        emitter, pointer = self.emitter, self.emitter.pointer_type
        memory = self.seeing.memory.get(self.seeing.roots.get(told.pointer.value, ""))
        if memory is None or memory.size is None or self.seeing.offsets[told.pointer.value] is not None:
            return
        lines: list[str] = []
        address, begin = emitter.address(told.pointer, lines), self.frame.address(memory, lines)
        size = self.module.layout.store_size(told.type)
        emitter.declare("teetotal_stays_inside", "void", f"{pointer}, i64, {pointer}, i64")
        given = f"{address}, i64 {size}, {begin}, i64 {memory.size}"
        lines.append(f"  call void @teetotal_stays_inside({given}){tail(instruction)}")
        emitter.put(instruction.first, lines)

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

    def _begin(self) -> None:
        """Behind the locals with which the function begins."""
        leading = self.frame.leading()
        lines = [*self.hooks.copies, *self.frame.allocated, *self.frame.entering, *self.filling]
        if not lines:
            return
        first = self.function.blocks[0].instructions[0]
        if leading:
            self.emitter.behind[leading[-1].last] = [*lines, *self.emitter.behind.get(leading[-1].last, [])]
        else:
            self.emitter.before[first.first] = [*lines, *self.emitter.before.get(first.first, [])]
