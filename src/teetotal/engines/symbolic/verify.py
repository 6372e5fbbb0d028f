"""The engines behind one function: ``verify(program, model)`` says safe, violation or inconclusive, with evidence.

``saturate`` (the default) goes through stages, each of them exact but the last two:

1. joining states that differ in one component: few, large states, which prove most programs safe;
2. if that finds a bad state: breadth-first, with subsumption only, for a path to it;
3. if stage 1 does not end soon: with scans in any order, if processes can then be exchanged and nobody asks for a
   certificate (``scans.py``). A "safe" is one; a bad state may not be real, and is not looked for;
4. if that does not help: blurring the automata (merging nodes that ``k`` rounds of refinement do not tell apart). Its
   "safe" is a proof like the others', with a certificate. A bad state that it reaches may not be real: stage 2 looks for it
   too, as long again. If nothing is decided, all begins again with eight times the work and ``k + 1``.
"""

from __future__ import annotations

import resource
import time
from itertools import count
from typing import Any, Literal

import msgspec

from teetotal import _core
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.schedules import ScheduleStep
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.certificates import Certificate, write
from teetotal.engines.symbolic.graph import MODEL_NUMBERS, ControlGraph
from teetotal.engines.symbolic.schedules import Replay, replay_core
from teetotal.models import is_sc
from teetotal.programs.promela.program import PromelaProgram

FIRST_WORK = 20_000
"""How many nodes of automata stage 1 may build in its first round."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one engine says about one program under one model. ``certificate`` proves a safe verdict of ``saturate``;
    ``replay`` is the violation as the model's machine ran it."""

    verdict: Verdict
    model: ModelName
    states: int
    seconds: float
    why: str = ""
    schedule: tuple[ScheduleStep, ...] = ()
    replay: Replay | None = None
    certificate: Certificate | None = None


def interrupted(model: ModelName) -> Outcome:
    """What is known when the user ends the run."""
    return Outcome(verdict=Verdict.INCONCLUSIVE, model=model, states=0, seconds=0.0, why="interrupted")


class OutOfBudget(Exception):
    """A limit is hit."""

    def __init__(self, message: str, memory: bool = False) -> None:
        super().__init__(message)
        self.memory = memory

    @classmethod
    def of_memory(cls, most: float | None) -> OutOfBudget:
        return cls(f"memory: {'there is no more' if most is None else f'more than {most:g} MB'}", memory=True)


class Watch:
    """What the kernels call now and then: tells how far they are, and ends the run when the budget is used up."""

    def __init__(self, budget: Budget, model: ModelName) -> None:
        budget.begin()
        self.budget = budget
        self.model: ModelName = model
        self.counting = budget.counting(f"{model.upper()} states")
        self.started = time.process_time()
        self.before = _megabytes()
        self.states = 0

    def __call__(self, states: int = 0, fraction: float = 0.0) -> None:
        self.states = states or self.states
        if self.budget.over:
            raise OutOfBudget(f"time: more than {self.budget.seconds:g} s")
        if self.budget.megabytes is not None and _megabytes() - self.before > self.budget.megabytes:
            raise OutOfBudget.of_memory(self.budget.megabytes)
        if self.counting is not None:
            self.counting(self.states, fraction)

    def outcome(self, verdict: Verdict, states: int, why: str = "", **more: Any) -> Outcome:
        """What is said about the run that was watched."""
        seconds = time.process_time() - self.started
        return Outcome(verdict=verdict, model=self.model, states=states, seconds=seconds, why=why, **more)

    def given_up(self, reason: OutOfBudget | MemoryError, graph: ControlGraph) -> Outcome:
        if isinstance(reason, MemoryError):
            reason = OutOfBudget.of_memory(self.budget.megabytes)
        if reason.memory:
            _core.give_back_memory(min(self.budget.left, 60.0))  # the next question may be an easier one
        growing = graph.growing()
        why = f"{reason}; {growing}" if growing else str(reason)
        return self.outcome(Verdict.INCONCLUSIVE, self.states, why)


