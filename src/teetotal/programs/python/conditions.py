"""Conditions on final states, written as Python expressions: ``left.r == 0 and flag[1] == 1``."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Location
from teetotal.programs.expressions import Addr, Expr, Final
from teetotal.programs.python.expressions import Expressions, Known, Value


class Names:
    """What a condition may name: threads (by function or as ``P0``, ``P1``, …), their registers, and locations."""

    def __init__(
        self,
        threads: Mapping[str, int],
        registers: Sequence[Sequence[str]],
        constants: Sequence[Mapping[str, int]],
        memory: Sequence[str],
    ) -> None:
        self.threads = threads
        self.registers = registers
        self.constants = constants
        self.memory = memory


def compile_condition(text: str, names: Names, location: Location) -> Expr:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        why = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ProgramError(f"the condition {text!r} is not a Python expression: {why}", location) from error
    return _Condition(names, location, text).condition(tree.body)


class _Condition(Expressions):
    def __init__(self, names: Names, location: Location, text: str) -> None:
        self.names = names
        self.place = location
        self.text = text

    def location(self, node: ast.AST) -> Location:
        return self.place

    def known(self, node: ast.expr) -> Known | None:
        match node:
            case ast.Constant(value) if isinstance(value, int):
                return Known(value)
            case ast.Tuple(elements) | ast.List(elements) | ast.Set(elements):
                values = [self.known(element) for element in elements]
                return Known([value.value for value in values if value]) if all(values) else None
            case ast.UnaryOp() | ast.BinOp() if (number := _number(node)) is not None:
                return Known(number)
        return None

    def leaf(self, node: ast.expr) -> Value:
        match node:
            case ast.Attribute(ast.Name(thread), register):
                return self._register(node, thread, register)
            case ast.Name(name):
                return self._location(node, name)
            case ast.Subscript(ast.Name(name), ast.Constant(index)) if type(index) is int:
                return self._location(node, f"{name}[{index}]")
            case ast.Call(ast.Name("address"), [ast.Constant(str(name))], []) if name in self.names.memory:
                return Addr(name)
        self.refuse(node, f"`{ast.unparse(node)}` is not supported in the condition {self.text!r}")

    def _register(self, node: ast.expr, thread: str, register: str) -> Value:
        if thread not in self.names.threads:
            self.refuse(node, f"no thread `{thread}` in the condition {self.text!r}: {_list(self.names.threads)}")
        number = self.names.threads[thread]
        if register in self.names.registers[number]:
            return Final(number, register)
        if register in self.names.constants[number]:
            return Known(self.names.constants[number][register])
        known = _list([*self.names.registers[number], *self.names.constants[number]])
        self.refuse(node, f"thread `{thread}` has no local `{register}`, as the condition {self.text!r} wants: {known}")

    def _location(self, node: ast.expr, name: str) -> Value:
        if name in self.names.memory:
            return Final(None, name)
        hint = "; a local is written thread.name" if any(name in known for known in self.names.registers) else ""
        known = _list(self.names.memory)
        self.refuse(node, f"no location `{name}` in the condition {self.text!r}: {known}{hint}")


def _number(node: ast.expr) -> int | None:
    """What is written with numbers alone: ``-1``, ``2**63 - 1``."""
    match node:
        case ast.Constant(value) if isinstance(value, int):
            return value
        case ast.UnaryOp(ast.USub(), operand):
            number = _number(operand)
            return None if number is None else -number
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Pow() as op, right):
            first, second = _number(left), _number(right)
            if first is None or second is None:
                return None
            if isinstance(op, ast.Pow):
                return first**second if abs(first) < 2**64 and 0 <= second < 64 else None
            return first + second if isinstance(op, ast.Add) else first - second
    return None


def _list(names: Sequence[str] | Mapping[str, int]) -> str:
    return "there is " + ", ".join(names) if names else "there is none"
