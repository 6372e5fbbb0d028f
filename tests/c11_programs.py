"""Programs with the orders of C11: from a line of text, and at random.

``x=1.rel; r=y ‖ await(y==1).acq; xchg(x,2); fence.sc``: stores, loads, ``xchg``, ``fadd``, ``cas(x,0,1)``, fences, waits
that go round a loop; an order after the dot, relaxed without one. ``x=$1`` stores what the first load of its thread read.
"""

from __future__ import annotations

import random
import re
from typing import Literal

import msgspec

from teetotal.answers.events import Kind, Location, MemoryOrder
from teetotal.programs.expressions import Addr, Const, Expr, Old, Op, Reg
from teetotal.programs.program import Assume, Branch, Fence, Instruction, Load, Program, Rmw, Store, Thread

WORDS: dict[str, MemoryOrder] = {
    "": "relaxed",
    "na": "na",
    "rlx": "relaxed",
    "acq": "acquire",
    "rel": "release",
    "ar": "acq_rel",
    "sc": "seq_cst",
}
WEAKER: dict[MemoryOrder, MemoryOrder] = {"release": "relaxed", "acq_rel": "acquire"}


def fence(order: MemoryOrder, location: Location | None = None) -> Fence:
    kinds: dict[MemoryOrder, Literal[Kind.MFENCE, Kind.SFENCE]] = {
        "seq_cst": Kind.MFENCE,
        "release": Kind.SFENCE,
        "acq_rel": Kind.SFENCE,
    }
    return Fence(kind=kinds.get(order, Kind.FENCE), order=order, location=location)


def c11(text: str, name: str = "c11") -> Program:
    threads = []
    names = sorted(set(re.findall(r"\b[xyzw]\b", text)))
    for number, part in enumerate(text.split("‖")):
        code: list[Instruction] = []
        registers: dict[str, int] = {}
        for line, statement in enumerate(filter(None, (piece.strip() for piece in part.split(";")))):
            _add(statement, code, registers, Location(name, 10 * (number + 1) + line))
        threads.append(Thread(f"P{number}", tuple(code), registers))
    return Program(name=name, threads=tuple(threads), memory=dict.fromkeys(names, 0))


def _add(statement: str, code: list[Instruction], registers: dict[str, int], here: Location) -> None:
    body, _, word = statement.partition(".")
    order = WORDS[word]

    def register() -> str:
        registers[f"r{len(registers) + 1}"] = 0
        return f"r{len(registers)}"

    if body == "fence":
        code.append(fence(order, here))
    elif found := re.fullmatch(r"await\((\w)==(\d)\)", body):
        name = register()
        code.append(Load(register=name, address=Addr(found[1]), order=order, location=here))
        code.append(Branch(target=len(code) - 1, when=Op("!=", (Reg(name), Const(int(found[2])))), location=here))
    elif found := re.fullmatch(r"xchg\((\w),(\d)\)", body):
        code.append(
            Rmw(address=Addr(found[1]), value=Const(int(found[2])), register=register(), order=order, location=here)
        )
    elif found := re.fullmatch(r"fadd\((\w)\)", body):
        value = Op("+", (Old(), Const(1)))
        code.append(Rmw(address=Addr(found[1]), value=value, register=register(), order=order, location=here))
    elif found := re.fullmatch(r"cas\((\w),(\d),(\d)\)", body):
        code.append(
            Rmw(
                address=Addr(found[1]),
                value=Const(int(found[3])),
                when=Op("==", (Old(), Const(int(found[2])))),
                register=register(),
                order=order,
                failure=WEAKER.get(order, order),
                location=here,
            )
        )
    elif found := re.fullmatch(r"r=(\w)", body):
        code.append(Load(register=register(), address=Addr(found[1]), order=order, location=here))
    elif found := re.fullmatch(r"(\w)=(\$?)(\d)", body):
        stored: Expr = Reg(f"r{found[3]}") if found[2] else Const(int(found[3]))
        code.append(Store(address=Addr(found[1]), value=stored, order=order, location=here))
    else:
        raise ValueError(statement)


LOADS: tuple[MemoryOrder, ...] = ("relaxed", "acquire", "seq_cst")
STORES: tuple[MemoryOrder, ...] = ("relaxed", "release", "seq_cst")
RMWS: tuple[MemoryOrder, ...] = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
FENCES: tuple[MemoryOrder, ...] = RMWS[1:]


