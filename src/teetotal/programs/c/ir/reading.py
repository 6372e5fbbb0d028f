"""The text of LLVM's IR as records: functions, blocks, instructions, variables, attributes, metadata.

The reader is lenient, since each version of LLVM adds words. It knows what ends a function, a block and an instruction,
and the few opcodes that matter; every other opcode is kept as it is, with the names of values in it. It was written for
what clang 14 to 22, rustc and zig write:

- A function is what stands between a line ``define …`` and a line ``}``. An instruction begins with two spaces; a line
  with more of them, or one that only closes a bracket (``  ], !dbg !5``), continues it; but ``#dbg_declare``, which has
  four, is a record of its own.
- Values without a name are numbered in the order of the text, blocks too. So what is put in must have names, and what is
  replaced keeps its number.
- Types and values have the same sigil: only what a function defines is a value of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from teetotal.programs.c.ir.operands import Call, Operand, operand
from teetotal.programs.c.ir.types import Layout, Type, Unreadable, after_group, read_type, split

NAME = r'(?:"[^"]*"|[\w.$-]+)'
VALUE = re.compile(rf"%{NAME}")
_LABEL = re.compile(rf"^({NAME}):(?: |$)")
_RESULT = re.compile(rf"^\s+(%{NAME}) = ")
_OPCODE = re.compile(r"(?:(?:tail|musttail|notail) )?([a-z_]\w*)")
_TYPE = re.compile(rf"^(%{NAME}) = type (.*)$")
_VARIABLE = re.compile(rf"^(@{NAME}) = (.*)$")
_GROUP = re.compile(r"^attributes (#\d+) = \{ (.*) \}$")
_METADATA = re.compile(r"^(![\w.]+) = (.*)$")
_FUNCTION = re.compile(rf"@({NAME})\(")
_STRING = re.compile(r'"[^"]*"')
_POINTER = re.compile(r"(?<![\w@%$.-])ptr(?![\w$.-])")
"""The one type of pointers, and nothing that has it in its name."""
_ATTACHED = re.compile(r"(?:, ![A-Za-z_][\w.]* !(?:\d+|\{\}))+$")
_LOCATION = re.compile(r", !dbg (!\d+)")
_TARGETS = re.compile(rf"label (%{NAME})")


class Instruction:
    """``text`` is all of it, on one line; ``body`` what stands behind the opcode, without attached metadata; ``location``
    the number of its place in the source, or nothing."""

    __slots__ = ("attached", "body", "first", "last", "location", "opcode", "operand_cache", "result", "text")

    def __init__(self, text: str, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.text = text
        found = _RESULT.match(text)
        self.result = found.group(1) if found is not None else ""
        at = found.end() if found is not None else len(text) - len(text.lstrip())
        word = _OPCODE.match(text, at)
        self.opcode = word.group(1) if word is not None else "?"
        body = text[word.end() if word is not None else at :].strip()
        suffix = _ATTACHED.search(body)
        self.attached = suffix.group() if suffix is not None else ""
        self.body = body[: suffix.start()] if suffix is not None else body
        place = _LOCATION.search(self.attached)
        self.location = place.group(1) if place is not None else ""
        self.operand_cache: Call | None = None

    @property
    def is_debug(self) -> bool:
        """Whether it says something about the program and does nothing."""
        return self.opcode == "?" and self.text.lstrip().startswith("#dbg_")

    @property
    def names(self) -> list[str]:
        """Everything with the sigil of values."""
        return VALUE.findall(self.body) if "%" in self.body else []

    @property
    def is_call(self) -> bool:
        return self.opcode in ("call", "invoke", "callbr")

    @property
    def ends_block(self) -> bool:
        return self.opcode in _ENDS

    @property
    def targets(self) -> list[str]:
        """The blocks that may come next."""
        return list(dict.fromkeys(_TARGETS.findall(self.body))) if self.ends_block else []

    def __repr__(self) -> str:
        return self.text.strip()


_ENDS = frozenset(
    (
        "ret", "br", "switch", "indirectbr", "invoke", "callbr", "resume", "catchswitch", "catchret", "cleanupret",
        "unreachable",
    )
)  # fmt: skip


class Block:
    """``first`` is the index of its first line behind the label."""

    __slots__ = ("first", "instructions", "name")

    def __init__(self, name: str, first: int) -> None:
        self.name, self.first = name, first
        self.instructions: list[Instruction] = []


class Function:
    def __init__(self, header: str, first: int) -> None:
        self.header = header
        self.first = self.last = first
        found = _FUNCTION.search(header)
        if found is None:
            raise Unreadable(f"a function without a name: {header[:80]}")
        self.name = found.group(1).strip('"')
        self.end_of_parameters = after_group(header, found.end() - 1)
        self.parameters = [
            operand
            for part in split(header[found.end() : self.end_of_parameters - 1])
            if part != "..." and (operand := _parameter(part)) is not None
        ]
        self.groups = re.findall(r" (#\d+)", header[self.end_of_parameters :])
        self.before_name = header[: found.start()]
        self.blocks: list[Block] = []

    @property
    def instructions(self) -> Iterator[Instruction]:
        for block in self.blocks:
            yield from block.instructions

    @cached_property
    def defined(self) -> dict[str, Instruction | None]:
        """All its values; None: a parameter."""
        found: dict[str, Instruction | None] = {one.value: None for one in self.parameters if one.value}
        for instruction in self.instructions:
            if instruction.result:
                found[instruction.result] = instruction
        return found

    @cached_property
    def subprogram(self) -> str:
        """The number of what its debugging information says of it, or nothing."""
        found = re.search(r"!dbg (!\d+)", self.header)
        return found.group(1) if found is not None else ""


class Variable(NamedTuple):
    name: str
    is_constant: bool
    """Defined here as what never changes."""
    is_defined: bool
    is_local: bool
    """Each thread has its own."""
    type: Type | None
    location: str


class Module:
    """One file of IR. ``lines`` are its text."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.functions: list[Function] = []
        self.named: dict[str, str] = {}
        self.variables: dict[str, Variable] = {}
        self.groups: dict[str, str] = {}
        self.metadata: dict[str, str] = {}
        self.declared: dict[str, str] = {}
        """Functions that are not defined here, with their declarations."""
        self.datalayout = ""
        self.assembly: list[str] = []
        """What the program has of it outside of functions."""
        self._read()
        self.layout = Layout(self.datalayout, self.named)

    @cached_property
    def opaque(self) -> bool:
        """Whether pointers are all of one type."""
        for line in self.lines:
            if "ptr" in line and line[:1] not in ("!", ";") and _POINTER.search(_STRING.sub("", line)):
                return True
        identity = self.metadata.get("!llvm.ident", "")
        said = self.metadata.get(re.sub(r"[!{} ]*(\d+).*", r"!\1", identity), "")
        found = re.search(r"version (\d+)", said)
        return found is not None and int(found.group(1)) >= 15

    def function(self, name: str) -> Function | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Function]:
        return {one.name: one for one in self.functions}

    def _read(self) -> None:
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            if line.startswith("define "):
                at = self._read_function(at)
            elif line.startswith("declare ") or " declare " in line[:40]:
                if (found := _FUNCTION.search(line)) is not None:
                    self.declared[found.group(1).strip('"')] = line
            elif line.startswith("!"):
                if (found := _METADATA.match(line)) is not None:
                    self.metadata[found.group(1)] = found.group(2)
            elif line.startswith("@"):
                if (found := _VARIABLE.match(line)) is not None:
                    self.variables[found.group(1)] = _variable(found.group(1), found.group(2))
            elif line.startswith("%"):
                if (found := _TYPE.match(line)) is not None:
                    self.named[found.group(1)] = found.group(2)
            elif line.startswith("attributes "):
                if (found := _GROUP.match(line)) is not None:
                    self.groups[found.group(1)] = found.group(2)
            elif line.startswith("target datalayout"):
                self.datalayout = line.split('"')[1]
            elif line.startswith("module asm"):
                self.assembly.append(line)
            at += 1

    def _read_function(self, at: int) -> int:
        function = Function(self.lines[at], at)
        unnamed = sum(1 for one in function.parameters if one.value[1:].isdigit())
        block: Block | None = None
        at += 1
        while at < len(self.lines) and self.lines[at] != "}":
            line = self.lines[at]
            label = _LABEL.match(line)
            if label is not None:
                block = Block(f"%{label.group(1)}", at + 1)
                function.blocks.append(block)
            elif line.startswith("  "):
                if block is None:
                    block = Block(f"%{unnamed}", at)
                    function.blocks.append(block)
                first = at
                while self._continues(at + 1):
                    at += 1
                text = (
                    line if first == at else " ".join([line, *(one.strip() for one in self.lines[first + 1 : at + 1])])
                )
                block.instructions.append(Instruction(text, first, at))
            at += 1
        function.last = at
        self.functions.append(function)
        return at

    def _continues(self, at: int) -> bool:
        if at >= len(self.lines):
            return False
        line = self.lines[at]
        if line.startswith("   "):
            return not line.lstrip().startswith("#dbg_")
        return line.startswith("  ]")


def _variable(name: str, text: str) -> Variable:
    """Without what it begins with."""
    location = re.search(r"!dbg (!\d+)", text)
    word = re.search(r"(?:^| )(global|constant)(?: |$)", text)
    if word is None:  # an alias, or an ifunc
        return Variable(name, False, True, False, None, "")
    head = text[: word.start()]
    external = re.search(r"\b(?:external|extern_weak)\b", head) is not None
    try:
        kind: Type | None = read_type(text, word.end())[0]
    except Unreadable:
        kind = None
    constant = word.group(1) == "constant" and not external and "externally_initialized" not in head
    place = location.group(1) if location is not None else ""
    return Variable(name, constant, not external, "thread_local" in head, kind, place)


def _parameter(text: str) -> Operand | None:
    try:
        return operand(text)
    except Unreadable:
        return None
