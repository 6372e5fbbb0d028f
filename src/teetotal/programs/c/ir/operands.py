"""What the instructions of IR that matter are given: operands, calls, accesses to memory, locals.

Before a value may stand attributes of it. Those that nobody has heard of are words like any others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from teetotal.programs.c.ir.types import Type, Unreadable, after_group, read_type, split, starts_type

if TYPE_CHECKING:
    from teetotal.programs.c.ir.reading import Instruction

_ATTRIBUTE = re.compile(r"([a-zA-Z_][\w-]*|\"[^\"]*\")(?:=\"[^\"]*\")?")
_KNOWN_VALUES = frozenset(
    (
        "true", "false", "null", "undef", "poison", "zeroinitializer", "none", "getelementptr", "bitcast",
        "inttoptr", "ptrtoint", "addrspacecast", "blockaddress", "dso_local_equivalent", "no_cfi", "ptrauth",
        "splat", "add", "sub", "mul", "shl", "xor", "and", "or", "icmp", "fcmp", "select", "trunc", "zext", "sext",
        "asm", "metadata", "extractelement", "insertelement", "shufflevector", "sitofp", "uitofp", "fptosi",
        "fptoui", "fptrunc", "fpext", "lshr", "ashr", "ptrtoaddr",
    )
)  # fmt: skip
"""Words with which a value begins. Before it, other words are attributes of it."""


class Operand(NamedTuple):
    type: Type
    attributes: str
    value: str

    @property
    def text(self) -> str:
        return f"{self.type.text} {self.value}"


class Call(NamedTuple):
    """``callee`` is ``@name`` of a function, ``%name`` of a pointer, or ``asm …``. ``given``: where the arguments begin
    and end in the body."""

    result: Type
    callee: str
    arguments: list[Operand]
    given: tuple[int, int]
    groups: list[str]

    @property
    def name(self) -> str:
        """Of the function, where it is called by name."""
        return self.callee[1:].strip('"') if self.callee.startswith("@") else ""

    @property
    def is_assembly(self) -> bool:
        return self.callee.startswith("asm")


def operand(text: str) -> Operand:
    """A type, perhaps attributes, and a value. Attributes that nobody has heard of are words like any others."""
    kind, at = read_type(text)
    begin = at
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        word = _ATTRIBUTE.match(text, at)
        if word is None or word.group(1) in _KNOWN_VALUES or re.match(r'c"', text[at:]) or _is_number(text, at):
            break
        end = word.end()
        if end < len(text) and text[end] == "(":
            end = after_group(text, end)
        elif word.group(1) == "align" and (amount := re.match(r" (?=\d)\d+", text[end:])) is not None:
            end += amount.end()
        at = end
    return Operand(kind, text[begin:at].strip(), text[at:].strip())


def _is_number(text: str, at: int) -> bool:
    return text[at].isdigit() or text[at] == "-" or text.startswith("0x", at)


def operands(text: str) -> list[Operand]:
    """Types and values between commas; what is no such pair is left out."""
    found: list[Operand] = []
    for part in split(text):
        if part and starts_type(part, 0):
            try:
                found.append(operand(part))
            except Unreadable:
                continue
    return found


def call(instruction: Instruction) -> Call:
    """What a ``call``, ``invoke`` or ``callbr`` says."""
    if instruction.operand_cache is None:
        instruction.operand_cache = _read_call(instruction.body)
    return instruction.operand_cache


def _read_call(body: str) -> Call:
    at = 0
    while not starts_type(body, at):  # flags, the calling convention, attributes of what is returned
        if body[at] == '"':
            at = body.index('"', at + 1) + 1
        word = re.compile(r"[^\s(]*").match(body, at)
        assert word is not None
        at = word.end()
        if at < len(body) and body[at] == "(":
            at = after_group(body, at)
        while at < len(body) and body[at] == " ":
            at += 1
        if at >= len(body):
            raise Unreadable(f"a call without a type: {body[:80]}")
    kind, at = read_type(body, at)
    result = kind.parts[0] if kind.kind == "function" else kind
    while body[at] == " ":
        at += 1
    begin = at
    if body.startswith("asm", at):
        at = body.index('"', at)
        for _ in range(2):  # the text, then the constraints
            at = body.index('"', body.index('"', at) + 1) + 1
            while _ == 0 and body[at] in ", ":
                at += 1
    else:
        while body[at] != "(":
            at = body.index('"', at + 1) + 1 if body[at] == '"' else at + 1
        if body[begin] not in "%@":  # an expression, which has brackets of its own
            at = after_group(body, at)
    callee = body[begin:at].strip()
    end = after_group(body, at)
    rest = body[end:]
    return Call(result, callee, operands(body[at + 1 : end - 1]), (at + 1, end - 1), re.findall(r" (#\d+)", rest))


class Access(NamedTuple):
    """What one instruction does to memory. ``kind``: load, store, rmw, cmpxchg. ``value``: what is stored, or changes
    what is there; ``expected``: of a cmpxchg."""

    kind: str
    type: Type
    pointer: Operand
    value: Operand | None
    expected: Operand | None
    volatile: bool
    order: str
    failure: str
    operation: str
    alignment: int


_ORDERS = r"(unordered|monotonic|acquire|release|acq_rel|seq_cst)"
_ORDER = re.compile(rf'(?: syncscope\("[^"]*"\))? {_ORDERS}(?: {_ORDERS})?$')
_ALIGN = re.compile(r"align (\d+)$")


def access(instruction: Instruction) -> Access | None:
    """None: the instruction is none of these."""
    opcode, body = instruction.opcode, instruction.body
    if opcode not in ("load", "store", "atomicrmw", "cmpxchg"):
        return None
    operation = ""
    atomic = opcode in ("atomicrmw", "cmpxchg")
    volatile = False
    while (word := re.match(r"(atomic|volatile|weak) ", body)) is not None:
        volatile = volatile or word.group(1) == "volatile"
        atomic = atomic or word.group(1) == "atomic"
        body = body[word.end() :]
    if opcode == "atomicrmw":
        operation, _, body = body.partition(" ")
        if operation == "elementwise":  # a word that newer versions may put before it
            operation, _, body = body.partition(" ")
    parts = split(body)
    alignment, order, failure = 0, "", ""
    while parts and (found := _ALIGN.match(parts[-1])) is not None:
        alignment = int(found.group(1))
        parts.pop()
    if atomic and (said := _ORDER.search(parts[-1])) is not None:
        order, failure = said.group(1), said.group(2) or ""
        parts[-1] = parts[-1][: said.start()]
    if opcode == "load":
        kind, pointer = read_type(parts[0])[0], operand(parts[1])
        return Access("load", kind, pointer, None, None, volatile, order, "", "", alignment)
    if opcode == "store":
        value, pointer = operand(parts[0]), operand(parts[1])
        return Access("store", value.type, pointer, value, None, volatile, order, "", "", alignment)
    pointer, value = operand(parts[0]), operand(parts[-1])
    if opcode == "atomicrmw":
        return Access("rmw", value.type, pointer, value, None, volatile, order, "", operation, alignment)
    expected = operand(parts[1])
    return Access("cmpxchg", value.type, pointer, value, expected, volatile, order, failure, "", alignment)


class Local(NamedTuple):
    """An ``alloca``: how many of what type; ``elements`` None where only the running program knows."""

    type: Type
    elements: int | None
    alignment: int


def local(instruction: Instruction) -> Local:
    body = instruction.body.removeprefix("inalloca ").removeprefix("swifterror ")
    parts = split(body)
    kind = read_type(parts[0])[0]
    count: int | None = 1
    alignment = 0
    for part in parts[1:]:
        if (found := _ALIGN.match(part)) is not None:
            alignment = int(found.group(1))
        elif starts_type(part, 0):
            value = operand(part).value
            count = int(value) if value.isdigit() else None
    return Local(kind, count, alignment)
