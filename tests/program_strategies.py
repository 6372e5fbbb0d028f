"""Random small programs with every kind of instruction, as Hypothesis strategies.

A thread is a list of pieces, each a few instructions long; the pieces are drawn from fixed tables, which makes drawing
fast and shrinking natural (towards fewer, simpler pieces).
"""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st

from teetotal.answers.events import Kind, Location
from teetotal.programs.expressions import Addr, Const, Expr, Final, Old, Op, Reg
from teetotal.programs.program import (
    Assert,
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

REGISTERS = ("r0", "r1")
MUTEX = "m"
Piece = tuple[Instruction, ...]


def plus(a: Expr, b: Expr) -> Expr:
    return Op("+", (a, b))


def equal(register: str, value: int) -> Expr:
    return Op("==", (Reg(register), Const(value)))


def plain(addresses: str) -> list[Piece]:
    pieces: list[Piece] = [(Store(address=Addr(a), value=Const(v)),) for a in addresses for v in (1, 2)]
    pieces += [(Load(register=r, address=Addr(a)),) for a in addresses for r in REGISTERS]
    pieces += [(Store(address=Addr(a), value=plus(Reg("r0"), Const(1))),) for a in addresses]
    return pieces


def atomic(addresses: str) -> list[Piece]:
    pieces: list[Piece] = []
    for a in addresses:
        address = Addr(a)
        pieces.append((Rmw(register="r0", address=address, value=plus(Old(), Const(1))),))
        pieces.append((Rmw(register="r1", address=address, value=Const(2)),))
        pieces += [
            (Rmw(register=r, address=address, value=Const(new), when=Op("==", (Old(), Const(expected)))),)
            for r, expected, new in (("r0", 0, 1), ("r1", 1, 2))
        ]
        pieces.append((Rmw(address=address, value=Op("*", (Old(), Const(2)))),))
    return pieces


FENCES: list[Piece] = [(Fence(kind=Kind.MFENCE),), (Fence(kind=Kind.SFENCE),)]


def skips(body: Piece) -> Piece:
    """``if r0 == 0`` around a piece, as a forward jump (its target is relative until the thread is put together)."""
    return (Branch(target=1 + len(body), when=Op("not", (equal("r0", 0),))), *body)


def repeats(body: Piece) -> Piece:
    """The piece again while ``r0 == 0``: a backward jump."""
    return (*body, Branch(target=-len(body), when=equal("r0", 0)))


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    threads: tuple[int, int] = (2, 3),
    pieces: int = 4,
    total: int = 8,
    addresses: str = "xyz",
    fences: bool = True,
    atomics: bool = True,
    branches: bool = True,
    locks: bool = True,
    loops: bool = False,
    assertions: bool = False,
) -> Program:
    """``pieces`` a thread at most and ``total`` in all; ``loops`` come with a bound of two backward jumps a thread."""
    table = plain(addresses) * 2
    if fences:
        table += FENCES * 3
    if atomics:
        table += atomic(addresses)
    simple = st.sampled_from(table)
    kinds = [simple] * 6
    if branches:
        kinds.append(simple.map(skips))
    if locks:
        kinds.append(simple.map(lambda body: (Lock(address=Addr(MUTEX)), *body, Unlock(address=Addr(MUTEX)))))
    if loops:
        kinds.append(simple.map(repeats))
    if assertions:
        checks: list[Piece] = [
            (Assert(condition=Op("not", (equal("r0", 2),))),),
            (Assume(condition=Op("not", (equal("r1", 1),))),),
        ]
        kinds.append(st.sampled_from(checks))
    count = draw(st.integers(*threads))
    piece_lists = st.lists(st.one_of(kinds), min_size=1, max_size=min(pieces, total // count))
    bodies = [assemble(draw(piece_lists)) for _ in range(count)]
    memory = dict.fromkeys(addresses, 0)
    if locks:
        memory[MUTEX] = 0
    return Program(
        name="random",
        threads=tuple(
            Thread(f"P{number}", tuple(located(body, number)), dict.fromkeys(REGISTERS, 0))
            for number, body in enumerate(bodies)
        ),
        memory=memory,
        observed=(
            *(Final(thread, register) for thread in range(count) for register in REGISTERS),
            *(Final(None, address) for address in memory),
        ),
        loop_bound=2 if loops else None,
    )


def assemble(parts: list[Piece]) -> list[Instruction]:
    """One after the other, with relative jumps made absolute."""
    code: list[Instruction] = []
    for part in parts:
        for instruction in part:
            if isinstance(instruction, Branch):
                instruction = Branch(target=len(code) + instruction.target, when=instruction.when)
            code.append(instruction)
    return code


def located(code: list[Instruction], thread: int) -> Iterator[Instruction]:
    """Each instruction gets a line of its own, so that places can be told apart."""
    for number, instruction in enumerate(code):
        fields = {name: getattr(instruction, name) for name in instruction.__struct_fields__}
        yield type(instruction)(**{**fields, "location": Location(f"P{thread}", number)})


def describe(program: Program) -> str:
    """For failure messages: the code, a thread a line."""
    return "\n".join(f"{t.name}: " + "; ".join(map(str, t.code)) for t in program.threads)
