"""The SC executions of a program: all of them, one per Mazurkiewicz class, or those with few preemptions (core/search)."""

from __future__ import annotations

import math
from typing import NamedTuple

from teetotal import _core
from teetotal.events import Semantics
from teetotal.explore.encoding import encode, encode_semantics
from teetotal.explore.outcomes import translated_errors
from teetotal.programs.program import Program


class Executions(NamedTuple):
    """Counts of a search. ``redundant`` executions were begun in vain: an optimal search has none. ``schedules`` are the
    first ones found, each the threads in the order of their steps."""

    executions: int
    blocked: int
    redundant: int
    complete: bool
    schedules: list[list[int]]
    interrupted: bool


def executions(
    program: Program,
    *,
    reduced: bool = True,
    preemptions: int | None = None,
    semantics: Semantics = Semantics(),
    keep: int = 0,
    seconds: float = math.inf,
) -> Executions:
    """Explore every SC execution: ``reduced`` to one per class, or every interleaving, or those with at most
    ``preemptions`` (which cannot be reduced without losing classes)."""
    if reduced and preemptions is not None:
        raise ValueError("a search bounded by preemptions is not reduced")
    with translated_errors(program):
        result, schedules, interrupted = _core.search(
            encode(program), encode_semantics(semantics), reduced, preemptions, keep, seconds
        )
    return Executions(
        result.executions, result.blocked, result.redundant, result.complete, schedules, interrupted
    )
