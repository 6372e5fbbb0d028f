"""Litmus tests in herd's formats, read (``X86``, ``X86_64``, ``C``) and written (``X86_64``, ``C``)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from teetotal.answers.errors import ParseError, ProgramError
from teetotal.answers.events import Location
from teetotal.programs import text_files
from teetotal.programs.litmus import c, init, layout, x86
from teetotal.programs.litmus.writer import Dialect, InexpressibleError, write
from teetotal.programs.observation import filtered, observation
from teetotal.programs.program import Program

__all__ = [
    "ARCHITECTURES", "Dialect", "InexpressibleError", "filtered", "observation", "read", "read_file", "write",
]  # fmt: skip

ARCHITECTURES = ("X86", "X86_64", "C")


def read(text: str, file: str) -> Program:
    """The program of a litmus test; ParseError for anything else, with the place and what is wrong there."""
    parts = layout.split(text, file)
    if parts.architecture not in ARCHITECTURES:
        raise ParseError(
            f"the architecture {parts.architecture[:40]} is not supported, only {', '.join(ARCHITECTURES)}",
            Location(file, 1),
        )
    try:
        initial = init.parse(parts.init, file)
        program = (c.read if parts.architecture == "C" else x86.read)(parts, initial, file)
        bound = parts.info.get("LoopBound", "")  # ours: see ``writer``
        if bound.isascii() and bound.isdigit() and len(bound) < 10:
            program = msgspec.structs.replace(program, loop_bound=int(bound))
        return program
    except ProgramError as problem:
        raise ParseError(problem.message, problem.location or Location(file, 1)) from problem


def read_file(path: str | Path) -> Program:
    """As ``read``, from a file; a file that cannot be opened, or is not text, is a ParseError too."""
    return read(text_files.read(path), str(path))
