"""Instructions in the making: labels instead of numbers, and temporaries that leave nothing behind.

A temporary holds the value of a ``yield`` inside an expression until its statement is done, and is then set back to 0:
a value that nobody will read must not make two states different.
"""

from __future__ import annotations

from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Location
from teetotal.programs.expressions import Const, Expr, Op, Reg
from teetotal.programs.labels import Item, Jump, Label, resolved
from teetotal.programs.program import Assign, Instruction

LONGEST = 100_000
"""More instructions than this in one thread are refused: unrolled loops inside unrolled loops."""

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
BOOLEAN = {*OPPOSITE, "and", "or", "not"}


class Code:
    """The code of one thread. Nothing is added while ``reachable`` is false: behind a jump that is always taken."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.registers: dict[str, int] = {}
        self.temporaries = 0
        self.reachable = True

    def emit(self, instruction: Instruction) -> None:
        if self.reachable:
            if len(self.items) >= LONGEST:
                raise ProgramError(f"a thread of more than {LONGEST} instructions", instruction.location)
            self.items.append(instruction)

    def assign(self, register: str, value: Expr, location: Location | None) -> None:
        self.registers.setdefault(register, 0)
        if value != Reg(register):
            self.emit(Assign(register=register, value=value, location=location))

    def jump(self, target: Label, when: Expr, location: Location | None) -> None:
        if self.reachable and when != Const(0):
            self.items.append(Jump(target, when, location))
            self.reachable = when != Const(1)

    def temporary(self) -> str:
        self.temporaries += 1
        name = f"${self.temporaries}"
        self.registers.setdefault(name, 0)
        return name

    def reset(self, first: int, last: int, location: Location | None) -> None:
        """Set temporaries back to 0; the numbers stay taken."""
        for number in range(first + 1, last + 1):
            self.assign(f"${number}", Const(0), location)

    def release(self, mark: int, location: Location | None) -> None:
        """Set the temporaries after ``mark`` back to 0, and use their numbers again."""
        self.reset(mark, self.temporaries, location)
        self.temporaries = mark

    def finish(self) -> tuple[Instruction, ...]:
        """Numbers for labels. A jump to what comes next anyway is left out."""
        return resolved([item for number, item in enumerate(self.items) if not self._idle(number)])

    def _idle(self, number: int) -> bool:
        item = self.items[number]
        if not isinstance(item, Jump):
            return False
        number += 1
        while number < len(self.items) and isinstance(self.items[number], Label):
            if self.items[number] is item.target:
                return True
            number += 1
        return False


# -- expressions -----------------------------------------------------------------------------------------------------


def is_boolean(expression: Expr) -> bool:
    """Whether its value is always 0 or 1."""
    if isinstance(expression, Op):
        return expression.operator in BOOLEAN
    return expression in (Const(0), Const(1))


def boolean(expression: Expr) -> Expr:
    return expression if is_boolean(expression) else Op("!=", (expression, Const(0)))


def negate(expression: Expr) -> Expr:
    match expression:
        case Const(value):
            return Const(int(not value))
        case Op("not", (operand,)):
            return boolean(operand)
        case Op(name, operands) if name in OPPOSITE:
            return Op(OPPOSITE[name], operands)
    return Op("not", (expression,))


def select(test: Expr, then: Expr, otherwise: Expr) -> Expr:
    """``then if test else otherwise`` without a jump, by arithmetic that is exact because it wraps."""
    if then == otherwise:
        return then
    if all(map(is_boolean, (test, then, otherwise))):
        if otherwise in (test, Const(0)):
            return Op("and", (_truth(test), _truth(then)))
        if then in (test, Const(1)):
            return Op("or", (_truth(test), _truth(otherwise)))
    chosen = Op("*", (boolean(test), then))
    return Op("+", (chosen, Op("*", (negate(boolean(test)), otherwise)))) if otherwise != Const(0) else chosen


def _truth(expression: Expr) -> Expr:
    """Where only the truth counts, ``x != 0`` is ``x``."""
    match expression:
        case Op("!=", (operand, Const(0))):
            return operand
    return expression
