"""Which processes seem to own slots: the guess that ``renaming.py`` checks.

Processes of one text whose constants differ, as ``flag[_pid]``, ``next[me]`` and ``tail = me`` make them, may still take
each other's place if locations and values are renamed with them. A group of them is read as one text, in which a constant
that differs is a register of its own: it holds the process's name. Then

- an *own location* is what a name addresses, by itself or as the index of an array;
- a location or register has *names* in it if one is moved there, or compared with what it holds.

Nothing here has to be right. A guess that contradicts itself is none (``NoGuess``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from teetotal.programs.expressions import Const, Expr, Old, Op, Reg
from teetotal.programs.program import Assign, Load, Lock, Rmw, Store, Unlock
from teetotal.programs.promela.program import PromelaProgram

Names = dict[int, int]
"""By process: its name, as a value; or its own location."""
Group = list[int]
Holder = str | tuple[int, str]
"""What holds values: an array or a variable, by name; or a register, by the first process of a group and name."""


class NoGuess(Exception):
    """No renaming fits."""


class Slots:
    """The guess for ``groups`` of processes with one text each; other processes are groups of one. ``families`` are the own
    locations, ``names`` what may be found where, of which some may be known."""

    def __init__(self, program: PromelaProgram, groups: list[Group], known: dict[Holder, Names] | None = None) -> None:
        self.program = program
        self.families: list[Names] = []
        self.names: dict[Holder, Names] = dict(known or {})
        self.growing = True
        texts = [self._one_text(group) for group in groups]
        while self.growing:
            self.growing = False
            for group, text in zip(groups, texts, strict=True):
                for instruction in text:
                    self._follow(group[0], instruction)
        self.families = [f for n, f in enumerate(self.families) if f not in self.families[:n]]
        owned = [location for family in self.families for location in family.values()]
        if len(owned) != len(set(owned)) or any(len(n) != len(set(n.values())) for n in self.names.values()):
            raise NoGuess

    def at(self, location: int) -> Names:
        """The names that a location may hold."""
        return self.names.get(_variable(self.program, location), {})

    def _one_text(self, group: Group) -> Any:
        first, *others = (self.program.processes[p] for p in group)
        for register, value in first.registers.items():
            initial = [value, *(process.registers[register] for process in others)]
            if len(set(initial)) > 1:
                self.names[group[0], register] = _distinct(group, initial)

        def constant(values: list[int]) -> Reg:
            name = f"#{len(self.names)}"
            self.names[group[0], name] = _distinct(group, values)
            return Reg(name)

        return aligned([first.code, *(process.code for process in others)], constant)

    def _follow(self, first: int, instruction: Any) -> None:
        variable = ""
        if isinstance(instruction, Load | Store | Rmw | Lock | Unlock):
            variable = self._address(first, instruction.address)
        if isinstance(instruction, Load | Rmw) and instruction.register is not None:
            self._same((first, instruction.register), variable)
        if isinstance(instruction, Assign):
            self._same((first, instruction.register), _holder(first, instruction.value, variable))
        if isinstance(instruction, Store | Rmw):
            self._same(variable, _holder(first, instruction.value, variable))
        for a, b in _compared(instruction):
            self._same(_holder(first, a, variable), _holder(first, b, variable))

    def _same(self, a: Holder | None, b: Holder | None) -> None:
        """What is moved from one to the other, or compared with it, is a name in both or in neither."""
        if a is not None and b is not None:
            merged = _merged(self.names.get(a, {}), self.names.get(b, {}))
            self.growing |= merged != self.names.get(a, {}) or merged != self.names.get(b, {})
            self.names[a] = self.names[b] = merged

    def _address(self, first: int, address: Expr) -> str:
        """The variable, or array, that is accessed; and its own locations are learnt."""
        match address:
            case Reg(name):
                family = {p: value - 1 for p, value in self.names[first, name].items()}
            case Op(_, (Const(base), index, Const(size))):
                holder = _holder(first, index, "")
                names = {} if holder is None else self.names.get(holder, {})
                if not all(0 <= value < size for value in names.values()):
                    raise NoGuess
                family = {p: base - 1 + value for p, value in names.items()}
            case _:
                family = {}
        if not family:
            return _variable(self.program, self.program.possible_addresses(address)[0])
        variable = _variable(self.program, next(iter(family.values())))
        for n, known in enumerate(self.families):
            if known.items() & family.items():
                self.growing |= not family.keys() <= known.keys()
                self.families[n] = _merged(known, family)
                return variable
        self.families.append(family)
        self.growing = True
        return variable


def _holder(first: int, expression: Expr, old: str) -> Holder | None:
    match expression:
        case Reg(name):
            return first, name
        case Old():
            return old
        case Op("&", (value, Const())):  # cut to the width of its type
            return _holder(first, value, old)
    return None


def _compared(thing: Any) -> Iterator[tuple[Expr, Expr]]:
    """What a text asks to be equal, or not."""
    if isinstance(thing, Op) and thing.operator in ("==", "!="):
        yield thing.operands[0], thing.operands[1]
    if isinstance(thing, msgspec.Struct):
        thing = tuple(getattr(thing, field) for field in thing.__struct_fields__)
    if isinstance(thing, tuple):
        for part in thing:
            yield from _compared(part)


def aligned(things: list[Any], constant: Any) -> Any:
    """Things that differ in constants only, as one: each of these is what ``constant`` makes of them."""
    first = things[0]
    if all(thing == first for thing in things):
        return first
    if any(type(thing) is not type(first) for thing in things):
        raise NoGuess
    if isinstance(first, Const):
        return constant([thing.value for thing in things])
    if isinstance(first, msgspec.Struct):
        fields = first.__struct_fields__
        return type(first)(**{f: aligned([getattr(thing, f) for thing in things], constant) for f in fields})
    if isinstance(first, tuple) and len({len(thing) for thing in things}) == 1:
        return tuple(aligned(list(parts), constant) for parts in zip(*things, strict=True))
    raise NoGuess


def _variable(program: PromelaProgram, location: int) -> str:
    return program.addresses[location].partition("[")[0]


def _distinct(group: Group, values: list[int]) -> Names:
    if len(set(values)) < len(values):
        raise NoGuess
    return dict(zip(group, values, strict=True))


def _merged(a: Names, b: Names) -> Names:
    if any(a.get(p, name) != name for p, name in b.items()):
        raise NoGuess
    return a | b
