"""Object files: sections, symbols and relocations, as much as the audit of machine code needs, and fast.

pyelftools reads a symbol in twenty microseconds; here there are tens of thousands, one for each line of assembly.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import NamedTuple

from teetotal.answers.errors import TeetotalError

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_SYMBOLS, _RELOCATIONS, _NO_BITS, _DYNAMIC_SYMBOLS = 2, 4, 8, 11
_LOADED, _STACK = 1, 0x6474E551
_WRITABLE, _EXECUTABLE = 1, 4
VARIABLE, FUNCTION, THREAD_LOCAL = 1, 2, 6
"""Kinds of symbols."""
_PAGE = 4096


class Section(NamedTuple):
    name: str
    writable: bool
    executable: bool
    offset: int
    size: int
    kind: int
    link: int
    about: int
    address: int


class Segment(NamedTuple):
    """What is mapped, as a part of the file."""

    executable: bool
    offset: int
    size: int


class Symbol(NamedTuple):
    name: str
    section: int
    value: int
    size: int
    kind: int


class Relocation(NamedTuple):
    place: int
    kind: int
    symbol: Symbol
    addend: int


class NotElf(TeetotalError):
    """Also what a linker leaves on a full disk, which may call that a success."""

    def __init__(self) -> None:
        super().__init__("an object file for this machine is not whole, or none: is the disk full?")


class Object:
    """A relocatable or linked file for this machine."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64 or data[18:20] != b"\x3e\x00":
            raise NotElf
        self.data = data
        start, size, count, names = (
            struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HHH", data, 58),
        )  # fmt: skip
        try:
            if count == 0 and start:  # more than there are numbers for
                count = _SECTION.unpack_from(data, start)[5]
            raw = [_SECTION.unpack_from(data, start + size * number) for number in range(count)]
        except struct.error:
            raise NotElf from None
        if names == 0xFFFF:
            names = raw[0][6]
        text = raw[names][4] if raw else 0
        self.sections = [
            Section(
                _word(data, text + name), bool(flags & _WRITABLE), bool(flags & _EXECUTABLE), offset, length, kind, link,
                about, address,
            )
            for name, kind, flags, address, offset, length, link, about, _, _ in raw
        ]  # fmt: skip

    def code(self, section: Section) -> bytes:
        return b"" if section.kind == _NO_BITS else self.data[section.offset : section.offset + section.size]

    @property
    def segments(self) -> list[Segment]:
        return self._segments_of(_LOADED)

    def _segments_of(self, wanted: int) -> list[Segment]:
        start, size, count = struct.unpack_from("<Q", self.data, 32)[0], *struct.unpack_from("<HH", self.data, 54)
        raw = (_SEGMENT.unpack_from(self.data, start + size * number) for number in range(count))
        return [Segment(bool(flags & 1), at, length) for kind, flags, at, _, _, length, _, _ in raw if kind == wanted]

    @property
    def executable_stack(self) -> bool:
        """Whether a linked file asks for stacks that can be executed."""
        return any(one.executable for one in self._segments_of(_STACK))

    @cached_property
    def symbols(self) -> list[Symbol]:
        return self._symbols_of(_SYMBOLS)

    @cached_property
    def dynamic_symbols(self) -> list[Symbol]:
        """Those that other files are to find, and those that it wants of them (of section 0)."""
        return self._symbols_of(_DYNAMIC_SYMBOLS)

    def _symbols_of(self, kind: int) -> list[Symbol]:
        for section in self.sections:
            if section.kind == kind:
                text = self.sections[section.link].offset
                return [
                    Symbol(_word(self.data, text + name), where, value, size, info & 15)
                    for name, info, _, where, value, size in _SYMBOL.iter_unpack(self.code(section))
                ]
        return []

    @cached_property
    def by_gcc(self) -> bool:
        """Whether gcc, and nobody else, says that it made the code."""
        said = [word for one in self.sections if one.name == ".comment" for word in self.code(one).split(b"\0") if word]
        return bool(said) and all(word.startswith(b"GCC: ") for word in said)

    def executable_data(self) -> list[str]:
        """Sections of a linked file that are no code, and lie in pages that can be executed."""
        pages = [
            (one.offset & -_PAGE, (one.offset + one.size + _PAGE - 1) & -_PAGE)
            for one in self.segments
            if one.executable
        ]
        return [
            one.name
            for one in self.sections
            if one.address and not one.executable and one.kind != _NO_BITS
            if any(one.offset < end and begin < one.offset + one.size for begin, end in pages)
        ]

    def relocations(self, number: int) -> list[Relocation]:
        """Of a section, in the order of their places."""
        found = [
            Relocation(place, info & 0xFFFFFFFF, self.symbols[info >> 32], addend)
            for section in self._relocated.get(number, ())
            for place, info, addend in _RELOCATION.iter_unpack(self.code(section))
        ]
        found.sort(key=lambda one: one.place)
        return found

    @cached_property
    def _relocated(self) -> dict[int, list[Section]]:
        found: dict[int, list[Section]] = {}
        for section in self.sections:
            if section.kind == _RELOCATIONS:
                found.setdefault(section.about, []).append(section)
        return found


def _word(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode(errors="surrogateescape")
