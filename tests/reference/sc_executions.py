"""The SC executions of a program, as a strategy of core/search chooses them, with no monitor: counts and schedules."""

from __future__ import annotations

import math
from typing import NamedTuple

from teetotal import _core
from teetotal.answers.events import Semantics
from teetotal.answers.options import MAX_MEGABYTES
from teetotal.answers.strategies import Strategy
from teetotal.answers.verdict import Symmetry, Waiting
from teetotal.engines.encoding import encode, encode_semantics, twins
from teetotal.engines.states.outcomes import translated_errors
from teetotal.programs.program import Program


class Executions(NamedTuple):
    """Counts of a search. Of its ``executions``, in those ``blocked`` some thread waits or was stopped before its end; of
    these, in those in ``vain`` only because of a round that it began too early. ``redundant`` executions were begun and
    given up: an optimal search has none. ``schedules`` are the first ones found, each the threads in the order of their
    steps."""

    executions: int
    blocked: int
    vain: int
    redundant: int
    complete: bool
    schedules: list[list[int]]
    interrupted: bool


def count_classes(
    program: Program, semantics: Semantics = Semantics(), *, waiting: Waiting = "skip", most: int = 1_000_000
) -> tuple[int, int] | None:
    """How many Mazurkiewicz classes a program has, by looking at every interleaving, and how many interleavings; None
    where there are more than ``most``. Slow and plain: what the optimal search is tested against."""
    with translated_errors(program):
        classes, looked_at = _core.count_classes(encode(program), encode_semantics(semantics), waiting == "skip", most)
    return None if looked_at >= most else (classes, looked_at)


def executions(
    program: Program,
    strategy: Strategy = Strategy("all"),
    semantics: Semantics = Semantics(),
    *,
    waiting: Waiting = "skip",
    keep: int = 0,
    seed: int = 0,
    seconds: float = math.inf,
    max_megabytes: int = MAX_MEGABYTES,
    symmetry: Symmetry = "off",
) -> Executions:
    """Of ``preemptions:0..K``, one of its ``rounds`` at a time: who watches them decides where it ends. With ``symmetry``,
    up to exchanging threads that do the same."""
    with translated_errors(program):
        result, schedules, interrupted = _core.search(
            encode(program),
            encode_semantics(semantics),
            waiting == "skip",
            strategy.name,
            strategy.count,
            strategy.depth,
            seed,
            keep,
            seconds,
            max_megabytes,
            twins(program) if symmetry == "on" and strategy.name == "all" else [],
        )
    return Executions(
        result.executions, result.blocked, result.vain, result.redundant, result.complete, schedules, interrupted
    )
