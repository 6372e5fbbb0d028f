"""Hooks in the place of what an instruction of IR does to memory that others may see.

Plain accesses keep their instruction and get a call before it; atomic operations become calls. The names are those of the
compiler's own instrumentation for its race detector, which the runtime has (runtime/hooks/hooks_access.cpp), and some of
ours for what that cannot say.
"""

from __future__ import annotations

import re

from teetotal.programs.c.ir.emitting import Emitter, tail
from teetotal.programs.c.ir.operands import Access, Call, Operand
from teetotal.programs.c.ir.reading import Instruction
from teetotal.programs.c.ir.seeing import Seeing
from teetotal.programs.c.ir.types import Unreadable, read_type

_ORDERS = {"unordered": 0, "monotonic": 0, "acquire": 2, "release": 3, "acq_rel": 4, "seq_cst": 5}
"""As ``__ATOMIC_`` constants have them."""
_CHANGES = {
    "xchg": "exchange", "add": "fetch_add", "sub": "fetch_sub", "and": "fetch_and", "or": "fetch_or",
    "xor": "fetch_xor", "nand": "fetch_nand",
}  # fmt: skip
_SIZES = (1, 2, 4, 8, 16)
_WORD = 8
"""Bytes that are loaded and stored at once, but for vectors: wider integers come in parts."""
_THREAD = 257
"""The address space that is counted from the thread pointer."""
_MEMORY = {"memcpy": "__tsan_memcpy", "memmove": "__tsan_memmove", "memset": "__tsan_memset"}
_FENCES = {"llvm.x86.sse2.mfence": "teetotal_mfence", "llvm.x86.sse.sfence": "teetotal_sfence"}
_EFFECTS = {
    "llvm.eh.sjlj.setjmp": ("write", 8, 8),
    "llvm.eh.sjlj.longjmp": ("read", 0, 24),
    "llvm.x86.sse3.ldu.dq": ("read", 0, 16),
    "llvm.x86.avx.ldu.dq.256": ("read", 0, 32),
    "llvm.x86.sse.stmxcsr": ("write", 0, 4),
    "llvm.x86.fxsave": ("write", 0, 512),
    "llvm.x86.fxsave64": ("write", 0, 512),
}
"""What intrinsics do to the memory that their first argument points to: how, from where on, how much."""
_COMPUTES = re.compile(r"\breadnone\b|\bmemory\(none\)")
_BY_ARGUMENTS = re.compile(r"\bargmemonly\b|\bmemory\(argmem")
_GUARD = re.compile(r'@"?_ZGV')


