"""Fence insertion: Linden, Wolper (TACAS 2013), sections 4 and 5.

==============================================  ==========================================================
paper                                           here
==============================================  ==========================================================
1. for TSO, insert mfences until safe           ``_iterate(…, "tso")``: an mfence directly after the store
   (the algorithm of their SPIN 2011 paper)
2. for PSO, insert sfences until safe           ``_iterate(…, "pso")``: an sfence directly before the store
latest relaxation on the path first             ``relaxation``
Remark 2: remove fences that are not needed     ``_reduce``, after each of the two steps
==============================================  ==========================================================

Deviations. The order of stores of a run is known from its replay by the model's machine, so that no second buffers are
kept beside the first (their Remark 1). Beyond the paper: all minimal sets, and a cheapest one. Both rest on this: a run
that violates the goal stays possible unless one of the fences that it passed with the wrong stores pending is there
(``Replay.killers``); every set that works hits all these clauses, and sets that hit all clauses known so far either
work or give a new clause.

A fence belongs to a place in the text. A proctype that runs twice has it twice, which is how the paper counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from teetotal.errors import ProgramError, TeetotalError
from teetotal.events import Kind, ModelName, Semantics
from teetotal.programs.promela.compile import compile_text
from teetotal.programs.promela.program import FenceSite, PromelaProgram, Slot
from teetotal.symbolic.graph import ControlGraph
from teetotal.symbolic.schedules import Replay
from teetotal.symbolic.verify import NO_LIMITS, Limits, Outcome, Report, robust, verify
from teetotal.verdicts import Verdict

Goal = Literal["safe", "robust"]
Check = Callable[[frozenset[int], ModelName], Outcome]


class Insertion(msgspec.Struct, frozen=True, kw_only=True):
    """``fences`` are the program's sites; ``text`` is the program with them, and ``proofs`` what the engine says of that
    text, model by model. ``sets`` are all minimal sets, where they were asked for. Without ``fences`` nothing helps:
    ``failure`` says why."""

    verdict: Verdict
    fences: tuple[FenceSite, ...]
    processes: tuple[int, ...]
    iterations: int
    verifications: int
    text: str
    proofs: tuple[Outcome, ...]
    sets: tuple[tuple[FenceSite, ...], ...] = ()
    failure: Outcome | None = None

    def count(self, kind: Kind) -> int:
        """As the paper counts: in each process that runs the statement."""
        return sum(n for site, n in zip(self.fences, self.processes, strict=True) if site.kind is kind)


class _Undecided(Exception):
    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class _Problem:
    """One program, one goal: which fence sets work, with every answer remembered."""

    def __init__(
        self,
        graph: ControlGraph,
        goal: Goal,
        models: tuple[ModelName, ...],
        engine: str,
        limits: Limits,
        report: Report | None,
    ) -> None:
        self.graph = graph
        self.program = graph.program
        self.models = models
        self.verifications = 0
        self.known: dict[tuple[frozenset[int], ModelName], Outcome] = {}
        self.goal, self.engine, self.limits, self.report = goal, engine, limits, report

    def check(self, fences: frozenset[int], model: ModelName) -> Outcome:
        key = (fences, model)
        if key not in self.known:
            self.verifications += 1
            outcome = self.ask(fences, model)
            if outcome.verdict is Verdict.INCONCLUSIVE:
                raise _Undecided(outcome)
            self.known[key] = outcome
        return self.known[key]

    def ask(self, fences: frozenset[int], model: ModelName, certify: bool = False) -> Outcome:
        if self.goal == "robust":
            return robust(self.graph, model, fences=fences, limits=self.limits, report=self.report)
        return verify(
            self.graph,
            model,
            engine=self.engine,
            fences=fences,
            limits=self.limits,
            certify=certify,
            report=self.report,
        )

    def works(self, fences: frozenset[int]) -> Outcome | None:
        """None, or the first violation, models in order."""
        for model in self.models:
            outcome = self.check(fences, model)
            if outcome.verdict is Verdict.VIOLATION:
                return outcome
        return None

    def clause(self, outcome: Outcome) -> frozenset[int]:
        """One of these fences is needed."""
        assert outcome.replay is not None
        killers = frozenset(outcome.replay.killers)
        if not killers:
            raise _Undecided(outcome)
        return killers


def insert_fences(
    program: PromelaProgram,
    *,
    goal: Goal = "safe",
    models: tuple[ModelName, ...] = ("tso", "pso"),
    engine: str = "saturate",
    semantics: Semantics = Semantics(),
    limits: Limits = NO_LIMITS,
    every: bool = False,
    costs: dict[Kind, float] | None = None,
    report: Report | None = None,
) -> Insertion:
    """Fences that make the program safe (or robust) under the models, each of them needed.

    With ``costs``, a cheapest set instead; with ``every``, all minimal sets as well.
    """
    graph = ControlGraph(program, semantics)
    problem = _Problem(graph, goal, models, engine, limits, report)
    try:
        if goal == "safe":
            unfenced = problem.check(frozenset(), "sc")
            if unfenced.verdict is Verdict.VIOLATION:  # no fence helps
                return _failed(problem, unfenced, 1)
        sets: list[frozenset[int]] = []
        iterations = 0
        if every:
            sets = sorted(_all_minimal(problem), key=lambda s: (_cost(program, s, costs), len(s), sorted(s)))
        if costs is not None or every:
            chosen = sets[0] if every else _cheapest(problem, costs)
            iterations = problem.verifications
        else:
            chosen = frozenset()
            for model in models:
                inserted, rounds = _iterate(problem, chosen, model)
                iterations += rounds
                chosen = _reduce(problem, chosen, inserted, model)
    except _Undecided as undecided:
        return _failed(problem, undecided.outcome, problem.verifications)
    text = fenced_text(program, chosen)
    again = _Problem(ControlGraph(compile_text(text, program.source), semantics), goal, models, engine, limits, report)
    proofs = tuple(again.ask(frozenset(), model, certify=engine == "saturate") for model in models)
    verdict = Verdict.SAFE
    for proof in proofs:
        verdict = verdict + proof.verdict
    sites = _ordered(program, chosen)
    return Insertion(
        verdict=verdict,
        fences=tuple(program.sites[site] for site in sites),
        processes=tuple(_processes(program, site) for site in sites),
        iterations=iterations,
        verifications=problem.verifications,
        text=text,
        proofs=proofs,
        sets=tuple(tuple(program.sites[site] for site in _ordered(program, s)) for s in sets),
    )


def _failed(problem: _Problem, outcome: Outcome, iterations: int) -> Insertion:
    return Insertion(
        verdict=outcome.verdict,
        fences=(),
        processes=(),
        iterations=iterations,
        verifications=problem.verifications,
        text=problem.program.text,
        proofs=(),
        failure=outcome,
    )


# -- the paper's iteration ------------------------------------------------------------------------------------------


def _iterate(problem: _Problem, fences: frozenset[int], model: ModelName) -> tuple[list[int], int]:
    """Insert fences until the goal holds: which, in that order, and how many verifications that took."""
    inserted: list[int] = []
    while True:
        outcome = problem.check(fences | frozenset(inserted), model)
        if outcome.verdict is Verdict.SAFE:
            return inserted, len(inserted) + 1
        assert outcome.replay is not None
        fence = relaxation(problem.program, outcome.replay, model)
        if fence is None:
            raise _Undecided(outcome)
        inserted.append(fence)


def relaxation(program: PromelaProgram, replay: Replay, model: ModelName) -> int | None:
    """The fence against the latest relaxation of a run.

    TSO: a load (or a step on ghost variables, which no buffer delays either) while an older store to another location was
    pending: an mfence after the latest such store. PSO: a store became visible before an older one of its process: an
    sfence before it. A run under PSO without the latter is one of TSO.
    """
    for line in reversed(replay.lines):
        if model == "pso" and line.committed is not None and line.overtaken:
            before, _ = program.fences_of(line.committed.thread, replay.stores[line.committed.id])
            if before is None:
                _refuse(line.committed.location)
            return before
    for line in reversed(replay.lines):
        reads = line.ghost or (line.event is not None and line.event.kind is Kind.LD)
        address = line.event.address if line.event is not None else None
        pending = [store for store in line.pending if store.address != address]
        if reads and pending and not any(store.address == address for store in line.pending):
            store = pending[-1]
            _, after = program.fences_of(store.thread, replay.stores[store.id])
            if after is None:
                _refuse(store.location)
            return after
    return None


def _refuse(location: object) -> None:
    raise ProgramError(f"{location}: a fence is needed at a store that a macro made together with more; write it out")


def _reduce(problem: _Problem, kept: frozenset[int], inserted: list[int], model: ModelName) -> frozenset[int]:
    """Remark 2: without any one of those that stay, the goal is missed."""
    needed = list(inserted)
    for fence in inserted:
        without = kept | frozenset(f for f in needed if f != fence)
        if problem.check(without, model).verdict is Verdict.SAFE:
            needed.remove(fence)
    return kept | frozenset(needed)


# -- all minimal sets, and a cheapest one -----------------------------------------------------------------------------


def _all_minimal(problem: _Problem) -> list[frozenset[int]]:
    """Minimal hitting sets of the clauses, which grow until every such set works."""
    clauses: list[frozenset[int]] = []
    working: set[frozenset[int]] = set()
    while True:
        for candidate in minimal_hitting_sets(clauses):
            if candidate in working:
                continue
            outcome = problem.works(candidate)
            if outcome is None:
                working.add(candidate)
                continue
            clauses.append(problem.clause(outcome))
            break
        else:
            return list(working)


def minimal_hitting_sets(clauses: list[frozenset[int]]) -> list[frozenset[int]]:
    """Berge: clause by clause, keeping only sets that contain no other."""
    sets = [frozenset[int]()]
    for clause in clauses:
        hit = [s for s in sets if s & clause]
        grown = {s | {fence} for s in sets if not s & clause for fence in clause}
        sets = hit + [s for s in grown if not any(other <= s for other in hit)]
    return sorted(set(sets), key=lambda s: (len(s), sorted(s)))


def _cheapest(problem: _Problem, costs: dict[Kind, float] | None) -> frozenset[int]:
    clauses: list[frozenset[int]] = []
    while True:
        candidate = cheapest_hitting_set(clauses, lambda fence: _cost(problem.program, frozenset([fence]), costs))
        outcome = problem.works(candidate)
        if outcome is None:
            return candidate
        clauses.append(problem.clause(outcome))


def cheapest_hitting_set(clauses: list[frozenset[int]], cost: Callable[[int], float]) -> frozenset[int]:
    """Branch and bound on the smallest clause that is not hit."""
    best: list[tuple[float, frozenset[int]]] = [(float("inf"), frozenset())]

    def search(chosen: frozenset[int], banned: frozenset[int], spent: float) -> None:
        if spent >= best[0][0]:
            return
        open_ = [clause - banned for clause in clauses if not clause & chosen]
        if not open_:
            best[0] = (spent, chosen)
            return
        smallest = min(open_, key=len)
        for fence in sorted(smallest, key=lambda f: (cost(f), f)):
            search(chosen | {fence}, banned, spent + cost(fence))
            banned |= {fence}

    search(frozenset(), frozenset(), 0.0)
    return best[0][1]


def _cost(program: PromelaProgram, fences: frozenset[int], costs: dict[Kind, float] | None) -> float:
    prices = costs or {Kind.MFENCE: 1.0, Kind.SFENCE: 1.0}
    return sum(prices[program.sites[fence].kind] * _processes(program, fence) for fence in fences)


def _processes(program: PromelaProgram, fence: int) -> int:
    """How many processes have that fence."""
    return sum(any(isinstance(i, Slot) and i.fence == fence for i in process.code) for process in program.processes)


# -- the program with its fences ----------------------------------------------------------------------------------------


def _ordered(program: PromelaProgram, fences: frozenset[int]) -> list[int]:
    return sorted(fences, key=lambda fence: (program.sites[fence].span.start, program.sites[fence].kind))


def fenced_text(program: PromelaProgram, fences: frozenset[int]) -> str:
    """The program's text with ``; mfence`` after, and ``sfence; `` before, the stores."""
    text = program.text
    for offset, addition in sorted(_additions(program, fences), reverse=True):
        text = text[:offset] + addition + text[offset:]
    return text


def _additions(program: PromelaProgram, fences: frozenset[int]) -> Iterator[tuple[int, str]]:
    for fence in fences:
        site = program.sites[fence]
        if site.kind is Kind.MFENCE:
            yield site.span.end, "; mfence"
        else:
            yield site.span.start, "sfence; "


def parse_costs(text: str) -> dict[Kind, float]:
    """``mfence=10,sfence=1``"""
    costs = {Kind.MFENCE: 1.0, Kind.SFENCE: 1.0}
    for part in text.split(","):
        name, _, value = part.partition("=")
        kinds = {"mfence": Kind.MFENCE, "sfence": Kind.SFENCE}
        try:
            costs[kinds[name.strip()]] = float(value)
        except (KeyError, ValueError):
            raise TeetotalError(f"{part!r} is no cost: write mfence=10,sfence=1") from None
    if min(costs.values()) <= 0:
        raise TeetotalError("a fence's cost is more than 0")
    return costs
