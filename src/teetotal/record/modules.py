"""The files that a process is made of, by its /proc/PID/maps: names of variables and lines of instructions."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from elftools.common.exceptions import ELFError

from teetotal.engines.runtime.events import Names
from teetotal.programs.c.objects import NotElf
from teetotal.programs.c.symbols import Symbols

_STACK = "[stack]"


class Mapped(NamedTuple):
    begin: int
    end: int
    file: str


class Modules:
    """``program`` is called by its path where nothing else is known; ``files`` are its sources, as the user spells them."""

    def __init__(self, program: Path, files: Sequence[str] = ()) -> None:
        self._program, self._files = str(program.resolve()), files
        self._symbols: dict[str, Symbols | None] = {}
        self._names: dict[tuple[str, int], Names | None] = {}
        self._bases: dict[str, int] = {}
        self._mapped: list[Mapped] = []
        self._begins: list[int] = []
        self._told = ""

    def close(self) -> None:
        for symbols in self._symbols.values():
            if symbols is not None:
                symbols.close()

    def know(self, maps: str) -> None:
        """What is mapped where."""
        if maps == self._told:
            return
        self._told = maps
        found: dict[int, Mapped] = {}
        last = Mapped(0, 0, "")
        for line in maps.splitlines():
            words = line.split(maxsplit=5)
            begin, end = (int(word, 16) for word in words[0].split("-"))
            name = words[5] if len(words) == 6 else last.file if last.end == begin else ""  # a file's zero-filled data
            last = found[begin] = Mapped(begin, end, name)
            if int(words[2], 16) == 0 and len(words) == 6:
                self._bases[name] = min(begin, self._bases.get(name, begin))
        self._mapped = [found[begin] for begin in sorted(found)]
        self._begins = sorted(found)

    def _file(self, address: int) -> str:
        position = bisect.bisect_right(self._begins, address) - 1
        return self._mapped[position].file if position >= 0 and address < self._mapped[position].end else ""

    def is_main_stack(self, address: int) -> bool:
        return self._file(address) == _STACK

    @property
    def program(self) -> Names:
        names = self._names_in(self._program)
        assert names is not None, "it is an ELF file: it was looked at"
        return names

    def names(self, address: int) -> Names | None:
        """Of the module that an address belongs to."""
        file = self._file(address)
        return self._names_in(file) if file.startswith("/") else None

    def _names_in(self, file: str) -> Names | None:
        key = (file, self._bases.get(file, 0))
        if key not in self._names:
            if file not in self._symbols:
                self._symbols[file] = _opened(file, self._files if file == self._program else ())
            symbols = self._symbols[file]
            base = _base(file, key[1])
            self._names[key] = None if symbols is None else Names(symbols, base)
        return self._names[key]


def _opened(file: str, files: Sequence[str]) -> Symbols | None:
    try:
        return Symbols(Path(file), files)
    except (OSError, ELFError, NotElf):
        return None


def _base(file: str, mapped: int) -> int:
    """Where address 0 of the file lies: an executable that is not position-independent says itself where it lies."""
    from elftools.elf.elffile import ELFFile

    try:
        with open(file, "rb") as stream:
            return mapped if ELFFile(stream)["e_type"] == "ET_DYN" else 0
    except (OSError, ELFError):
        return mapped
