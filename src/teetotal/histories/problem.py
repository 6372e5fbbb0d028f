"""A history under a model: which write each read saw, and what is still open about that."""

from __future__ import annotations

from typing import Any

import numpy as np

from teetotal import _core
from teetotal.answers.events import Kind, MachineName, Semantics
from teetotal.histories.history import UNKNOWN_SOURCE, WRITES_NOTHING, History, HistoryError
from teetotal.histories.time_limit import Clock

MODEL_NUMBERS: dict[MachineName, int] = {"sc": 0, "tso": 1, "pso": 2}


class Unwritten(HistoryError):
    """A value was read that nobody wrote. ``operations`` are the reads."""

    def __init__(self, message: str, operations: list[int]) -> None:
        super().__init__(message)
        self.operations = operations

    def __reduce__(self) -> Any:
        return type(self), (self.message, self.operations)


class Problem:
    """Sources by value. ``candidates`` has the reads with several, whose entry in ``source`` is then unknown."""

    def __init__(self, history: History, model: MachineName, semantics: Semantics) -> None:
        self.history = history
        self.model = model
        self.rmw_all = semantics.rmw == "all"
        sources = _core.resolve_sources(history.columns)
        if sources.unwritten or sources.unwritten_final:
            raise _unwritten(history, sources)
        self.duplicates: int = sources.duplicates
        self.source = np.array(sources.source)
        self.final = np.array(sources.final)
        self.candidates = _lists(sources.ambiguous, sources.first, sources.candidates)
        self.final_candidates = _lists(sources.final_ambiguous, sources.final_first, sources.final_candidates)
        self.source[list(self.candidates)] = UNKNOWN_SOURCE
        self.final[list(self.final_candidates)] = UNKNOWN_SOURCE
        self._writes: dict[int, list[int]] | None = None

    @property
    def ambiguous(self) -> bool:
        return bool(self.candidates or self.final_candidates)

    def checker(self, *, rules: str = "saturated", model: MachineName | None = None) -> Any:
        number = MODEL_NUMBERS[model or self.model]
        return _core.HistoryChecker(self.history.columns, self.source, self.final, number, self.rmw_all, rules)

    def writes_of(self, address: int) -> list[int]:
        if self._writes is None:
            columns = self.history.columns
            writes = (columns.kind == Kind.ST) | ((columns.kind == Kind.RMW) & ((columns.flags & WRITES_NOTHING) == 0))
            self._writes = {}
            for op in np.flatnonzero(writes).tolist():
                self._writes.setdefault(int(columns.address[op]), []).append(op)
        return self._writes.get(address, [])

    def newest_own(self, read: int) -> int | None:
        """The read's thread's newest earlier write to its address."""
        columns = self.history.columns
        thread = columns.thread[read]
        earlier = (w for w in reversed(self.writes_of(int(columns.address[read]))) if w < read)
        return next((w for w in earlier if columns.thread[w] == thread), None)

    def narrow(self, clock: Clock) -> bool:
        """Strikes out candidates that the saturation excludes, until nothing changes. False if a read has none left, or
        the rest is contradictory. TimeoutError if the time is over before that."""
        while self.candidates:
            checker = self.checker()
            status = checker.saturate(clock.left)
            if status == "unknown":
                raise TimeoutError
            if status == "inconsistent":
                return False
            reads = np.array([r for r, sources in self.candidates.items() for _ in sources], np.uint32)
            pairs = np.array([s for sources in self.candidates.values() for s in sources], np.uint32)
            plausible = checker.plausible(reads, pairs)
            if plausible.all():
                return True
            left: dict[int, list[int]] = {read: [] for read in self.candidates}
            for read, source, possible in zip(reads.tolist(), pairs.tolist(), plausible.tolist(), strict=True):
                if possible:
                    left[read].append(source)
            if not all(left.values()):
                return False
            for read, sources in left.items():
                if len(sources) == 1:
                    self.source[read] = sources[0]
            self.candidates = {read: sources for read, sources in left.items() if len(sources) > 1}
        return True


def _lists(keys: Any, first: Any, items: Any) -> dict[int, list[int]]:
    bounds = first.tolist()
    flat = items.tolist()
    return {key: flat[bounds[i] : bounds[i + 1]] for i, key in enumerate(keys.tolist())}


def _unwritten(history: History, sources: Any) -> Unwritten:
    shown = []
    for op in sources.unwritten[:3]:
        operation = history[op]
        place = f"line {operation.line}: " if operation.line else ""
        shown.append(f"{place}{operation} reads a value that nobody wrote")
    for index in sources.unwritten_final[:3]:
        address, value, line = history.columns.final[index]
        shown.append(f"line {line}: final {history.addresses[address]} = {value} is a value that nobody wrote")
    count = len(sources.unwritten) + len(sources.unwritten_final)
    more = f" (and {count - len(shown)} more)" if count > len(shown) else ""
    return Unwritten("; ".join(shown) + more, list(sources.unwritten))
