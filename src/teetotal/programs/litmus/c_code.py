"""What a C thread compiles to, as it grows: instructions, labels, registers for values on their way."""

from __future__ import annotations

from collections.abc import Iterator, Set

import msgspec

from teetotal.answers.events import Kind, Location, MemoryOrder
from teetotal.programs.expressions import Const, Expr, Op, Reg, leaves
from teetotal.programs.labels import Item, Jump, Label, resolved
from teetotal.programs.program import Assign, Fence, Instruction, Load, Lock, Rmw, Store, Unlock

ALWAYS = Const(1)


class Code:
    """``taken`` are the names that the C code uses: a register of our own has none of them."""

    def __init__(self, taken: Set[str]) -> None:
        self.items: list[Item] = []
        self.registers: dict[str, int] = {}
        self.here = Location("", 0)
        self.taken = taken
        self.in_use = 0

    # -- registers ------------------------------------------------------------------------------------------------

    def temporary(self) -> str:
        """A register until the end of the statement."""
        while (name := f"tmp{self.in_use}") in self.taken:
            self.in_use += 1
        self.in_use += 1
        self.registers.setdefault(name, 0)
        return name

    def end_statement(self) -> None:
        self.in_use = 0

    def held(self, value: Expr) -> Expr:
        """The same value as a leaf, so that using it twice does not double the expression."""
        if not isinstance(value, Op):
            return value
        name = self.temporary()
        self.assign(name, value)
        return Reg(name)

    def assign(self, register: str, value: Expr) -> None:
        """``register = value``; what was just read for this purpose is read into the register at once."""
        last = self.items[-1] if self.items else None
        if (
            isinstance(last, Load | Rmw)
            and isinstance(value, Reg)
            and last.register == value.name
            and value.name not in self.taken
        ):
            self.items[-1] = _into(last, register)
        elif value != Reg(register):
            self.items.append(Assign(register=register, value=value, location=self.here))

    def discard(self, value: Expr | None) -> None:
        """Nobody wants the value of this statement."""
        last = self.items[-1] if self.items else None
        if isinstance(last, Rmw) and value == Reg(last.register or "") and last.register not in self.taken:
            self.items[-1] = _into(last, None)

    # -- memory ---------------------------------------------------------------------------------------------------

    def load(self, address: Expr, order: MemoryOrder = "na") -> Expr:
        name = self.temporary()
        self.items.append(Load(register=name, address=address, order=order, location=self.here))
        return Reg(name)

    def store(self, address: Expr, value: Expr, order: MemoryOrder = "na") -> None:
        self.items.append(Store(address=address, value=value, order=order, location=self.here))

    def rmw(
        self, address: Expr, value: Expr, order: MemoryOrder, when: Expr | None = None, failure: MemoryOrder = "na"
    ) -> Expr:
        name = self.temporary()
        self.items.append(
            Rmw(
                address=address,
                value=value,
                when=when,
                register=name,
                order=order,
                failure=failure,
                location=self.here,
            )
        )
        return Reg(name)

    def fence(self, kind: Kind, order: MemoryOrder = "na") -> None:
        self.items.append(Fence(kind=kind, order=order, location=self.here))

    def lock(self, address: Expr) -> None:
        self.items.append(Lock(address=address, location=self.here))

    def unlock(self, address: Expr) -> None:
        self.items.append(Unlock(address=address, location=self.here))

    # -- control --------------------------------------------------------------------------------------------------

    def jump(self, label: Label, when: Expr = ALWAYS) -> None:
        if when != Const(0):
            self.items.append(Jump(label, when, self.here))

    def bind(self, label: Label) -> None:
        self.items.append(label)

    def finish(self) -> tuple[Instruction, ...]:
        """The instructions; from here on, ``registers`` has no temporaries but those that they use."""
        code = resolved(self.items)
        used = {name for instruction in code for name in _registers(instruction)}
        for name in self.registers.keys() - self.taken - used:
            del self.registers[name]
        return code


def _registers(instruction: Instruction) -> Iterator[str]:
    register = getattr(instruction, "register", None)
    if register is not None:
        yield register
    for field in ("address", "value", "when"):
        expression = getattr(instruction, field, None)
        if expression is not None:
            yield from (leaf.name for leaf in leaves(expression) if isinstance(leaf, Reg))


def _into(read: Load | Rmw, register: str | None) -> Load | Rmw:
    assert register is not None or isinstance(read, Rmw)
    return msgspec.structs.replace(read, register=register)
