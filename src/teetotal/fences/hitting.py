"""Sets that contain an element of every clause: a cheap one quickly, and the cheapest, with python-sat.

The cheapest is a weighted MaxSAT problem: each clause must hold, each element would rather stay out. RC2 (Ignatiev,
Morgado, Marques-Silva 2019) takes further clauses between two answers, so that each round pays for what is new only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import Any


class CheapestFirst:
    """Hitting sets of growing cost. ``forbid`` leaves out a set and everything that contains it."""

    def __init__(self, costs: Sequence[Fraction]) -> None:
        from pysat.examples.rc2 import RC2
        from pysat.formula import WCNF

        scale = lcm(*(cost.denominator for cost in costs))
        problem = WCNF()
        for element, cost in enumerate(costs):
            problem.append([-(element + 1)], weight=int(cost * scale))
        self._count = len(costs)
        self._solver: Any = RC2(problem)

    def hit(self, clause: Iterable[int]) -> None:
        self._solver.add_clause([element + 1 for element in sorted(clause)])

    def forbid(self, chosen: Iterable[int]) -> None:
        self._solver.add_clause([-(element + 1) for element in sorted(chosen)])

    def cheapest(self) -> frozenset[int] | None:
        """None where nothing is left."""
        if self._count == 0:
            return frozenset()
        model = self._solver.compute()
        return None if model is None else frozenset(n - 1 for n in model if 0 < n <= self._count)

    def close(self) -> None:
        self._solver.delete()


def greedy(clauses: Sequence[frozenset[int]], cost: Callable[[int], Fraction]) -> frozenset[int]:
    """Again and again the element that hits most for its cost."""
    chosen: set[int] = set()
    left = list(clauses)
    while left:
        counts: dict[int, int] = {}
        for clause in left:
            for element in clause:
                counts[element] = counts.get(element, 0) + 1
        best = max(counts, key=lambda element: (counts[element] / cost(element), -element))
        chosen.add(best)
        left = [clause for clause in left if best not in clause]
    return frozenset(chosen)
