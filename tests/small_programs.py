"""Small programs, and words to write them with, for tests that need a particular one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from teetotal.answers.events import Kind, MemoryOrder
from teetotal.programs.expressions import Addr, Const, Old, Op, Reg
from teetotal.programs.program import Branch, Fence, Instruction, Load, Lock, Program, Rmw, Store, Thread, Unlock


def program(*threads: list[Instruction], loop_bound: int | None = None) -> Program:
    """A program of bare instructions: registers and memory are what the code uses."""
    memory: dict[str, int] = {}
    built = []
    for number, code in enumerate(threads):
        registers: dict[str, int] = {}
        for instruction in code:
            register = getattr(instruction, "register", None)
            if register is not None:
                registers[register] = 0
            address = getattr(instruction, "address", None)
            if isinstance(address, Addr):
                memory.setdefault(address.name, 0)
        built.append(Thread(f"P{number}", tuple(code), registers))
    return Program(name="test", threads=tuple(built), memory=memory, loop_bound=loop_bound)


def with_orders(program: Program, orders: Mapping[tuple[int, int], MemoryOrder]) -> Program:
    """The same to C11 but for the orders at some places, each a thread and an instruction of it. What TSO and PSO see of an
    order are fences of their own, which stay."""
    threads = []
    for number, thread in enumerate(program.threads):
        code = list(thread.code)
        for pc, instruction in enumerate(code):
            if (order := orders.get((number, pc))) is not None:
                assert isinstance(instruction, Load | Store | Rmw | Fence)
                code[pc] = msgspec.structs.replace(instruction, order=order)
        threads.append(msgspec.structs.replace(thread, code=tuple(code)))
    return msgspec.structs.replace(program, threads=tuple(threads))


def ld(register: str, address: str) -> Load:
    return Load(register=register, address=Addr(address))


def st(address: str, value: int) -> Store:
    return Store(address=Addr(address), value=Const(value))


def fetch_add(address: str) -> Rmw:
    return Rmw(register="old", address=Addr(address), value=Op("+", (Old(), Const(1))))


def cas(address: str, expected: int, new: int) -> Rmw:
    return Rmw(register="old", address=Addr(address), value=Const(new), when=Op("==", (Old(), Const(expected))))


def unless(register: str, value: int, target: int) -> Branch:
    return Branch(target=target, when=Op("!=", (Reg(register), Const(value))))


def lock(address: str) -> Lock:
    return Lock(address=Addr(address))


def unlock(address: str) -> Unlock:
    return Unlock(address=Addr(address))


MFENCE = Fence(kind=Kind.MFENCE)
SFENCE = Fence(kind=Kind.SFENCE)


def ring(count: int) -> Program:
    return program(*([st(f"v{i}", 1), ld("r", f"v{(i + 1) % count}")] for i in range(count)))


def ring_behind_guards() -> Program:
    """Store buffering among T0, T3 and T4, each behind a guard that one order of T1 and T2 opens."""

    def guarded(address: str, value: int, mine: str, other: str) -> list[Instruction]:
        return [ld("r", address), unless("r", value, 4), st(mine, 1), ld("s", other)]

    return program(
        guarded("y", 1, "u", "v"),
        [st("x", 1)],
        [st("y", 1)],
        guarded("y", 0, "v", "w"),
        [ld("q", "x"), ld("r", "x"), unless("r", 0, 5), st("w", 1), ld("s", "u")],
    )


def load_store_pairs(pairs: int) -> Program:
    return program(*([op for i in range(pairs) for op in (ld(f"r{i}", "x"), st("x", 10 * t + i))] for t in (1, 2)))


def philosophers(count: int) -> Program:
    forks = [(f"f{i}", f"f{(i + 1) % count}") for i in range(count)]
    return program(*([lock(a), lock(b), unlock(b), unlock(a)] for a, b in forks))