class Hooks:
    """Of one function. ``unseen`` gets what has no hook, each with its instruction."""

    def __init__(self, emitter: Emitter, seeing: Seeing) -> None:
        self.emitter, self.seeing = emitter, seeing
        self.layout = seeing.module.layout
        self.unseen: list[tuple[Instruction, str]] = []
        self.copies: list[str] = []
        """Locals that arguments by value are put into: for the function's beginning."""

    def access(self, instruction: Instruction, told: Access) -> None:
        if told.pointer.type.number not in (0, _THREAD):
            self.unseen.append((instruction, "an access by a segment register"))
            return
        if "!nontemporal" in instruction.attached and told.kind == "store":  # weaker than any store of the models
            self.unseen.append((instruction, "a streaming store"))
        try:
            size = self.layout.store_size(told.type)
        except Unreadable:
            self.unseen.append((instruction, f"an access of the type {told.type.text}"))
            return
        if told.order or told.kind in ("rmw", "cmpxchg"):
            self._atomic(instruction, told, size)
        else:
            self._plain(instruction, told, size)

    def _plain(self, instruction: Instruction, told: Access, size: int) -> None:
        if size == 0:
            return
        emitter = self.emitter
        lines: list[str] = []
        address = emitter.address(told.pointer, lines)
        what = "read" if told.kind == "load" else "write"
        alignment = told.alignment or self.layout.alignment(told.type)
        if size in _SIZES and not (told.type.kind in ("integer", "struct", "array") and size > _WORD):
            loose = alignment < 8 and alignment % size != 0
            name = f"__tsan_{'unaligned_' if loose else ''}{'volatile_' if told.volatile else ''}{what}{size}"
            if loose and size == 1:
                name = name.replace("unaligned_", "")
            emitter.declare(name, "void", emitter.pointer_type)
            lines.append(f"  call void @{name}({address}){tail(instruction)}")
        else:
            name = f"__tsan_{what}_range"
            emitter.declare(name, "void", f"{emitter.pointer_type}, i64")
            lines.append(f"  call void @{name}({address}, i64 {size}){tail(instruction)}")
        emitter.put(instruction.first, lines)

    def _atomic(self, instruction: Instruction, told: Access, size: int) -> None:
        if size not in _SIZES or (told.kind == "rmw" and told.operation not in _CHANGES):
            self._announced_change(instruction, told, size)
            return
        emitter, bits = self.emitter, 8 * size
        lines: list[str] = []
        address = emitter.address(told.pointer, lines)
        order = f"i32 {_ORDERS[told.order or 'seq_cst']}"
        pointer, place = emitter.pointer_type, tail(instruction)
        word = f"i{bits}"
        if told.kind == "load":
            if told.order == "acquire" and size == 1 and _GUARD.search(told.pointer.value):
                emitter.declare("teetotal_look_at_guard", "i8", pointer)
                call = f"call i8 @teetotal_look_at_guard({address}){place}"
            else:
                name = f"__tsan_atomic{bits}_load"
                emitter.declare(name, word, f"{pointer}, i32")
                call = f"call {word} @{name}({address}, {order}){place}"
            self._give(instruction, told, bits, call, lines)
        elif told.kind == "store":
            assert told.value is not None
            name = f"__tsan_atomic{bits}_store"
            emitter.declare(name, "void", f"{pointer}, {word}, i32")
            value = self._wide(told.value, bits, lines)
            lines.append(f"  call void @{name}({address}, {word} {value}, {order}){place}")
            emitter.replace(instruction, lines)
        elif told.kind == "rmw":
            assert told.value is not None
            name = f"__tsan_atomic{bits}_{_CHANGES[told.operation]}"
            emitter.declare(name, word, f"{pointer}, {word}, i32")
            value = self._wide(told.value, bits, lines)
            self._give(
                instruction, told, bits, f"call {word} @{name}({address}, {word} {value}, {order}){place}", lines
            )
        else:
            self._swap(instruction, told, bits, address, lines)

    def _wide(self, value: Operand, bits: int, lines: list[str]) -> str:
        """As many bits as the hook takes: odd integers (``_BitInt``, ``i1``) are stored with zeros above them."""
        if value.type.kind == "integer" and value.type.number < bits:
            name = self.emitter.name()
            lines.append(f"  {name} = zext {value.type.text} {value.value} to i{bits}")
            return name
        return self.emitter.integer(value, bits, lines)

    def _give(self, instruction: Instruction, told: Access, bits: int, call: str, lines: list[str]) -> None:
        """The result of a hook as that of the instruction."""
        place = tail(instruction)
        if not instruction.result:
            lines.append(f"  {call}")
        elif told.type.kind == "integer" and told.type.number == bits:
            lines.append(f"  {instruction.result} = {call}")
        else:
            name = self.emitter.name()
            lines.append(f"  {name} = {call}")
            if told.type.kind == "integer":
                lines.append(f"  {instruction.result} = trunc i{bits} {name} to {told.type.text}{place}")
            else:
                lines.append(self.emitter.from_integer(instruction.result, told.type, bits, name, place))
        self.emitter.replace(instruction, lines)

    def _swap(self, instruction: Instruction, told: Access, bits: int, address: str, lines: list[str]) -> None:
        assert told.value is not None
        assert told.expected is not None
        emitter, place, word = self.emitter, tail(instruction), f"i{bits}"
        name = f"__tsan_atomic{bits}_compare_exchange_val"
        emitter.declare(name, word, f"{emitter.pointer_type}, {word}, {word}, i32, i32")
        expected = self._wide(told.expected, bits, lines)
        value = self._wide(told.value, bits, lines)
        orders = f"i32 {_ORDERS[told.order]}, i32 {_ORDERS[told.failure or 'monotonic']}"
        old, equal, half = emitter.name(), emitter.name(), emitter.name()
        lines.append(f"  {old} = call {word} @{name}({address}, {word} {expected}, {word} {value}, {orders}){place}")
        lines.append(f"  {equal} = icmp eq {word} {old}, {expected}")
        kind = told.type
        if kind.kind == "integer" and kind.number == bits:
            given = old
        else:
            given = emitter.name()
            if kind.kind == "integer":
                lines.append(f"  {given} = trunc {word} {old} to {kind.text}")
            else:
                lines.append(emitter.from_integer(given, kind, bits, old, ""))
        both = f"{{ {kind.text}, i1 }}"
        lines.append(f"  {half} = insertvalue {both} undef, {kind.text} {given}, 0")
        if instruction.result:
            lines.append(f"  {instruction.result} = insertvalue {both} {half}, i1 {equal}, 1{place}")
        emitter.replace(instruction, lines)

    def _announced_change(self, instruction: Instruction, told: Access, size: int) -> None:
        """An rmw that no hook does: the hook is before it, and nobody else runs until it is done."""
        if told.kind != "rmw" or size not in _SIZES:
            self.unseen.append((instruction, f"an atomic operation on {size} bytes"))
            return
        lines: list[str] = []
        address = self.emitter.address(told.pointer, lines)
        self.emitter.declare("teetotal_before_change", "void", f"{self.emitter.pointer_type}, i64, i32")
        order = _ORDERS[told.order or "seq_cst"]
        lines.append(f"  call void @teetotal_before_change({address}, i64 {size}, i32 {order}){tail(instruction)}")
        self.emitter.put(instruction.first, lines)

    def fence(self, instruction: Instruction) -> None:
        order = _ORDERS[instruction.body.split()[-1]]
        kind = "signal" if 'syncscope("singlethread")' in instruction.body else "thread"
        name = f"__tsan_atomic_{kind}_fence"
        self.emitter.declare(name, "void", "i32")
        self.emitter.replace(instruction, [f"  call void @{name}(i32 {order}){tail(instruction)}"])

    # -- intrinsics ----------------------------------------------------------------------------------------------------

    def intrinsic(self, instruction: Instruction, told: Call) -> None:
        """One that is none of those that touch nothing: by what is known of it, or named."""
        if (fence := _FENCES.get(told.name)) is not None:
            self.emitter.declare(fence, "void", "")
            self.emitter.replace(instruction, [f"  call void @{fence}(){tail(instruction)}"])
        elif (effect := _EFFECTS.get(told.name)) is not None:
            if not self.seeing.is_private(told.arguments[0].value):
                self._effect(instruction, told.arguments[0], *effect)
        elif not self._is_computation(told):
            self.unseen.append((instruction, told.name))

    def _effect(self, instruction: Instruction, pointer: Operand, what: str, offset: int, size: int) -> None:
        emitter = self.emitter
        lines: list[str] = []
        address = emitter.address(pointer, lines)
        if offset:
            name = emitter.name()
            lines.append(f"  {name} = getelementptr i8, {address}, i64 {offset}")
            address = f"{emitter.pointer_type} {name}"
        hook = f"__tsan_{what}_range"
        emitter.declare(hook, "void", f"{emitter.pointer_type}, i64")
        lines.append(f"  call void @{hook}({address}, i64 {size}){tail(instruction)}")
        emitter.put(instruction.first, lines)

    def _is_computation(self, told: Call) -> bool:
        """Whether its declaration says that it touches no memory, and nothing outside."""
        module = self.seeing.module
        groups = [*told.groups, *re.findall(r" (#\d+)", module.declared.get(told.name, ""))]
        if any(_COMPUTES.search(module.groups.get(one, "")) for one in groups):
            return True
        pointers = [one.value for one in told.arguments if one.type.kind == "pointer"]
        reaches_arguments = any(_BY_ARGUMENTS.search(module.groups.get(one, "")) for one in groups)
        return reaches_arguments and all(self.seeing.is_private(one) for one in pointers)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def copy(self, instruction: Instruction, told: Call, kind: str) -> None:
        """``llvm.memcpy`` and the like."""
        emitter, seeing = self.emitter, self.seeing
        first, second, size = told.arguments[:3]
        quiet = kind == "memset" or seeing.is_private(second.value) or seeing.is_constant(second.value)
        if seeing.is_private(first.value) and quiet:
            return
        lines: list[str] = []
        target = emitter.address(first, lines)
        if kind == "memset":
            value = emitter.name()
            lines.append(f"  {value} = zext i8 {second.value} to i32")
            source = f"i32 {value}"
        else:
            source = emitter.address(second, lines)
        count = size.value
        if size.type.text != "i64":
            count = emitter.name()
            lines.append(f"  {count} = zext {size.type.text} {size.value} to i64")
        name = _MEMORY[kind]
        pointer = emitter.pointer_type
        emitter.declare(name, pointer, f"{pointer}, {'i32' if kind == 'memset' else pointer}, i64")
        unused = emitter.name()
        lines.append(f"  {unused} = call {pointer} @{name}({target}, {source}, i64 {count}){tail(instruction)}")
        emitter.replace(instruction, lines)

    def by_value(self, instruction: Instruction, told: Call) -> None:
        """What a call copies: by a hook, into a local of ours, which the call then copies."""
        changed = instruction.text
        lines: list[str] = []
        for one in told.arguments:
            if re.search(r"\bbyval\b", one.attributes) is None or self.seeing.is_private(one.value):
                continue
            if self.seeing.is_constant(one.value):
                continue
            given = re.search(r"\bbyval\(", one.attributes)
            kind = read_type(one.attributes, given.end())[0] if given is not None else one.type.parts[0]
            aligned = re.search(r"\balign (\d+)", one.attributes)
            alignment = int(aligned.group(1)) if aligned is not None else self.layout.alignment(kind)
            name, pointer = self.emitter.name(), self.emitter.pointer_type
            self.copies.append(f"  {name} = alloca {kind.text}, align {alignment}")
            target = self.emitter.address(Operand(one.type, "", name), lines)
            source = self.emitter.address(one, lines)
            self.emitter.declare("__tsan_memcpy", pointer, f"{pointer}, {pointer}, i64")
            lines.append(
                f"  {self.emitter.name()} = call {pointer} @__tsan_memcpy({target}, {source}, "
                f"i64 {self.layout.size(kind)}){tail(instruction)}"
            )
            text = f"{one.type.text} {one.attributes} {one.value}"
            if text not in changed:
                self.unseen.append((instruction, "an argument by value"))
                continue
            changed = changed.replace(text, f"{one.type.text} {one.attributes} {name}", 1)
        if lines:
            self.emitter.replace(instruction, [*lines, changed])
