"""The files of a C program in which fences can stand: those that are given, and the user's own headers.

The compiler says what a file includes, without the system's headers, and what macros stand for at its end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from teetotal.answers.costs import Costs
from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.fences.c_copies import Copies
from teetotal.fences.c_macros import MEANS_TWO_THINGS, Macros, parse
from teetotal.fences.c_text import HEADERS, CFile, CText, Style
from teetotal.fences.edits import Patched
from teetotal.programs import text_files
from teetotal.programs.c.build import Source, preprocessed
from teetotal.programs.c.compilers import CXX_SUFFIXES
from teetotal.scale.supervision import scratch_folder

File = TypeVar("File", bound=CFile)
_SYSTEM = ("/usr", "/opt", "/lib", "/lib64", "/nix", "/snap", "/Library")


class OwnFiles(Generic[File]):
    """``files`` by their names as the user would write them; those that were given come first. ``others`` are included
    too, but nothing can be changed there. ``without``: places where no gap is one."""

    def __init__(self, source: Source, without: Collection[Location] = frozenset()) -> None:
        self.source = source
        self.languages: dict[str, set[bool]] = {name: {_is_cpp(name)} for name in source.files}  # read as C, as C++
        self.others: dict[str, None] = {}
        self.notes: list[str] = []
        for name in source.files:
            text_files.read(name)  # what cannot be read is told before the compiler is asked
        macros = self._ask_the_compiler()
        self.files: dict[str, File] = {}
        for name, languages in self.languages.items():
            try:
                text = text_files.read(name)
            except ParseError as problem:  # a header: the files themselves were read before
                self.others[name] = None
                self.notes.append(f"{problem}; so no fences there")
                continue
            lines = {place.line for place in without if place.file == name}
            self.files[name] = self.read(name, text, True in languages, macros, lines)

    def read(self, name: str, text: str, cpp: bool, macros: Macros, without: Collection[int]) -> File:
        raise NotImplementedError

    def unread(self) -> list[str]:
        """What nothing can be put into, or changed in, for want of the preprocessor: notes."""
        return [
            f"{name}: not understood without the preprocessor: {in_words(set(file.gaps.unread))}"
            for name, file in self.files.items()
            if file.gaps.unread
        ]

    def _ask_the_compiler(self) -> Macros:
        """For what is included; returns the macros that mean the same in all files."""
        bodies: dict[str, str] = {}
        given = {os.path.abspath(name): name for name in self.source.files}
        for name in self.source.files:
            found = preprocessed(self.source, name)
            for path in (given.get(os.path.abspath(path), _spelled(path)) for path in found.included):
                if self._is_own(path):
                    self.languages.setdefault(path, set()).add(_is_cpp(name))
                else:
                    self.others[path] = None
            for macro, body in parse(found.macros).items():
                bodies[macro] = body if bodies.get(macro, body) == body else MEANS_TWO_THINGS
        return Macros(bodies)

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

    def each_patched(
        self, asked: Style | None, patched: Callable[[File, Style, bool], Patched]
    ) -> tuple[dict[str, str], dict[int, int]]:
        """The patched texts, and where what was added or changed ended up. ``patched`` is told the file's style, and
        whether it has the header that this needs."""
        changed: dict[str, str] = {}
        lines: dict[int, int] = {}
        for name, file in self.files.items():
            style = self.style(name, asked)
            patch = patched(file, style, self.includes(name, HEADERS.get(style, "")))
            changed[name] = patch.text
            lines |= {number: line for number, line in patch.lines.items() if isinstance(number, int)}
        return changed, lines

    def mentions(self, word: str) -> bool:
        return any(word in file.text for file in self.files.values())

    def originals(self) -> dict[str, str]:
        return {name: file.text for name, file in self.files.items()}

    @contextmanager
    def copied(self, changed: Mapping[str, str], *, marked: bool, more_flags: tuple[str, ...] = ()) -> Iterator[Copies]:
        """``marked``: texts to be explored, with their marks, about which the compiler is not to complain."""
        with scratch_folder() as directory:
            marks = max(sum(len(file.points) for file in self.files.values()), 1) if marked else 0
            yield Copies(directory, self.source, changed, self.others, marks, more_flags)


class CFiles(OwnFiles[CText]):
    """With the sites of fences and stronger stores for TSO and PSO."""

    def __init__(
        self, source: Source, costs: Costs, strengthen: bool, without: Collection[Location] = frozenset()
    ) -> None:
        self.costs, self.strengthen = costs, strengthen
        super().__init__(source, without)
        self.sites = [site for file in self.files.values() for site in file.sites]
        self.points = [point for file in self.files.values() for point in file.points]
        self.existing = frozenset(site for file in self.files.values() for site in file.existing)

    def read(self, name: str, text: str, cpp: bool, macros: Macros, without: Collection[int]) -> CText:
        known = self.files.values()
        return CText(
            name,
            text,
            self.costs,
            cpp=cpp,
            macros=macros,
            strengthen=self.strengthen,
            without=without,
            first_site=sum(len(file.sites) for file in known),
            first_mark=sum(len(file.points) for file in known),
        )

    def weigh(self, passes: Sequence[Fraction]) -> None:
        """What each site costs if executions pass the marks so often, as far as that is known. Hundredths will do: what
        has simple costs is easier to minimise."""
        marks = [mark for file in self.files.values() for mark in file.marks]
        for number, (site, mark) in enumerate(zip(self.sites, marks, strict=True)):
            often = max(round(passes[mark], 2), Fraction(1)) if mark < len(passes) else Fraction(1)
            self.sites[number] = msgspec.structs.replace(site, cost=site.cost * often, passes=often)

    def explored(self, on: frozenset[int]) -> dict[str, str]:
        return {name: file.explored(on) for name, file in self.files.items()}

    def patched(
        self, added: frozenset[int], removed: frozenset[int], asked: Style | None
    ) -> tuple[dict[str, str], dict[int, int]]:
        return self.each_patched(asked, lambda file, style, includes: file.patched(added, removed, style, includes))


def _is_cpp(name: str) -> bool:
    return Path(name).suffix in CXX_SUFFIXES


def _spelled(path: str) -> str:
    """As the user would write it, and as it is told elsewhere (``programs.c.symbols``)."""
    whole = os.path.abspath(path)
    return whole.removeprefix(os.getcwd() + os.sep)


def _under(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip("/") + "/")


def in_words(numbers: Iterable[int]) -> str:
    """``lines 3, 7 to 9``, ``line 3``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    told = ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
    return f"line {told}" if told.isdigit() else f"lines {told}"
