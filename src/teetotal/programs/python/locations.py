"""The shared locations of a program: those that ``program(…)`` declares, and the arrays that its threads use."""

from __future__ import annotations

from collections.abc import Mapping

from teetotal.programs.python.operations import Address, Array, Element


class Locations:
    """All that have been declared so far, in the order of their addresses."""

    def __init__(self, declared: Mapping[str, int | Address]) -> None:
        self.memory: dict[str, int | Address] = dict(declared)

    def find(self, name: str) -> str | None:
        """Why there is no such location; None if there is one."""
        array = getattr(name, "array", None)
        if array is not None:
            return self.add(array)
        if name in self.memory:
            return None
        return f"location {name!r} is not declared: give `program` its initial value, as in `{name}=0`"

    def has(self, what: object) -> bool:
        return isinstance(what, Element) or (isinstance(what, str) and what in self.memory)

    def add(self, array: Array) -> str | None:
        """Declare an array that is not declared yet. Its elements must lie side by side, since indices are added."""
        names = [str(element) for element in array]
        if not any(name in self.memory for name in names):
            self.memory |= dict(zip(names, array.initial, strict=True))
        declared = list(self.memory)
        first = declared.index(names[0]) if names[0] in declared else len(declared)
        if declared[first : first + len(names)] != names:
            return f"the array {array.name!r} of length {len(array)} is declared as something else"
        return None
