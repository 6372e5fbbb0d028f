"""Takes what runs before and after ``main`` out of the dynamic linker's hands.

The linker leaves arrays of functions in a shared object (constructors sorted by priority; destructors), which
``dlopen`` would run once, before any execution. Their entries in the dynamic section get tags that the dynamic linker
passes over and ``runtime/memory/endings.cpp`` looks for: there they are part of every execution. What crti.o puts
around them (``_init``, ``_fini``) does nothing in a program of today, and a program cannot define it; another function that
``-Wl,-init`` or ``-Wl,-fini`` names is run like the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from teetotal.programs.c.objects import Object

OURS = 0x6000_1000
"""Added to a tag. The range is the operating system's own, and used by nobody."""
_INIT, _FINI = 12, 13
_RUN_BY_LINKER = (_INIT, _FINI, 25, 26, 27, 28)  # …, INIT_ARRAY, FINI_ARRAY, INIT_ARRAYSZ, FINI_ARRAYSZ
_ENTRY = struct.Struct("<qQ")
_ATOMIC_WAITS = ("_ZNSt8__detail11__wait_", "_ZNSt8__detail13__notify_impl", "_ZNSt8__detail17__wait_until_impl")
_BIT_SIZE = 0x0D
_IMPLICIT_CONSTANT = 0x21


def take_initialisers(program: Path) -> None:
    data = bytearray(program.read_bytes())
    linked = Object(bytes(data))
    dynamic = next(section for section in linked.sections if section.name == ".dynamic")
    empty = {symbol.value for symbol in linked.symbols if symbol.name in ("_init", "_fini")}
    for offset in range(dynamic.offset, dynamic.offset + dynamic.size, _ENTRY.size):
        tag, value = _ENTRY.unpack_from(data, offset)
        if tag in _RUN_BY_LINKER:
            left = tag in (_INIT, _FINI) and value in empty
            _ENTRY.pack_into(data, offset, OURS if left else OURS + tag, value)
    program.write_bytes(data)


def waits_in_library(program: Path) -> bool:
    """Whether it waits at atomics by functions of the C++ library."""
    undefined = (symbol.name for symbol in Object(program.read_bytes()).dynamic_symbols if symbol.section == 0)
    return any(name.startswith(_ATOMIC_WAITS) for name in undefined)


def has_bit_fields(program: Path) -> bool:
    """Whether any type that the program uses has bit-fields, by the shapes of entries in its debugging information. Where
    these cannot be read, as in sections that are compressed, it may."""
    linked = Object(program.read_bytes())
    shapes = [linked.code(section) for section in linked.sections if section.name == ".debug_abbrev"]
    try:
        return any(_BIT_SIZE in _attributes(shape) for shape in shapes)
    except (StopIteration, RuntimeError):
        return True


def _attributes(shapes: bytes) -> set[int]:
    """Those that occur in a table of shapes (DWARF 5, section 7.5.3)."""
    if shapes[1:2] == b"\0":  # no shape is of nothing: the header of what is compressed
        raise RuntimeError
    found: set[int] = set()
    left = iter(shapes)
    while (code := _number(left, end=True)) is not None:
        if code == 0:  # of another unit
            continue
        _number(left)
        next(left)
        while (attribute := _number(left), form := _number(left)) != (0, 0):
            found.add(attribute or 0)
            if form == _IMPLICIT_CONSTANT:
                _number(left)
    return found


def _number(left: Iterator[int], *, end: bool = False) -> int | None:
    """As DWARF writes them: seven bits a byte, the lowest first. ``end``: there may be no more, which is None."""
    value = shift = 0
    for byte in left:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value
    if end and not shift:
        return None
    raise RuntimeError
