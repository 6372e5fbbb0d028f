"""Expressions inside a thread: names, calls, and ``yield``, whose accesses become instructions in Python's own order.

``(yield ld("x")) + (yield ld("y"))`` turns into a load into one temporary, a load into another, and their sum. Where
Python evaluates only one side (``and``, ``or``, ``… if … else …``, ``a < b < c``) and that side touches memory, it
becomes a jump; where it does not, it stays an expression.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeVar

from teetotal.answers.events import Location
from teetotal.programs.expressions import Addr, Const, Expr, Op, Reg
from teetotal.programs.labels import Label
from teetotal.programs.program import Assert
from teetotal.programs.python import operations
from teetotal.programs.python.code import Code, boolean, negate, select
from teetotal.programs.python.expressions import Cell, Expressions, Known, Unusable, Value, is_integer
from teetotal.programs.python.locations import Locations
from teetotal.programs.python.operations import is_operation
from teetotal.programs.python.purity import evaluated
from teetotal.programs.python.scope import Environment, Scope, free_names
from teetotal.programs.python.source import of_function

T = TypeVar("T")
ALWAYS = Const(1)
WAITS_FOR_MEMORY = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)
"""What an expression that is known before the program runs cannot contain."""


class Evaluation(Expressions):
    def __init__(self, locations: Locations) -> None:
        self.locations = locations
        self.code = Code()
        self.scope = Scope("", set(), {}, is_location=locations.has)
        self.active: list[CodeType] = []
        self.pointing: set[str] = set()
        """Registers that stand for the name of a location. Python has a string there, so they are nobody's value."""
        self.ways: dict[Label, list[Environment]] = {}
        self.statement: ast.AST = ast.Pass(lineno=1)
        """The one at hand: the place of instructions that no single expression stands for."""

    @property
    def file(self) -> str:  # type: ignore[override]
        return self.scope.file

    def inline(self, node: ast.YieldFrom, wanted: bool = True) -> Value:
        """``yield from``."""
        raise NotImplementedError

    def operation(self, node: ast.Yield, into: str | None = None, wanted: bool = True) -> Value:
        """``yield``."""
        raise NotImplementedError

    def address(self, node: ast.expr) -> Expr:
        """The address of the location that this names."""
        raise NotImplementedError

    def element(self, node: ast.Subscript, base: ast.expr, index: ast.expr) -> Value:
        """An element of an array, computed at run time."""
        raise NotImplementedError

    def declared(self, name: str, node: ast.AST) -> Addr:
        """A location that exists."""
        raise NotImplementedError

    # -- control flow ----------------------------------------------------------------------------------------

    def jump(self, target: Label, node: ast.AST, when: Expr = ALWAYS) -> None:
        if self.code.reachable and when != Const(0):
            self.ways.setdefault(target, []).append(dict(self.scope.environment))
        self.code.jump(target, when, self.location(node))

    def place(self, label: Label) -> None:
        """All ways that lead to this label meet here."""
        ways = self.ways.pop(label, [])
        if self.code.reachable:
            ways.append(self.scope.environment)
        self.code.items.append(label)
        if ways:
            self.scope.join(ways)
            self.code.reachable = True

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        outer, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = outer

    def detached(self, evaluate: Callable[[], T]) -> tuple[T, list[Any], Environment, bool]:
        """Evaluate without adding to the code: the result, the instructions it takes, and the state afterwards."""
        items, environment, reachable = self.code.items, self.scope.environment, self.code.reachable
        self.code.items, self.scope.environment = [], dict(environment)
        try:
            result = evaluate()
            return result, self.code.items, self.scope.environment, self.code.reachable
        finally:
            self.code.items, self.scope.environment, self.code.reachable = items, environment, reachable

    def conditional(self, test: Expr, then: Callable[[], Expr], otherwise: Callable[[], Expr]) -> Expr:
        yes, no = self.detached(then), self.detached(otherwise)
        before = self.scope.environment
        if not any((yes[1], no[1], yes[2] != before, no[2] != before)):
            return select(test, yes[0], no[0])
        result = self.code.temporary()
        other, end = Label(), Label()
        self.jump(other, self.statement, negate(test))
        self._attach(result, *yes)
        self.jump(end, self.statement)
        self.place(other)
        self._attach(result, *no)
        self.place(end)
        return Reg(result)

    def _attach(self, result: str, value: Expr, items: list[Any], environment: Environment, reachable: bool) -> None:
        if self.code.reachable:
            self.code.items += items
            self.scope.environment, self.code.reachable = environment, reachable
            self.code.assign(result, value, self.location(self.statement))

    def require(self, condition: Expr, node: ast.expr) -> bool:
        self.code.emit(Assert(condition=condition, location=self.location(node), implied=True))
        return True

    # -- names and constants ---------------------------------------------------------------------------------

    def known(self, node: ast.expr) -> Known | None:
        if isinstance(node, ast.Constant):
            return Known(node.value)
        if any(isinstance(inner, WAITS_FOR_MEMORY) for inner in ast.walk(node)):
            return None
        names: dict[str, Any] = {}
        for name in free_names(node):
            value = self.scope.lookup(name)
            if not isinstance(value, Known):
                return None
            names[name] = value.value
        if isinstance(node, ast.Name):
            return Known(names[node.id])
        with warnings.catch_warnings():  # none is an error, and the program's own run gives them
            warnings.simplefilter("ignore")
            return self._evaluated(node, names)

    def _evaluated(self, node: ast.expr, names: dict[str, Any]) -> Known:
        code = compile(ast.Expression(node), self.file, "eval")
        calls = any(isinstance(inner, ast.Call) for inner in ast.walk(node)) or any(
            isinstance(getattr(type(value), attribute, None), property)
            for value in names.values()
            for attribute in code.co_names
        )
        try:
            if not calls:
                return Known(eval(code, names))
            held = {name: value for name, value in names.items() if name != "__builtins__"}
            value, hidden = evaluated(lambda: eval(code, names), held, code)
        except Exception as error:
            self.refuse(node, f"`{ast.unparse(node)}` raises {type(error).__name__}: {error}")
        if hidden is not None:
            self.refuse(node, f"`{ast.unparse(node)}` {hidden}: what is evaluated once cannot stand for every time")
        return Known(value)

    def leaf(self, node: ast.expr) -> Value:
        match node:
            case ast.Name(name):
                return self._name(node, name)
            case ast.Yield():
                return self.operation(node)
            case ast.YieldFrom():
                return self.inline(node)
            case ast.NamedExpr(ast.Name(name), value):
                if not self.scope.assigns:
                    self.refuse(node, "`:=` is possible in threads and helpers only")
                result = self.value_into(name, value)
                if name in self.scope.read:
                    self.refuse(node, f"`{name}` is read and then assigned again in one expression; use two statements")
                self.scope.read.add(name)
                return self.assign(name, result, node)
            case ast.Subscript(base, index):
                return self.element(node, base, index)
            case ast.Call():
                return self._call(node)
        for name in sorted(free_names(node)):
            meaning = self.scope.lookup(name)
            if isinstance(meaning, Unusable):
                self.refuse(node, meaning.why)
            if not isinstance(meaning, Known):
                hint = "; use an array" if isinstance(node, ast.JoinedStr) else ""
                self.refuse(node, f"`{ast.unparse(node)}` needs `{name}`, which is known only at run time{hint}")
        self.refuse(node, f"`{ast.unparse(node)}` ({type(node).__name__}) is not supported in a thread")

    def _name(self, node: ast.expr, name: str) -> Value:
        value = self.scope.lookup(name)
        if isinstance(value, Unusable):
            quoted = f'; a location is named by a string, "{name}"' if name in self.locations.memory else ""
            self.refuse(node, value.why + quoted)
        if not isinstance(value, Known):
            self.scope.read.add(name)
        return value

    def assign(self, name: str, value: Value, node: ast.AST) -> Value:
        """Integers and locations go into the name's register; everything else must be known, and takes none."""
        register = self.scope.register(name)
        place = self.location(node)
        meaning = value
        if isinstance(value, Cell):
            meaning = Cell(Reg(register))
            self._keep_location(register, value.address, place)
        elif not isinstance(value, Known):
            meaning = Reg(register)
            self.code.assign(register, value, place)
        elif is_integer(value.value):
            self.code.assign(register, self.to_integer(value, ast.Name(name, lineno=place.line)), place)
        elif self.locations.has(value.value):
            self._keep_location(register, self.declared(value.value, node), place)
        elif register in self.code.registers:
            self.refuse(node, f"`{name}` holds integers elsewhere, and cannot hold {value.value!r} here")
        if register in self.code.registers:
            self.scope.registers.add(register)
        self.scope.environment[name] = meaning
        return meaning

    def _keep_location(self, register: str, address: Expr, place: Location) -> None:
        self.pointing.add(register)
        self.code.assign(register, address, place)

    def value_into(self, name: str, node: ast.expr) -> Value:
        """The value of ``name = …``: a load goes straight into the register."""
        if isinstance(node, ast.Yield):
            return self.operation(node, into=self.scope.register(name))
        return self.value(node)

    # -- calls -----------------------------------------------------------------------------------------------

    def arguments(self, function: Callable[..., Any], call: ast.Call) -> list[tuple[str, ast.expr]]:
        """Which parameter each argument belongs to, in the order of evaluation."""
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            self.refuse(call, "`*` and `**` in a call are possible only where everything is constant")
        try:
            signature = inspect.signature(function, follow_wrapped=False)
            bound = signature.bind(*call.args, **{str(k.arg): k.value for k in call.keywords})
        except (TypeError, ValueError) as error:
            self.refuse(call, f"`{ast.unparse(call.func)}(…)`: {error}")
        of = {id(node): name for name, node in bound.arguments.items()}
        nodes = [*call.args, *(k.value for k in call.keywords)]
        if any(id(node) not in of for node in nodes):
            self.refuse(call, f"`{ast.unparse(call.func)}` takes any number of arguments: not supported")
        return [(of[id(node)], node) for node in nodes]

    def bound(self, function: FunctionType | MethodType, call: ast.Call) -> dict[str, Value]:
        """The values of a function's parameters."""
        values = {name: self._once(self.value(node), node) for name, node in self.arguments(function, call)}
        for parameter in inspect.signature(function, follow_wrapped=False).parameters.values():
            if parameter.default is not parameter.empty:
                values.setdefault(parameter.name, Known(parameter.default))
        if isinstance(function, MethodType):
            values[function.__func__.__code__.co_varnames[0]] = Known(function.__self__)
        return values

    def _once(self, value: Value, node: ast.expr) -> Value:
        """A value that is used more than once is computed once, where there is a register to keep it in."""
        if not isinstance(value, Op) or not self.scope.assigns:
            return value
        kept = self.code.temporary()
        self.code.assign(kept, value, self.location(node))
        return Reg(kept)

    def _call(self, node: ast.Call) -> Value:
        """A function of values that are known only at run time: one that has an expression, or a plain function."""
        known = self.known(node.func)
        text = ast.unparse(node.func)
        if known is None:
            self.refuse(node, f"`{text}` is known only at run time, and cannot be called")
        function = known.value
        if is_operation(function):
            self.refuse(node, f"an operation happens when it is yielded: `yield {ast.unparse(node)}`")
        if function is operations.assume:
            self.refuse(node, "`assume(…)` is a statement of its own")
        if function is operations.address:
            return self.address(node.args[0])
        if any(function is builtin for builtin in (int, bool, abs, min, max)):
            if node.keywords:
                self.refuse(node, f"`{text}` with keywords is not supported here")
            values = [self._once(self.integer(argument), argument) for argument in node.args]
            return self._builtin(function, [self.to_integer(value, node) for value in values], node)
        if not isinstance(function, FunctionType | MethodType):
            self.refuse(node, f"`{text}` can be called only with constants: teetotal cannot look inside it")
        if inspect.isgeneratorfunction(function):
            self.refuse(node, f"`{text}` is a generator: use `yield from {ast.unparse(node)}`")
        return self.apply(function, self.bound(function, node), node, self.value)

    def _builtin(self, function: Any, operands: list[Expr], node: ast.Call) -> Expr:
        if function in (int, bool, abs) and len(operands) == 1:
            (operand,) = operands
            if function is abs:
                return select(Op("<", (operand, Const(0))), Op("-", (Const(0), operand)), operand)
            return operand if function is int else boolean(operand)
        if function not in (min, max) or len(operands) < 2:
            self.refuse(node, f"`{ast.unparse(node)}` is not supported")
        comparison = "<" if function is min else ">"
        while len(operands) > 1:  # a tournament: each round doubles the expression, so let the rounds be few
            pairs = zip(operands[::2], operands[1::2], strict=False)
            winners = [select(Op(comparison, (b, a)), b, a) for a, b in pairs]
            operands = winners + operands[len(winners) * 2 :]
        return operands[0]

    def apply(
        self,
        function: object,
        values: Mapping[str, Value] | Sequence[Value],
        node: ast.expr,
        evaluate: Callable[[ast.expr], T],
    ) -> T:
        """``evaluate`` the body of a plain function: a lambda, or a ``def`` of nothing but ``return``."""
        if isinstance(node, ast.Lambda):
            names, body, code = [a.arg for a in node.args.args], node.body, None
            scope = Scope(self.file, set(names), {}, is_location=self.locations.has, parent=self.scope)
        else:
            plain = function.__func__ if isinstance(function, MethodType) else function
            if not isinstance(plain, FunctionType):
                self.refuse(node, f"`{ast.unparse(node)}` is not a Python function: teetotal cannot look inside it")
            found = of_function(plain)
            code = found.code
            scope = Scope(code.co_filename, set(code.co_varnames), found.outside, is_location=self.locations.has)
            names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
            statements = found.node.body if isinstance(found.node, ast.FunctionDef) else [ast.Return(found.node.body)]
            if statements and isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant):
                statements = statements[1:]
            if len(statements) != 1 or not isinstance(statements[0], ast.Return) or statements[0].value is None:
                why = "is called with what is known only at run time: it must be one `return`"
                self.refuse(node, f"{code.co_name} {why}")
            body = statements[0].value
        if code is not None and code in self.active:
            self.refuse(node, f"{code.co_name} calls itself: recursion is not supported")
        scope.assigns = False
        scope.environment = dict(values) if isinstance(values, Mapping) else dict(zip(names, values, strict=False))
        if len(values) != len(names) or scope.environment.keys() != set(names):
            self.refuse(node, f"`{ast.unparse(node)}` must take {len(values)} argument(s)")
        self.active.append(code)  # type: ignore[arg-type]
        try:
            with self.inside(scope):
                return evaluate(body)
        finally:
            self.active.pop()
