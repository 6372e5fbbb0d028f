"""What names mean while a function is compiled: for each local, what is known of it at this point of the code.

A local that is assigned an integer lives in a register of its own, and is at the same time *known* as long as every way
to this point gives it the same value. Where ways meet (``join``) the register decides. A name that only some of the
ways assign is not bound: Python would raise there, so reading it is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from teetotal.programs.expressions import Reg
from teetotal.programs.python.expressions import Cell, Known, Unusable, Value, is_integer

Environment = dict[str, Value | Unusable]


class Scope:
    """One function that is being compiled. An inner one (a lambda) sees the locals of its ``parent``."""

    def __init__(
        self,
        file: str,
        local: set[str],
        outside: Mapping[str, Any],
        *,
        is_location: Callable[[object], bool],
        prefix: str = "",
        parent: Scope | None = None,
    ) -> None:
        self.file = file
        self.local = local
        self.outside = outside
        self.prefix = prefix
        self.is_location = is_location
        self.parent = parent
        self.assigns = True
        self.environment: Environment = {}
        self.registers: set[str] = set()
        self.read: set[str] = set()
        """The locals that the statement at hand has read from their registers."""

    def lookup(self, name: str) -> Value | Unusable:
        if name in self.local:
            return self.environment.get(name, Unusable(f"`{name}` may be read before it is assigned"))
        if self.parent is not None:
            return self.parent.lookup(name)
        if name in self.outside:
            return Known(self.outside[name])
        return Unusable(f"`{name}` is not defined")

    def register(self, name: str) -> str:
        """No user can write the name of an inlined helper's register: it has a dot."""
        return self.prefix + name

    def forget(self, names: set[str]) -> None:
        """A loop may change these: nothing but their registers is known at its head."""
        for name in names & self.environment.keys():
            self.environment[name] = self._in_register(name, self.environment[name])

    def join(self, environments: list[Environment]) -> None:
        """Several ways lead here."""
        first, *others = environments
        joined: Environment = {}
        for name, value in first.items():
            values = [value, *(other[name] for other in others if name in other)]
            if len(values) < len(environments):
                continue
            if all(same(value, other) for other in values):
                joined[name] = value
            else:
                held = [self._in_register(name, value) for value in values]
                unclear = next((one for one in held if isinstance(one, Unusable) or one != held[0]), None)
                joined[name] = held[0] if unclear is None else self._unclear(name)
        self.environment = joined

    def _in_register(self, name: str, value: Value | Unusable) -> Value | Unusable:
        if isinstance(value, Unusable):
            return value
        register = self.register(name)
        if isinstance(value, Known) and not is_integer(value.value):
            held = self.is_location(value.value)
            return Cell(Reg(register)) if held else self._unclear(name)
        return Cell(Reg(register)) if isinstance(value, Cell) else Reg(register)

    def _unclear(self, name: str) -> Unusable:
        return Unusable(
            f"`{name}` can be different things here, and only integers may differ from run to run "
            "(to choose a location at run time, use an array)"
        )


def same(one: Value | Unusable, other: Value | Unusable) -> bool:
    if isinstance(one, Known) and isinstance(other, Known):
        if one.value is other.value:
            return True
        plain = type(one.value) is type(other.value) and isinstance(one.value, int | str | tuple)
        return plain and bool(one.value == other.value)
    return type(one) is type(other) and one == other


def free_names(node: ast.expr) -> set[str]:
    """The names that the value of an expression depends on."""
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    bound = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    bound |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    return read - bound
