"""The type of each value of a function, as far as it is known: what cannot be typed cannot be handed to a hook."""

from __future__ import annotations

from collections.abc import Callable

from teetotal.programs.c.ir.operands import access, call, local, operand, operands
from teetotal.programs.c.ir.reading import Function, Instruction, Module
from teetotal.programs.c.ir.types import Type, Unreadable, read_type, split

_BINARY = frozenset(
    (
        "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "fadd",
        "fsub", "fmul", "fdiv", "frem", "fneg", "freeze",
    )
)  # fmt: skip
_FLAGS = frozenset(
    (
        "nuw", "nsw", "exact", "disjoint", "inbounds", "nusw", "fast", "nnan", "ninf", "nsz", "arcp", "contract",
        "afn", "reassoc", "nneg", "samesign",
    )
)  # fmt: skip
_CASTS = frozenset(
    (
        "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "inttoptr",
        "bitcast", "addrspacecast", "ptrtoaddr",
    )
)  # fmt: skip
I1, I64, BYTE, POINTER = (
    Type("integer", "i1", 1),
    Type("integer", "i64", 64),
    Type("integer", "i8", 8),
    Type("pointer", "ptr"),
)


def without_flags(body: str) -> str:
    while (word := body.partition(" ")[0]) in _FLAGS or word.startswith("inrange("):
        body = body[len(word) :].lstrip()
    return body


class Types:
    """Of one function's values."""

    def __init__(self, module: Module, function: Function) -> None:
        self.module = module
        self._known: dict[str, Type | None] = {one.value: one.type for one in function.parameters if one.value}
        self._defined = function.defined

    def of(self, name: str) -> Type | None:
        """None: not known."""
        if name not in self._known:
            instruction = self._defined.get(name)
            self._known[name] = None  # whoever asks for itself
            if instruction is not None:
                try:
                    self._known[name] = self._result(instruction)
                except (Unreadable, IndexError, ValueError):
                    return None
        return self._known[name]

    def _result(self, instruction: Instruction) -> Type | None:
        opcode, body = instruction.opcode, without_flags(instruction.body)
        if opcode in _BINARY:
            return read_type(body)[0]
        if opcode in _CASTS:
            return read_type(body.rpartition(" to ")[2])[0]
        if (make := _MAKERS.get(opcode)) is not None:
            return make(self, instruction, body)
        return None

    def _compared(self, instruction: Instruction, body: str) -> Type | None:
        kind = read_type(without_flags(body).partition(" ")[2])[0]
        return Type("vector", f"<{kind.number} x i1>", kind.number, (I1,)) if kind.kind == "vector" else I1

    def _loaded(self, instruction: Instruction, body: str) -> Type | None:
        told = access(instruction)
        return told.type if told is not None else None

    def _swapped(self, instruction: Instruction, body: str) -> Type | None:
        told = access(instruction)
        if told is None:
            return None
        return Type("struct", f"{{ {told.type.text}, i1 }}", 0, (told.type, I1))

    def _called(self, instruction: Instruction, body: str) -> Type | None:
        return call(instruction).result

    def _merged(self, instruction: Instruction, body: str) -> Type | None:
        return read_type(body)[0]

    def _chosen(self, instruction: Instruction, body: str) -> Type | None:
        return operand(split(body)[1]).type

    def _placed(self, instruction: Instruction, body: str) -> Type | None:
        told = local(instruction)
        return POINTER if self.module.opaque else Type("pointer", f"{told.type.text}*", 0, (told.type,))

    def _reached(self, instruction: Instruction, body: str) -> Type | None:
        """Of a ``getelementptr``: where pointers have types, the one that it has come to."""
        parts = split(body)
        base = operand(parts[1])
        if base.type.kind != "pointer":
            return None
        if not base.type.parts:
            return base.type
        kind = read_type(parts[0])[0]
        for index in operands(",".join(parts[3:])):
            kind = self._inside(kind, index.value)
        return Type("pointer", f"{kind.text}{_space(base.type)}*", base.type.number, (kind,))

    def _inside(self, kind: Type, index: str) -> Type:
        kind = self.module.layout.resolved(kind)
        return kind.parts[int(index)] if kind.kind == "struct" else kind.parts[0]

    def _extracted(self, instruction: Instruction, body: str) -> Type | None:
        parts = split(body)
        kind = operand(parts[0]).type
        for index in parts[1:]:
            kind = self._inside(kind, index)
        return kind

    def _element(self, instruction: Instruction, body: str) -> Type | None:
        return operand(split(body)[0]).type.parts[0]

    def _shuffled(self, instruction: Instruction, body: str) -> Type | None:
        parts = split(body)
        element, mask = operand(parts[0]).type.parts[0], operand(parts[2]).type
        return Type("vector", f"<{mask.number} x {element.text}>", mask.number, (element,))

    def _first(self, instruction: Instruction, body: str) -> Type | None:
        return operand(split(body)[0]).type

    def _argument(self, instruction: Instruction, body: str) -> Type | None:
        return read_type(split(body)[1])[0]

    def _caught(self, instruction: Instruction, body: str) -> Type | None:
        return read_type(body)[0]


def _space(kind: Type) -> str:
    return f" addrspace({kind.number})" if kind.number else ""


_MAKERS: dict[str, Callable[[Types, Instruction, str], Type | None]] = {
    "icmp": Types._compared,
    "fcmp": Types._compared,
    "load": Types._loaded,
    "atomicrmw": Types._loaded,
    "cmpxchg": Types._swapped,
    "call": Types._called,
    "invoke": Types._called,
    "callbr": Types._called,
    "phi": Types._merged,
    "select": Types._chosen,
    "alloca": Types._placed,
    "getelementptr": Types._reached,
    "extractvalue": Types._extracted,
    "insertvalue": Types._first,
    "extractelement": Types._element,
    "insertelement": Types._first,
    "shufflevector": Types._shuffled,
    "va_arg": Types._argument,
    "landingpad": Types._caught,
}
