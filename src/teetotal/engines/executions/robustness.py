"""Is a program robust? Decided from its SC executions alone, by monitors that watch them (core/search/monitoring.hpp).

Each distinct report becomes an execution of the relaxed machine, which the specification in ``models/`` must accept and
whose happens-before must have a cycle: nothing is called a violation on the monitor's word alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from teetotal import _core
from teetotal.answers import strategies
from teetotal.answers.events import Issue, ModelName, Semantics
from teetotal.answers.options import MAX_MEGABYTES
from teetotal.answers.strategies import Strategy
from teetotal.answers.violation import Violation
from teetotal.budget import Budget
from teetotal.engines import story
from teetotal.engines.encoding import encode, encode_semantics
from teetotal.engines.executions.monitors import MonitorInfo, Report, monitor_info, witness
from teetotal.engines.states.outcomes import translated_errors
from teetotal.programs.program import Program


class Robustness(NamedTuple):
    """``complete``: nothing of the strategy's executions was left out, and the strategy leaves nothing out. ``proved``:
    the models for which that, with the monitors that watched, makes "no violation" a proof."""

    violations: dict[ModelName, list[Violation]]
    executions: int
    blocked: int
    complete: bool
    proved: frozenset[ModelName]
    notes: list[str]
    interrupted: bool

    def proves(self, model: ModelName) -> bool:
        return model in self.proved


def robustness(
    program: Program,
    relaxed: Sequence[ModelName],
    semantics: Semantics = Semantics(),
    *,
    strategy: Strategy = Strategy("all"),
    monitors: Sequence[str] = (),
    seed: int = 0,
    budget: Budget | None = None,
) -> Robustness:
    """``monitors`` default to the exact ones, which are complete over any strategy that is."""
    budget = budget or Budget()
    max_megabytes = int(MAX_MEGABYTES if budget.megabytes is None else budget.megabytes)
    counting = budget.counting("SC executions")
    watching = [monitor_info(name) for name in monitors or [f"exact-{model}" for model in relaxed]]
    watching = [monitor for monitor in watching if monitor.model in relaxed]
    violations: dict[ModelName, list[Violation]] = {model: [] for model in relaxed}
    executions = blocked = 0
    for searched in strategy.rounds():
        with translated_errors(program):
            result, findings, interrupted = _core.monitored_search(
                encode(program),
                encode_semantics(semantics),
                searched.name,
                searched.count,
                searched.depth,
                seed,
                [monitor.name for monitor in watching],
                budget.left,
                max_megabytes,
                None if counting is None else partial(_counting_on, counting, executions),
            )
        executions += result.executions
        blocked += result.blocked
        for number, triple, schedule in findings:
            found = _violation(program, watching[number], triple, schedule, semantics)
            if all(found.shape != known.shape for known in violations[found.model]):
                violations[found.model].append(found)
        if findings or interrupted or not result.bounded or budget.over:
            break
    notes = []
    if searched is not strategy:
        notes.append(strategies.how_far(searched, bool(findings)))
    if result.cut:
        notes.append(f"a loop was cut after {program.loop_bound} backward jumps; see --loop-bound")
    elif result.full:
        notes.append(
            f"robustness: stopped after {executions:,} SC executions, which is as far as {max_megabytes:,} MB go; "
            "see --memory"
        )
    elif not result.complete and strategy.is_exhaustive:
        notes.append(f"robustness: stopped after {executions:,} SC executions; see --time")
    elif not result.complete:
        notes.append(f"robustness: --explore {strategy} leaves executions out")
    proved: set[ModelName] = set()
    for monitor in watching:
        if not monitor.misses_nothing(strategy):
            notes.append(f"{monitor.name} can miss violations among the executions of --explore {strategy}")
        elif result.complete:
            proved.add(monitor.model)
    for model in relaxed:
        if all(monitor.model != model for monitor in watching):
            notes.append(f"no monitor for {model.upper()} was chosen with --monitor")
    return Robustness(violations, executions, blocked, result.complete, frozenset(proved), notes, interrupted)


def _counting_on(watcher: Callable[[int, float], None], before: int, count: int, fraction: float) -> None:
    watcher(before + count, fraction)


def _violation(
    program: Program, monitor: MonitorInfo, triple: tuple[int, int, int], schedule: list[int], semantics: Semantics
) -> Violation:
    """The relaxed execution behind a report, told."""
    run, told = story.told(program, "sc", tuple(map(Issue, schedule)), semantics)
    threads = [iter(events) for events in run.events]
    events = [next(threads[thread]) for thread in schedule]
    report = Report(monitor.name, monitor.model, *triple, 0, 0, 0)
    steps = witness.schedule(events, report, semantics)
    return story.violation(
        program,
        monitor.model,
        steps,
        semantics,
        kind="robustness",
        monitor=monitor.name,
        sequential=story.beside(events, told, report.delayed, report.deciding),
    )
