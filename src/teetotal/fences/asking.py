"""What is violated with a set of fences: asked once, kept in the checkpoint, and asked ahead by whoever is free.

The search decides one set after the other, and what it asks next depends on what it knows by then. So others are given the
sets that it will ask about if what it asks now turns out as it mostly does. They only answer: what is asked is what would
have been asked without them, and in the same order. An answer that nobody asks for is not told.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from teetotal.answers.errors import TeetotalError
from teetotal.answers.violation import Violation
from teetotal.fences.insertion import Finding, Problem
from teetotal.scale.crew import WorkerDied
from teetotal.scale.local import Processes

Key = tuple[frozenset[int], frozenset[int]]
"""The fences that are on in any case, and those that are asked about."""


class Known(msgspec.Struct, frozen=True):
    """Findings without evidence: what has some is found again."""

    findings: list[tuple[Violation, frozenset[int]]]


class Asking:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.scale = problem.budget.scale
        self.known: dict[Key, list[Finding]] = {}
        self.crew: Processes[Key, list[Finding] | None] | None = None
        self.waiting: list[Key] = []
        self.running: dict[int, Key] = {}
        self.following = 0

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        key = (self.problem.always, fences)
        while key in self.running.values():
            self._receive(None)
        if key in self.known:
            return self.known[key]
        if self.scale.checkpoint is not None and self.problem.weighed:
            kept = self.scale.checkpoint.item(_name(key), Known)
            if kept is not None:
                self.known[key] = [Finding(violation, clause) for violation, clause in kept.findings]
                return self.known[key]
        found = self.problem.findings(fences)
        self._keep(key, found)
        return found

    def _keep(self, key: Key, found: list[Finding]) -> None:
        self.known[key] = found
        if self.scale.checkpoint is not None and all(finding.evidence is None for finding in found):
            kept = Known([(finding.violation, finding.clause) for finding in found])
            self.scale.checkpoint.save_item(_name(key), kept)

    def ahead(self, sets: Iterable[frozenset[int]]) -> None:
        """These are likely to be asked about soon, the first of them now. What was likely before is not any more."""
        sets = list(sets)
        if self.scale.workers <= 1 or not self.problem.weighed or not sets or self.problem.known(sets[0]) is not None:
            return
        likely = [(self.problem.always, fences) for fences in sets]
        self.waiting = [key for key in likely[1:] if key not in self.known and key not in self.running.values()]
        if self.waiting and self.crew is None:
            self.crew = self.problem.budget.copies(self._answer, self.scale.workers - 1)
        self._receive(0)

    def _receive(self, seconds: float | None) -> None:
        """An answer, if there is one within so many seconds; and something to do for whoever is free."""
        if self.crew is None:
            return
        while (found := self.crew.receive(seconds)) is not None:
            number, answer = found
            key = self.running.pop(number)
            if not isinstance(answer, WorkerDied) and answer is not None:
                self._keep(key, answer)
            self._submit()
            seconds = 0
        self._submit()

    def _submit(self) -> None:
        while self.crew is not None and self.crew.free and self.waiting:
            key = self.waiting.pop(0)
            self.running[self.following] = key
            self.crew.submit(self.following, key)
            self.following += 1

    def _answer(self, key: Key) -> list[Finding] | None:
        """In a process of its own, a copy of this one. None: whoever asks has to find out."""
        self.problem.always, fences = key
        try:
            return self.problem.findings(fences)
        except (TeetotalError, OSError, MemoryError):
            return None

    def close(self) -> None:
        if self.crew is not None:
            self.crew.close()
            self.crew = None


def _name(key: Key) -> str:
    always, fences = key
    return f"fences {sorted(always)} {sorted(fences)}"
