"""From a path to programs: which front end reads which file, and which files a directory holds."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from teetotal.answers.errors import ParseError
from teetotal.programs.program import Program

SUFFIXES = (".litmus", ".py", ".pml")


def read(path: str) -> list[Program]:
    """The programs of a file: one for a litmus test, any number for a Python module."""
    match Path(path).suffix:
        case ".litmus":
            from teetotal.programs import litmus

            return [litmus.read_file(path)]
        case ".py":
            from teetotal.programs import python

            return python.load(path)
        case suffix:
            raise ParseError(f"{path}: no front end reads {suffix or 'files without a suffix'}; {_known()}")


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
            inside = sorted(str(file) for file in Path(path).rglob("*.litmus"))
            if not inside:
                problems.append(ParseError(f"{path}: a directory without litmus tests"))
            files += inside
        else:
            files.append(path)
    return files, problems


def _known() -> str:
    return f"teetotal reads {', '.join(SUFFIXES)}"
