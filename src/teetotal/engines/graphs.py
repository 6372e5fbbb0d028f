"""C11 for programs that teetotal interprets: robust, race-free and portable from SC executions (``exact-c11``), outcomes
from graphs.

A robust program without races has SC's outcomes and no others. Where it is not, or not known to be, the graphs of
``models.c11`` are enumerated, as herd does with ``rc11.cat``, up to ``MOST`` of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from teetotal.answers.check import ModelAnswer
from teetotal.answers.errors import ProgramError
from teetotal.answers.options import LOOP_BOUND, CheckOptions
from teetotal.answers.verdict import Verdict, both
from teetotal.answers.violation import Hazard, Violation
from teetotal.budget import Budget
from teetotal.engines import story
from teetotal.engines.executions.robustness import Robustness
from teetotal.engines.states.outcomes import Outcomes
from teetotal.engines.weak import as_violation
from teetotal.models import c11
from teetotal.programs.expressions import Outcome
from teetotal.programs.observation import filtered, observation
from teetotal.programs.program import Program

MOST = 20_000
"""Graphs that are looked at, where time allows."""


def refuse(program: Program) -> None:
    if not program.ordered:
        raise ProgramError(f"{program.source or program.name}: instructions of a processor have no orders of C11")


class Enumerated(NamedTuple):
    """Final values, and assertions that fail on the way; ``complete``: of every graph."""

    values: set[Outcome]
    failures: list[str]
    complete: bool
    graphs: int


def enumerated(program: Program, release_sequence: c11.ReleaseSequence, budget: Budget) -> Enumerated:
    values: set[Outcome] = set()
    failures: dict[str, None] = {}
    complete = True
    count = 0
    if program.loop_bound is None:
        program = msgspec.structs.replace(program, loop_bound=LOOP_BOUND)
    try:
        for state in c11.states(program, release_sequence, most=MOST):
            count += 1
            if budget.over:
                complete = False
                break
            for thread, local in enumerate(state.locals):
                if local.status in ("failed", "wild"):
                    failures.setdefault(story.failure(program, thread, program.threads[thread].code[local.pc]))
                complete = complete and local.status != "cut"
            if c11.final(program, state):
                values.add(program.outcome(state.locals, state.memory()))
    except (c11.TooMany, MemoryError):
        complete = False
    return Enumerated(values, list(failures), complete, count)


def races_alone(safe: bool | None, watched: Robustness) -> ModelAnswer:
    race_free = False if watched.races else True if watched.proves("c11") else None
    return ModelAnswer(
        verdict=Verdict.of(both(race_free, safe)),
        robust=None,
        safe=None if safe else safe,  # what C11 adds was not asked
        violations=[*map(as_violation, watched.races)],
        race_free=race_free,
        portable=False if race_free is False else None,
    )


def answer(
    program: Program,
    sc: Outcomes,
    safe_in_sc: bool | None,
    watched: Robustness,
    hazards: Sequence[Hazard],
    options: CheckOptions,
    budget: Budget,
) -> ModelAnswer:
    if options.races:
        return races_alone(safe_in_sc, watched)
    weak, races, release_sequence = watched.violations["c11"], watched.races, options.release_sequence
    proved = watched.proves("c11")
    race_free = False if races else True if proved else None
    robust = False if weak else True if proved and not races else None
    portable = both(both(robust, race_free), not hazards)
    violations = [*weak, *map(as_violation, races)]
    states: int | None = None
    if robust and race_free and sc.complete:
        values, complete, safe = sc.values, True, safe_in_sc
    else:
        found = enumerated(program, release_sequence, budget)
        values, complete, states = found.values | sc.values, found.complete, found.graphs
        broken = [v for v in sorted(values) if not story.final_assertion_holds(program, v)][:1]
        failures = [*found.failures, *(story.broken_final_assertion(program, v) for v in broken)]
        safe = False if failures or safe_in_sc is False else True if complete and safe_in_sc else None
        violations += [Violation(model="c11", kind="assertion", events=[], message=failure) for failure in failures]
    word, positive, negative = observation(program, values)
    return ModelAnswer(
        verdict=Verdict.of(both(race_free if options.goal == "safe" else both(robust, race_free), safe)),
        robust=robust,
        safe=safe,
        complete=complete,
        violations=violations,
        observation=word if program.condition is not None and (complete or word == "Sometimes") else None,
        positive=positive if program.condition is not None else None,
        negative=negative if program.condition is not None else None,
        outcomes=story.all_named(program, sorted(filtered(program, values))),
        states=states,
        race_free=race_free,
        portable=portable,
    )
