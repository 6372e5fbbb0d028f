"""Takes what runs before and after ``main`` out of the dynamic linker's hands.

The linker leaves arrays of functions in a shared object (constructors sorted by priority; destructors), which
``dlopen`` would run once, before any execution. Their entries in the dynamic section get tags that the dynamic linker
passes over and ``runtime/memory/endings.cpp`` looks for: there they are part of every execution. What crti.o puts
around them (``_init``, ``_fini``) does nothing in a program of today, and a program cannot define it; another function that
``-Wl,-init`` or ``-Wl,-fini`` names is run like the rest.
"""

from __future__ import annotations

import struct
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

OURS = 0x6000_1000
"""Added to a tag. The range is the operating system's own, and used by nobody."""
_INIT, _FINI = 12, 13
_RUN_BY_LINKER = (_INIT, _FINI, 25, 26, 27, 28)  # …, INIT_ARRAY, FINI_ARRAY, INIT_ARRAYSZ, FINI_ARRAYSZ
_ENTRY = struct.Struct("<qQ")


def take_initialisers(program: Path) -> None:
    with program.open("r+b") as file:
        elf = ELFFile(file)
        section = elf.get_section_by_name(".dynamic")
        assert isinstance(section, DynamicSection)
        begin, size = section["sh_offset"], section["sh_size"]
        symbols = elf.get_section_by_name(".symtab")
        empty = {
            symbol["st_value"]
            for name in ("_init", "_fini")
            for symbol in (symbols.get_symbol_by_name(name) or () if isinstance(symbols, SymbolTableSection) else ())
        }
        file.seek(begin)
        table = bytearray(file.read(size))
        for offset, (tag, value) in zip(range(0, size, _ENTRY.size), _ENTRY.iter_unpack(table), strict=True):
            if tag not in _RUN_BY_LINKER:
                continue
            left = tag in (_INIT, _FINI) and value in empty
            _ENTRY.pack_into(table, offset, OURS if left else OURS + tag, value)
        file.seek(begin)
        file.write(table)


def has_bit_fields(program: Path) -> bool:
    """Whether any type that the program uses has bit-fields, by the shapes of entries in its debugging information."""
    with program.open("rb") as file:
        information = ELFFile(file).get_dwarf_info()
        return any(
            attribute.name == "DW_AT_bit_size"
            for unit in information.iter_CUs()
            for shape in unit.get_abbrev_table()._abbrev_map.values()
            for attribute in shape["attr_spec"]
        )
