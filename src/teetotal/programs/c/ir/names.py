"""What a person is told of things in a module."""

from __future__ import annotations

import os

from teetotal.programs.c.ir.debug import function_name, place
from teetotal.programs.c.ir.reading import Module
from teetotal.programs.c.ir.writing import Unseen


def of_unseen(module: Module, one: Unseen, file: str) -> str:
    """As a person reads it."""
    name = function_name(module, one.function)
    if one.instruction is None:
        return f"code in {name}(): {one.what}"
    where, line = place(module, one.instruction)
    spelled = file if os.path.abspath(where) == os.path.abspath(file) else where.removeprefix(os.getcwd() + os.sep)
    at = f" at {spelled}:{line}" if where else ""
    return f"code{at} in {name}(): {one.what}"
