"""The files of a C program in which fences can stand: those that are given, and the user's own headers; and copies of them.

The compiler says what a file includes, without the system's headers. All of that is copied (or linked, if it stays as it
is) into a tree that mirrors the root of the file system, so that ``#include "…"`` finds copies beside copies; each ``-I``
looks into the mirror first. What is told of a copy is told of the file that it was made of.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from teetotal.errors import ParseError, TeetotalError
from teetotal.events import Location
from teetotal.fences import text as texts
from teetotal.fences.c_macros import MEANS_TWO_THINGS, Macros, parse
from teetotal.fences.c_text import HEADERS, MARKS, CText, Style
from teetotal.fences.costs import Costs
from teetotal.programs.c.build import CXX_SUFFIXES, Source, preprocessed

_SYSTEM = ("/usr", "/opt", "/lib", "/lib64", "/nix", "/snap", "/Library")
_DIRECTORY_FLAGS = ("-I", "-iquote")
_FILE_FLAGS = ("-include", "-imacros")
Told = TypeVar("Told")


class CFiles:
    """``files`` by their names as the user would write them; those that were given come first. ``others`` are included
    too, but nothing can be changed there. ``without``: places where no gap is one."""

    def __init__(
        self, source: Source, costs: Costs, strengthen: bool, without: Collection[Location] = frozenset()
    ) -> None:
        self.source = source
        languages: dict[str, set[bool]] = {}  # whether a file is read as C, as C++
        others: dict[str, None] = {}
        bodies: dict[str, str] = {}
        unlike: set[str] = set()
        for name in source.files:
            texts.read(name)  # what cannot be read is told before the compiler is asked
        for name in source.files:
            cpp = Path(name).suffix in CXX_SUFFIXES
            found = preprocessed(source, name)
            languages.setdefault(name, set()).add(cpp)
            for path in map(_spelled, found.included):
                if self._is_own(path):
                    languages.setdefault(path, set()).add(cpp)
                else:
                    others[path] = None
            macros = parse(found.macros)
            unlike |= {macro for macro, body in macros.items() if bodies.get(macro, body) != body}
            bodies |= macros
        self.macros = Macros({name: body if name not in unlike else MEANS_TWO_THINGS for name, body in bodies.items()})
        self.languages = languages
        self.files: dict[str, CText] = {}
        sites = marks = 0
        self.unreadable: list[str] = []
        for name in (*source.files, *(name for name in languages if name not in source.files)):
            try:
                text = texts.read(name)
            except ParseError:  # a header that is no UTF-8; the files themselves were read before
                self.unreadable.append(name)
                continue
            file = CText(
                name,
                text,
                costs,
                cpp=True in languages[name],
                macros=self.macros,
                strengthen=strengthen,
                without={place.line for place in without if place.file == name},
                first_site=sites,
                first_mark=marks,
            )
            self.files[name] = file
            sites, marks = sites + len(file.sites), marks + len(file.points)
        self.others = [*others, *self.unreadable]
        self.sites = [site for file in self.files.values() for site in file.sites]
        self.points = [point for file in self.files.values() for point in file.points]
        self.existing = frozenset(site for file in self.files.values() for site in file.existing)

    def _is_own(self, name: str) -> bool:
        """A header of the user's: none of the system's, unless the program itself lies there."""
        path = os.path.abspath(name)
        homes = [os.path.dirname(os.path.abspath(file)) for file in self.source.files]
        return not any(_under(path, root) for root in _SYSTEM) or any(_under(path, home) for home in homes)

    def style(self, name: str, asked: Style | None) -> Style:
        if asked is not None:
            return asked
        return "builtin" if len(self.languages[name]) > 1 else "cpp11" if True in self.languages[name] else "c11"

    def includes(self, name: str, header: str) -> bool:
        """Whether a file has a system header, by itself or from one of the user's."""
        seen: set[str] = set()
        todo = [name]
        while todo:
            name = todo.pop()
            seen.add(name)
            for system, included in self.files[name].included():
                if system and included == header:
                    return True
                beside = os.path.join(os.path.dirname(name), included)
                todo += [
                    other
                    for other in self.files
                    if other not in seen
                    and (os.path.abspath(other) == os.path.abspath(beside) or f"/{other}".endswith(f"/{included}"))
                ]
        return False

    def mentions(self, word: str) -> bool:
        return any(word in file.text for file in self.files.values())

    def originals(self) -> dict[str, str]:
        return {name: file.text for name, file in self.files.items()}

    def explored(self, on: frozenset[int]) -> dict[str, str]:
        return {name: file.explored(on) for name, file in self.files.items()}

    def patched(
        self, added: frozenset[int], removed: frozenset[int], asked: Style | None
    ) -> tuple[dict[str, str], dict[int, int]]:
        """The texts, and where what was added ended up."""
        changed: dict[str, str] = {}
        lines: dict[int, int] = {}
        for name, file in self.files.items():
            style = self.style(name, asked)
            patch = file.patched(added, removed, style, self.includes(name, HEADERS.get(style, "")))
            changed[name] = patch.text
            lines |= {site: line for site, line in patch.lines.items() if isinstance(site, int)}
        return changed, lines

    # -- copies ------------------------------------------------------------------------------------------------------------

    @contextmanager
    def copied(self, changed: Mapping[str, str], *, marked: bool, more_flags: tuple[str, ...] = ()) -> Iterator[Copies]:
        """``marked``: texts to be explored, with their marks, about which the compiler is not to complain."""
        with tempfile.TemporaryDirectory(prefix="teetotal-fence-") as directory:
            marks = max(len(self.points), 1) if marked else 0
            yield Copies(directory, self.source, changed, self.others, marks, more_flags)


