"""``check`` for C programs: SC executions under the runtime, watched by monitors inside it, and where that is asked or
something is to be found out, those of the relaxed models.

What a search tells is ``findings``'s, what follows from it ``verdicts``'s; ``triage`` says what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import msgspec
from msgspec.structs import replace

from teetotal.answers.answer import Interrupted
from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import MODELS, Kind, ModelName
from teetotal.answers.options import ENDLESS_ROUNDS, CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.executions.overtakings import Kept, as_bytes, most_bytes
from teetotal.engines.runtime import driver, exploring, triage, vacuous, verdicts
from teetotal.engines.runtime.findings import Findings
from teetotal.programs.c.build import Source, built, unseen
from teetotal.programs.c.symbols import Symbols
from teetotal.scale.scale import SLICE

Explored = tuple[CheckAnswer | None, set[int], bool]
"""An answer, which assertions were evaluated by then, and whether somebody interrupted it."""


class Marks(msgspec.Struct):
    """An array of bytes of the program, by its name, and how often an SC execution reads each of them on average. With
    ``kept`` they are places where fences could stand, and ``fences`` those where one stands as far as violations go."""

    array: str
    passes: list[Fraction] = []
    fences: Mapping[int, Kind] = {}
    kept: Kept | None = None


def check(
    source: Source,
    options: CheckOptions,
    budget: Budget,
    *,
    command: str = "check",
    marks: Marks | None = None,
) -> CheckAnswer:
    """``marks`` are counted, where they are given."""
    with built(source) as program:
        budget.begin()
        symbols = Symbols(program, source.files)
        try:
            return _explored(source, program, symbols, options, budget, command, marks)
        finally:
            symbols.close()


def _explored(
    source: Source,
    program: Path,
    symbols: Symbols,
    options: CheckOptions,
    budget: Budget,
    command: str,
    marks: Marks | None,
) -> CheckAnswer:
    """SC and, where that is the goal, each relaxed model; each by the rounds of the strategy. Then, where the program is
    not robust, the relaxed models once more, to see what that means."""
    if options.fitting and options.goal != "safe" and not options.monitors and symbols.uses_atomics:
        options = replace(options, models=(*options.models, "c11"))
    models = [m for m in MODELS if m == "sc" or (options.goal == "safe" and m in options.models)]
    answer: CheckAnswer | None = None
    interrupted = False
    evaluated: set[int] = set()
    watched: Findings | None = None

    scale = budget.scale
    elsewhere = scale.cluster is not None or scale.checkpoint is not None  # copies are not, and keep nothing

    def divided(model: ModelName, asked: CheckOptions) -> bool:
        """Parts of a search with store buffers are so small that two workers of this machine are slower than one."""
        pays = model == "sc" or asked.explore.name in ("random", "pct") or elsewhere
        return pays and not scale.alone and exploring.divisible(asked)

    def search(
        model: ModelName, asked: CheckOptions, marks: Marks | None = None, *, to_first_failure: bool = False
    ) -> Findings:
        """Loops that seem to have no end are cut after a few rounds at first: what goes wrong, goes wrong in few."""
        bounded = asked.loop_bound is not None or asked.waiting == "count" or asked.executions is not None
        once = bounded or marks is not None or elsewhere or not asked.explore.is_exhaustive
        until = budget.passed + asked.seconds
        for rounds in ENDLESS_ROUNDS[-1:] if once else ENDLESS_ROUNDS:
            left = replace(asked, seconds=max(until - budget.passed, 0.0))
            findings = search_once(model, left, marks, rounds, to_first_failure=to_first_failure)
            if not findings.ends_at(rounds):
                break
        return findings

    def search_once(
        model: ModelName, asked: CheckOptions, marks: Marks | None, rounds: int, *, to_first_failure: bool
    ) -> Findings:
        nonlocal interrupted
        findings = Findings(source, asked, symbols, model, "" if marks is None else marks.array)
        request = [*findings.request(), f"endless-visits={rounds}"]
        if marks is not None:
            address, size = symbols.extent(marks.array)
            request += [f"marks={address}", f"mark-count={size}"]
            if marks.kept is not None:
                most = most_bytes(budget)
                kinds = "".join(str(int(kind)) for kind in as_bytes(size, marks.fences))
                request += [f"keep={most}", f"mark-kinds={kinds}"]
                findings.keep(marks.kept, most, {address + mark: kind for mark, kind in marks.fences.items()})
        counting = budget.counting(f"{model.upper()} executions")
        if to_first_failure or not divided(model, asked):
            given = [*request, *findings.seconds()]
            answers = driver.answers(program, given, source.arguments, trust=source.trust)
        else:
            answers = exploring.answers(program, request, source, budget, asked.explore)
        try:
            with closing(answers) as messages:
                for told in messages:
                    findings.take(told, counting)
                    if to_first_failure and findings.violations[model]:
                        break
        except driver.RuntimeDied as death:
            findings.ended_early = str(death)
        except KeyboardInterrupt:
            findings.ended_early = "interrupted"
            interrupted = True
        if marks is not None and model == "sc":
            marks.passes = findings.passes()
        findings.count_unseen(unseen(program))
        findings.end_keeping()
        evaluated.update(findings.end.evaluated if findings.end is not None else ())
        if options.shorten and not interrupted:
            try:
                findings.shorten(program, budget)
            except KeyboardInterrupt:  # what was found is as good
                interrupted = True
        return findings

    plain = options.executions is None and not options.monitors and "c11" not in options.models and marks is None
    if len(models) > 1 and options.explore.is_exhaustive and plain:
        # What is robust is safe where SC is: buffers are explored for the rest alone.
        findings = search("sc", replace(options, goal="robust", seconds=budget.left))
        answer = _as_safe(verdicts.result(findings, command))
        models = [model for model in models if model not in answer.models]

    def whole(model: ModelName) -> Explored:
        """By the rounds of the strategy."""
        nonlocal watched
        result: CheckAnswer | None = None
        executions = options.executions
        for searched in options.explore.rounds():
            if interrupted:
                break
            asked = replace(options, explore=searched, seconds=budget.left, executions=executions)
            findings = search(model, asked, marks)
            watched = findings if model == "sc" else watched
            found = verdicts.result(findings, command)
            result = found if result is None else result + found
            if executions is not None:
                executions -= found.executions or 0
            if findings.settled:
                break
        return result, evaluated, interrupted

    def of_each(
        work: Callable[[ModelName], Explored], models: Sequence[ModelName], by_models: bool
    ) -> list[CheckAnswer | None]:
        """One after the other, or each by a worker of its own. (What counts marks tells that here.)"""
        nonlocal interrupted
        if marks is None and by_models:
            told, ended = budget.by_copies(work, models)
            interrupted = interrupted or ended
        else:
            told = [work(model) for model in models]
        for _, seen, ended in filter(None, told):
            evaluated.update(seen)
            interrupted = interrupted or ended
        return [found and found[0] for found in told]

    began = budget.passed
    sc, relaxed = [model for model in models if model == "sc"], [model for model in models if model != "sc"]
    by_models = not any(divided(model, options) for model in relaxed)
    for result in of_each(whole, sc, False):
        answer = answer + result if answer is not None and result is not None else answer or result
    hopeless = marks is not None and options.goal == "safe" and answer is not None and not _may_be_safe(answer)
    for result in of_each(whole, [] if interrupted or hopeless else relaxed, by_models):
        answer = answer + result if answer is not None and result is not None else answer or result
    assert answer is not None
    known = answer.models

    def meaning(model: ModelName) -> Explored:
        """What a program that is not robust does, as far as there is time for it."""
        result: CheckAnswer | None = None
        for searched in options.explore.rounds():
            if known[model].safe is not None or options.triage <= 0 or interrupted or budget.over:
                break
            seconds = min(budget.left, options.triage)
            asked = replace(options, goal="safe", explore=searched, seconds=seconds)
            findings = search(model, asked, to_first_failure=True)
            result = verdicts.result(findings, command)
            if findings.settled:
                break
        return result, evaluated, interrupted

    broken = [name for name, found in known.items() if found.robust is False and name != "c11"]
    long = budget.passed - began > SLICE.first.seconds  # otherwise it is over before there are others to help
    for name, told in zip(broken, of_each(meaning, broken, long), strict=True):
        answer = triage.told(answer, name, told, asserts=symbols.uses("__assert_fail"))
    cycles = bool(answer.violations) and all(violation.kind == "robustness" for violation in answer.violations)
    if cycles and watched is not None and options.shorten and not interrupted:
        answer = watched.tell_shortest(answer, program, budget)
    if answer.complete and all(found.safe for found in answer.models.values()):
        answer = replace(answer, notes=[*answer.notes, *vacuous.asserted(source, program, symbols, evaluated)])
    answer = replace(answer, seconds=budget.passed)
    if interrupted:
        raise Interrupted(answer)
    return answer


def _may_be_safe(answer: CheckAnswer) -> bool:
    """No fence repairs what fails under SC: who looks for fences needs no more."""
    return answer.models["sc"].safe is not False


def _as_safe(watched: CheckAnswer) -> CheckAnswer:
    """What SC executions and monitors say where safety is the goal: all about SC, and about models under which the
    program is robust, and safe like SC. What they found against robustness is not asked for."""
    sc = watched.models["sc"]
    models = {name: found for name, found in watched.models.items() if found is sc or (found.robust and found.safe)}
    return replace(
        watched,
        models=models,
        verdict=sum((found.verdict for found in models.values()), Verdict.SAFE),
        violations=[violation for found in models.values() for violation in found.violations],
        goal="safe",
    )
