"""Names for addresses: source lines of instructions, variables and their fields, from DWARF."""

from __future__ import annotations

import bisect
import os
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.elf.elffile import ELFFile

from teetotal.answers.events import Location
from teetotal.programs.c import types
from teetotal.programs.c.naming import Objects
from teetotal.programs.c.objects import FUNCTION, THREAD_LOCAL, VARIABLE, Object


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


_FUNCTION, _CHOSEN = 2, 10  # kinds of symbols in ELF: STT_FUNC, STT_GNU_IFUNC
_ATOMIC = re.compile(r"__tsan_atomic\d")
_OFFSETS = ("DW_OP_addr", "DW_OP_const8u", "DW_OP_const4u")
_THREAD_LOCAL = ("DW_OP_GNU_push_tls_address", "DW_OP_form_tls_address")
_LIBRARY_NAMES = re.compile(r"_Z(N[VKRO]*)?(St|9__gnu_cxx|10__cxxabiv)|_ZL\d+__gthr")
"""How the mangled names of functions in namespace std and of its helpers begin."""
_WAITS_WITH_LIMIT = re.compile(r"(wait|try_lock|try_lock_shared|try_acquire)_(for|until)|sleep_until")
_LIBRARY_FILES = ("/include/c++/", "/lib/gcc/", "/lib/clang/")


def library_functions(program: Path, of_system: Container[str] = ()) -> list[tuple[int, int, bool]]:
    """Where the functions of the C++ library lie that were compiled into the program, and those of the system's headers,
    in order, and which of the library's wait with a limit."""
    return sorted(
        (symbol.value, symbol.value + symbol.size, bool(ours and _WAITS_WITH_LIMIT.search(symbol.name)))
        for symbol in Object(program.read_bytes()).symbols
        if symbol.kind == FUNCTION
        and symbol.size
        and ((ours := _LIBRARY_NAMES.match(symbol.name)) or symbol.name in of_system)
    )


