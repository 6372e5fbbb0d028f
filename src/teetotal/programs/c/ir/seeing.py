"""Which memory of a function nobody else can reach, and what of it and of its values is live where it may wait.

A local (an ``alloca``, or a parameter given ``byval``) is *private* if its address is used for nothing but accesses,
offsets and marks of its lifetime: every other use, and every use that is not known, makes it escape. What is reached from
a private local needs no hook: no other thread, and no other function, can have its address. (A pointer that is computed
from one local and leaves its bounds is undefined behaviour; see docs/explanation/seeing.md.)

A *point* is an instruction on a way round that may read what others write: there the thread's local state is what is live.
It consists of SSA values and of the contents of private locals, by a backward analysis of both. Callers' frames cannot
change meanwhile but through memory that has hooks.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from teetotal.programs.c.ir.flow import Flow
from teetotal.programs.c.ir.operands import Access, Call, access, call, local, operand
from teetotal.programs.c.ir.reading import Function, Instruction, Module
from teetotal.programs.c.ir.types import Type, Unreadable, read_type, split
from teetotal.programs.c.ir.values import Types, without_flags

_GLOBAL = re.compile(r'@(?:"[^"]*"|[\w.$-]+)')
MEMORY = re.compile(r"llvm\.(memcpy|memmove|memset)\.(?!element)")
LIFETIME = re.compile(r"llvm\.lifetime\.(start|end)\b")
NOTHING = re.compile(
    r"llvm\.(dbg\.|lifetime\.|expect|assume|donothing|sideeffect|annotation|var\.annotation|ptr\.annotation|invariant\."
    r"|launder\.|strip\.|objectsize|is\.constant|experimental\.noalias|threadlocal\.address|stacksave|stackrestore"
    r"|returnaddress|frameaddress|va_start|va_end|va_copy|eh\.typeid|eh\.unwind|eh\.dwarf|prefetch|[us](?:add|sub|mul)\.(?:with|sat)|bswap|ctpop|ct[lt]z"
    r"|fabs|sqrt|fma|floor|ceil|trunc|rint|round|copysign|[us]?(?:min|max)|abs|fsh[lr]|trap|debugtrap|x86\.[\w.]*(?:clflush|clwb|cldemote|fence|pause))"
)
"""Intrinsics that read nothing that others write."""
_REACHES_ALL = re.compile(
    r"llvm\.(frameaddress|addressofreturnaddress|read_register|write_register|sponentry|localescape)"
)
"""With these a program comes to its own frame by other ways than addresses of locals."""
_CLEAR = ("pthread_mutex_lock", "pthread_mutex_unlock", "pthread_spin_lock", "pthread_spin_unlock", "sem_post")
_STORES = frozenset((*_CLEAR, "pthread_create", "pthread_join"))


class Memory(NamedTuple):
    """``size`` None: only the running program knows. ``by_value``: what the caller's copy of a parameter is."""

    name: str
    type: Type
    size: int | None
    instruction: Instruction | None
    by_value: bool = False


class Part(NamedTuple):
    """Of a local: bytes from ``begin`` up to ``end``."""

    memory: Memory
    begin: int
    end: int


class Point(NamedTuple):
    """``values`` and ``contents`` are live there. ``grows``: the stack may grow on the way round."""

    values: list[tuple[str, Type]]
    contents: list[Part]
    grows: bool


def called(instruction: Instruction) -> Call | None:
    """None: it is no call, or none that is understood."""
    if not instruction.is_call:
        return None
    try:
        return call(instruction)
    except (Unreadable, IndexError, ValueError):
        return None


def accessed(instruction: Instruction) -> Access | None:
    try:
        return access(instruction)
    except (Unreadable, IndexError, ValueError):
        return None


