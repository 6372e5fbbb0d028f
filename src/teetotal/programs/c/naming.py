"""Names of what lies on stacks and in the heap: ``T1's node.next in lock()``, ``node#2.value``.

A part of a stack comes with the frame that it belonged to (runtime/telling/naming.hpp): DWARF says which variable
lies where in the frames of a function. A block of the heap comes with the line that asked for it: no debug
information says what it was for, but the line mostly does (``malloc(sizeof(struct node))``, ``new node``, ``struct
node *n = …``). What it says is believed where the size of the type fits the block.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from elftools.dwarf.dwarf_expr import DWARFExprParser

from teetotal.answers.events import Location
from teetotal.programs.c import types

_RETURN = 16
"""Bytes between what a frame pointer points at and the frame of the caller: itself and the return address."""
_ASKED = (
    re.compile(r"\bnew\s+(?:\([^)]*\)\s*)?(?:struct\s+)?(?:\w+::)*(?P<type>\w+)"),
    re.compile(r"\bmake_unique<\s*(?:\w+::)*(?P<type>\w+)"),
    re.compile(r"\bsizeof\s*\(?\s*\*\s*(?P<variable>\w+)"),
    re.compile(r"\bsizeof\s*\(?\s*(?:(?:struct|union)\s+)?(?P<type>\w+)"),
    re.compile(r"\b(?P<type>\w+)\s*\*+\s*(?:const\s+|volatile\s+)*\w+\s*="),
)


class Local(NamedTuple):
    """A variable of a function: where it lies below the top of a frame, and in which part of the code it is known."""

    begin: int
    end: int
    offset: int
    name: str
    type: Any


class Function(NamedTuple):
    begin: int
    end: int
    name: str
    die: Any


class Objects:
    """Of one object file, by its DWARF."""

    def __init__(self, dwarf: Any) -> None:
        self._dwarf = dwarf
        self._locals: dict[int, list[Local]] = {}

    def function(self, place: int) -> str | None:
        found = self._function(place - 1)
        return found.name if found is not None else None

    def local(self, place: int, offset: int, size: int | None = 0) -> str | None:
        """What lies at an offset from the top of a frame of the function that was left at ``place``."""
        function = self._function(place - 1)
        if function is None:
            return None
        candidates = [
            local
            for local in self._locals_of(function)
            if local.offset <= offset < local.offset + max(types.size_of(local.type), 1)
        ]
        known = [local for local in candidates if local.begin <= place - 1 < local.end] or candidates
        if not known:
            return None
        found = min(known, key=lambda local: local.end - local.begin)
        return found.name + types.path_to(found.type, offset - found.offset, size)

    def block_type(self, size: int, place: int, line: Location | None) -> Any:
        """What a block of so many bytes, asked for at a place, is made of; None where nothing says so."""
        if line is None:
            return None
        text = linecache.getline(line.file, line.line)
        for pattern in _ASKED:
            for match in pattern.finditer(text):
                said = match.groupdict()
                kind = self._pointee(said["variable"], place) if said.get("variable") else self._type(said.get("type"))
                if kind is not None and (width := types.size_of(kind)) and size % width == 0:
                    return kind
        return None

    # -- DWARF ------------------------------------------------------------------------------------------------------------

    def _function(self, address: int) -> Function | None:
        return next((f for f in self._functions if f.begin <= address < f.end), None)

    @cached_property
    def _functions(self) -> list[Function]:
        found = []
        for die in self._every("DW_TAG_subprogram"):
            for begin, end in types.ranges(self._dwarf, die):
                found.append(Function(begin, end, types.name_of(types.declared(die)) or "?", die))
        return found

    @cached_property
    def _types(self) -> dict[str, Any]:
        named: dict[str, Any] = {}
        for die in self._every(*types.RECORDS, "DW_TAG_typedef", "DW_TAG_base_type"):
            kind = types.type_of(die) if die.tag == "DW_TAG_typedef" else die
            if kind is not None and types.size_of(kind):
                named.setdefault(types.name_of(die), kind)
        return named

    def _every(self, *tags: str) -> Iterator[Any]:
        for unit in self._dwarf.iter_CUs() if self._dwarf else ():
            yield from (die for die in unit.iter_DIEs() if die.tag in tags)

    def _type(self, name: str | None) -> Any:
        return self._types.get(name) if name else None

    def _pointee(self, variable: str, place: int) -> Any:
        function = self._function(place - 1)
        for local in self._locals_of(function) if function is not None else ():
            if local.name == variable and local.type is not None and local.type.tag == "DW_TAG_pointer_type":
                return types.type_of(local.type)
        return None

    def _locals_of(self, function: Function) -> list[Local]:
        if function.begin not in self._locals:
            base = self._frame_base(function.die)
            self._locals[function.begin] = [] if base is None else list(self._inside(function.die, function, base))
        return self._locals[function.begin]

    def _inside(self, scope: Any, around: Function, base: int) -> Iterator[Local]:
        for child in scope.iter_children():
            if child.tag in ("DW_TAG_variable", "DW_TAG_formal_parameter"):
                offset = self._frame_offset(child)
                if offset is not None:
                    kind = types.type_of(types.declared(child))
                    yield Local(around.begin, around.end, base + offset, types.name_of(types.declared(child)), kind)
            elif child.tag == "DW_TAG_lexical_block":
                parts = [around._replace(begin=begin, end=end) for begin, end in types.ranges(self._dwarf, child)]
                for part in parts or [around]:
                    yield from self._inside(child, part, base)

    def _operations(self, die: Any, attribute: str) -> list[Any]:
        place = die.attributes.get(attribute)
        if place is None or place.form != "DW_FORM_exprloc":
            return []
        return list(DWARFExprParser(die.cu.structs).parse_expr(place.value))

    def _frame_base(self, function: Any) -> int | None:
        """What DWARF counts from, as an offset from the top of the frame: the top itself, or where rbp points."""
        names = [operation.op_name for operation in self._operations(function, "DW_AT_frame_base")]
        return {"DW_OP_call_frame_cfa": 0, "DW_OP_reg6": -_RETURN}.get(names[0]) if len(names) == 1 else None

    def _frame_offset(self, variable: Any) -> int | None:
        operations = self._operations(variable, "DW_AT_location")
        if len(operations) != 1 or operations[0].op_name != "DW_OP_fbreg":
            return None
        return int(operations[0].args[0])
