"""``check``: what a program can do under each model, and whether it stays robust and safe there.

Outcomes and safety come from exploring each model's own states (``explore.outcomes``); robustness comes from SC
executions alone, watched by monitors (``explore.robustness``). A violation of either is replayed on the machines of
``models/`` before it is told: a report that they do not confirm is a fault of teetotal, not of the program.

The two check each other. A robust program has SC's outcomes and no others, so an outcome that SC lacks is a violation of
robustness, whatever the monitors were able to see; and if they claim to have proved the opposite, that is a ``Fault``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice

import msgspec

from teetotal import goals, story
from teetotal.errors import Fault
from teetotal.events import MODELS, ModelName, Semantics
from teetotal.explore.outcomes import MAX_MEGABYTES, MAX_STATES, Outcomes, outcomes
from teetotal.explore.robustness import Robustness, robustness
from teetotal.explore.strategies import Strategy
from teetotal.models import Step
from teetotal.programs.litmus.observation import filtered, observation
from teetotal.programs.program import Program
from teetotal.scale import supervision
from teetotal.verdicts import CheckResult, Goal, Interrupted, ModelResult, Verdict, Violation, ViolationKind, both

LOOP_BOUND = 10
"""Backward jumps a thread takes in one execution, where neither the program nor the user says otherwise. Loops that only
read until something changes need no bound: see core/execution.hpp."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    models: tuple[ModelName, ...] = ("tso", "pso")
    semantics: Semantics = Semantics()
    explore: Strategy = Strategy("all")
    monitors: tuple[str, ...] = ()
    seconds: float = math.inf
    max_states: int = MAX_STATES
    max_megabytes: int = MAX_MEGABYTES
    loop_bound: int | None = None
    seed: int = 0
    goal: Goal = "robust"


Watcher = Callable[[str, int, float], None]
"""Told now and then what is being counted, how many there are so far, and an estimate of the fraction done (0: unknown)."""


def check(
    program: Program, options: Options = Options(), *, command: str = "check", watcher: Watcher | None = None
) -> CheckResult:
    supervision.looks_at_the_clock()
    started = time.perf_counter()
    deadline = started + options.seconds

    def left() -> float:
        return max(0.0, deadline - time.perf_counter())

    if options.goal == "safe":
        program = goals.demanding(program)
    if options.loop_bound is not None:
        program = msgspec.structs.replace(program, loop_bound=options.loop_bound)
    asked = [model for model in MODELS if model == "sc" or model in options.models]
    reached: dict[ModelName, Outcomes] = {}
    for model in asked:
        reached[model] = outcomes(
            program,
            model,
            options.semantics,
            max_states=options.max_states,
            max_megabytes=options.max_megabytes,
            seconds=left(),
            watcher=None if watcher is None else partial(watcher, f"{model.upper()} states"),
        )
        if reached[model].interrupted:
            deadline = 0.0  # nothing more is explored, and what is known is told
    relaxed = [model for model in asked if model != "sc"]
    watched: Robustness | None = None
    if relaxed and options.goal == "robust":
        watched = _robustness(program, relaxed, options, left(), watcher)
    results = {model: _model_result(program, model, reached, watched, options) for model in asked}
    interrupted = any(found.interrupted for found in reached.values()) or (watched is not None and watched.interrupted)
    if interrupted:
        raise Interrupted(_result(program, results, reached, watched, options, command, started))
    return _result(program, results, reached, watched, options, command, started)


def _robustness(
    program: Program, models: Sequence[ModelName], options: Options, seconds: float, watcher: Watcher | None
) -> Robustness:
    if program.loop_bound is None:
        program = msgspec.structs.replace(program, loop_bound=LOOP_BOUND)
    return robustness(
        program,
        models,
        options.semantics,
        strategy=options.explore,
        monitors=options.monitors,
        seed=options.seed,
        seconds=seconds,
        max_megabytes=options.max_megabytes,
        watcher=None if watcher is None else partial(watcher, "SC executions"),
    )


