"""Accesses to shared memory: what ``yield ld(…)`` and its like become.

On TSO and PSO an order becomes what ``programs.litmus.c_calls`` says: a store that releases stands behind an sfence, and
before an mfence if it is seq_cst; an rmw whose order is given and releases stands behind an sfence. C11 does not see these.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import msgspec

from teetotal.answers.events import ORDERS, Kind, MemoryOrder, Request
from teetotal.programs.expressions import Addr, Const, Expr, Old, Op, Reg, op
from teetotal.programs.program import Fence, Instruction, Load, Lock, Rmw, Store, Unlock
from teetotal.programs.python import operations
from teetotal.programs.python.code import negate
from teetotal.programs.python.evaluation import Evaluation
from teetotal.programs.python.expressions import Cell, Known, Value
from teetotal.programs.python.operations import OPERATIONS, Address, Array, Element, is_operation

T = TypeVar("T")


class Accesses(Evaluation):
    def address(self, node: ast.expr) -> Expr:
        if isinstance(node, ast.IfExp) and self.known(node) is None:
            decided = self.truth(node.test)
            if isinstance(decided, bool):
                return self.address(node.body if decided else node.orelse)
            return self.conditional(decided, partial(self.address, node.body), partial(self.address, node.orelse))
        value = self.value(node)
        if isinstance(value, Cell):
            return value.address
        if isinstance(value, Known) and isinstance(value.value, str):
            return self.declared(value.value, node)
        if isinstance(value, Known) and isinstance(value.value, Array):
            self.refuse(node, f"`{ast.unparse(node)}` is an array: give an index")
        return self.to_integer(value, node)

    def to_integer(self, value: Value, node: ast.expr) -> Expr:
        if isinstance(value, Known) and isinstance(value.value, Address):
            return self.declared(value.value, node)
        return super().to_integer(value, node)

    def declared(self, name: str, node: ast.AST) -> Addr:
        missing = self.locations.find(name)
        if missing is not None:
            self.refuse(node, missing)
        return Addr(str(name))

    def element(self, node: ast.Subscript, base: ast.expr, index: ast.expr) -> Value:
        array = self.known(base)
        if array is None or not isinstance(array.value, Array):
            self.refuse(node, f"`{ast.unparse(node)}`: only an array(…) can be indexed by what is known at run time")
        first: Element = array.value[0]
        address = self.declared(first, node)
        offset = self.integer(index)
        if isinstance(offset, Const) and not 0 <= offset.value < len(array.value):
            self.refuse(node, f"`{ast.unparse(node)}`: the array has {len(array.value)} elements")
        inside = op("and", op(">=", offset, Const(0)), op("<", offset, Const(len(array.value))))
        self.require(inside, node)
        return Cell(Op("+", (address, offset)))

    def operation(self, node: ast.Yield, into: str | None = None, wanted: bool = True) -> Value:
        """One access. Its answer goes into the register ``into``, or into a temporary."""
        if node.value is None:
            self.refuse(node, "a bare `yield` asks nothing of memory")
        instruction, releases = self._request(node.value)
        if releases:
            self.code.emit(Fence(kind=Kind.SFENCE, location=instruction.location))
        if isinstance(instruction, Load) or (isinstance(instruction, Rmw) and (wanted or into)):
            register = into or self.code.temporary()
            self.code.registers.setdefault(register, 0)
            self.code.emit(msgspec.structs.replace(instruction, register=register))
            return Reg(register)
        self.code.emit(instruction)
        if isinstance(instruction, Store) and instruction.order == "seq_cst":
            self.code.emit(Fence(kind=Kind.MFENCE, location=instruction.location))
        return Known(None)

    def _request(self, node: ast.expr) -> tuple[Instruction, bool]:
        """And whether it releases, being told to."""
        function = self.known(node.func) if isinstance(node, ast.Call) else None
        if function is not None and is_operation(function.value):
            assert isinstance(node, ast.Call)
            instruction, order = self._operation_call(function.value, node)
            return instruction, _releases(instruction, order)
        value = self.value(node)
        what = value.value if isinstance(value, Known) else None
        if what is operations.mfence or what is operations.sfence:
            what = what()
        if isinstance(what, Request):
            instruction = self._ready_request(what, node)
            asked = None if what.kind is Kind.RMW and what.order == "seq_cst" else what.order  # perhaps by default
            return instruction, _releases(instruction, asked)
        hint = f": use `yield from {ast.unparse(node)}`" if inspect.isgenerator(what) else ""
        names = ", ".join(operation.__name__ for operation in OPERATIONS)
        self.refuse(node, f"`yield {ast.unparse(node)}` is not an operation on memory ({names}){hint}")

    def _order(self, node: ast.expr) -> MemoryOrder | None:
        known = self.known(node)
        if known is None or known.value not in (*ORDERS[1:], None):
            self.refuse(node, f"`{ast.unparse(node)}` is no memory order: {', '.join(ORDERS[1:])}")
        return cast("MemoryOrder | None", known.value)

    def _operation_call(self, function: Any, call: ast.Call) -> tuple[Instruction, MemoryOrder | None]:
        """And the order that was asked for."""
        place = self.location(call)
        given: dict[str, Any] = {}
        for name, node in self.arguments(function, call):
            if name == "function":
                given[name] = node
            elif name in ("order", "failure"):
                given[name] = self._order(node)
            else:
                given[name] = self.address(node) if name == "address" else self.integer(node)
        address = given.get("address", Const(0))
        asked: MemoryOrder | None = given.get("order")
        order: MemoryOrder = asked or "na"
        if function is operations.ld:
            return Load(register="", address=address, order=order, location=place), asked
        if function is operations.st:
            return Store(address=address, value=given["value"], order=order, location=place), asked
        if function is operations.lock:
            return Lock(address=address, location=place), None
        if function is operations.unlock:
            return Unlock(address=address, location=place), None
        if function in (operations.mfence, operations.sfence, operations.thread_fence):
            request: Request = function(order) if function is operations.thread_fence else function()
            return Fence(kind=request.kind, order=request.order, location=place), None
        when: Expr | None = None
        if function is operations.cas:
            when, value = Op("==", (Old(), given["expected"])), given["new"]
        elif function is operations.fetch_add:
            value = Op("+", (Old(), given["amount"]))
        elif function is operations.xchg:
            value = given["value"]
        else:
            value, when = self._function(given["function"])
        success, failure = operations.rmw_orders(asked, given.get("failure"))
        made = Rmw(address=address, value=value, when=when, order=success, failure=failure, location=place)
        return made, asked

    def _ready_request(self, request: Request, node: ast.expr) -> Instruction:
        """A request that was made before: ``GO = st("go", 1)``."""
        place = self.location(node)
        if request.kind.is_fence:
            return Fence(kind=request.kind, order=request.order, location=place)
        address = self.declared(request.address or "", node)
        match request.kind:
            case Kind.LD:
                return Load(register="", address=address, order=request.order, location=place)
            case Kind.ST:
                stored = self.to_integer(Known(request.value), node)
                return Store(address=address, value=stored, order=request.order, location=place)
            case Kind.LOCK:
                return Lock(address=address, location=place)
            case Kind.UNLOCK:
                return Unlock(address=address, location=place)
        value, when = self._pure(node, lambda: self.apply(request.function, [Old()], node, self._update))
        return Rmw(
            address=address, value=value, when=when, order=request.order, failure=request.failure, location=place
        )

    def _function(self, node: ast.expr) -> tuple[Expr, Expr | None]:
        """The function of an rmw: what it writes, and when."""
        function: object = None
        if not isinstance(node, ast.Lambda):
            known = self.known(node)
            if known is None:
                self.refuse(node, f"the function `{ast.unparse(node)}` is known only at run time")
            function = known.value
        return self._pure(node, lambda: self.apply(function, [Old()], node, self._update))

    def _update(self, body: ast.expr) -> tuple[Expr, Expr | None]:
        """``new if test else None`` writes only where the test holds."""
        if isinstance(body, ast.IfExp):
            nothing = [isinstance(arm, ast.Constant) and arm.value is None for arm in (body.body, body.orelse)]
            if nothing == [False, True]:
                return self.integer(body.body), self.condition(body.test)
            if nothing == [True, False]:
                return self.integer(body.orelse), negate(self.condition(body.test))
        return self.integer(body), None

    def _pure(self, node: ast.expr, evaluate: Callable[[], T]) -> T:
        result, items, _, _ = self.detached(evaluate)
        if items:
            self.refuse(node, "the function of an rmw runs in one step: no yield, no checked index or shift inside it")
        return result


def _releases(instruction: Instruction, order: MemoryOrder | None) -> bool:
    return isinstance(instruction, Store | Rmw) and order in ("release", "acq_rel", "seq_cst")
