"""Fences as Linden, Wolper insert them (TACAS 2013, sections 4 and 5): ``teetotal verify --fence``, and their Table 1.

==============================================  ==========================================================
paper                                           here
==============================================  ==========================================================
1. for TSO, insert mfences until safe           ``_iterate(…, "tso")``: an mfence directly after the store
   (the algorithm of their SPIN 2011 paper)
2. for PSO, insert sfences until safe           ``_iterate(…, "pso")``: an sfence directly before the store
latest relaxation on the path first             ``relaxation``
Remark 2: remove fences that are not needed     ``_reduce``, after each of the two steps
==============================================  ==========================================================

Deviation: the order of stores of a run is known from its replay by the model's machine, so that no second buffers are kept
beside the first (their Remark 1). Beyond the paper, a cheapest set and all minimal ones at these places are what
``insertion`` finds. Fences are counted as the paper counts them: a proctype that runs twice has each of its fences twice.
"""

from __future__ import annotations

import msgspec

from teetotal.answers.costs import Costs
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Kind, ModelName, Semantics
from teetotal.answers.verdict import Goal, Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.schedules import Replay
from teetotal.engines.symbolic.verify import Outcome
from teetotal.fences.insertion import NoFenceHelps, Search, Undecided
from teetotal.fences.promela import PromelaProblem, patched
from teetotal.programs.promela.compile import compile_text
from teetotal.programs.promela.instructions import FenceSite
from teetotal.programs.promela.program import PromelaProgram


class PlacedSite(msgspec.Struct, frozen=True):
    """``processes``: how many have it."""

    site: FenceSite
    processes: int


class Insertion(msgspec.Struct, frozen=True, kw_only=True):
    """``text`` is the program with ``fences``, and ``proofs`` what the engine says of that text, model by model. ``sets``
    are all minimal sets, where they were asked for. Where nothing helps, ``failure`` says why, or ``undecided`` why that
    is not known."""

    verdict: Verdict
    fences: tuple[PlacedSite, ...] = ()
    iterations: int
    verifications: int
    text: str
    proofs: tuple[Outcome, ...] = ()
    sets: tuple[tuple[PlacedSite, ...], ...] = ()
    failure: Outcome | None = None
    undecided: str = ""

    def count(self, kind: Kind) -> int:
        """As the paper counts: in each process that runs the statement."""
        return sum(fence.processes for fence in self.fences if fence.site.kind is kind)


class _NoFence(Exception):
    """A run that no fence rules out."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


def insert_fences(
    program: PromelaProgram,
    *,
    goal: Goal = "safe",
    models: tuple[ModelName, ...] = ("tso", "pso"),
    engine: str = "saturate",
    semantics: Semantics = Semantics(),
    budget: Budget | None = None,
    every: bool = False,
    costs: Costs | None = None,
) -> Insertion:
    """Fences at stores that make the program safe (or robust) under the models, each of them needed.

    With ``costs``, a cheapest set instead; with ``every``, all minimal sets as well.
    """

    def problem_of(fenced: PromelaProgram) -> PromelaProblem:
        return PromelaProblem(fenced, models, goal, semantics, costs or Costs(), engine=engine, budget=budget)

    problem = problem_of(program)
    sets: list[frozenset[int]] = []
    iterations = 0
    try:
        if goal == "safe" and problem.outcome(frozenset(), "sc").verdict is Verdict.VIOLATION:
            raise _NoFence(problem.outcome(frozenset(), "sc"))
        if every or costs is not None:
            search = Search(problem)
            found = search.cheapest_first()
            sets = list(found) if every else [next(found)]
            chosen, iterations = sets[0], search.checks
        else:
            chosen = frozenset[int]()
            for model in models:
                inserted = _iterate(problem, chosen, model)
                iterations += len(inserted) + 1
                chosen = _reduce(problem, chosen, inserted, model)
    except (_NoFence, NoFenceHelps) as hopeless:
        outcome = hopeless.outcome if isinstance(hopeless, _NoFence) else problem.last
        return Insertion(
            verdict=Verdict.VIOLATION,
            iterations=max(iterations, 1),
            verifications=problem.verifications,
            text=program.text,
            failure=outcome,
        )
    except Undecided as undecided:
        return Insertion(
            verdict=Verdict.INCONCLUSIVE,
            iterations=max(iterations, 1),
            verifications=problem.verifications,
            text=program.text,
            undecided=undecided.message,
        )
    text = patched(program, chosen).text
    again = problem_of(compile_text(text, program.source))
    proofs = tuple(again.ask(frozenset(), model, certify=engine == "saturate") for model in models)
    verdict = Verdict.SAFE
    for proof in proofs:
        verdict = verdict + proof.verdict

    def placed(fences: frozenset[int]) -> tuple[PlacedSite, ...]:
        ordered = sorted(fences, key=lambda fence: (program.sites[fence].span.start, program.sites[fence].kind))
        return tuple(PlacedSite(program.sites[fence], problem.processes(fence)) for fence in ordered)

    return Insertion(
        verdict=verdict,
        fences=placed(chosen),
        iterations=iterations,
        verifications=problem.verifications,
        text=text,
        proofs=proofs,
        sets=tuple(map(placed, sets)) if every else (),
    )


def _iterate(problem: PromelaProblem, fences: frozenset[int], model: ModelName) -> list[int]:
    """Insert fences until the goal holds: which, in that order."""
    inserted: list[int] = []
    while True:
        outcome = problem.outcome(fences | frozenset(inserted), model)
        if outcome.verdict is Verdict.SAFE:
            return inserted
        assert outcome.replay is not None
        fence = relaxation(problem.program, outcome.replay, model)
        if fence is None:
            raise _NoFence(outcome)
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


def _reduce(problem: PromelaProblem, kept: frozenset[int], inserted: list[int], model: ModelName) -> frozenset[int]:
    """Remark 2: without any one of those that stay, the goal is missed."""
    needed = list(inserted)
    for fence in inserted:
        without = kept | frozenset(f for f in needed if f != fence)
        if problem.outcome(without, model).verdict is Verdict.SAFE:
            needed.remove(fence)
    return kept | frozenset(needed)
