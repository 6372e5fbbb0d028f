"""Names for addresses: source lines of instructions, variables and their fields, from DWARF."""

from __future__ import annotations

import bisect
import os
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.elf.elffile import ELFFile

from teetotal.events import Location


class Variable(NamedTuple):
    address: int
    size: int
    name: str
    type: Any


class Inlined(NamedTuple):
    """A call in whose place the compiler put the code."""

    begin: int
    end: int
    location: Location


_TRANSPARENT = (
    "DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_atomic_type", "DW_TAG_restrict_type",
)  # fmt: skip
_LIBRARY_NAMES = re.compile(r"_Z(N[VKRO]*)?(St|9__gnu_cxx|10__cxxabiv)|_ZL\d+__gthr")
"""How the mangled names of functions in namespace std and of its helpers begin."""
_LIBRARY_FILES = ("/include/c++/", "/lib/gcc/", "/lib/clang/")
_RECORDS = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")


def library_functions(program: Path, of_system: Container[str] = ()) -> list[tuple[int, int]]:
    """Where the functions of the C++ library lie that were compiled into the program, and those of the system's headers,
    in order."""
    with program.open("rb") as stream:
        table: Any = ELFFile(stream).get_section_by_name(".symtab")
        symbols = table.iter_symbols() if table is not None else ()
        return sorted(
            (symbol["st_value"], symbol["st_value"] + symbol["st_size"])
            for symbol in symbols
            if symbol["st_info"]["type"] == "STT_FUNC"
            and symbol["st_size"]
            and (_LIBRARY_NAMES.match(symbol.name) or symbol.name in of_system)
        )


class Symbols:
    """Of one object file; addresses are those of the file (0 is where it is loaded)."""

    def __init__(self, path: Path, files: Sequence[str] = ()) -> None:
        """``files`` are shown as they are spelled there."""
        self._spelled = {os.path.abspath(file): file for file in files}
        self._stream = path.open("rb")
        self._elf = ELFFile(self._stream)
        self._dwarf: Any = self._elf.get_dwarf_info() if self._elf.has_dwarf_info() else None
        self._table: Any = self._elf.get_section_by_name(".symtab")

    def close(self) -> None:
        self._stream.close()

    # -- lines ----------------------------------------------------------------------------------------------------------

    def line(self, place: int) -> Location | None:
        """Where a call returns to ``place``: the line of the instruction before it."""
        starts, rows = self._lines
        position = bisect.bisect_right(starts, place - 1) - 1
        found = rows[position] if position >= 0 else None
        return self._of_program(place - 1, found) if found is not None and _of_library(found) else found

    def _of_program(self, address: int, found: Location) -> Location:
        """Code of the C++ library that was put inline is told by the line that called for it."""
        calls = [call for call in self._inlined if call.begin <= address < call.end and not _of_library(call.location)]
        return min(calls, key=lambda call: call.end - call.begin).location if calls else found

    @cached_property
    def _inlined(self) -> list[Inlined]:
        found: list[Inlined] = []
        for unit, _, names in self._units():
            for die in unit.iter_DIEs():
                if die.tag != "DW_TAG_inlined_subroutine" or "DW_AT_call_line" not in die.attributes:
                    continue
                place = Location(
                    names[die.attributes["DW_AT_call_file"].value], die.attributes["DW_AT_call_line"].value
                )
                found.extend(Inlined(begin, end, place) for begin, end in self._ranges(die))
        return found

    def _units(self) -> Iterator[tuple[Any, Any, _FileNames]]:
        """Those that have lines, with their lines and the names of their files."""
        for unit in self._dwarf.iter_CUs() if self._dwarf else ():
            program = self._dwarf.line_program_for_CU(unit)
            if program is not None:
                yield unit, program, _FileNames(unit, program, self._spelled)

    def _ranges(self, die: Any) -> Iterator[tuple[int, int]]:
        """The code of a function or of an inlined call."""
        attributes = die.attributes
        if "DW_AT_low_pc" in attributes:
            begin, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
            yield begin, high.value if high.form == "DW_FORM_addr" else begin + high.value
        elif "DW_AT_ranges" in attributes:
            lists = self._dwarf.range_lists()
            base = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
            offset = 0 if base is None else base.value
            for entry in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, cu=die.cu):
                if hasattr(entry, "base_address"):
                    offset = entry.base_address
                elif getattr(entry, "is_absolute", False):
                    yield entry.begin_offset, entry.end_offset
                else:
                    yield offset + entry.begin_offset, offset + entry.end_offset

    @cached_property
    def _lines(self) -> tuple[list[int], list[Location | None]]:
        found: list[tuple[int, Location | None]] = []
        for _, program, names in self._units():
            for entry in program.get_entries():
                if entry.state is None:
                    continue
                place = None if entry.state.end_sequence else Location(names[entry.state.file], entry.state.line)
                found.append((entry.state.address, place))
        found.sort(key=lambda row: (row[0], row[1] is not None))
        return [address for address, _ in found], [place for _, place in found]

    def function(self, address: int) -> str | None:
        """The name of the function that starts at an address."""
        return self._functions.get(address)

    @cached_property
    def _functions(self) -> dict[int, str]:
        symbols = self._table.iter_symbols() if self._table is not None else ()
        return {symbol["st_value"]: symbol.name for symbol in symbols if symbol["st_info"]["type"] == "STT_FUNC"}

    # -- variables --------------------------------------------------------------------------------------------------------

    def variable(self, address: int, size: int = 0) -> str | None:
        """``flag[1]``, ``queue.head``, …: what of a variable lies at an address."""
        position = bisect.bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        found = self._variables[position]
        if address >= found.address + max(found.size, 1):
            return None
        if found.type is None:
            offset = address - found.address
            return found.name if offset == 0 else f"{found.name}+{offset}"
        return found.name + _path(found.type, address - found.address, size)

    @cached_property
    def _variables(self) -> list[Variable]:
        found: dict[int, Variable] = {}
        for symbol in self._table.iter_symbols() if self._table is not None else ():  # where DWARF has nothing
            if symbol["st_info"]["type"] == "STT_OBJECT" and symbol["st_size"]:
                found[symbol["st_value"]] = Variable(symbol["st_value"], symbol["st_size"], symbol.name, None)
        for unit in self._dwarf.iter_CUs() if self._dwarf else ():
            parser = DWARFExprParser(unit.structs)
            for die in unit.iter_DIEs():
                if die.tag != "DW_TAG_variable" or "DW_AT_location" not in die.attributes:
                    continue
                address = _static_address(die, parser)
                if address is not None:
                    declared = (
                        die.get_DIE_from_attribute("DW_AT_specification")
                        if "DW_AT_specification" in die.attributes
                        else die
                    )
                    kind = _type(declared) or _type(die)
                    found[address] = Variable(address, _size(kind), _name(declared) or _name(die) or "?", kind)
        return [found[address] for address in sorted(found)]

    @cached_property
    def _starts(self) -> list[int]:
        return [variable.address for variable in self._variables]


