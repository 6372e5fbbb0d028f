"""A Promela program as a ``Program``, where it has none of what only Promela has."""

from __future__ import annotations

import msgspec

from teetotal.answers.errors import ProgramError
from teetotal.programs.expressions import Const, Op
from teetotal.programs.program import (
    Assert,
    Assign,
    Assume,
    Branch,
    Fence,
    Load,
    Lock,
    Program,
    Rmw,
    Store,
    Thread,
    Unlock,
)
from teetotal.programs.promela.instructions import Access, Begin, Choose, End, InBounds, Mark, Slot
from teetotal.programs.promela.program import PromelaProgram

PlainInstruction = Access | Assign | Branch | Assert | Assume


def as_program(program: PromelaProgram) -> Program:
    if program.ghosts or program.properties:
        raise ProgramError(f"{program.name} has ghost variables or forbidden states, which only verify knows")
    threads = []
    for number, process in enumerate(program.processes):
        threads.append(Thread(process.name, _plain(program, number), dict(process.registers)))
    return Program(name=program.name, threads=tuple(threads), memory=dict(program.memory), source=program.source)


def _plain(program: PromelaProgram, number: int) -> tuple[PlainInstruction, ...]:
    process = program.processes[number]
    if process.start:
        raise ProgramError(f"{process.name} goes on after its last run, which only verify knows")
    code: list[PlainInstruction] = []
    for instruction in process.code:
        place = instruction.location
        match instruction:
            case Choose() | Begin() | End():
                raise ProgramError("a choice or an atomic block, which only verify knows", place)
            case Slot(fence=fence) if fence in program.fences:
                code.append(Fence(kind=program.sites[fence].kind, location=place))
            case Slot() | Mark():
                code.append(Assume(condition=Const(1), location=place))
            case (
                Load(address=Op()) | Store(address=Op()) | Rmw(address=Op()) | Lock(address=Op()) | Unlock(address=Op())
            ):
                assert isinstance(instruction.address, Op)
                element = Op("+", instruction.address.operands[:2])
                code.append(msgspec.structs.replace(instruction, address=element))
            case InBounds(condition=condition):
                code.append(Assert(condition=condition, location=place))
            case _:
                code.append(instruction)
    return tuple(code)