class _Drawn:
    """How often what appears, drawn once for a program: families of programs, not one soup."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.threads = rng.choice([2, 2, 2, 3, 3, 4])
        self.operations = {2: 5, 3: 3, 4: 2}[self.threads]
        self.fewest = 1
        self.locations = ["x", "y", "z"][: rng.choice([2, 2, 3])]
        self.plain = 0.25 if rng.random() < 0.12 else 0.0
        self.branches = 0.25 if rng.random() < 0.3 else 0.0
        self.awaits = 0.2 if rng.random() < 0.15 else 0.0
        self.strong = 0.6 * rng.random()
        self.fences = rng.choice([0, 0.1, 0.3])
        self.rmws = rng.choice([0, 0.15, 0.4])
        self.swaps = rng.choice([0, 0, 0.2])

    def order(self, orders: tuple[MemoryOrder, ...]) -> MemoryOrder:
        if self.rng.random() < self.strong:
            return "seq_cst"
        if orders is not RMWS and self.rng.random() < self.plain:
            return "na"
        return self.rng.choice(orders)


def random_program(rng: random.Random, awaits: float | None = None, *, full: bool = False) -> Program:
    """``awaits``: how many of the loads wait, where that is not drawn. ``full``: no thread is shorter than can be."""
    drawn = _Drawn(rng)
    drawn.awaits = drawn.awaits if awaits is None else awaits
    drawn.fewest = drawn.operations if full else 1
    threads = tuple(_thread(rng, drawn, number) for number in range(drawn.threads))
    return Program(name="random", threads=threads, memory=dict.fromkeys(drawn.locations, 0))


def _thread(rng: random.Random, drawn: _Drawn, number: int) -> Thread:
    code: list[Instruction] = []
    registers: dict[str, int] = {}
    skips: list[int] = []

    def register() -> str:
        registers[f"r{len(registers) + 1}"] = 0
        return f"r{len(registers)}"

    for _ in range(rng.randint(drawn.fewest, drawn.operations)):
        address, kind = Addr(rng.choice(drawn.locations)), rng.random()
        if registers and rng.random() < drawn.branches:
            skips.append(len(code))
            test = Op(rng.choice(["==", "!="]), (Reg(rng.choice(list(registers))), Const(rng.randint(0, 1))))
            code.append(Branch(target=0, when=test))
        if kind < drawn.fences:
            code.append(fence(drawn.order(FENCES)))
        elif kind < drawn.fences + drawn.rmws:
            value = rng.choice([Const(rng.randint(1, 2)), Op("+", (Old(), Const(1)))])
            code.append(Rmw(address=address, value=value, register=register(), order=drawn.order(RMWS)))
        elif kind < drawn.fences + drawn.rmws + drawn.swaps:
            when = Op("==", (Old(), Const(rng.randint(0, 2))))
            order, failure = drawn.order(RMWS), rng.choice(LOADS)
            code.append(
                Rmw(address=address, value=Const(rng.randint(1, 2)), when=when, register=register(), order=order,
                    failure=failure)
            )  # fmt: skip
        elif rng.random() < drawn.awaits:
            name = register()
            code.append(Load(register=name, address=address, order=drawn.order(LOADS)))
            code.append(Branch(target=len(code) - 1, when=Op("!=", (Reg(name), Const(rng.randint(0, 2))))))
        elif rng.random() < 0.5:
            code.append(Load(register=register(), address=address, order=drawn.order(LOADS)))
        else:
            value = Reg(rng.choice(list(registers))) if registers and rng.random() < 0.1 else Const(rng.randint(1, 2))
            code.append(Store(address=address, value=value, order=drawn.order(STORES)))
    for position in skips:
        branch = code[position]
        assert isinstance(branch, Branch)
        code[position] = Branch(target=len(code), when=branch.when)
    return Thread(f"P{number}", tuple(code), registers)


def awaited(program: Program) -> Program:
    """Loops that wait as one load that has to see the right value."""
    threads = []
    for thread in program.threads:
        code = list(thread.code)
        for pc, instruction in enumerate(code):
            if isinstance(instruction, Branch) and instruction.target < pc:
                assert isinstance(instruction.when, Op)
                code[pc] = Assume(condition=Op("==", instruction.when.operands))
        threads.append(msgspec.structs.replace(thread, code=tuple(code)))
    return msgspec.structs.replace(program, threads=tuple(threads))
