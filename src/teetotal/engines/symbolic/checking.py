"""``teetotal check FILE.pml``, the short way in: both questions, safe and robust, for each model."""

from __future__ import annotations

import time
from math import inf

from teetotal.answers.errors import ProgramError
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.verdicts import CheckResult, Goal, Interrupted, ModelResult, Verdict
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.results import violation
from teetotal.engines.symbolic.verify import Limits, Outcome, interrupted, robust, verify
from teetotal.programs.promela import load

HOLDS = {Verdict.SAFE: True, Verdict.VIOLATION: False, Verdict.INCONCLUSIVE: None}


def check_file(
    path: str, models: tuple[ModelName, ...], semantics: Semantics, seconds: float, megabytes: float, goal: Goal
) -> CheckResult:
    """Whether the program is safe under SC and the models and, if that is the goal, robust, with unbounded buffers.
    ``Interrupted`` with what is known by then, where the user ends it."""
    started = time.monotonic()
    program = load(path)
    graph = ControlGraph(program, semantics)
    end = started + seconds

    def limits() -> Limits:
        return Limits(seconds=None if end == inf else max(0.0, end - time.monotonic()), megabytes=megabytes)

    results: dict[ModelName, ModelResult] = {}
    notes: list[str] = []
    stopped = False
    for model in dict.fromkeys(("sc", *models)):
        answers: dict[str, Outcome] = {}
        verdict = Verdict.SAFE
        try:
            answers["safe"] = verify(graph, model, limits=limits())
            if model != "sc" and goal == "robust":
                try:
                    answers["robust"] = robust(graph, model, limits=limits())
                except ProgramError as error:  # not a program whose robustness is decided
                    verdict = Verdict.INCONCLUSIVE
                    notes.append(str(error))
        except KeyboardInterrupt:
            stopped = True
            answers.setdefault("safe", interrupted("saturate", model))
            if model != "sc" and goal == "robust":
                answers["robust"] = interrupted("robust", model)
        for question, answer in answers.items():
            verdict = verdict + answer.verdict
            if answer.verdict is Verdict.INCONCLUSIVE:
                notes.append(f"{model}, {question}: {answer.why}")
        results[model] = ModelResult(
            verdict=verdict,
            robust=HOLDS[answers["robust"].verdict] if "robust" in answers else None,
            safe=HOLDS[answers["safe"].verdict],
            violations=[
                violation(program, question, answer)
                for question, answer in answers.items()
                if answer.verdict is Verdict.VIOLATION
            ],
            states=sum(answer.states for answer in answers.values()),
        )
        if stopped:
            break
    overall = Verdict.SAFE
    for result in results.values():
        overall = overall + result.verdict
    found = CheckResult(
        input=path,
        command="check",
        name=program.name,
        models=results,
        verdict=overall,
        complete=overall is not Verdict.INCONCLUSIVE and not notes,
        seconds=time.monotonic() - started,
        states=sum(result.states or 0 for result in results.values()),
        violations=[v for result in results.values() for v in result.violations],
        notes=list(dict.fromkeys(notes)),
        goal=goal,
    )
    if stopped:
        raise Interrupted(found)
    return found
