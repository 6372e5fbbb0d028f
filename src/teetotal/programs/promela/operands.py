"""Code in the making: jumps, registers, and the loads that an expression of Promela takes.

Every shared variable that a statement reads is loaded once, into a register of its own; ``known`` maps the names that are
loaded to what holds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NoReturn

import msgspec

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.programs.expressions import Const, Expr, Op, Reg
from teetotal.programs.program import Assign, Load
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.arithmetic import operation, truncate
from teetotal.programs.promela.instructions import InBounds, Instruction
from teetotal.programs.promela.scope import Global, Scope


class Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """``run``, inside ``init`` only: gone before a ``PromelaProgram`` is made."""

    proctype: s.Proctype
    arguments: tuple[Expr, ...]
    location: Location | None = None


Known = dict[tuple[object, ...], Expr]
"""What has been loaded, by how it is spelled."""
Path = tuple[tuple[s.Expression, bool], ...]
"""Conditions, and whether they hold or not, on the way to a part of an expression."""


def spelled(expression: s.Expression) -> tuple[object, ...]:
    """What is the same wherever in the text it stands."""
    match expression:
        case s.Number(value):
            return (value,)
        case s.Name(name, index):
            return name, None if index is None else spelled(index)
        case s.Operation(operator, operands):
            return operator, *map(spelled, operands)
        case s.At(proctype, process, label):
            return proctype, None if process is None else spelled(process), label


def matters(operator: str) -> tuple[bool | None, ...]:
    """For each operand: what the first one has to be for it to matter, as in C; None: it always does."""
    return {"&&": (None, True), "||": (None, False), "?:": (None, True, False)}.get(operator, (None, None))


def both(needed: Expr | None, condition: Expr, truth: bool) -> Expr:
    """And the condition holds, or does not; as 1 or 0."""
    one = Op("!=" if truth else "==", (condition, Const(0)))
    return one if needed is None else Op("and", (needed, one))


class Operands:
    """Of one process. ``atomic``: inside an atomic block, where everything is loaded, ghosts too."""

    def __init__(self, scope: Scope, number: int) -> None:
        self.scope = scope
        self.code: list[Instruction | Spawn] = []
        self.registers: dict[str, int] = {}
        self.types: dict[str, tuple[s.TypeName, int | None]] = {}
        self.constants: dict[str, int] = {"_pid": number}
        self.targets: list[int | None] = []
        self.atomic: str | None = None
        self.temporaries = 0

    def fail(self, message: str, location: Location) -> NoReturn:
        raise ParseError(message, location)

    # -- emitting -------------------------------------------------------------------------------------------------

    def emit(self, instruction: Instruction | Spawn) -> None:
        self.code.append(instruction)

    def target(self) -> int:
        """A place to jump to, known later."""
        self.targets.append(None)
        return len(self.targets) - 1

    def place(self, target: int) -> None:
        self.targets[target] = len(self.code)

    def placed(self) -> int:
        target = self.target()
        self.place(target)
        return target

    def temporary(self) -> str:
        self.temporaries += 1
        name = f"%{self.temporaries}"
        self.registers[name] = 0
        return name

    # -- variables and expressions ----------------------------------------------------------------------------------

    def variable(self, name: s.Name) -> Global | None:
        """A shared one, or None for one of the process's own."""
        if name.name in self.types or name.name in self.constants:
            return None
        found = self.scope.globals.get(name.name)
        if found is None:
            self.fail(f"{name.name} is not declared", name.location)
        if (found.size is None) != (name.index is None):
            self.fail(f"{name.name} is {'not ' if found.size is None else ''}an array", name.location)
        return found

    def occurrences(self, expression: s.Expression, path: Path = ()) -> Iterator[tuple[s.Name, Global, Path]]:
        """The shared variables that an expression reads, inner ones first, in the order of the text, each with what must
        hold for its value to matter."""
        match expression:
            case s.Name(index=index):
                if index is not None:
                    yield from self.occurrences(index, path)
                shared = self.variable(expression)
                if shared is not None:
                    yield expression, shared, path
            case s.Operation(operator, operands):
                for operand, truth in zip(operands, matters(operator), strict=False):
                    yield from self.occurrences(operand, path if truth is None else (*path, (operands[0], truth)))
            case s.At(location=location):
                self.fail("P@label can only be used in forbidden", location)

    def reads(self, expression: s.Expression) -> Iterator[tuple[s.Name, Global]]:
        return ((name, shared) for name, shared, _ in self.occurrences(expression))

    def holds(self, path: Path, known: Known) -> Expr | None:
        """All that is on a path, as a number; None if that is nothing."""
        found: Expr | None = None
        for condition, truth in path:
            found = both(found, self.value(condition, known, found), truth)
        return found

    def needed(self, paths: Sequence[Path], known: Known) -> Expr | None:
        """When a variable that is read on these paths is needed, as far as that is known; None: always."""
        found: Expr | None = None
        for path in paths:
            reads = (all(spelled(name) in known for name, _ in self.reads(condition)) for condition, _ in path)
            one = self.holds(path[: sum(takewhile(bool, reads))], known)
            if one is None:
                return None
            found = one if found is None or found == one else Op("or", (found, one))
        return found

    def address(
        self, name: s.Name, shared: Global, known: Known, location: Location, needed: Expr | None = None
    ) -> Expr:
        """Where it is not ``needed``, an index that is outside does no harm: another element is loaded in vain."""
        if name.index is None:
            return Const(shared.first + 1)
        assert shared.size is not None
        index = self.value(name.index, known)
        if isinstance(index, Const):
            if not 0 <= index.value < shared.size:
                self.fail(f"{name.name}[{index.value}] is outside the array", name.location)
            return Const(shared.first + 1 + index.value)
        self.bounds(index, shared.size, location, needed)
        if needed is not None:
            index = Op("*", (needed, index))
        return Op("[]", (Const(shared.first + 1), index, Const(shared.size)))

    def bounds(self, index: Expr, size: int, location: Location, needed: Expr | None) -> None:
        inside = Op("and", (Op("<=", (Const(0), index)), Op("<", (index, Const(size)))))
        if needed is not None:
            inside = Op("or", (Op("not", (needed,)), inside))
        self.emit(InBounds(condition=inside, location=location))

    def load(self, expressions: Sequence[s.Expression], known: Known, ghost: bool, at: Location) -> None:
        """Load what the expressions read and is not known yet: the ghosts, or the others (in a block, both)."""
        found = [occurrence for expression in expressions for occurrence in self.occurrences(expression)]
        for name, shared, _ in found:
            key = spelled(name)
            if key in known or (shared.ghost != ghost and self.atomic != "locked"):
                continue
            if not shared.ghost and name.index is not None and any(g.ghost for _, g in self.reads(name.index)):
                self.fail("a ghost variable cannot be the index of shared memory", name.location)
            paths = [path for other, _, path in found if name.index is not None and spelled(other) == key]
            needed = self.needed(paths, known)
            register = self.temporary()
            self.emit(Load(register=register, address=self.address(name, shared, known, at, needed), location=at))
            known[key] = Reg(register)

    def has_ghosts(self, *expressions: s.Expression) -> bool:
        return any(shared.ghost for e in expressions for _, shared in self.reads(e))

    def value(self, expression: s.Expression, known: Known, needed: Expr | None = None) -> Expr:
        """``needed``: when it is, as for ``address``."""
        match expression:
            case s.Number(value):
                return Const(value)
            case s.Name(name):
                if name in self.constants:
                    return Const(self.constants[name])
                return self.local(expression, known, needed) if name in self.types else known[spelled(expression)]
            case s.Operation(operator, operands, location):
                values: list[Expr] = []
                for operand, truth in zip(operands, matters(operator), strict=False):
                    when = needed if truth is None else both(needed, values[0], truth)
                    values.append(self.value(operand, known, when))
                return operation(operator, tuple(values), location)
            case s.At(location=location):
                self.fail("P@label can only be used in forbidden", location)

    def local(self, name: s.Name, known: Known, needed: Expr | None = None) -> Expr:
        size = self.types[name.name][1]
        if (size is None) != (name.index is None):
            self.fail(f"{name.name} is {'not ' if size is None else ''}an array", name.location)
        if name.index is None or size is None:
            return Reg(name.name)
        index = self.value(name.index, known, needed)
        if isinstance(index, Const):
            if not 0 <= index.value < size:
                self.fail(f"{name.name}[{index.value}] is outside the array", name.location)
            return Reg(f"{name.name}[{index.value}]")
        self.bounds(index, size, name.location, needed)
        chosen: Expr = Const(0)
        for i in range(size):
            chosen = Op("+", (chosen, Op("*", (Op("==", (index, Const(i))), Reg(f"{name.name}[{i}]")))))
        return chosen

    def assign_local(self, target: s.Name, value: Expr, known: Known, at: Location) -> None:
        if target.name in self.constants:
            self.fail(f"{target.name} cannot be assigned to", target.location)
        kind, size = self.types[target.name]
        value = truncate(kind, value)
        place = self.local(target, known)
        if isinstance(place, Reg):
            self.emit(Assign(register=place.name, value=value, location=at))
            return
        assert target.index is not None
        assert size is not None
        index, stored = self.temporary(), self.temporary()
        self.emit(Assign(register=index, value=self.value(target.index, known), location=at))
        self.emit(Assign(register=stored, value=value, location=at))
        for i in range(size):
            here = Op("==", (Reg(index), Const(i)))
            element = Reg(f"{target.name}[{i}]")
            new = Op("+", (Op("*", (here, Reg(stored))), Op("*", (Op("not", (here,)), element))))
            self.emit(Assign(register=element.name, value=new, location=at))
