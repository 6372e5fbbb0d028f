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

import time
from typing import Any, Literal, NamedTuple

import numpy as np

from teetotal import _core
from teetotal.histories.history import INITIAL_SOURCE
from teetotal.histories.problem import Problem

Prior = Literal["nothing", "ccm", "saturation"]


class SatResult(NamedTuple):
    status: Literal["consistent", "inconsistent", "unknown"]
    order: Any = None
    """Operations in an order that respects every edge, if consistent."""
    rounds: int = 0
    clauses: int = 0
    variables: int = 0
    source: Any = None
    """Per operation the source that the solution chose, if consistent."""


def solve(problem: Problem, prior: Prior = "saturation", seconds: float | None = None) -> SatResult:
    """Decides the problem. Time is looked at between the solver's calls."""
    from pysat.solvers import Solver

    deadline = None if seconds is None else time.monotonic() + seconds
    encoding = Encoding(problem, prior)
    if encoding.refuted:
        return SatResult("inconsistent")
    rounds = 0
    with Solver(name="cadical195", bootstrap_with=encoding.clauses) as solver:
        while solver.solve():
            rounds += 1
            values = np.zeros(encoding.variables + 1, bool)
            values[[literal for literal in solver.get_model() if 0 < literal <= encoding.variables]] = True
            learned, order = encoding.refine(values)
            if not learned:
                size = (rounds, len(encoding.clauses), encoding.variables)
                return SatResult("consistent", order, *size, encoding.chosen_sources(values))
            if any(not clause for clause in learned):
                break
            solver.append_formula(learned)
            encoding.clauses += learned
            if deadline is not None and time.monotonic() > deadline:
                return SatResult("unknown", None, rounds, len(encoding.clauses), encoding.variables)
    return SatResult("inconsistent", None, rounds, len(encoding.clauses), encoding.variables)


class Encoding:
    """Variables, clauses, and the edges that hold always or under one or two literals."""

    def __init__(self, problem: Problem, prior: Prior) -> None:
        self.problem = problem
        self.history = problem.history
        self.variables = 0
        self.clauses: list[list[int]] = []
        self.refuted = False
        self._literal: dict[tuple[int, int], int] = {}
        self._chosen: dict[tuple[int, int], int] = {}
        self._from: list[int] = []
        self._to: list[int] = []
        self._if: list[tuple[int, int]] = []
        self._checker = problem.checker(rules="saturated" if prior == "saturation" else "base")
        if self._checker.saturate(None) == "inconsistent":
            self.refuted = True
            return
        self._readers: dict[int, list[int]] = {}
        for read, source in enumerate(problem.source.tolist()):
            if source < INITIAL_SOURCE:
                self._readers.setdefault(source, []).append(read)
        self._facts(prior)
        self._store_order()
        if prior == "ccm" and not self._causal():
            self.refuted = True
            return
        self._sources()
        self._finals()
        self._conditional = (np.array(self._from, np.uint32), np.array(self._to, np.uint32))
        self._conditions = np.array(self._if, np.int64).reshape(-1, 2)

    # ---- the edges

    def _facts(self, prior: Prior) -> None:
        start, end = self._checker.base_edges()
        more = [(a, b) for a, b, _, _ in self._checker.edges()] if prior == "saturation" else []
        if prior != "saturation":
            for older, newer in zip(*(column.tolist() for column in self._checker.pairs(True)), strict=True):
                more.append((older, newer))
                more += [(reader, newer) for reader in self._readers.get(older, ()) if reader != newer]
        extra = np.array(more, np.uint32).reshape(-1, 2)
        self._known = (np.concatenate([start, extra[:, 0]]), np.concatenate([end, extra[:, 1]]))

    def _store_order(self) -> None:
        for a, b in zip(*(column.tolist() for column in self._checker.pairs(False)), strict=True):
            self.variables += 1
            self._literal[a, b] = self.variables
            for older, newer, literal in ((a, b, self.variables), (b, a, -self.variables)):
                self._edge(older, newer, literal)
                for reader in self._readers.get(older, ()):
                    if reader != newer:
                        self._edge(reader, newer, literal)

    def _causal(self) -> bool:
        status, first, second = self._checker.ccm(True, None)
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
        self._chosen[read, source] = chosen
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
        if (a, b) in self._literal:
            return self._literal[a, b]
        if (b, a) in self._literal:
            return -self._literal[b, a]
        return bool(self._checker.before(a, b))

    def _edge(self, start: int, end: int, literal: int, and_literal: int = 0) -> None:
        self._from.append(start)
        self._to.append(end)
        self._if.append((literal, and_literal))

    # ---- the loop

    def refine(self, values: Any) -> tuple[list[list[int]], Any]:
        """Clauses that this solution breaks; if there are none, an order."""
        first, second = self._conditions[:, 0], self._conditions[:, 1]
        holds = (values[np.abs(first)] == (first > 0)) & ((second == 0) | (values[np.abs(second)] == (second > 0)))
        active = np.flatnonzero(holds)
        start = np.concatenate([self._known[0], self._conditional[0][active]]).astype(np.uint32)
        end = np.concatenate([self._known[1], self._conditional[1][active]]).astype(np.uint32)
        cycles, order = _core.short_cycles(len(self.history), start, end, 64)
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

    def chosen_sources(self, values: Any) -> Any:
        source = self.problem.source.copy()
        for (read, candidate), variable in self._chosen.items():
            if values[variable]:
                source[read] = candidate
        return source