class Seeing:
    """What is known of one function."""

    def __init__(self, module: Module, function: Function) -> None:
        self.module, self.function = module, function
        self.types = Types(module, function)
        self.memory = self._locals()
        self.roots: dict[str, str] = {name: name for name in self.memory}
        """From each value that is an address in a local to that local."""
        self.offsets: dict[str, int | None] = dict.fromkeys(self.memory, 0)
        """Where in it they lie, in bytes; None where only the running program knows."""
        self.private = self._find_private()

    @cached_property
    def flow(self) -> Flow:
        return Flow(self.module, self.function)

    # -- whose memory it is ------------------------------------------------------------------------------------------

    def _locals(self) -> dict[str, Memory]:
        found: dict[str, Memory] = {}
        for parameter in self.function.parameters:
            if (given := re.search(r"\bbyval\b", parameter.attributes)) is not None and parameter.value:
                kind = _given_type(parameter.attributes, parameter.type)
                if kind is not None:
                    found[parameter.value] = Memory(parameter.value, kind, self._size(kind, 1), None, bool(given))
        for instruction in self.function.instructions:
            if instruction.opcode == "alloca":
                told = local(instruction)
                size = self._size(told.type, told.elements)
                found[instruction.result] = Memory(instruction.result, told.type, size, instruction)
        return found

    def _size(self, kind: Type, count: int | None) -> int | None:
        try:
            return None if count is None else count * self.module.layout.size(kind)
        except Unreadable:
            return None

    def _follow_addresses(self) -> None:
        """Finds what is computed from addresses of locals: blocks need not stand in the order in which they run."""
        more = True
        while more:
            more = False
            for instruction in self.function.instructions:
                if instruction.result in self.roots or not instruction.result:
                    continue
                if (derived := self._derived(instruction)) is not None:
                    base, distance = derived
                    more = True
                    self.roots[instruction.result] = self.roots[base]
                    begin = self.offsets[base]
                    known = begin is not None and distance is not None
                    self.offsets[instruction.result] = begin + distance if known else None  # type: ignore[operator]

    def _find_private(self) -> set[str]:
        self._follow_addresses()
        escaped: set[str] = set()
        for instruction in self.function.instructions:
            if instruction.is_debug:
                continue
            told = called(instruction)
            if told is not None and _REACHES_ALL.match(told.name):
                return set()
            names = instruction.names
            met = [name for name in names if name in self.roots]
            if not met:
                continue
            if (derived := self._derived(instruction)) is not None:
                met.remove(derived[0])
            else:
                for name in self._harmless(instruction, told):
                    if name in met:
                        met.remove(name)
            escaped.update(self.roots[name] for name in met)
        return set(self.memory) - escaped

    def _derived(self, instruction: Instruction) -> tuple[str, int | None] | None:
        """The address that it computes another one from, and how far that lies behind it."""
        try:
            if instruction.opcode in ("bitcast", "freeze", "addrspacecast"):
                base, distance = operand(instruction.body.rpartition(" to ")[0] or instruction.body).value, 0
                return (base, distance) if base in self.roots else None
            if instruction.opcode != "getelementptr":
                return None
            parts = split(without_flags(instruction.body))
            base = operand(parts[1]).value
        except (Unreadable, IndexError):
            return None
        return (base, self._distance(parts)) if base in self.roots else None

    def _distance(self, parts: list[str]) -> int | None:
        """What a ``getelementptr`` adds; None where that is not known."""
        layout = self.module.layout
        try:
            kind = read_type(parts[0])[0]
            indices = [int(operand(part).value) for part in parts[2:]]
            distance = indices[0] * layout.size(kind)
            for index in indices[1:]:
                kind = layout.resolved(kind)
                if kind.kind == "struct":
                    distance += layout.offsets(kind)[index]
                    kind = kind.parts[index]
                else:
                    kind = kind.parts[0]
                    distance += index * layout.size(kind)
        except (Unreadable, IndexError, ValueError):
            return None
        return distance

    def _harmless(self, instruction: Instruction, told: Call | None) -> list[str]:
        """Addresses of locals that it uses without letting them out, once for each use."""
        if (touched := accessed(instruction)) is not None:
            return [touched.pointer.value]
        if instruction.opcode == "icmp" and instruction.body.endswith(", null"):
            return instruction.names
        if told is None or told.is_assembly:
            return []
        if told.name.startswith("llvm.dbg.") or LIFETIME.match(told.name):
            return instruction.names
        if MEMORY.match(told.name):
            return [one.value for one in told.arguments[:2]]
        return [one.value for one in told.arguments if re.search(r"\bbyval\b", one.attributes)]

    def root(self, pointer: str) -> str:
        """``%name`` of a local, ``@name`` of a variable, or nothing where it is not known."""
        if pointer in self.roots:
            return self.roots[pointer]
        if pointer.startswith("%"):
            return self._root_of_value(pointer)
        if "inttoptr" in pointer:
            return ""
        found = _GLOBAL.search(pointer)
        return found.group() if found is not None else ""

    def _root_of_value(self, name: str) -> str:
        for _ in range(32):
            instruction = self.function.defined.get(name)
            if instruction is None:
                return ""
            if instruction.opcode in ("bitcast", "getelementptr", "freeze"):
                try:
                    part = split(without_flags(instruction.body))[1 if instruction.opcode == "getelementptr" else 0]
                    source = operand(part.rpartition(" to ")[0] or part).value
                except (Unreadable, IndexError):
                    return ""
            elif (told := called(instruction)) is not None and told.name.startswith("llvm.threadlocal.address"):
                source = told.arguments[0].value
            else:
                return ""
            if not source.startswith("%"):
                return self.root(source)
            name = source
        return ""

    def is_private(self, pointer: str) -> bool:
        return self.roots.get(pointer, "") in self.private

    def is_constant(self, pointer: str) -> bool:
        variable = self.module.variables.get(self.root(pointer))
        return variable is not None and variable.is_constant

    def hooked(self, instruction: Instruction) -> Access | None:
        """What others may see of what it does."""
        told = accessed(instruction)
        if told is None or self.is_private(told.pointer.value):
            return None
        return None if told.kind == "load" and self.is_constant(told.pointer.value) else told

    # -- where it may wait -------------------------------------------------------------------------------------------

    @cached_property
    def points(self) -> dict[int, Point]:
        """By the first line of the instruction before which the thread stands."""
        flow = self.flow
        clean = [number for number, block in enumerate(flow.blocks) if any(map(self._stores, block.instructions))]
        circular = flow.circular(clean)
        if not circular:
            return {}
        wanted = {one.first for number in circular for one in flow.blocks[number].instructions if self.may_read(one)}
        return self._live(wanted) if wanted else {}

    def may_read(self, instruction: Instruction) -> bool:
        """What other threads write, perhaps in a function that it calls."""
        touched = accessed(instruction)
        if touched is not None:
            return touched.kind != "store" and self.hooked(instruction) is not None
        told = called(instruction)
        if told is None:
            return instruction.is_call
        if told.is_assembly:
            return not told.callee.startswith(('asm sideeffect ""', 'asm ""'))
        if MEMORY.match(told.name):
            return not told.name.startswith("llvm.memset") and not self.is_private(told.arguments[1].value)
        return NOTHING.match(told.name) is None

    def _stores(self, instruction: Instruction) -> bool:
        """Whether whoever comes through it has stored something that others may see, whatever it was. A plain store by a
        pointer need not be one: it may be to a variable of whoever calls the function."""
        if instruction.opcode == "store":
            told = self.hooked(instruction)
            if told is None:
                return False
            variable = self.module.variables.get(self.root(told.pointer.value))
            shared = variable is not None and not variable.is_local
            return shared or ((told.volatile or bool(told.order)) and self.roots.get(told.pointer.value) is None)
        calls = called(instruction)
        return calls is not None and calls.name in _STORES

    def _live(self, wanted: set[int]) -> dict[int, Point]:
        from teetotal.programs.c.ir.liveness import Liveness

        return Liveness(self).at(wanted)


def _given_type(attributes: str, pointer: Type) -> Type | None:
    if (found := re.search(r"\bbyval\(", attributes)) is not None:
        return read_type(attributes, found.end())[0]
    return pointer.parts[0] if pointer.parts else None
