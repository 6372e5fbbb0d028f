"""Litmus tests in herd's formats: ``X86``, ``X86_64`` and ``C``."""

from __future__ import annotations

from pathlib import Path

from teetotal.errors import ParseError, ProgramError
from teetotal.events import Location
from teetotal.programs.litmus import c, init, layout, x86
from teetotal.programs.program import Program

ARCHITECTURES = ("X86", "X86_64", "C")


def read(text: str, file: str) -> Program:
    """The program of a litmus test; ParseError for anything else, with the place and what is wrong there."""
    parts = layout.split(text, file)
    if parts.architecture not in ARCHITECTURES:
        raise ParseError(
            f"the architecture {parts.architecture} is not supported, only {', '.join(ARCHITECTURES)}",
            Location(file, 1),
        )
    try:
        initial = init.parse(parts.init, file)
        return (c.read if parts.architecture == "C" else x86.read)(parts, initial, file)
    except ProgramError as problem:
        raise ParseError(problem.message, problem.location or Location(file, 1)) from problem


def read_file(path: str | Path) -> Program:
    """As ``read``, from a file; a file that cannot be opened, or is not text, is a ParseError too."""
    file = str(path)
    try:
        return read(Path(path).read_bytes().decode(), file)
    except UnicodeDecodeError:
        raise ParseError("not a text file", Location(file, 1)) from None
    except OSError as problem:
        raise ParseError(f"cannot read {file}: {problem.strerror}") from problem
