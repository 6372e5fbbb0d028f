"""From paths to programs: which front end reads which file, and which files a directory holds."""

from __future__ import annotations

import linecache
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.options import ProgramOptions
from teetotal.programs.c.build import Source
from teetotal.programs.c.compilers import SUFFIXES as C_SUFFIXES
from teetotal.programs.program import Program

if TYPE_CHECKING:
    from teetotal.programs.promela.program import PromelaProgram

    Subject = Program | Source | PromelaProgram
    """Whatever can be checked: interpreted, compiled, or proved with buffers of any length."""

Named = TypeVar("Named", bound="Subject")
SUFFIXES = (".litmus", ".py", ".pml")


def read(paths: str | Sequence[str], options: ProgramOptions = ProgramOptions()) -> list[Subject]:
    """The programs of a file: one for a litmus test or in Promela, any number for a Python module. Several C files are one
    program."""
    paths = (paths,) if isinstance(paths, str) else tuple(paths)
    if not paths:
        raise TeetotalError("no file is named")
    linecache.checkcache()  # who quotes lines takes them from there: not those of a file that was changed since
    if all(is_c(path) for path in paths):
        return [Source(paths, options.flags, options.compiler, options.arguments, options.trust)]
    if len(paths) > 1:
        raise TeetotalError("only C files make one program together")
    (path,) = paths
    match Path(path).suffix:
        case ".litmus":
            from teetotal.programs import litmus

            return [litmus.read_file(path)]
        case ".py":
            from teetotal.programs import python

            programs = python.load(path, trust=options.trust)
            return [*programs] if options.program is None else [chosen(programs, path, options.program)]
        case ".pml":
            from teetotal.programs import promela

            return [promela.load(path)]
        case suffix:
            known = ", ".join((*C_SUFFIXES, *SUFFIXES))
            raise ParseError(f"{path}: no front end reads {suffix or 'files without a suffix'}; teetotal reads {known}")


def chosen(programs: Sequence[Named], path: str, name: str | None) -> Named:
    """The one of that name, or the only one."""
    if name is None and len(programs) == 1:
        return programs[0]
    for program in programs:
        if program.name == name:
            return program
    known = ", ".join(program.name for program in programs)
    raise TeetotalError(f"{path}: {f'no program {name}' if name else 'several programs'}; --program takes {known}")


def is_c(path: str) -> bool:
    return Path(path).suffix in C_SUFFIXES


def together(paths: Sequence[str], each: bool = False) -> list[tuple[str, ...]]:
    """The files of each program: all C files are one, unless ``each`` is to be one of its own."""
    others = [(path,) for path in paths if not is_c(path)]
    in_c = tuple(path for path in paths if is_c(path))
    return others + ([(path,) for path in in_c] if each else [in_c] if in_c else [])


def _tests(folder: str) -> tuple[list[str], list[ParseError]]:
    """The litmus tests in a directory and below, and what cannot be looked into; what is gone meanwhile is none of them."""
    errors: list[OSError] = []
    found = [
        os.path.normpath(os.path.join(where, name))
        for where, _, names in os.walk(folder, onerror=errors.append)
        for name in names
        if name.endswith(".litmus")
    ]
    unread = [error for error in errors if not isinstance(error, FileNotFoundError | ProcessLookupError)]
    told = [ParseError(f"{error.filename}: cannot be looked into: {error.strerror}") for error in unread]
    return sorted(found), told


def find(paths: Iterable[str]) -> tuple[list[str], list[ParseError]]:
    """Every file that is named or lies in a directory that is named, and what is wrong with the others.

    In a directory only litmus tests are looked for: running every Python file that happens to lie there would be rude.
    """
    files: list[str] = []
    problems: list[ParseError] = []
    for path in paths:
        try:
            found = os.stat(path)
        except (OSError, ValueError) as error:
            missing = isinstance(error, FileNotFoundError)
            why = "no such file" if missing else getattr(error, "strerror", None) or str(error)
            problems.append(ParseError(f"{path}: {why}"))
            continue
        if stat.S_ISDIR(found.st_mode):
            inside, unread = _tests(path)
            problems += unread
            if not inside and not unread:
                problems.append(ParseError(f"{path}: a directory without litmus tests"))
            files += inside
        else:
            files.append(path)
    return files, problems
