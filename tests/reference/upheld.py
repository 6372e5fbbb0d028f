"""Whether a litmus test's claim holds, as herd prints it."""

from __future__ import annotations

from collections.abc import Iterable

from teetotal.programs.observation import observation
from teetotal.programs.program import Program


def upheld(program: Program, outcomes: Iterable[tuple[int, ...]]) -> bool:
    """herd's ``Ok`` or ``No``: whether what the test claims with its quantifier is so."""
    _, positive, negative = observation(program, outcomes)
    match program.condition:
        case None:
            return True
        case condition if condition.quantifier == "exists":
            return positive > 0
        case condition if condition.quantifier == "~exists":
            return positive == 0
    return negative == 0
