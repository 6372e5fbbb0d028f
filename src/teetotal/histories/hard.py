"""Histories that saturation alone does not decide: Zennou et al. (NETYS 2020), Figs 1c, 3, 4 and 5, and SAT as histories.

All are built from one gadget, a *ring*. A ring over pairs of writes (a₁, b₁), …, (aₖ, bₖ) forbids that all the aᵢ are
before their bᵢ, and nothing else: with fresh addresses y₁, …, yₖ,

- yᵢ = 1 is before aᵢ in its thread, and yᵢ = 2 is after bᵢ (through a flag of its own, read once);
- after yᵢ = 2 the same thread reads 1 from the next one, yᵢ₊₁.

If every aᵢ is before bᵢ, every yᵢ = 1 is before yᵢ = 2, so each of the reads must be before the next thread's
yᵢ₊₁ = 2: a cycle. If one is not, nothing forces anything.

=========  ============================================  ================================================
paper      ring over                                     what it shows
=========  ============================================  ================================================
Fig. 1c    (a, b) and (b, a), twice each                 wSC, but not SC
Fig. 3     (a, b) twice                                  b before a is in the SC-kernel; saturation misses it
Fig. 4     (a, b) k times                                the same with cycles of any length
Fig. 5     three of the four ways to order two pairs,    two pairs must be guessed together
           each pair twice
=========  ============================================  ================================================

``formula`` writes a whole propositional formula that way, one pair of writes per variable and one ring per clause: it is
SC if and only if the formula is satisfiable, which is why the problem is NP-hard.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Kind
from teetotal.histories.history import History, Operation

Pair = tuple[tuple[str, int], tuple[str, int]]
"""Two writes, each an address and a value: the first before the second."""


class Rings:
    """Writes whose order is open, each in a thread of its own, and rings over them."""

    def __init__(self) -> None:
        self.before: dict[tuple[str, int], list[Operation]] = {}
        self.after: dict[tuple[str, int], list[Operation]] = {}
        self.threads: list[list[Operation]] = []
        self.fresh = 0

    def write(self, address: str, value: int) -> tuple[str, int]:
        self.before[address, value] = []
        self.after[address, value] = []
        return address, value

    def forbid(self, *pairs: Pair) -> None:
        """Not all of these pairs in this order. One pair alone is taken twice, since a ring has two threads or more."""
        ring = pairs if len(pairs) > 1 else pairs * 2
        names = [f"y{self.fresh + i}" for i in range(len(ring))]
        self.fresh += len(ring)
        for i, (first, second) in enumerate(ring):
            thread = f"ring{len(self.threads)}"
            flag = f"f{len(self.threads)}"
            self.before[first].append(Operation(_thread(first), Kind.ST, names[i], written=1))
            self.after[second].append(Operation(_thread(second), Kind.ST, flag, written=1))
            self.threads.append(
                [
                    Operation(thread, Kind.LD, flag, read=1),
                    Operation(thread, Kind.ST, names[i], written=2),
                    Operation(thread, Kind.LD, names[(i + 1) % len(ring)], read=1),
                ]
            )

    def history(self, name: str) -> History:
        operations = []
        for address, value in self.before:
            thread = _thread((address, value))
            write = Operation(thread, Kind.ST, address, written=value)
            operations += [*self.before[address, value], write, *self.after[address, value]]
        return History.of([*operations, *(op for thread in self.threads for op in thread)], name=name)


def _thread(write: tuple[str, int]) -> str:
    return f"{write[0]}{write[1]}"


def ring(length: int = 2) -> History:
    """Fig. 3 (length 2) and Fig. 4: x = 4 must be before x = 2, which no saturation rule of wSC sees."""
    if length < 2:
        raise TeetotalError("a ring has at least two threads")
    rings = Rings()
    two, four = rings.write("x", 2), rings.write("x", 4)
    rings.forbid(*[(two, four)] * length)
    return rings.history("fig3" if length == 2 else f"ring-{length}")


def unorderable() -> History:
    """Fig. 1c: two writes of which neither may be first. wSC, but not SC."""
    rings = Rings()
    one, two = rings.write("z", 1), rings.write("z", 2)
    rings.forbid((one, two))
    rings.forbid((two, one))
    return rings.history("fig1c")


def two_pairs() -> History:
    """Fig. 5: x = 1 before x = 2 and t = 2 before t = 1 are in the SC-kernel, and only both guesses together show it."""
    rings = Rings()
    x1, x2, t1, t2 = (rings.write(a, v) for a, v in (("x", 1), ("x", 2), ("t", 1), ("t", 2)))
    for x, t in (((x2, x1), (t2, t1)), ((x2, x1), (t1, t2)), ((x1, x2), (t1, t2))):
        rings.forbid(x, x, t, t)  # each twice: otherwise the rest of a ring would follow from one guess
    return rings.history("fig5")


def formula(clauses: Sequence[Sequence[int]], name: str = "formula") -> History:
    """SC if and only if the clauses (as in DIMACS: ±variable) can all be satisfied. Variable n is true if v_n = 1 is
    before v_n = 2."""
    if not all(clauses):
        raise TeetotalError("an empty clause has no ring")
    rings = Rings()
    variables = sorted({abs(literal) for clause in clauses for literal in clause})
    writes = {n: (rings.write(f"v{n}", 1), rings.write(f"v{n}", 2)) for n in variables}
    for clause in clauses:
        rings.forbid(*(writes[literal][::-1] if literal > 0 else writes[-literal] for literal in clause))
    return rings.history(name)


def random_formula(variables: int, clauses: int, seed: int = 0) -> list[list[int]]:
    """Three different variables a clause."""
    if variables < 3:
        raise TeetotalError("a random formula has at least three variables")
    rng = random.Random(seed)
    return [[rng.choice((n, -n)) for n in rng.sample(range(1, variables + 1), 3)] for _ in range(clauses)]
