"""The store order as a SAT problem: Zennou et al. (NETYS 2020), section 5, ENUM.

==========================================  ================================================================
paper                                       here
==========================================  ================================================================
``ww`` total                                one variable per pair of writes of an address: which is older
``st ⊆ ww`` (wSC+ENUM, CCM+ENUM)            pairs that the saturation ordered have no variable
``po ∪ wr ∪ ww ∪ rw`` transitive, acyclic   cycle clauses, added when a solution has the cycle (lazily)
==========================================  ================================================================

Deviations. The paper writes transitivity down, which is cubic; here a solution is drawn as a graph, and if it has
cycles, short ones become clauses. Where a value was written more than once, which write a read saw is a variable too,
so that duplicate values are decided by the same search. TSO and PSO differ only in the edges that are facts.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from pysat.solvers import Solver

from teetotal import _core
from teetotal.histories.history import INITIAL_SOURCE
from teetotal.histories.problem import Problem
from teetotal.scale import supervision

CYCLES = 1000
"""Short cycles that a round learns from, at most, in each strongly connected part of a solution."""
Prior = Literal["nothing", "ccm", "wsc", "six", "guess"]
"""What orders pairs of writes before the solver is asked: CCM, wSC, or one of the stronger saturations."""


class SatResult(NamedTuple):
    status: Literal["consistent", "inconsistent"]
    order: Any = None
    """Operations in an order that respects every edge, if consistent."""
    rounds: int = 0
    clauses: int = 0
    variables: int = 0


def solve(problem: Problem, prior: Prior = "wsc") -> SatResult:
    """Decides the problem."""
    encoding = Encoding(problem, prior)
    if encoding.refuted:
        return SatResult("inconsistent")
    with Solver(name="cadical195", bootstrap_with=encoding.clauses) as solver:
        solution = encoding.solve(solver)
    size = (encoding.rounds, len(encoding.clauses), encoding.variables)
    if solution is None:
        return SatResult("inconsistent", None, *size)
    return SatResult("consistent", solution.order, *size)


def kernel(problem: Problem) -> list[tuple[int, int]] | None:
    """Every pair of writes of one address that every store order has in this order: the SC-kernel, section 4, as the
    backbone of the formula. None if there is no store order at all."""
    encoding = Encoding(problem, "wsc")
    if encoding.refuted:
        return None
    pairs = list(zip(*(column.tolist() for column in encoding.checker.pairs(True)), strict=True))
    with Solver(name="cadical195", bootstrap_with=encoding.clauses) as solver:
        solution = encoding.solve(solver)
        if solution is None:
            return None
        candidates = {lit if solution.values[lit] else -lit: pair for pair, lit in encoding.literals.items()}
        for literal in list(candidates):
            if literal not in candidates:
                continue
            other = encoding.solve(solver, -literal)
            if other is None:
                a, b = candidates.pop(literal)
                pairs.append((a, b) if literal > 0 else (b, a))
            else:
                candidates = {lit: p for lit, p in candidates.items() if other.values[abs(lit)] == (lit > 0)}
    return pairs


class Solution(NamedTuple):
    values: Any
    order: Any


class Encoding:
    """Variables, clauses, and the edges that hold always or under one or two literals."""

    def __init__(self, problem: Problem, prior: Prior) -> None:
        self.problem = problem
        self.history = problem.history
        self.variables = 0
        self.clauses: list[list[int]] = []
        self.refuted = False
        self.rounds = 0
        self.literals: dict[tuple[int, int], int] = {}
        self._from: list[int] = []
        self._to: list[int] = []
        self._if: list[tuple[int, int]] = []
        self.saturated = prior in ("wsc", "six", "guess")
        self.checker = problem.checker(rules="saturated" if self.saturated else "base")
        self.refuted = self.checker.saturate(None) == "inconsistent"
        if prior in ("six", "guess") and not self.refuted:
            self.refuted = self.checker.extend(prior, None) == "inconsistent"
        if self.refuted:
            return
        self._readers: dict[int, list[int]] = {}
        for read, source in enumerate(problem.source.tolist()):
            if source < INITIAL_SOURCE:
                self._readers.setdefault(source, []).append(read)
        self._facts()
        self._store_order()
        if prior == "ccm" and not self._causal():
            self.refuted = True
            return
        self._sources()
        self._finals()
        self._conditional = (np.array(self._from, np.uint32), np.array(self._to, np.uint32))
        self._conditions = np.array(self._if, np.int64).reshape(-1, 2)

    # ---- the edges

    def _facts(self) -> None:
        start, end = self.checker.base_edges()
        more = [(a, b) for a, b, _, _ in self.checker.edges()] if self.saturated else []
        if not self.saturated:
            for older, newer in zip(*(column.tolist() for column in self.checker.pairs(True)), strict=True):
                more.append((older, newer))
                more += [(reader, newer) for reader in self._readers.get(older, ()) if reader != newer]
        extra = np.array(more, np.uint32).reshape(-1, 2)
        self._known = (np.concatenate([start, extra[:, 0]]), np.concatenate([end, extra[:, 1]]))

    def _store_order(self) -> None:
        for a, b in zip(*(column.tolist() for column in self.checker.pairs(False)), strict=True):
            self.variables += 1
            self.literals[a, b] = self.variables
            for older, newer, literal in ((a, b, self.variables), (b, a, -self.variables)):
                self._edge(older, newer, literal)
                for reader in self._readers.get(older, ()):
                    if reader != newer:
                        self._edge(reader, newer, literal)

    def _causal(self) -> bool:
        status, first, second = self.checker.ccm(True, None)
        for pair in zip(first.tolist(), second.tolist(), strict=True):
            literal = self._before(*pair)
            if literal is not True and literal is not False:
                self.clauses.append([literal])
        return bool(status == "consistent")

    def _sources(self) -> None:
        problem = self.problem
        for read, candidates in problem.candidates.items():
            choices = [self._source(read, source) for source in candidates]
            self.clauses.append(choices)
            self.clauses += [[-a, -b] for i, a in enumerate(choices) for b in choices[:i]]

    def _source(self, read: int, source: int) -> int:
        """A variable for the read having seen this source, with what follows from it."""
        self.variables += 1
        chosen = self.variables
        columns = self.history.columns
        own = self.problem.newest_own(read)
        writes = self.problem.writes_of(int(columns.address[read]))
        if source == INITIAL_SOURCE:
            if own is not None:
                self.clauses.append([-chosen])
            for write in writes:
                if write != read:
                    self._edge(read, write, chosen)
            return chosen
        same_thread = columns.thread[source] == columns.thread[read]
        if same_thread and source != own:
            self.clauses.append([-chosen])
        if not same_thread:
            self._edge(source, read, chosen)
        if own is not None and own != source:
            self._imply(chosen, own, source)
        for write in writes:
            if write in (source, read):
                continue
            later = self._before(source, write)
            if later is True:
                self._edge(read, write, chosen)
            elif later is not False:
                self._edge(read, write, chosen, later)
        return chosen

    def _finals(self) -> None:
        for address, candidates in self.problem.final_candidates.items():
            choices = []
            for source in candidates:
                self.variables += 1
                choices.append(self.variables)
                for write in self.problem.writes_of(address):
                    if source == INITIAL_SOURCE:
                        self.clauses.append([-self.variables])
                    elif write != source:
                        self._imply(self.variables, write, source)
            self.clauses.append(choices)

    def _imply(self, condition: int, older: int, newer: int) -> None:
        before = self._before(older, newer)
        if before is not True:
            self.clauses.append([-condition] if before is False else [-condition, before])

    def _before(self, a: int, b: int) -> int | bool:
        """Whether write a is older than write b: known, or a literal."""
        if (a, b) in self.literals:
            return self.literals[a, b]
        if (b, a) in self.literals:
            return -self.literals[b, a]
        return bool(self.checker.before(a, b))

    def _edge(self, start: int, end: int, literal: int, and_literal: int = 0) -> None:
        self._from.append(start)
        self._to.append(end)
        self._if.append((literal, and_literal))

    # ---- the loop

    def solve(self, solver: Any, *assumptions: int) -> Solution | None:
        """A solution without cycles, or None if there is none."""
        while _satisfiable(solver, list(assumptions)):
            self.rounds += 1
            values = np.zeros(self.variables + 1, bool)
            values[[literal for literal in solver.get_model() or () if 0 < literal <= self.variables]] = True
            learned, order = self.refine(values)
            if not learned:
                return Solution(values, order)
            if not all(learned):
                return None
            solver.append_formula(learned)
            self.clauses += learned
        return None

    def refine(self, values: Any) -> tuple[list[list[int]], Any]:
        """Clauses that this solution breaks; if there are none, an order."""
        first, second = self._conditions[:, 0], self._conditions[:, 1]
        holds = (values[np.abs(first)] == (first > 0)) & ((second == 0) | (values[np.abs(second)] == (second > 0)))
        active = np.flatnonzero(holds)
        start = np.concatenate([self._known[0], self._conditional[0][active]]).astype(np.uint32)
        end = np.concatenate([self._known[1], self._conditional[1][active]]).astype(np.uint32)
        cycles, order = _core.short_cycles(len(self.history), start, end, CYCLES)
        known = len(self._known[0])
        clauses = set()
        for cycle in cycles:
            literals = {
                literal
                for edge in cycle
                if edge >= known
                for literal in self._conditions[active[edge - known]].tolist()
                if literal
            }
            clauses.add(tuple(sorted(-literal for literal in literals)))
        return [list(clause) for clause in sorted(clauses, key=lambda c: (len(c), c))], order


def _satisfiable(solver: Any, assumptions: list[int]) -> bool:
    import pysolvers  # type: ignore[import-not-found]

    with supervision.heard_by_a_library():
        try:
            return bool(solver.solve(assumptions=assumptions))
        except pysolvers.error as error:  # its own way to tell of Ctrl-C
            if "keyboard interrupt" in str(error):
                raise KeyboardInterrupt from None
            raise
