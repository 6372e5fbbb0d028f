"""What an exploration keeps so that fences can be weighed without another one (core/overtakings).

Monitors look at SC executions alone, and a fence changes none of them. So a program is explored once, with a *mark*
wherever a fence could stand, and every overtaking that there is where no mark is a fence is kept: with fences at some marks
there are those of them that ``_core.Overtakings`` still finds possible, and no others (Theorem 8 of
docs/explanation/monitors.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from teetotal import _core
from teetotal.answers.events import Kind, ModelName, Semantics
from teetotal.answers.options import MAX_MEGABYTES
from teetotal.answers.violation import Violation
from teetotal.budget import Budget
from teetotal.engines.encoding import encode_semantics
from teetotal.programs.program import Program

Places = tuple[int, int, int]
"""Of the delayed store, of what comes before the deciding event, of that: numbers that mean something to the engine."""
MODELS: dict[int, ModelName] = {1: "tso", 2: "pso"}
"""By the numbers that the core has for them."""
SHARE = 8
"""What is kept has one part in so many of the memory that an exploration may have: on its way it is there twice."""
NOTHING = Kind.FENCE
"""What a mark is that is no fence: one that TSO and PSO do not know."""


class MarkedProgram(msgspec.Struct, frozen=True):
    """A program with a fence at every mark. ``at``: of which mark an instruction is, by its number through all threads;
    from 1 on, 0 where it is none. ``kinds``: what each mark is where violations are told."""

    program: Program
    at: tuple[int, ...]
    kinds: tuple[Kind, ...]


class Kept(msgspec.Struct):
    """By an exploration: ``pieces`` for the core, unless that was too much all the overtakings (``whole``); the violations
    that were told, by model and places; the models for which an overtaking that is not there proves that there is none;
    and why it is not proved for the others."""

    pieces: list[bytes] = []
    whole: bool = True
    told: dict[tuple[ModelName, Places], Violation] = {}
    proved: frozenset[ModelName] = frozenset()
    notes: Sequence[str] = ()

    def handed_over(
        self, models: Sequence[ModelName], semantics: Semantics, *, skip_waiting: bool
    ) -> _core.Overtakings:
        """To the core, which has them then."""
        pieces, self.pieces = self.pieces, []
        return _core.Overtakings("tso" in models, "pso" in models, encode_semantics(semantics), skip_waiting, pieces)


def most_bytes(budget: Budget) -> int:
    megabytes = MAX_MEGABYTES if budget.megabytes is None else budget.megabytes
    return max(int(megabytes * (1 << 20)) // SHARE, 1)


def as_bytes(count: int, kinds: Mapping[int, Kind]) -> bytes:
    """What each mark is, for the core."""
    return bytes(kinds.get(mark, NOTHING) for mark in range(count))
