"""Statements of a generator function as instructions of a thread.

The text is walked once, in order. Loops over constants are unrolled, so that their variable is a constant in each
round; other loops become jumps. ``yield from helper(…)`` puts the helper's own text in its place, with registers of
its own (``helper.r``), which are set back to 0 when it returns.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from itertools import islice
from types import GeneratorType
from typing import Any, NamedTuple

from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Location
from teetotal.programs.expressions import Const, Reg, leaves, op
from teetotal.programs.labels import Label
from teetotal.programs.program import Assert, Assume, Instruction
from teetotal.programs.python import operations
from teetotal.programs.python.accesses import Accesses
from teetotal.programs.python.code import negate
from teetotal.programs.python.expressions import Cell, Known, Value, is_integer
from teetotal.programs.python.locations import Locations
from teetotal.programs.python.scope import Scope, same
from teetotal.programs.python.source import Function, assigned_names, of_function, of_generator

UNROLLED = 256
"""A range of constants that is longer than this becomes a loop, and its variable is then known only at run time."""

WHY_NOT: dict[type[ast.stmt], str] = {
    ast.FunctionDef: "define helpers outside the thread",
    ast.ClassDef: "define classes outside the thread",
    ast.Try: "a thread raises nothing that it could catch",
    ast.With: "use lock and unlock",
    ast.Raise: "use assert",
    ast.Global: "threads share memory only through operations: use ld and st",
    ast.Nonlocal: "threads share memory only through operations: use ld and st",
    ast.Import: "import outside the thread",
    ast.ImportFrom: "import outside the thread",
}


class Compiled(NamedTuple):
    """``names`` are the registers that the user named; those of them that have the same value at every end are
    ``settled``. ``constants`` are the arguments that stayed what they were."""

    code: tuple[Instruction, ...]
    registers: dict[str, int]
    names: tuple[str, ...]
    settled: frozenset[str]
    constants: Mapping[str, int]


class Loop(NamedTuple):
    again: Label
    done: Label


class Frame(NamedTuple):
    """A function on its way: its loops, where it returns to, and what it returned so far (into ``result``)."""

    loops: list[Loop]
    end: Label
    returned: list[Value]
    result: str | None
    mark: int


def compile_thread(generator: GeneratorType[Any, Any, Any], locations: Locations) -> Compiled:
    function = of_generator(generator)
    compiler = Compiler(locations)
    code = compiler.thread(function)
    registers = compiler.code.registers
    names = tuple(name for name in registers if name.isidentifier() and name not in compiler.pointing)
    constants = {
        name: int(value)
        for name, value in function.arguments.items()
        if name not in registers and isinstance(value, int)
    }
    return Compiled(code, registers, names, compiler.settled, constants)


class Compiler(Accesses):
    def __init__(self, locations: Locations) -> None:
        super().__init__(locations)
        self.frames: list[Frame] = []
        self.settled: frozenset[str] = frozenset()

    def thread(self, function: Function) -> tuple[Instruction, ...]:
        self._body(function, {name: Known(value) for name, value in function.arguments.items()}, "", None)
        return self.code.finish()

    # -- functions ----------------------------------------------------------------------------------------------------

    def _body(self, function: Function, arguments: Mapping[str, Value], prefix: str, result: str | None) -> list[Value]:
        """The function's text with these arguments: what it returns."""
        node, code = function.node, function.code
        if not isinstance(node, ast.FunctionDef):
            place = Location(code.co_filename, node.lineno)
            raise ProgramError("a thread is a generator function made with `def`", place)
        changed = assigned_names(node.body)
        scope = Scope(
            code.co_filename,
            changed | arguments.keys(),
            function.outside,
            is_location=self.locations.has,
            prefix=prefix,
        )
        frame = Frame([], Label(), [], result, self.code.temporaries)
        self.frames.append(frame)
        self.active.append(code)
        with self.inside(scope):
            for name, value in arguments.items():
                if name in changed:
                    self.assign(name, value, node)
                else:
                    scope.environment[name] = value
            self.block(node.body)
            if self.code.reachable:
                frame.returned.append(Known(None))
            self.place(frame.end)
            if prefix:
                for register in sorted(scope.registers):
                    self.code.assign(register, Const(0), self.location(node))
            elif self.code.reachable:
                at_end = scope.environment.items()
                self.settled = frozenset(name for name, value in at_end if isinstance(value, Known))
        self.active.pop()
        self.frames.pop()
        return frame.returned

    def inline(self, node: ast.YieldFrom, wanted: bool = True) -> Value:
        call = node.value
        target = self.known(call.func) if isinstance(call, ast.Call) else None
        if target is not None and inspect.isgeneratorfunction(target.value):
            assert isinstance(call, ast.Call)
            plain: Any = target.value
            arguments = self.bound(plain, call)
            function = of_function(getattr(plain, "__func__", plain))
        else:
            generator = self.known(call)
            if generator is not None and isinstance(generator.value, tuple) and not generator.value:
                return Known(None)  # `yield from ()`, by which a function that yields nothing is a generator
            if generator is None or not inspect.isgenerator(generator.value):
                self.refuse(node, f"`yield from {ast.unparse(call)}`: that is not a call of a generator function")
            function = of_generator(generator.value)
            arguments = {name: Known(value) for name, value in function.arguments.items()}
        name = function.code.co_name
        if function.code in self.active:
            self.refuse(node, f"`{name}` comes back to itself: recursion is not supported")
        gives = any(isinstance(inner, ast.Return) and inner.value for inner in ast.walk(function.node))
        result = self.code.temporary() if gives else None
        statement, prefix = self.statement, f"{self.scope.prefix}{name}."
        returned = self._body(function, arguments, prefix, result)
        self.statement = statement
        first = returned[0] if returned else Known(None)
        if isinstance(first, Known) and all(same(value, first) for value in returned):
            return first
        if not wanted:
            return Known(None)
        if result is None or not all(_fits(value) for value in returned):
            self.refuse(node, f"`{name}` returns now an integer, now something else")
        return Reg(result)

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if not self.code.reachable:
                return
            self.statement = statement
            self.scope.read.clear()
            mark = self.code.temporaries
            self._statement(statement)
            self.code.release(mark, self.location(statement))

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value):
                self._expression(value)
            case ast.Assign(targets, value):
                self._assignment(targets, value)
            case ast.AnnAssign(ast.Name() as target, _, value) if value is not None:
                self._assignment([target], value)
            case ast.AnnAssign(ast.Name()) | ast.Pass():
                pass
            case ast.AugAssign(ast.Name(name) as target, op, value):
                before = ast.copy_location(ast.Name(name, ast.Load()), target)
                self.assign(name, self.value(ast.copy_location(ast.BinOp(before, op, value), node)), node)
            case ast.If():
                self._if(node)
            case ast.While():
                self._while(node)
            case ast.For():
                self._for(node)
            case ast.Break() | ast.Continue():
                loop = self.frames[-1].loops[-1]
                self.jump(loop.done if isinstance(node, ast.Break) else loop.again, node)
            case ast.Return(value):
                self._return(node, value)
            case ast.Assert(test):
                self.code.emit(Assert(condition=self.condition(test), location=self.location(node)))
            case _:
                kind = type(node).__name__
                why = WHY_NOT.get(type(node))
                if isinstance(node, ast.AugAssign | ast.AnnAssign):
                    why = "shared memory is written with `yield st(…)`"
                text = ast.unparse(node).splitlines()[0]
                self.refuse(node, f"`{text}` ({kind}) is not supported in a thread" + (f": {why}" if why else ""))

    def _expression(self, node: ast.expr) -> None:
        """A statement that is an expression: an operation, a helper, an assumption, or a docstring."""
        if isinstance(node, ast.Yield):
            self.operation(node, wanted=False)
        elif isinstance(node, ast.YieldFrom):
            self.inline(node, wanted=False)
        elif isinstance(node, ast.Call) and self._calls(node, operations.assume):
            ((_, test),) = self.arguments(operations.assume, node)
            condition = self.condition(test)
            if condition != Const(1):
                self.code.emit(Assume(condition=condition, location=self.location(node)))
        elif isinstance(node, ast.NamedExpr):
            self.value(node)
        elif not isinstance(node, ast.Constant):
            known = self.known(node.func) if isinstance(node, ast.Call) else None
            if known is not None and (operations.is_operation(known.value) or inspect.isgeneratorfunction(known.value)):
                word = "yield" if operations.is_operation(known.value) else "yield from"
                self.refuse(node, f"nothing happens without a yield: `{word} {ast.unparse(node)}`")
            self.refuse(node, f"`{ast.unparse(node)}` does nothing in a thread: only yield, yield from and assume do")

    def _calls(self, call: ast.Call, function: object) -> bool:
        known = self.known(call.func)
        return known is not None and known.value is function

    def _assignment(self, targets: list[ast.expr], node: ast.expr) -> None:
        first = targets[0]
        if isinstance(first, ast.Name):
            value = self.value_into(first.id, node)
        elif isinstance(first, ast.Tuple | ast.List) and isinstance(node, ast.Tuple | ast.List):
            if self.known(node) is None and len(targets) == 1 and len(first.elts) == len(node.elts):
                return self._several(first.elts, [self.value(element) for element in node.elts])
            value = self.value(node)
        else:
            value = self.value(node)
        for target in targets:
            self._store(target, value)

    def _store(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(name):
                self.assign(name, value, target)
            case ast.Tuple(elements) | ast.List(elements) if isinstance(value, Known):
                try:
                    values = list(islice(iter(value.value), len(elements) + 1))
                except TypeError:
                    self.refuse(target, f"{value.value!r} cannot be unpacked")
                if len(values) != len(elements):
                    self.refuse(target, f"{len(elements)} names for {len(values)} values")
                for element, one in zip(elements, values, strict=True):
                    self._store(element, Known(one))
            case ast.Subscript() | ast.Attribute():
                self.refuse(target, f"`{ast.unparse(target)} = …`: shared memory is written with `yield st(…)`")
            case _:
                self.refuse(target, f"`{ast.unparse(target)} = …` is possible only with constants on its right")

    def _several(self, targets: list[ast.expr], values: list[Value]) -> None:
        """``a, b = b, a``: all values first, then the names."""
        names = {self.scope.register(target.id) for target in targets if isinstance(target, ast.Name)}
        for number, value in enumerate(values):
            if isinstance(value, Known):
                continue
            expression = value.address if isinstance(value, Cell) else value
            if any(leaf.name in names for leaf in leaves(expression) if isinstance(leaf, Reg)):
                kept = self.code.temporary()
                self.code.assign(kept, expression, self.location(targets[number]))
                values[number] = Cell(Reg(kept)) if isinstance(value, Cell) else Reg(kept)
        for target, value in zip(targets, values, strict=True):
            self._store(target, value)

    def _return(self, node: ast.Return, value: ast.expr | None) -> None:
        frame = self.frames[-1]
        result = Known(None) if value is None else self.value(value)
        if not self.code.reachable:
            return
        frame.returned.append(result)
        if frame.result is not None and _fits(result):
            assert value is not None
            self.code.assign(frame.result, self.to_integer(result, value), self.location(node))
        self.code.reset(frame.mark, self.code.temporaries, self.location(node))
        self.jump(frame.end, node)

    # -- control flow -------------------------------------------------------------------------------------------------

    def _if(self, node: ast.If) -> None:
        mark = self.code.temporaries
        condition = self.condition(node.test)
        last = self.code.temporaries
        otherwise, end = Label(), Label()
        self.jump(otherwise, node, negate(condition))
        self.code.release(mark, self.location(node))
        self.block(node.body)
        self.jump(end, node)
        self.place(otherwise)
        self.code.reset(mark, last, self.location(node))
        self.block(node.orelse)
        self.place(end)

    def _while(self, node: ast.While) -> None:
        loop, otherwise = Loop(Label(), Label()), Label()
        self.scope.forget(assigned_names([node]))
        self.place(loop.again)
        mark = self.code.temporaries
        condition = self.condition(node.test)
        last = self.code.temporaries
        self.jump(otherwise, node, negate(condition))
        self.code.release(mark, self.location(node))
        self._round(loop, node.body)
        self.jump(loop.again, node)
        self.place(otherwise)
        self.code.reset(mark, last, self.location(node))
        self.block(node.orelse)
        self.place(loop.done)

    def _round(self, loop: Loop, body: list[ast.stmt]) -> None:
        self.frames[-1].loops.append(loop)
        self.block(body)
        self.frames[-1].loops.pop()

    def _for(self, node: ast.For) -> None:
        items = self.known(node.iter)
        if items is None or (isinstance(items.value, range) and len(items.value) > UNROLLED):
            return self._for_range(node)
        try:
            values = list(islice(iter(items.value), UNROLLED + 1))
        except TypeError:
            self.refuse(node, f"`{ast.unparse(node.iter)}` is not something to go through")
        if len(values) > UNROLLED:
            self.refuse(node, f"`{ast.unparse(node.iter)}` has more than {UNROLLED} items")
        done = Label()
        for value in values:
            if not self.code.reachable:
                break
            again = Label()
            self.statement = node
            self._store(node.target, Known(value))
            self._round(Loop(again, done), node.body)
            self.place(again)
        self.block(node.orelse)
        self.place(done)

    def _for_range(self, node: ast.For) -> None:
        """``for i in range(start, stop, step)`` as a loop. The bounds are evaluated once, as Python does."""
        call = node.iter
        if not isinstance(call, ast.Call) or not self._calls(call, range) or call.keywords:
            self.refuse(node, f"`for … in {ast.unparse(call)}`: only range(…) or constants can be gone through")
        if not isinstance(node.target, ast.Name):
            self.refuse(node, "the variable of a loop over a range is one name")
        bounds = [self.integer(argument) for argument in call.args]
        if not 1 <= len(bounds) <= 3:
            self.refuse(node, f"range takes 1 to 3 arguments, not {len(bounds)}")
        start, stop = (Const(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else Const(1)
        if not isinstance(step, Const) or step.value == 0:
            self.refuse(node, "the step of a range is a constant other than 0")
        place = self.location(node)
        counter = self.code.temporary()
        self.code.assign(counter, start, place)
        if not isinstance(stop, Const):
            last = self.code.temporary()
            self.code.assign(last, stop, place)
            stop = Reg(last)
        loop, otherwise = Loop(Label(), Label()), Label()
        self.scope.forget(assigned_names([node]))
        self.place(loop.again)
        self.jump(otherwise, node, op(">=" if step.value > 0 else "<=", Reg(counter), stop))
        self.assign(node.target.id, Reg(counter), node)
        self.code.assign(counter, op("+", Reg(counter), step), place)
        self._round(loop, node.body)
        self.jump(loop.again, node)
        self.place(otherwise)
        self.block(node.orelse)
        self.place(loop.done)


def _fits(value: Value) -> bool:
    return not isinstance(value, Cell) and (not isinstance(value, Known) or is_integer(value.value))
