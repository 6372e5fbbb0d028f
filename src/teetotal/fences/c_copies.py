"""Copies of a C program's files, to be compiled in their place.

They lie in a tree that mirrors the root of the file system, so that ``#include "…"`` finds copies beside copies; files that
stay as they are, are linked there. Each ``-I`` looks into the mirror first. What is told of a copy is told of the file that
it was made of.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from teetotal.answers.errors import TeetotalError
from teetotal.fences.c_text import MARKS
from teetotal.programs.c.build import Source

_DIRECTORY_FLAGS = ("-I", "-iquote")
_FILE_FLAGS = ("-include", "-imacros")
Answer = TypeVar("Answer")


class Copies:
    """``source``: the program of the copies. With ``marks``, so many of them are declared, and the compiler is not to
    complain."""

    def __init__(
        self,
        directory: str,
        source: Source,
        changed: Mapping[str, str],
        others: Iterable[str],
        marks: int,
        more_flags: tuple[str, ...],
    ) -> None:
        self.directory = os.path.realpath(directory)
        self.seen_from_here = self.directory.removeprefix(os.getcwd() + os.sep)  # as symbols may tell it
        names = sorted((*changed, *others), key=len, reverse=True)  # a.cpp before a.c, which it contains
        self.names = {self._copy(name): name for name in names}
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

    def of_the_files(self, what: Answer) -> Answer:
        """The same of the files themselves: every string that names a copy. There is nothing to replay: the schedule is
        that of the copies."""
        return msgspec.convert(self._each_string(msgspec.to_builtins(what)), type(what))

    def renamed(self, words: str) -> str:
        for directory in (self.directory, self.seen_from_here):
            for copy, name in self.names.items():
                words = words.replace(directory + copy.removeprefix(self.directory), name)
            words = words.replace(directory, "")
        return words

    def _each_string(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.renamed(value) if self.seen_from_here in value else value
        if isinstance(value, dict):
            return {key: self._each_string(inner) for key, inner in value.items() if key != "replay"}
        if isinstance(value, list | tuple):
            return [self._each_string(inner) for inner in value]
        return value
