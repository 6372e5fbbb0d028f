"""Is a program robust? Decided from its SC executions alone, by monitors that watch them (core/search/monitoring.hpp).

Each distinct report becomes an execution of the relaxed machine, which the specification in ``models/`` must accept and
whose happens-before must have a cycle: nothing is called a violation on the monitor's word alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from teetotal import _core, models, monitors, story
from teetotal.errors import TeetotalError
from teetotal.events import ModelName, Semantics
from teetotal.explore.encoding import encode, encode_semantics
from teetotal.explore.outcomes import translated_errors
from teetotal.explore.strategies import Strategy
from teetotal.programs.program import Program
from teetotal.verdicts import Violation


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
    seconds: float = math.inf,
) -> Robustness:
    """``monitors`` default to the exact ones, which are complete over any strategy that is."""
    watching = _monitors(relaxed, monitors)
    with translated_errors(program):
        result, findings, interrupted = _core.monitored_search(
            encode(program),
            encode_semantics(semantics),
            strategy.name,
            strategy.count,
            strategy.depth,
            seed,
            watching,
            seconds,
        )
    violations: dict[ModelName, list[Violation]] = {model: [] for model in relaxed}
    for number, triple, schedule in findings:
        model = _monitor(watching[number]).model
        violations[model].append(_violation(program, model, watching[number], triple, schedule, semantics))
    notes = []
    if result.cut:
        notes.append(f"a loop was cut after {program.loop_bound} backward jumps; see --loop-bound")
    elif not result.complete:
        notes.append(f"robustness: {strategy} leaves executions out")
    proved = set()
    for name in watching:
        monitor = _monitor(name)
        if not (monitor.over_classes if strategy.is_reduced else monitor.over_interleavings):
            notes.append(f"{name} can miss violations over the executions of {strategy}")
        elif result.complete:
            proved.add(monitor.model)
    return Robustness(
        violations, result.executions, result.blocked, result.complete, frozenset(proved), notes, interrupted
    )