def _of_library(place: Location) -> bool:
    return any(part in place.file for part in _LIBRARY_FILES)


class _FileNames:
    """The files of a line program, as the user would write them."""

    def __init__(self, unit: Any, program: Any, spelled: Mapping[str, str]) -> None:
        self.spelled = spelled
        self.header = program.header
        top = unit.get_top_DIE()
        directory = top.attributes.get("DW_AT_comp_dir")
        self.home = os.fsdecode(directory.value) if directory is not None else ""
        self.names: dict[int, str] = {}

    def __getitem__(self, number: int) -> str:
        if number not in self.names:
            self.names[number] = self._name(number)
        return self.names[number]

    def _name(self, number: int) -> str:
        modern = self.header["version"] >= 5
        entries, directories = self.header["file_entry"], self.header["include_directory"]
        entry = entries[number if modern else number - 1]
        index = entry.dir_index
        directory = self.home
        if modern or index:
            directory = os.fsdecode(directories[index if modern else index - 1])
        path = os.path.normpath(os.path.join(self.home, directory, os.fsdecode(entry.name)))
        here = os.getcwd() + os.sep
        return self.spelled.get(path) or path.removeprefix(here)


def _static_address(die: Any, parser: DWARFExprParser) -> int | None:
    location = die.attributes["DW_AT_location"]
    if location.form != "DW_FORM_exprloc":
        return None
    operations = parser.parse_expr(location.value)
    if len(operations) != 1:
        return None
    if operations[0].op_name == "DW_OP_addr":
        return int(operations[0].args[0])
    if operations[0].op_name == "DW_OP_addrx":
        return int(die.dwarfinfo.get_addr(die.cu, operations[0].args[0]))
    return None


def _name(die: Any) -> str:
    name = die.attributes.get("DW_AT_name")
    return os.fsdecode(name.value) if name is not None else ""


def _type(die: Any) -> Any:
    """The type behind typedefs and qualifiers."""
    while die is not None and "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
        if die.tag not in _TRANSPARENT:
            return die
    return None


def _size(die: Any) -> int:
    if die is None:
        return 0
    if "DW_AT_byte_size" in die.attributes:
        return int(die.attributes["DW_AT_byte_size"].value)
    if die.tag == "DW_TAG_array_type":
        size = _size(_type(die))
        for count in _counts(die):
            size *= count
        return size
    return 8 if die.tag == "DW_TAG_pointer_type" else 0


def _counts(array: Any) -> Iterator[int]:
    for child in array.iter_children():
        if child.tag != "DW_TAG_subrange_type":
            continue
        if "DW_AT_count" in child.attributes:
            yield int(child.attributes["DW_AT_count"].value)
        elif "DW_AT_upper_bound" in child.attributes:
            yield int(child.attributes["DW_AT_upper_bound"].value) + 1
        else:
            yield 1


def _path(die: Any, offset: int, size: int) -> str:
    """Fields and indices down to the part of a type at an offset. The parts of standard types (``_M_…``, ``__…``) say
    nothing to a person and are left out."""
    if die is None or (size and offset == 0 and _size(die) == size and die.tag not in _RECORDS):
        return ""
    if die.tag in _RECORDS:
        for member in die.iter_children():
            placed = die.tag == "DW_TAG_union_type" or "DW_AT_data_member_location" in member.attributes
            if member.tag not in ("DW_TAG_member", "DW_TAG_inheritance") or not placed:
                continue
            at = member.attributes.get("DW_AT_data_member_location")
            start = int(at.value) if at is not None and isinstance(at.value, int) else 0
            kind = _type(member)
            if start <= offset < start + max(_size(kind), 1):
                name = _name(member)
                if not size and (name or "").startswith("_"):
                    return ""  # an object, such as a semaphore, which is a whole to those who use it
                shown = "" if not name or name.startswith("_") or member.tag == "DW_TAG_inheritance" else f".{name}"
                return shown + _path(kind, offset - start, size)
        return ""
    if die.tag == "DW_TAG_array_type":
        element = _type(die)
        width = _size(element)
        if width == 0:
            return ""
        counts = list(_counts(die))
        index, rest = divmod(offset, width)
        indices = []
        for count in reversed(counts[1:]):
            index, last = divmod(index, count)
            indices.append(last)
        indices.append(index)
        return "".join(f"[{i}]" for i in reversed(indices)) + _path(element, rest, size)
    return ""