class Copies:
    """``source``: the program of the copies."""

    def __init__(
        self,
        directory: str,
        source: Source,
        changed: Mapping[str, str],
        others: Sequence[str],
        marks: int,
        more_flags: tuple[str, ...],
    ) -> None:
        self.directory = os.path.realpath(directory)
        self.seen_from_here = self.directory.removeprefix(os.getcwd() + os.sep)  # as symbols may tell it
        self.names = {self._copy(name): name for name in (*changed, *others)}
        head = f"{self.directory}/marks.h"
        try:
            for copy, name in self.names.items():
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                if name in changed:
                    Path(copy).write_bytes(changed[name].encode())
                else:
                    os.symlink(os.path.abspath(name), copy)
            Path(head).write_text(f"__attribute__((weak)) volatile char {MARKS}[{marks}];\n")
        except OSError as problem:
            raise TeetotalError(f"cannot write copies to {self.directory}: {problem.strerror}") from problem
        self.source = msgspec.structs.replace(
            source,
            files=tuple(map(self._copy, source.files)),
            flags=(*(("-include", head, "-w") if marks else ()), *more_flags, *self._flags(source.flags)),
        )

    def _copy(self, path: str) -> str:
        return self.directory + os.path.abspath(path)

    def _flags(self, flags: tuple[str, ...]) -> Iterator[str]:
        before = ""
        for flag in flags:
            joined = next((name for name in _DIRECTORY_FLAGS if flag.startswith(name) and flag != name), None)
            if before in _DIRECTORY_FLAGS:
                yield self._copy(flag)
                yield before
            elif joined is not None:
                yield from (joined, self._copy(flag.removeprefix(joined)))
            elif before in _FILE_FLAGS and self._copy(flag) in self.names:
                flag = self._copy(flag)
            yield flag
            before = flag

    def told(self, what: Told) -> Told:
        """The same of the files themselves: every string that names a copy. There is nothing to replay: the schedule is
        that of the copies."""
        return msgspec.convert(self._renamed(msgspec.to_builtins(what)), type(what))

    def text(self, words: str) -> str:
        for directory in (self.directory, self.seen_from_here):
            for copy, name in self.names.items():
                words = words.replace(directory + copy.removeprefix(self.directory), name)
            words = words.replace(directory, "")
        return words

    def _renamed(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value) if self.seen_from_here in value else value
        if isinstance(value, dict):
            return {key: self._renamed(inner) for key, inner in value.items() if key != "replay"}
        if isinstance(value, list | tuple):
            return [self._renamed(inner) for inner in value]
        return value


def _spelled(path: str) -> str:
    """As the user would write it, and as it is told elsewhere (``programs.c.symbols``)."""
    whole = os.path.abspath(path)
    return whole.removeprefix(os.getcwd() + os.sep)


def _under(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip("/") + "/")
