"""What herd's last line says of a test: ``Observation NAME Always|Sometimes|Never positive negative``.

As herdtools7 has it (``herd/top_herd.ml``, ``lib/constrGen.ml``, ``herd/test_herd.ml``):

- Positive and negative in the ``Observation`` line count what satisfies the *proposition* and what does not, whatever
  the quantifier: for ``~exists P`` as for ``exists P``. (Only herd's ``Positive: n Negative: m`` line, a few lines
  above, swaps the two for ``~exists``.) No positive at all: ``Never``, even when nothing is left to count; no negative:
  ``Always``; else ``Sometimes``. So ``~exists P`` is upheld when the word is ``Never``, ``forall P`` when it is
  ``Always`` (or nothing is left).
- A ``filter`` drops what does not satisfy it before anything is counted or shown.
- A test without a condition is ``forall true``.
- What makes a final state is the registers and locations in the condition and in ``locations``.

Two differences. herd counts executions in the ``Observation`` line (two that end in one state count twice); here final
states are counted, each once: the word is the same, the numbers may be smaller. And herd does not show what only the
filter names; here it is part of the final state, since outcomes are filtered after they have been found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from teetotal.programs.expressions import Const
from teetotal.programs.program import Program

Word = Literal["Always", "Sometimes", "Never"]


def observation(program: Program, outcomes: Iterable[tuple[int, ...]]) -> tuple[Word, int, int]:
    """The word, and how many outcomes satisfy the proposition and how many do not.

    ``outcomes`` are values of ``program.observed``, as ``Program.outcome`` gives them; the same one twice counts once.
    """
    kept = filtered(program, outcomes)
    proposition = Const(1) if program.condition is None else program.condition.proposition
    positive = sum(map(program.predicate(proposition), kept))
    negative = len(kept) - positive
    return "Never" if positive == 0 else "Always" if negative == 0 else "Sometimes", positive, negative


def filtered(program: Program, outcomes: Iterable[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """The final states that herd would show: those that the test's ``filter`` lets through."""
    if program.filter is None:
        return set(outcomes)
    return set(filter(program.predicate(program.filter), outcomes))
