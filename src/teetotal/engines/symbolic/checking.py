"""``check`` for Promela, the short way in: both questions, safe and robust, for each model."""

from __future__ import annotations

from teetotal.answers.answer import Interrupted
from teetotal.answers.check import CheckAnswer, ModelAnswer
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import ModelName
from teetotal.answers.options import CheckOptions
from teetotal.answers.triage import NOTHING_ASSERTED, triaged, worst
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.results import violation
from teetotal.engines.symbolic.verify import Outcome, interrupted, robust, verify
from teetotal.programs.promela.program import PromelaProgram


def check(program: PromelaProgram, options: CheckOptions, budget: Budget, *, command: str = "check") -> CheckAnswer:
    """Whether the program is safe under SC and the models and, if that is the goal, robust, with unbounded buffers.
    ``Interrupted`` with what is known by then, where the user ends it."""
    goal = options.goal
    graph = ControlGraph(program, options.semantics)
    results: dict[ModelName, ModelAnswer] = {}
    notes: list[str] = []
    stopped = False
    for model in dict.fromkeys(("sc", *options.models)):
        answers: dict[str, Outcome] = {}
        verdict = Verdict.SAFE
        try:
            answers["safe"] = verify(graph, model, budget=budget)
            if model != "sc" and goal != "safe":
                try:
                    answers["robust"] = robust(graph, model, budget=budget)
                except ProgramError as error:  # not a program whose robustness is decided
                    verdict = Verdict.INCONCLUSIVE
                    notes.append(str(error))
        except KeyboardInterrupt:
            stopped = True
            answers.setdefault("safe", interrupted(model))
            if model != "sc" and goal != "safe":
                answers["robust"] = interrupted(model)
        for question, answer in answers.items():
            verdict = verdict + answer.verdict
            if answer.verdict is Verdict.INCONCLUSIVE:
                notes.append(f"{model}, {question}: {answer.why}")
        holding = {"robust": None, **{question: answer.verdict.holds for question, answer in answers.items()}}
        results[model] = ModelAnswer(
            verdict=verdict,
            robust=holding["robust"],
            safe=holding["safe"],
            violations=[
                violation(program, question, answer)
                for question, answer in answers.items()
                if answer.verdict is Verdict.VIOLATION
            ],
            states=sum(answer.states for answer in answers.values()),
            triage=triaged(holding["robust"], holding["safe"], asserts=program.asserts),
        )
        if results[model].triage is not None and holding["safe"] and not program.asserts:
            notes.append(NOTHING_ASSERTED)
        if stopped:
            break
    overall = Verdict.SAFE
    for result in results.values():
        overall = overall + result.verdict
    found = CheckAnswer(
        input=program.source,
        command=command,
        name=program.name,
        models=results,
        verdict=overall,
        complete=overall is not Verdict.INCONCLUSIVE and not set(notes) - {NOTHING_ASSERTED},
        seconds=budget.passed,
        states=sum(result.states or 0 for result in results.values()),
        violations=[v for result in results.values() for v in result.violations],
        notes=list(dict.fromkeys(notes)),
        goal=goal,
        triage=worst(result.triage for result in results.values()),
    )
    if stopped:
        raise Interrupted(found)
    return found
