"""Random small programs with loops that wait: for a value, a lock, one of two locations, with fences, counters and stores
inside, one in the other. Seeded; a few never end."""

from __future__ import annotations

import random

from program_strategies import assemble
from teetotal.answers.events import Kind
from teetotal.programs.expressions import Addr, Const, Expr, Final, Old, Op, Reg
from teetotal.programs.program import (
    Assert,
    Assign,
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

Piece = list[Instruction]
"""Its branches have targets relative to their own place."""
REGISTERS = ("a", "b", "n")


def looping_program(rng: random.Random, *, mutexes: bool = False, alike: bool = False) -> Program:
    """``alike``: two threads or three do the same, and nobody looks at their registers."""
    names = "xyz"[: rng.choice((2, 2, 3))]
    count = rng.choice((2, 2, 2, 3))
    threads = []
    loops = 0
    for number in range(count):
        drawing = _Drawing(rng, names, mutexes)
        pieces = [drawing.access() for _ in range(rng.randrange(3 if count == 2 else 2))]
        if rng.random() < 0.4:  # what can be delayed
            pieces.insert(0, [drawing.store()])
        if loops < 2 and (rng.random() < 0.7 or number == count - 1):
            loops += 1
            pieces.append(drawing.loop())
            pieces += [drawing.access() for _ in range(rng.randrange(3 if count == 2 else 2))]
        if rng.random() < 0.2:
            pieces.append([Assert(condition=Op("==", (Reg(rng.choice("ab")), Const(rng.randrange(2)))))])
        threads.append(Thread(f"T{number}", tuple(assemble(pieces)), dict.fromkeys(REGISTERS, 0)))
    if alike:
        same = rng.randrange(1, count)
        threads[1 : 1 + same] = threads[:1] * same
    memory = {name: rng.choice((0, 0, 0, 1)) for name in names}
    observed = [Final(None, name) for name in names]
    if not alike:
        observed += [Final(number, register) for number in range(count) for register in REGISTERS if rng.random() < 0.5]
    if mutexes:
        memory["m"] = 0
    return Program(name="looping", threads=tuple(threads), memory=memory, observed=tuple(observed))


class _Drawing:
    def __init__(self, rng: random.Random, names: str, mutexes: bool) -> None:
        self.rng, self.names, self.mutexes = rng, names, mutexes

    def address(self) -> Addr:
        return Addr(self.rng.choice(self.names))

    def test(self, register: str) -> Expr:
        return Op(
            self.rng.choice(("==", "!=")),
            (Reg(register), Const(self.rng.randrange(3 if self.rng.random() < 0.2 else 2))),
        )

    def fence(self) -> Instruction:
        return Fence(kind=self.rng.choice((Kind.MFENCE, Kind.SFENCE)))

    def load(self, register: str = "") -> Instruction:
        return Load(register=register or self.rng.choice("ab"), address=self.address())

    def store(self) -> Instruction:
        return Store(address=self.address(), value=Const(self.rng.randrange(3)))

    def rmw(self, register: str = "") -> Instruction:
        register = register or self.rng.choice("ab")
        address = self.address()
        match self.rng.randrange(4):
            case 0:
                return Rmw(register=register, address=address, value=Const(1))
            case 1:
                return Rmw(register=register, address=address, value=Op("+", (Old(), Const(self.rng.randrange(2)))))
            case _:
                expected = Op("==", (Old(), Const(self.rng.randrange(2))))
                return Rmw(register=register, address=address, value=Const(self.rng.randrange(3)), when=expected)

    def access(self) -> Piece:
        draw = self.rng.random()
        if self.mutexes and draw < 0.25:
            return [Lock(address=Addr("m")), *self.access_inside(), Unlock(address=Addr("m"))]
        return self.access_inside()

    def access_inside(self) -> Piece:
        draw = self.rng.random()
        if draw < 0.45:
            return [self.store()]
        if draw < 0.75:
            return [self.load()]
        if draw < 0.9:
            return [self.rmw()]
        return [self.fence()]

    def loop(self) -> Piece:
        rng = self.rng
        before = [self.fence()] if rng.random() < 0.1 else []
        behind = [self.fence()] if rng.random() < 0.1 else []
        size = len(before) + len(behind)

        def back(body: Piece, when: Expr) -> Piece:
            return [*before, *body, *behind, Branch(target=-len(body) - size, when=when)]

        match rng.randrange(14):
            case 0 | 1 | 2:
                return back([self.load("a")], self.test("a"))
            case 3:
                both = Op(rng.choice(("and", "or")), (self.test("a"), self.test("b")))
                return back([self.load("a"), self.load("b")], both)
            case 4:  # while (a && b), read one after the other
                first, second = self.test("a"), self.test("b")
                leave = Branch(target=3 + len(behind), when=Op("not", (first,)))
                return back([self.load("a"), leave, self.load("b")], second)
            case 5:
                return back([self.rmw("a")], self.test("a"))
            case 6:  # test-and-set
                address = self.address()
                taken = back([Rmw(register="a", address=address, value=Const(1))], Op("==", (Reg("a"), Const(1))))
                return [*taken, *self.access_inside(), Store(address=address, value=Const(0))]
            case 7:  # test and test-and-set
                address = self.address()
                set_it = Rmw(register="a", address=address, value=Const(1))
                look = [Load(register="a", address=address), Branch(target=-1, when=Op("==", (Reg("a"), Const(1))))]
                return [*look, set_it, Branch(target=-3, when=Op("==", (Reg("a"), Const(1))))]
            case 8:  # add one, again if somebody came between
                address = self.address()
                new = Op("+", (Reg("a"), Const(1)))
                cas = Rmw(register="b", address=address, value=new, when=Op("==", (Old(), Reg("a"))))
                return back([Load(register="a", address=address), cas], Op("!=", (Reg("a"), Reg("b"))))
            case 9:  # at most so often
                count = Assign(register="n", value=Op("+", (Reg("n"), Const(1))))
                again = Op("and", (Op("<", (Reg("n"), Const(rng.randrange(1, 3)))), self.test("a")))
                return back([self.load("a"), count], again)
            case 10:  # the same, and it stores
                count = Assign(register="n", value=Op("+", (Reg("n"), Const(1))))
                again = Op("and", (Op("<", (Reg("n"), Const(2))), self.test("a")))
                return back([self.store(), self.load("a"), count], again)
            case 11:  # one in the other
                inner = [self.load("b"), Branch(target=-1, when=self.test("b"))]
                return back([self.load("a"), *inner], self.test("a"))
            case 12:  # stores only where it found something, as Dekker does
                store = [Branch(target=2, when=self.test("b")), self.store()]
                count = Assign(register="n", value=Op("+", (Reg("n"), Const(1))))
                again = Op("and", (Op("<", (Reg("n"), Const(2))), self.test("a")))
                return back([self.load("a"), self.load("b"), count, *store], again)
            case _:
                return back([self.rmw("a"), self.load("b")], self.test(rng.choice("ab")))
