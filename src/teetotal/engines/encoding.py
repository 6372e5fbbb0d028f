"""A program in the core's terms: names become numbers, expressions become postfix code (core/program.hpp)."""

from __future__ import annotations

from teetotal import _core
from teetotal.answers.events import ORDERS, Kind, Semantics
from teetotal.answers.numbers import Op as NumberedOp
from teetotal.answers.numbers import Opcode
from teetotal.programs.expressions import OPERATORS, Addr, Const, Expr, Final, Old, Op, Reg, wrap
from teetotal.programs.program import (
    Assert,
    Assign,
    Assume,
    Branch,
    Fence,
    Instruction,
    Load,
    Lock,
    Program,
    Rmw,
    Store,
    Thread,
    Unlock,
)

_OPERATOR_CODES = {name: code for code, name in enumerate(OPERATORS, start=NumberedOp.ADD)}
_OPCODES: dict[type, Opcode] = {
    Load: Opcode.LOAD,
    Store: Opcode.STORE,
    Rmw: Opcode.RMW,
    Lock: Opcode.LOCK,
    Unlock: Opcode.UNLOCK,
    Assign: Opcode.ASSIGN,
    Branch: Opcode.BRANCH,
    Assert: Opcode.ASSERTION,
    Assume: Opcode.ASSUME,
}
_FENCE_OPCODES = {Kind.MFENCE: Opcode.MFENCE, Kind.SFENCE: Opcode.SFENCE, Kind.FENCE: Opcode.FENCE}

Encoded = tuple[int, int, int, list[int], list[int], list[int], int, int]


def encode(program: Program) -> _core.Program:
    return _core.Program(
        _encode_threads(program), [wrap(value) for value in program.memory.values()], program.loop_bound
    )


def twins(program: Program) -> list[int]:
    """Of each thread, the latest before it that does the same and of which the same is observed, or -1."""
    threads = _encode_threads(program)
    return [max((b for b in range(a) if threads[b] == threads[a]), default=-1) for a in range(len(threads))]


def encode_semantics(semantics: Semantics) -> _core.Semantics:
    return _core.Semantics(
        rmw_flushes_all=semantics.rmw == "all",
        unlock_is_fence=semantics.mutex == "fence",
        failed_cas_writes=semantics.failed_cas == "write",
    )


def encode_observed(program: Program) -> list[tuple[int, int]]:
    locations = list(program.memory)
    registers = [list(thread.registers) for thread in program.threads]
    return [
        (-1, locations.index(what.name))
        if what.thread is None
        else (what.thread, registers[what.thread].index(what.name))
        for what in program.observed
    ]


def _encode_threads(program: Program) -> list[tuple[list[Encoded], list[int], list[int]]]:
    addresses = {name: number for number, name in enumerate(program.memory, start=1)}
    observed = encode_observed(program)
    return [
        (*_encode_thread(thread, addresses), [register for of, register in observed if of == number])
        for number, thread in enumerate(program.threads)
    ]


def _encode_thread(thread: Thread, addresses: dict[str, int]) -> tuple[list[Encoded], list[int]]:
    registers = {name: number for number, name in enumerate(thread.registers)}
    code = [_encode_instruction(instruction, registers, addresses) for instruction in thread.code]
    return code, [wrap(value) for value in thread.registers.values()]


def _encode_instruction(instruction: Instruction, registers: dict[str, int], addresses: dict[str, int]) -> Encoded:
    order = ORDERS.index(getattr(instruction, "order", "na"))
    conditional = isinstance(instruction, Rmw) and instruction.when is not None
    failure = ORDERS.index(instruction.failure) if conditional else 0  # type: ignore[union-attr]
    return *_encode_operation(instruction, registers, addresses), order, failure


def _encode_operation(
    instruction: Instruction, registers: dict[str, int], addresses: dict[str, int]
) -> tuple[int, int, int, list[int], list[int], list[int]]:
    def words(expression: Expr | None) -> list[int]:
        code: list[int] = []
        if expression is not None:
            _encode_expression(expression, registers, addresses, code)
        return code

    match instruction:
        case Fence(kind=kind):
            return _FENCE_OPCODES[kind], -1, 0, [], [], []
        case Load(register=register, address=address):
            return _OPCODES[Load], registers[register], 0, words(address), [], []
        case Store(address=address, value=value):
            return _OPCODES[Store], -1, 0, words(address), words(value), []
        case Rmw(register=target, address=address, value=value, when=when):
            number = -1 if target is None else registers[target]
            return _OPCODES[Rmw], number, 0, words(address), words(value), words(when)
        case Lock(address=address) | Unlock(address=address):
            return _OPCODES[type(instruction)], -1, 0, words(address), [], []
        case Assign(register=register, value=value):
            return _OPCODES[Assign], registers[register], 0, [], words(value), []
        case Branch(target=goal, when=when):
            return _OPCODES[Branch], -1, goal, [], [], words(when)
        case Assert(condition=condition) | Assume(condition=condition):
            return _OPCODES[type(instruction)], -1, 0, [], [], words(condition)


def _encode_expression(expression: Expr, registers: dict[str, int], addresses: dict[str, int], code: list[int]) -> None:
    match expression:
        case Const(value):
            code += (NumberedOp.CONSTANT, wrap(value))
        case Addr(name):
            code += (NumberedOp.CONSTANT, addresses[name])
        case Reg(name):
            code += (NumberedOp.REG, registers[name])
        case Old():
            code += (NumberedOp.OLD, 0)
        case Op(name, operands):
            for operand in operands:
                _encode_expression(operand, registers, addresses, code)
            code += (_OPERATOR_CODES[name], 0)
        case Final():
            raise ValueError("a thread cannot see final values")
