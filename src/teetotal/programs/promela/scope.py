"""Shared memory as the text declares it: what all processes and properties of a program see."""

from __future__ import annotations

import msgspec

from teetotal.answers.errors import ParseError
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.arithmetic import truncate_value
from teetotal.programs.promela.folding import fold
from teetotal.programs.promela.sites import Places, Sites
from teetotal.programs.promela.syntax_queries import ats


class Global(msgspec.Struct, frozen=True):
    type: s.TypeName
    first: int
    size: int | None
    ghost: bool


class Scope:
    """``memory`` has every location with its initial value, ghosts last; ``observed`` are the labels (with their proctypes)
    that properties speak about; ``sites`` where fences could be, which compiling finds."""

    def __init__(self, module: s.Module, places: Places) -> None:
        self.memory: dict[str, int] = {}
        self.globals: dict[str, Global] = {}
        self.sites = Sites(module.file, module.text, places)
        self.observed = {(at.proctype, at.label) for f in module.forbidden for at in ats(f.condition)}
        for variable in sorted(module.variables, key=lambda variable: variable.ghost):
            self.declare(variable)

    def declare(self, variable: s.Declaration) -> None:
        initial = fold(variable.initial) if variable.initial is not None else s.Number(0)
        if not isinstance(initial, s.Number):
            raise ParseError(f"the initial value of {variable.name} must be a constant", variable.location)
        value = truncate_value(variable.type, initial.value)
        self.globals[variable.name] = Global(variable.type, len(self.memory), variable.size, variable.ghost)
        for name in locations(variable):
            self.memory[name] = value


def elements(name: str, size: int) -> list[str]:
    return [f"{name}[{i}]" for i in range(size)]


def locations(variable: s.Declaration) -> list[str]:
    return [variable.name] if variable.size is None else elements(variable.name, variable.size)
