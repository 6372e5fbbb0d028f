"""Random small programs, small enough for ``models/`` to enumerate every execution.

One generator for any source of choices: ``build`` asks ``choose(n)`` for a number below n, so that a seeded generator
and a property-based tester, which shrinks what it finds, make the same programs. ``Shape`` says what may occur.

Threads have plain accesses, atomic operations (exchange, add, compare-and-swap that may fail), both fences, critical
sections on a mutex of their own kind, and branches on values read. Every instruction has its own location.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from teetotal.answers.arguments import Natural, checked
from teetotal.answers.events import Kind, Location
from teetotal.programs.expressions import Addr, Const, Expr, Old, Op, Reg
from teetotal.programs.program import Branch, Fence, Instruction, Load, Lock, Program, Rmw, Store, Thread, Unlock


class Shape(NamedTuple):
    """``weights``: how often each kind of operation is tried. ``operations``: how many each of 2, 3, 4, … threads has at
    most; a critical section counts its two ends, a branch nothing. ``addresses``: from 2 up to so many. ``threads``: the
    numbers of threads to draw from."""

    weights: tuple[tuple[str, int], ...]
    operations: tuple[int, ...] = (5, 3, 2)
    addresses: int = 3
    values: int = 2
    threads: tuple[int, ...] = (2, 2, 2, 3, 3, 4)


PLAIN = Shape((("load", 5), ("store", 5)))
FENCED = Shape((("load", 6), ("store", 6), ("mfence", 2), ("sfence", 2)))
ATOMIC = Shape((("load", 5), ("store", 5), ("exchange", 1), ("add", 1), ("cas", 2), ("branch", 1)))
LOCKED = Shape((("load", 4), ("store", 5), ("section", 3), ("sfence", 1)), operations=(4, 3, 2))
MIXED = Shape(
    (
        ("load", 8),
        ("store", 8),
        ("mfence", 2),
        ("sfence", 2),
        ("exchange", 1),
        ("add", 1),
        ("cas", 2),
        ("section", 1),
        ("branch", 2),
    )
)
WILD = Shape((("load", 4), ("store", 5), ("section", 2), ("mutex store", 2), ("mutex load", 1), ("cas", 1)))
"""As MIXED, but the mutex is also read and written by plain accesses."""

PEEKED = Shape((("load", 4), ("store", 5), ("section", 3), ("mutex load", 3), ("cas", 1)))
"""A mutex is also looked at, as a try that fails does, but never stored to."""

SHAPES = {
    "plain": PLAIN,
    "fenced": FENCED,
    "atomic": ATOMIC,
    "locked": LOCKED,
    "mixed": MIXED,
    "peeked": PEEKED,
    "wild": WILD,
}

Choose = Callable[[int], int]
"""A number from 0 up to, but not including, the given one."""


def random_program(rng: random.Random, shape: Shape = MIXED) -> Program:
    return build(rng.randrange, shape)


def build(choose: Choose, shape: Shape) -> Program:
    count = shape.threads[choose(len(shape.threads))]
    addresses = "xyzuvw"[: 2 + choose(shape.addresses - 1)]
    sizes = [max(1, shape.operations[count - 2] - (0, 0, 1, 1, 2, 3)[choose(6)]) for _ in range(count)]
    threads = tuple(_thread(choose, shape, addresses, number, size) for number, size in enumerate(sizes))
    memory = dict.fromkeys(addresses, 0)
    if any(isinstance(i, Lock) or _names_mutex(i) for thread in threads for i in thread.code):
        memory["m"] = 0
    return Program(name="random", threads=threads, memory=memory)


def _names_mutex(instruction: Instruction) -> bool:
    return getattr(instruction, "address", None) == Addr("m")


def _thread(choose: Choose, shape: Shape, addresses: str, number: int, size: int) -> Thread:
    code: list[Instruction] = []
    registers: list[str] = []
    bag = [what for what, weight in shape.weights for _ in range(weight)]

    def place() -> Location:
        return Location(f"thread{number}", len(code) + 1)

    def address() -> Expr:
        return Addr(addresses[choose(len(addresses))])

    def value() -> Expr:
        return Const(1 + choose(shape.values))

    def register() -> str:
        registers.append(f"r{len(registers)}")
        return registers[-1]

    def add(what: str, left: int) -> int:
        """How many operations it took."""
        match what:
            case "load":
                code.append(Load(register=register(), address=address(), location=place()))
            case "store":
                code.append(Store(address=address(), value=value(), location=place()))
            case "mutex load":
                code.append(Load(register=register(), address=Addr("m"), location=place()))
            case "mutex store":
                code.append(Store(address=Addr("m"), value=Const(choose(2)), location=place()))
            case "exchange":
                code.append(Rmw(register=register(), address=address(), value=value(), location=place()))
            case "add":
                more = Op("+", (Old(), Const(1)))
                code.append(Rmw(register=register(), address=address(), value=more, location=place()))
            case "cas":
                expected = Op("==", (Old(), Const(choose(shape.values + 1))))
                code.append(Rmw(register=register(), address=address(), value=value(), when=expected, location=place()))
            case "mfence":
                code.append(Fence(kind=Kind.MFENCE, location=place()))
            case "sfence":
                code.append(Fence(kind=Kind.SFENCE, location=place()))
            case "section":
                if left < 2:
                    return add("store", left)
                code.append(Lock(address=Addr("m"), location=place()))
                inside = choose(min(left - 2, 2) + 1)
                for _ in range(inside):
                    add(("load", "store")[choose(2)], 1)
                code.append(Unlock(address=Addr("m"), location=place()))
                return 2 + inside
            case "branch":
                if not registers:
                    return add("load", left)
                test = Op(("==", "!=")[choose(2)], (Reg(registers[choose(len(registers))]), Const(choose(3))))
                at = len(code)
                code.append(Branch(target=0, when=test, location=place()))
                used = add(("load", "store", "store")[choose(3)], left)
                code[at] = Branch(target=len(code), when=test, location=code[at].location)
                return used
        return 1

    while size > 0:
        size -= add(bag[choose(len(bag))], size)
    return Thread(f"T{number}", tuple(code), dict.fromkeys(registers, 0))


@checked
def seeded(seed: Natural, count: Natural, shape: Shape = MIXED) -> Iterator[Program]:
    """Always the same programs for a seed, each from its own generator: number n does not depend on ``count``."""
    for number in range(count):
        yield random_program(random.Random(f"{seed}/{number}"), shape)