class Symbols:
    """Of one object file; addresses are those of the file (0 is where it is loaded)."""

    def __init__(self, path: Path, files: Sequence[str] = ()) -> None:
        """``files`` are shown as they are spelled there."""
        self._spelled = {os.path.abspath(file): file for file in files}
        self._stream = path.open("rb")
        elf = ELFFile(self._stream)
        self._dwarf: Any = None
        # What is linked has no relocations, and to look for them takes longer than the rest.
        if elf.has_dwarf_info():
            self._dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
        self._file = Object(path.read_bytes())
        self.objects = Objects(self._dwarf)

    def close(self) -> None:
        self._stream.close()

    def uses(self, name: str) -> bool:
        """Whether the program calls for this symbol of a library."""
        return any(symbol.name == name for symbol in self._file.dynamic_symbols)

    @property
    def uses_atomics(self) -> bool:
        """Whether some access of the program is atomic to C11: the compiler's hooks tell."""
        return any(_ATOMIC.match(symbol.name) for symbol in self._file.dynamic_symbols)

    @property
    def resolvers(self) -> list[str]:
        """The functions that choose others (``ifunc``) while the program is loaded, with lines and whom they choose."""
        functions = {one.value: one.name for one in self._file.symbols if one.kind == _FUNCTION}
        chosen: dict[int, list[str]] = {}
        for symbol in self._file.symbols:
            if symbol.kind == _CHOSEN:
                chosen.setdefault(symbol.value, []).append(symbol.name)
        return [
            f"{functions.get(value, 'what')} at {self._row(value + 1)}, which chooses {', '.join(names)} (ifunc),"
            for value, names in chosen.items()
        ]

    # -- lines ----------------------------------------------------------------------------------------------------------

    def line(self, place: int) -> Location | None:
        """Where a call returns to ``place``: the line of the instruction before it."""
        found = self._row(place)
        return self._of_program(place - 1, found) if found is not None and _of_library(found) else found

    def header_line(self, place: int) -> Location | None:
        """The line of a header that a call returns to, but not of the C++ library's, which say nothing to a person."""
        found = self._row(place)
        return None if found is None or _of_library(found) else Location(os.path.basename(found.file), found.line)

    def _row(self, place: int) -> Location | None:
        starts, rows = self._lines
        position = bisect.bisect_right(starts, place - 1) - 1
        return rows[position] if position >= 0 else None

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
                found.extend(Inlined(begin, end, place) for begin, end in types.ranges(self._dwarf, die))
        return found

    def _units(self) -> Iterator[tuple[Any, Any, _FileNames]]:
        """Those that have lines, with their lines and the names of their files."""
        for unit in self._dwarf.iter_CUs() if self._dwarf else ():
            program = self._dwarf.line_program_for_CU(unit)
            if program is not None:
                yield unit, program, _FileNames(unit, program, self._spelled)

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
        return {symbol.value: symbol.name for symbol in self._file.symbols if symbol.kind == FUNCTION}

    # -- variables --------------------------------------------------------------------------------------------------------

    def variable(self, address: int, size: int | None = 0) -> str | None:
        """``flag[1]``, ``queue.head``, …: what of a variable lies at an address."""
        return self._variables.at(address, size)

    def thread_local(self, offset: int, size: int | None = 0) -> str | None:
        """The same of what each thread has its own of, by the offset in that."""
        return self._thread_locals.at(offset, size)

    def extent(self, name: str) -> tuple[int, int]:
        """The address and the size of a variable that is visible to all files; of size 0 where the linker left it out."""
        return next(((one.value, one.size) for one in self._file.symbols if one.name == name), (0, 0))

    @cached_property
    def _variables(self) -> _Variables:
        return self._table_of(VARIABLE, _static_address)

    @cached_property
    def _thread_locals(self) -> _Variables:
        return self._table_of(THREAD_LOCAL, _thread_local_offset)

    def _table_of(self, kind: int, place: Callable[[Any, DWARFExprParser], int | None]) -> _Variables:
        found: dict[int, Variable] = {}
        for symbol in self._file.symbols:  # where DWARF has nothing
            if symbol.kind == kind and symbol.size:
                found[symbol.value] = Variable(symbol.value, symbol.size, symbol.name, None)
        for unit in self._dwarf.iter_CUs() if self._dwarf else ():
            parser = DWARFExprParser(unit.structs)
            for die in unit.iter_DIEs():
                if die.tag != "DW_TAG_variable" or "DW_AT_location" not in die.attributes:
                    continue
                address = place(die, parser)
                if address is not None:
                    declared = types.declared(die)
                    type_ = types.type_of(declared) or types.type_of(die)
                    name = types.name_of(declared) or types.name_of(die) or "?"
                    found[address] = Variable(address, types.size_of(type_), name, type_)
        return _Variables([found[address] for address in sorted(found)])


class _Variables:
    """In the order of their addresses."""

    def __init__(self, variables: list[Variable]) -> None:
        self._variables = variables
        self._starts = [variable.address for variable in variables]

    def at(self, address: int, size: int | None) -> str | None:
        position = bisect.bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        found = self._variables[position]
        if address >= found.address + max(found.size, 1):
            return None
        if found.type is None:
            offset = address - found.address
            return found.name if offset == 0 else f"{found.name}+{offset}"
        return found.name + types.path_to(found.type, address - found.address, size)


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


def _operations(die: Any, parser: DWARFExprParser) -> list[Any]:
    location = die.attributes["DW_AT_location"]
    return list(parser.parse_expr(location.value)) if location.form == "DW_FORM_exprloc" else []


def _static_address(die: Any, parser: DWARFExprParser) -> int | None:
    operations = _operations(die, parser)
    if len(operations) != 1:
        return None
    if operations[0].op_name == "DW_OP_addr":
        return int(operations[0].args[0])
    if operations[0].op_name == "DW_OP_addrx":
        return int(die.dwarfinfo.get_addr(die.cu, operations[0].args[0]))
    return None


def _thread_local_offset(die: Any, parser: DWARFExprParser) -> int | None:
    operations = _operations(die, parser)
    names = [operation.op_name for operation in operations]
    known = len(names) == 2 and names[0] in _OFFSETS and names[1] in _THREAD_LOCAL
    return int(operations[0].args[0]) if known else None