def _megabytes() -> float:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6
    except OSError:  # there is no /proc: what it was at most
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def verify(
    program: PromelaProgram | ControlGraph,
    model: ModelName,
    *,
    engine: str = "saturate",
    fences: frozenset[int] = frozenset(),
    semantics: Semantics = Semantics(),
    budget: Budget | None = None,
    certify: bool = False,
) -> Outcome:
    """Whether no assertion fails and no forbidden state is reached, with these of the program's ``sites`` fenced."""
    graph = program if isinstance(program, ControlGraph) else ControlGraph(program, semantics)
    watch = Watch(budget or Budget(), model)
    present = [site in fences for site in range(len(graph.program.sites))]
    number = MODEL_NUMBERS[model]
    answer: Literal["safe", "bad", "cut", "unconfirmed"]
    name, _, argument = engine.partition(":")
    try:
        if name == "saturate" and not argument:
            answer, found = _saturate(graph, number, present, certify, watch)
        elif name == "bounded" and argument.isdecimal() and len(argument) < 10:
            found = _core.verify_bounded(graph.core, number, present, int(argument), watch)
            answer = found["answer"]
        elif name == "accelerate" and not argument:
            found = _core.verify_accelerate(graph.core, number, present, watch)
            answer = found["answer"]
        else:
            raise TeetotalError(f"no engine {engine!r}: saturate, accelerate, or bounded:N")
    except (OutOfBudget, MemoryError) as reason:
        return watch.given_up(reason, graph)
    schedule: list[ScheduleStep] = []
    replay = None
    why = ""
    if answer == "bad":
        replay, schedule = replay_core(graph, fences, model, found["schedule"])
        bad = replay.bad()
        assert bad is not None, "the engine's violation is none"
        why = bad
    elif answer == "cut":
        why = f"a buffer was full with {argument} stores"
    elif answer == "unconfirmed":
        why = "a bad state was reached, but no schedule that leads to it was found"
    verdicts = {"safe": Verdict.SAFE, "bad": Verdict.VIOLATION}
    certificate = None
    if certify and answer == "safe" and name == "saturate":
        certificate = write(graph, model, fences, found)
    evidence = {"schedule": tuple(schedule), "replay": replay, "certificate": certificate}
    return watch.outcome(verdicts.get(answer, Verdict.INCONCLUSIVE), found["states"], why, **evidence)


def robust(
    program: PromelaProgram | ControlGraph,
    model: ModelName,
    *,
    fences: frozenset[int] = frozenset(),
    semantics: Semantics = Semantics(),
    budget: Budget | None = None,
) -> Outcome:
    """Whether every trace is sequentially consistent. Ghost variables and properties do not matter: ``replay`` is of the
    program without them (``locality.events_only``)."""
    watch = Watch(budget or Budget(), model)
    graph = program if isinstance(program, ControlGraph) else ControlGraph(program, semantics)
    try:
        watch()  # another graph is much work
        graph = graph.events_only
        present = [site in fences for site in range(len(graph.program.sites))]
        found = _core.verify_robust(graph.core, MODEL_NUMBERS[model], present, watch)
    except (OutOfBudget, MemoryError) as reason:
        return watch.given_up(reason, graph)
    if found["answer"] == "safe":
        return watch.outcome(Verdict.SAFE, found["states"])
    replay, schedule = replay_core(graph, fences, model, found["schedule"])
    for step in replay.drain():
        schedule.append(step)
    assert not is_sc(replay.run.trace()), "the engine's violation is none"
    why = "not robust: the trace has a happens-before cycle"
    return watch.outcome(Verdict.VIOLATION, found["states"], why, schedule=tuple(schedule), replay=replay)


def _saturate(
    graph: ControlGraph, model: int, present: list[bool], certify: bool, watch: Watch
) -> tuple[Literal["safe", "bad"], dict[str, Any]]:
    def run(joining: bool, blur: int, work: int, graph: ControlGraph = graph) -> dict[str, Any]:
        exchanges = [] if certify or not joining else [(g.exchanged, g.locations, g.values) for g in graph.renamings]
        found: dict[str, Any] = _core.verify_saturate(
            graph.core, model, present, joining, blur, work, certify, exchanges, watch
        )
        return found

    freeing = not certify
    for round_ in count():
        work = FIRST_WORK * 8**round_
        found = run(True, 0, work)
        if found["answer"] == "bad":
            found = run(False, 0, 0)
        if found["answer"] == "gave up" and freeing and (freed := graph.freed(watch)) is not None:
            wider = run(True, 0, 16 * work, freed)
            freeing = wider["answer"] == "gave up"
            if wider["answer"] == "safe":
                return "safe", wider
        if found["answer"] == "gave up":
            found = run(True, 2 + round_, 4 * work)
            if found["answer"] == "bad":  # blurred automata may reach too much: only their "safe" counts
                found = run(False, 0, 4 * work)
        if found["answer"] != "gave up":
            return found["answer"], found
    raise AssertionError("count() does not end")
