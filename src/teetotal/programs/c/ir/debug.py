"""What the debugging information of a module says: files and lines of instructions, names of functions."""

from __future__ import annotations

import os
import re

from teetotal.programs.c.assembly import SYSTEM
from teetotal.programs.c.ir.reading import Function, Instruction, Module


def field(text: str, name: str) -> str:
    """One of a record's."""
    found = re.search(rf"\b{name}: (\"[^\"]*\"|[^,)]+)", text)
    return found.group(1).strip('"') if found is not None else ""


def file_of(module: Module, scope: str) -> str:
    """Of a scope, or of what lies around it."""
    for _ in range(64):
        text = module.metadata.get(scope, "")
        file = module.metadata.get(field(text, "file"), "")
        if file:
            return os.path.join(field(file, "directory"), field(file, "filename"))
        scope = field(text, "scope")
        if not scope:
            break
    return ""


def place(module: Module, instruction: Instruction) -> tuple[str, int]:
    """File and line; empty where they are not known."""
    text = module.metadata.get(instruction.location, "")
    line = field(text, "line")
    return file_of(module, field(text, "scope")), int(line) if line.isdigit() else 0


def function_name(module: Module, function: Function) -> str:
    """As the source has it, where that is known."""
    return field(module.metadata.get(function.subprogram, ""), "name") or function.name


def is_of_system(module: Module, function: Function) -> bool:
    """Whether it comes from one of the system's headers: those that compilers bring along have no debugging information."""
    return not function.subprogram or file_of(module, function.subprogram).startswith(SYSTEM)
