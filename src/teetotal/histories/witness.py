"""Witnesses: what makes a verdict about a history checkable without trusting the engine that gave it.

A consistent history's witness is a schedule: a list of steps, each the number 2·i (operation i, counted from 0 in the
order of the file, issues) or 2·i + 1 (operation i's store becomes visible). Under SC there are no steps of the second
kind. In JSON a step is written ``i`` or ``~i`` (that is, -1 - i).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from teetotal import _core
from teetotal.answers.events import MachineName, Semantics
from teetotal.histories.history import History, HistoryError
from teetotal.histories.problem import MODEL_NUMBERS


def refute(history: History, steps: Any, model: MachineName, semantics: Semantics | None = None) -> str:
    """What is wrong with a witness, "" if it is one. One pass over the steps, on a machine with values and buffers that
    knows nothing of the engines."""
    rmw_all = (semantics or Semantics()).rmw == "all"
    steps = np.ascontiguousarray(steps, dtype=np.uint64)
    return str(_core.refute_witness(history.columns, steps, MODEL_NUMBERS[model], rmw_all))


def to_json(steps: Any) -> list[int]:
    """Issues as i, commits as ~i."""
    numbers = np.asarray(steps).astype(np.int64)
    return np.where(numbers % 2 == 0, numbers // 2, ~(numbers // 2)).tolist()  # type: ignore[no-any-return]


def from_json(steps: Any) -> Any:
    """Back again; a ``HistoryError`` where it is something else, as from a file that anybody may have written."""
    if not isinstance(steps, list) or not all(type(step) is int and -(2**32) <= step < 2**32 for step in steps):
        raise HistoryError("a witness is a list of the numbers of operations, i or ~i")
    numbers = np.asarray(steps, np.int64)
    return np.where(numbers >= 0, 2 * numbers, 2 * ~numbers + 1).astype(np.uint64)


def narrate(history: History, steps: Any, limit: int = 40) -> list[str]:
    """The witness for a reader: one line a step."""
    lines = []
    for step in np.asarray(steps)[:limit].tolist():
        operation = history[step // 2]
        lines.append(f"{operation}" if step % 2 == 0 else f"        {operation} becomes visible")
    if len(steps) > limit:
        lines.append(f"… and {len(steps) - limit} more steps")
    return lines
