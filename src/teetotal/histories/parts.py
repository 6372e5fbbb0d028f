"""A history in parts that can be decided by themselves: core/histories/parts.hpp.

What the parts are depends on the history alone, and what is told of them on their order: the first that is inconsistent
is the violation, and counts are those of the parts up to it. So it does not matter who decides which part, and when.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from teetotal import _core
from teetotal.histories.history import History

FEWEST = 2_000
"""Operations that a part has at least, but for the last. Smaller ones save little; PSO, which has a chain for each thread
and address, takes the square of larger ones."""
LARGE = 100_000
"""Operations from which on it is worth while to let others help with the parts."""


class Parts:
    def __init__(self, history: History) -> None:
        self.columns = _core.HistoryParts(history.columns, FEWEST)

    def __len__(self) -> int:
        return len(self.columns)

    def history(self, number: int) -> History:
        return History(self.columns.history(number))

    def operations(self, number: int) -> Any:
        """Of the whole: the places of the part's operations, in their order."""
        return self.columns.operations(number)

    def schedule(self, number: int, steps: Any) -> Any:
        """A part's witness, in numbers of the whole."""
        steps = np.asarray(steps, np.uint64)
        own = self.operations(number).astype(np.uint64)
        return 2 * own[steps // 2] + steps % 2


def divided(history: History) -> Parts | None:
    """None where there is but one part. The same answer for the same history costs nothing."""
    if len(history) < 2 * FEWEST:
        return None
    if history.parts is None:
        history.parts = Parts(history)
    parts: Parts = history.parts
    return parts if len(parts) > 1 else None


def worth_helping(history: History) -> bool:
    return len(history) >= LARGE and divided(history) is not None
