"""``check`` for programs that teetotal interprets: what they can do under each model, and whether they stay robust and
safe there.

Outcomes and safety come from exploring each model's own states (``states``); robustness comes from SC
executions alone, watched by monitors (``executions``). A violation of either is replayed on the machines of
``models/`` before it is told: a report that they do not confirm is a fault of teetotal, not of the program.

The two check each other. A robust program has SC's outcomes and no others, so an outcome that SC lacks is a violation of
robustness, whatever the monitors were able to see; and if they claim to have proved the opposite, that is a ``Fault``.
They stand in for each other, too: each has the memory that is given, and tells what it has found when that is used up.
Where a model has more states than that, a robust program is as safe there as it is under SC (docs/explanation/waiting.md,
b), and one that is not robust is known not to be.

Where time is limited, states could take all of it, and a violation of robustness mostly shows in the first few
executions: so these are looked at before anything else, for a small part of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import msgspec

from teetotal.answers.answer import Interrupted
from teetotal.answers.check import CheckAnswer, ModelAnswer
from teetotal.answers.errors import Fault, TeetotalError
from teetotal.answers.events import MODELS, ModelName, Semantics, Step
from teetotal.answers.options import CheckOptions
from teetotal.answers.triage import Triage, triaged, worst
from teetotal.answers.verdict import Verdict, both
from teetotal.answers.violation import Hazard, Violation, ViolationKind
from teetotal.budget import Budget
from teetotal.engines import graphs, story, weak
from teetotal.engines.executions.robustness import Robustness, robustness
from teetotal.engines.states.outcomes import Outcomes, outcomes
from teetotal.engines.states.vacuous import vacuous
from teetotal.programs import goals, hazards
from teetotal.programs.observation import filtered, observation
from teetotal.programs.program import Program

LOOK = 1.0
LOOK_SHARE = 0.125
"""Seconds, and of the time that there is, that the first look at executions takes at most."""
TELLING = 0.1
"""Of the time, what is kept back from states: there may be half a million outcomes to tell."""


def check(program: Program, options: CheckOptions, budget: Budget, *, command: str = "check") -> CheckAnswer:
    if options.goal != "robust":
        program = goals.demanding(program, refuse=options.goal == "safe")
    if options.loop_bound is not None:
        program = msgspec.structs.replace(program, loop_bound=options.loop_bound)
    c11 = "c11" in options.models
    if c11:
        graphs.refuse(program)
        if options.semantics.failed_cas == "write":
            raise TeetotalError("--failed-cas write: in C11 a compare-and-swap that fails only reads")
    asked = [model for model in MODELS if model == "sc" or model in options.models]
    relaxed: list[ModelName] = [model for model in asked if model != "sc" and options.goal != "safe"]
    relaxed += ["c11"] if c11 else []
    watch = partial(
        robustness,
        program,
        relaxed,
        options.semantics,
        strategy=options.explore,
        monitors=options.monitors,
        waiting=options.waiting,
        release_sequence=options.release_sequence,
        seed=options.seed,
        symmetry=options.symmetry,
    )
    look = _first_look(watch, budget) if relaxed and budget.left < math.inf else None
    reached: dict[ModelName, Outcomes] = {}
    for_states = Budget((1 - TELLING) * budget.left, budget.megabytes, budget.watcher, budget.scale)
    for model in asked:
        reached[model] = outcomes(
            program,
            model,
            options.semantics,
            max_states=options.max_states,
            budget=for_states,
        )
        if reached[model].interrupted:
            for_states.end()
            budget.end()
    watched = _whole(watch, look, budget) if relaxed else None
    results: dict[ModelName, ModelAnswer] = {}
    for model in asked:
        robust = watched is not None and watched.proves(model) and not watched.violations[model]
        as_sc = model != "sc" and results["sc"].safe is True and robust
        results[model] = _model_result(program, model, reached, watched, options, as_sc=as_sc)
    found = hazards.hazards(program) if c11 and not options.races else []
    if c11 and watched is not None:
        safe = results["sc"].safe
        about = graphs.answer(program, reached["sc"], safe, watched, found, options, budget)
        by_x86 = results["tso"].robust is False if "tso" in results and results["tso"].robust is not None else None
        shown = [weak.shown(violation, by_x86) for violation in about.violations]
        results["c11"] = msgspec.structs.replace(about, violations=shown)
    interrupted = any(found.interrupted for found in reached.values()) or (watched is not None and watched.interrupted)
    answer = _answer(program, results, reached, watched, found, options, command, budget)
    if interrupted:
        raise Interrupted(answer)
    return answer


class _Look(NamedTuple):
    """``over``: it ended with its time."""

    said: Robustness
    over: bool


def _first_look(watch: Callable[..., Robustness], budget: Budget) -> _Look:
    short = Budget(min(LOOK, LOOK_SHARE * budget.left), budget.megabytes, budget.watcher)
    said = watch(budget=short)
    if said.interrupted:
        budget.end()
    return _Look(said, short.over)


def _whole(watch: Callable[..., Robustness], look: _Look | None, budget: Budget) -> Robustness:
    """With the time that is left, which may be less than the first look had: then that may say more."""
    if look is not None and (not look.over or budget.over):
        return look.said
    whole = watch(budget=budget)
    if look is None or _weight(whole) >= _weight(look.said):
        return whole
    return look.said._replace(interrupted=whole.interrupted)


def _weight(said: Robustness) -> tuple[bool, int]:
    return any(said.violations.values()) or bool(said.races), said.executions


def _model_result(
    program: Program,
    model: ModelName,
    everywhere: Mapping[ModelName, Outcomes],
    watched: Robustness | None,
    options: CheckOptions,
    *,
    as_sc: bool,
) -> ModelAnswer:
    """``as_sc``: it is robust, so that it has the final states of SC and no others, and nothing fails or hangs there."""
    reached = everywhere[model]
    violations = safety_violations(program, model, reached, options.semantics)
    stands_in = as_sc and not violations and not reached.complete and not reached.cut
    values, complete = (everywhere["sc"].values, True) if stands_in else (reached.values, reached.complete)
    safe = False if violations else True if complete else None
    robust: bool | None = True if model == "sc" else None
    triage: Triage | None = None
    if model != "sc" and watched is not None and model in watched.violations:
        cycles = _cycles(program, model, everywhere, watched, options.semantics)
        robust = False if cycles else True if watched.proves(model) else None
        compared = robust is False and everywhere["sc"].complete
        new = _new_results(program, model, everywhere, options.semantics) if compared else []
        triage = triaged(robust, safe if compared or not safe else None, new_result=bool(new))
        violations = violations + cycles + new
    word, positive, negative = observation(program, values)
    holds = both(robust, safe) if options.goal != "safe" else safe
    return ModelAnswer(
        verdict=Verdict.of(holds),
        robust=robust,
        safe=safe,
        complete=complete,
        violations=violations,
        observation=word if program.condition is not None and (complete or word == "Sometimes") else None,
        positive=positive if program.condition is not None else None,
        negative=negative if program.condition is not None else None,
        outcomes=story.all_named(program, sorted(filtered(program, values))),
        states=reached.states,
        triage=triage,
    )


def _new_results(
    program: Program, model: ModelName, everywhere: Mapping[ModelName, Outcomes], semantics: Semantics
) -> list[Violation]:
    """An execution with a result that SC does not have, as far as the program asks about results: by its condition or,
    where it asserts nothing, by all that is observed."""
    ours, allowed = (filtered(program, everywhere[name].values) for name in (model, "sc"))
    if program.condition is not None:
        holds = program.predicate(program.condition.proposition)
        known = {bool(holds(values)) for values in allowed}
        found = {values: f"makes its condition {str(bool(holds(values))).lower()}, which it never is under SC"
                 for values in ours if bool(holds(values)) not in known}  # fmt: skip
    elif goals.asserts(program):
        return []
    else:
        found = dict.fromkeys(ours - allowed, "is no outcome of SC")
    for values in sorted(found)[:1]:
        shown = ", ".join(f"{name}={value}" for name, value in story.named(program, values).items())
        schedule = everywhere[model].schedule(values)
        message = f"{shown} {found[values]}"
        return [story.violation(program, model, schedule, semantics, kind="outcome", message=message)]
    return []


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
    asserted = reached.values if program.final_assertion is not None else ()
    broken = (values for values in sorted(asserted) if not story.final_assertion_holds(program, values))
    for values in islice(broken, 1):
        add(reached.schedule(values), "final assertion", story.broken_final_assertion(program, values))
        if goals.claims(program):  # which replay takes for an assertion where it is told to
            found[-1] = msgspec.structs.replace(found[-1], replay=f"{found[-1].replay} --goal safe")
    if reached.deadlock is not None:
        add(reached.deadlock, "deadlock", story.DEADLOCK)
    if reached.livelock is not None:
        add(reached.livelock, "livelock", "")
    return found


def _answer(
    program: Program,
    results: dict[ModelName, ModelAnswer],
    reached: dict[ModelName, Outcomes],
    watched: Robustness | None,
    found_hazards: list[Hazard],
    options: CheckOptions,
    command: str,
    budget: Budget,
) -> CheckAnswer:
    notes = []
    if options.goal != "robust" and program.condition is not None and not goals.claims(program):
        notes.append("`exists` is a question, and no part of the goal")
    for model, found in reached.items():
        if found.cut:
            notes.append(f"{model.upper()}: a loop was cut after {program.loop_bound} backward jumps; see --loop-bound")
        elif not found.complete:
            stopped = f"{model.upper()}: stopped after {found.states:,} states"
            far = f", which is as far as {options.max_megabytes:,} MB go; see --memory"
            notes.append(stopped + (far if found.full else "; see --time, --states and --memory"))
            if results[model].complete:
                notes[-1] = f"{stopped}; the program is robust there, so that it does what it does under SC"
    if watched is not None:
        notes += watched.notes
    notes += vacuous(program, reached.values())
    return CheckAnswer(
        input=program.source or program.name,
        command=command,
        name=program.name,
        models=results,
        verdict=sum((result.verdict for result in results.values()), Verdict.SAFE),
        complete=all(results[model].complete for model in reached) and (watched is None or watched.complete),
        seconds=budget.passed,
        executions=None if watched is None else watched.executions,
        blocked=None if watched is None else watched.blocked,
        states=sum(found.states for found in reached.values()),
        violations=[violation for result in results.values() for violation in result.violations],
        notes=notes,
        goal=options.goal,
        waiting="skip" if watched is None else watched.waiting,
        races=[] if watched is None else watched.races,
        hazards=found_hazards,
        triage=worst(result.triage for result in results.values()),
        symmetric=watched is not None and watched.symmetric,
    )
