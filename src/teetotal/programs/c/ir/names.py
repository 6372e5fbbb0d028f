"""What a person is told of things in a module."""

from __future__ import annotations

import os

from teetotal.programs.c.ir.debug import function_name, is_of_system, place
from teetotal.programs.c.ir.reading import Function, Instruction, Module
from teetotal.programs.c.ir.seeing import called
from teetotal.programs.c.ir.writing import Unseen


def of_unseen(module: Module, one: Unseen, file: str) -> list[str]:
    """As a person reads it: what lies in one of the system's headers, by the places of the program that call for it."""
    name = function_name(module, one.function)
    if one.instruction is None:
        return [f"{name}(), {one.what},"]
    if is_of_system(module, one.function) and (found := _callers(module, one.function.name)):
        return [
            f"code{_at(module, by, file)} in {function_name(module, user)}(): {name}, {one.what}" for user, by in found
        ]
    return [f"code{_at(module, one.instruction, file)} in {name}(): {one.what}"]


def _at(module: Module, instruction: Instruction, file: str) -> str:
    where, line = place(module, instruction)
    if not where:
        return ""
    own = os.path.abspath(where) == os.path.abspath(file)
    return f" at {file if own else where.removeprefix(os.getcwd() + os.sep)}:{line}"


def _callers(module: Module, name: str) -> list[tuple[Function, Instruction]]:
    """Calls in the program's own functions, perhaps by way of others of the system's."""
    found: list[tuple[Function, Instruction]] = []
    known, open_ = {name}, {name}
    while open_:
        onward: set[str] = set()
        for function in module.functions:
            for instruction in function.instructions:
                if (told := called(instruction)) is None or told.name not in open_:
                    continue
                if not is_of_system(module, function):
                    found.append((function, instruction))
                elif function.name not in known:
                    onward.add(function.name)
        known |= onward
        open_ = onward
    return found
