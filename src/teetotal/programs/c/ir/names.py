"""What a program calls what it does: files and lines of instructions, by the debugging information in their module."""

from __future__ import annotations

import os
import re

from teetotal.programs.c.ir.reading import Function, Instruction, Module
from teetotal.programs.c.ir.writing import Unseen


def _field(text: str, name: str) -> str:
    found = re.search(rf"\b{name}: (\"[^\"]*\"|[^,)]+)", text)
    return found.group(1).strip('"') if found is not None else ""


def file_of(module: Module, scope: str) -> str:
    """Of a scope, or of what lies around it."""
    for _ in range(64):
        text = module.metadata.get(scope, "")
        file = module.metadata.get(_field(text, "file"), "")
        if file:
            return os.path.join(_field(file, "directory"), _field(file, "filename"))
        scope = _field(text, "scope")
        if not scope:
            break
    return ""


def place(module: Module, instruction: Instruction) -> tuple[str, int]:
    """File and line; empty where they are not known."""
    text = module.metadata.get(instruction.location, "")
    line = _field(text, "line")
    return file_of(module, _field(text, "scope")), int(line) if line.isdigit() else 0


def function_name(module: Module, function: Function) -> str:
    """As the source has it, where that is known."""
    return _field(module.metadata.get(function.subprogram, ""), "name") or function.name


def of_unseen(module: Module, one: Unseen, file: str) -> str:
    """As a person reads it."""
    name = function_name(module, one.function)
    if one.instruction is None:
        return f"code in {name}(): {one.what}"
    where, line = place(module, one.instruction)
    spelled = file if os.path.abspath(where) == os.path.abspath(file) else where.removeprefix(os.getcwd() + os.sep)
    at = f" at {spelled}:{line}" if where else ""
    return f"code{at} in {name}(): {one.what}"
