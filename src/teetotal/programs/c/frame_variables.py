"""Where the variables of functions lie in their frames, as the compiler wrote down for debuggers (DWARF).

A pointer to one of them leads nowhere else in the frame, which is what ``liveness`` needs to know where addresses are
given away.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from teetotal.programs.c import types
from teetotal.programs.c.objects import Object

_CANONICAL = 0x9C
"""DW_OP_call_frame_cfa: a frame begins where that of the caller ends."""
_BY_RBP = 0x56
"""DW_OP_reg6: a frame begins where rbp points to."""
_RETURN = 16
"""From there to the frame of the caller: its rbp, and the return address."""
_OF_FRAME = 0x91
"""DW_OP_fbreg: at so many bytes from where the frame begins."""
_ADDRESSES = (0x03, 0xA1)
"""DW_OP_addr, DW_OP_addrx: at an address, so in no frame."""

_EXPRESSIONS = ("DW_FORM_exprloc", "DW_FORM_block1")
"""Now, and before DWARF 4."""
_PARAMETERS = ("DW_TAG_formal_parameter",)
_VARIABLES = ("DW_TAG_variable", *_PARAMETERS)

_RELOCATION = struct.Struct("<QIIq")
_THREAD_LOCAL, _NOTHING = (17, 21), 0
"""R_X86_64_DTPOFF64 and DTPOFF32, R_X86_64_NONE."""


class Range(NamedTuple):
    """Bytes of a frame, by their offsets from rbp."""

    begin: int
    end: int


class FrameVariables:
    """Of an object file, which is made when something is asked for."""

    def __init__(self, assemble: Callable[[], bytes]) -> None:
        self._assemble = assemble
        self._functions: dict[str, list[Any]] | None = None

    def of(self, function: str) -> list[Range] | None:
        """In their order, by the function's name in the object; None where not all of them are known."""
        found = self._found(function)
        return _ranges(found) if found is not None else None

    def parameters(self, function: str) -> int | None:
        """How many bytes of those that it is given lie on the stack, above its frame; None where that is not known."""
        if (found := self._found(function)) is None:
            return None
        size = 0
        for place in _places(found, _PARAMETERS):
            if place is None:
                return None
            size = max(size, place.end - _RETURN)
        return size

    def _found(self, function: str) -> Any | None:
        if self._functions is None:
            self._functions = {}
            for die in _functions(self._assemble()):
                self._functions.setdefault(_symbol(die), []).append(die)
        found = self._functions.get(function, [])
        return found[0] if len(found) == 1 else None


def _functions(data: bytes) -> Iterator[Any]:
    """Those that have code."""
    from elftools.elf.elffile import ELFFile  # large, and mostly not needed

    if not data:
        return
    file = ELFFile(io.BytesIO(_without_thread_locals(data)))
    if not file.has_dwarf_info():
        return
    for unit in file.get_dwarf_info(relocate_dwarf_sections=True).iter_CUs():
        for die in unit.get_top_DIE().iter_children():
            if die.tag == "DW_TAG_subprogram" and "DW_AT_frame_base" in die.attributes:
                yield die


def _without_thread_locals(data: bytes) -> bytes:
    """Where those lie is asked of the linker, by relocations that the reader does not know and nobody needs here."""
    changed = bytearray(data)
    for section in Object(data).sections:
        if section.name.startswith(".rela.debug"):
            for at in range(section.offset, section.offset + section.size, _RELOCATION.size):
                place, what, symbol, addend = _RELOCATION.unpack_from(data, at)
                if what in _THREAD_LOCAL:
                    _RELOCATION.pack_into(changed, at, place, _NOTHING, symbol, addend)
    return bytes(changed)


def _symbol(die: Any) -> str:
    for one in (die, types.declared(die)):
        if (name := one.attributes.get("DW_AT_linkage_name")) is not None:
            return os.fsdecode(name.value)
    return types.name_of(types.declared(die))


def _ranges(function: Any) -> list[Range] | None:
    found = list(_places(function, _VARIABLES))
    return None if None in found else sorted(one for one in found if one is not None)


def _places(function: Any, tags: tuple[str, ...]) -> Iterator[Range | None]:
    """Of what lies in the frame, or beside it: None where that is not known."""
    base = function.attributes["DW_AT_frame_base"].value
    if base not in ([_CANONICAL], [_BY_RBP]):
        yield None
        return
    shift = _RETURN if base == [_CANONICAL] else 0
    for die in _variables(function):
        if die.tag not in tags or "DW_AT_location" not in die.attributes:
            continue  # it is nowhere: a constant, or what another declares
        where = die.attributes["DW_AT_location"]
        size = types.size_of(types.type_of(types.declared(die)))
        known = where.form in _EXPRESSIONS and bool(where.value)
        if known and where.value[0] in _ADDRESSES:
            continue
        offset = _number(where.value[1:]) if known and where.value[0] == _OF_FRAME else None
        yield None if offset is None or size <= 0 else Range(offset + shift, offset + shift + size)


def _variables(die: Any) -> Iterator[Any]:
    for child in die.iter_children():
        if child.tag in _VARIABLES:
            yield child
        elif child.tag in ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine"):
            yield from _variables(child)


def _number(code: list[int]) -> int | None:
    """A signed LEB128 number and nothing else."""
    value = 0
    for place, byte in enumerate(code):
        value |= (byte & 0x7F) << (7 * place)
        if not byte & 0x80:
            return value - ((byte & 0x40) << (7 * place + 1)) if place == len(code) - 1 else None
    return None