def _model_result(
    program: Program,
    model: ModelName,
    everywhere: Mapping[ModelName, Outcomes],
    watched: Robustness | None,
    options: Options,
) -> ModelResult:
    reached = everywhere[model]
    violations = safety_violations(program, model, reached, options.semantics)
    safe = False if violations else True if reached.complete else None
    robust: bool | None = True if model == "sc" else None
    if model != "sc" and watched is not None:
        cycles = _cycles(program, model, everywhere, watched, options.semantics)
        robust = False if cycles else True if watched.proves(model) else None
        violations = violations + cycles
    word, positive, negative = observation(program, reached.values)
    holds = both(robust, safe) if options.goal == "robust" else safe
    return ModelResult(
        verdict={True: Verdict.SAFE, False: Verdict.VIOLATION, None: Verdict.INCONCLUSIVE}[holds],
        robust=robust,
        safe=safe,
        complete=reached.complete,
        violations=violations,
        observation=word if program.condition is not None and (reached.complete or word == "Sometimes") else None,
        positive=positive if program.condition is not None else None,
        negative=negative if program.condition is not None else None,
        outcomes=[story.named(program, values) for values in sorted(filtered(program, reached.values))],
        states=reached.states,
    )


def _cycles(
    program: Program,
    model: ModelName,
    everywhere: Mapping[ModelName, Outcomes],
    watched: Robustness,
    semantics: Semantics,
) -> list[Violation]:
    """Violations of robustness: those that monitors saw, or else an execution with an outcome that SC does not have."""
    found = watched.violations[model]
    if found or not everywhere["sc"].complete:
        return found
    beyond = everywhere[model].values - everywhere["sc"].values
    for values in sorted(beyond)[:1]:
        if watched.proves(model):
            shown = ", ".join(f"{name}={value}" for name, value in story.named(program, values).items())
            raise Fault(
                f"{program.source or 'program'}: {program.name}: {model.upper()} has the outcome {shown}, which SC does "
                f"not have, and yet the program was found to be robust; one of the two answers is wrong"
            )
        schedule = everywhere[model].schedule(values)
        return [story.violation(program, model, schedule, semantics, kind="robustness")]
    return []


def safety_violations(program: Program, model: ModelName, reached: Outcomes, semantics: Semantics) -> list[Violation]:
    found: list[Violation] = []

    def add(schedule: Sequence[Step], kind: ViolationKind, message: str) -> None:
        found.append(story.violation(program, model, schedule, semantics, kind=kind, message=message))

    for failure in reached.failures:
        kind: ViolationKind = "wild access" if failure.wild else "assertion"
        add(failure.schedule, kind, story.failure(program, failure.thread, failure.instruction))
    broken = (values for values in sorted(reached.values) if not story.final_assertion_holds(program, values))
    for values in islice(broken, 1):
        add(reached.schedule(values), "final assertion", story.broken_final_assertion(program, values))
        if goals.claims(program):  # which replay takes for an assertion where it is told to
            found[-1] = msgspec.structs.replace(found[-1], replay=f"{found[-1].replay} --goal safe")
    if reached.deadlock is not None:
        add(reached.deadlock, "deadlock", story.DEADLOCK)
    return found


def _result(
    program: Program,
    results: dict[ModelName, ModelResult],
    reached: dict[ModelName, Outcomes],
    watched: Robustness | None,
    options: Options,
    command: str,
    started: float,
) -> CheckResult:
    notes = []
    if options.goal == "safe" and program.condition is not None and not goals.claims(program):
        notes.append("`exists` is a question, and no part of the goal")
    for model, found in reached.items():
        if found.cut:
            notes.append(f"{model.upper()}: a loop was cut after {program.loop_bound} backward jumps; see --loop-bound")
        elif not found.complete:
            notes.append(f"{model.upper()}: stopped after {found.states:,} states; see --time, --states and --memory")
    if watched is not None:
        notes += watched.notes
    return CheckResult(
        input=program.source or program.name,
        command=command,
        name=program.name,
        models=results,
        verdict=sum((result.verdict for result in results.values()), Verdict.SAFE),
        complete=all(found.complete for found in reached.values()) and (watched is None or watched.complete),
        seconds=time.perf_counter() - started,
        executions=None if watched is None else watched.executions,
        blocked=None if watched is None else watched.blocked,
        states=sum(found.states for found in reached.values()),
        violations=[violation for result in results.values() for violation in result.violations],
        notes=notes,
        goal=options.goal,
    )
