"""The problem of fences for a ``Program``: explore it with the fences that are on, and tell what is still violated.

Where the goal is a robust program, the first exploration has a mark in every slot, and what it keeps answers for all sets
(``overtaken``). Another one is needed only where that was not everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

import msgspec

from teetotal.answers.options import FenceOptions
from teetotal.answers.violation import Violation
from teetotal.budget import Budget
from teetotal.engines.executions.overtakings import MarkedProgram
from teetotal.engines.executions.robustness import Robustness, robustness
from teetotal.engines.interpreted import safety_violations
from teetotal.engines.states.outcomes import outcomes
from teetotal.fences.insertion import Finding, Site, Undecided
from teetotal.fences.killers import killers
from teetotal.fences.overtaken import LATE, TOO_MUCH, Explored, keeps
from teetotal.fences.slots import Slots
from teetotal.programs.program import Program


class ProgramProblem:
    """Of one program, or of several that share their sites: one set of fences for all. ``always`` are fences that are on
    whatever is asked: existing ones that nobody wants to lose. ``existing`` are those of the program as the user has it
    (default: the same)."""

    def __init__(
        self,
        slots: Slots | Sequence[Slots],
        options: FenceOptions = FenceOptions(),
        *,
        always: frozenset[int] = frozenset(),
        existing: frozenset[int] | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.slots = [slots] if isinstance(slots, Slots) else list(slots)
        self.options, self.always = options, always
        self.existing = always if existing is None else existing
        self.budget = budget or Budget()
        self.budget.begin()
        self.weighed = True
        self.notes: list[str] = []
        self.explored: list[Explored] = []  # of each program, once
        self._known: dict[tuple[frozenset[int], frozenset[int]], list[Finding] | None] = {}

    @property
    def sites(self) -> Sequence[Site]:
        return self.slots[0].sites

    def known(self, fences: frozenset[int]) -> list[Finding] | None:
        key = (self.always, fences)
        if self.explored and key not in self._known:
            if self.budget.over and fences:
                raise Undecided(LATE)
            each = [explored.findings(fences | self.always, self.sites, self.always) for explored in self.explored]
            found = [finding for one in each for finding in one or ()]
            self._known[key] = found if found or None not in each else None
        return self._known.get(key)

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        on = fences | self.always
        if keeps(self.options) and not self.explored:
            self.explored = [self._explored(slots) for slots in self.slots]
            if (known := self.known(fences)) is not None:
                return known
            if on == self.always and all(explored.kept.whole for explored in self.explored):
                self._undecided(note for explored in self.explored for note in explored.kept.notes)
        found = []
        for slots in self.slots:
            program = self._bounded(slots.with_fences(on))
            violations = self._not_robust(program) if self.options.goal == "robust" else self._not_safe(program)
            for violation in violations:
                passed = slots.passed(violation.events, on)
                clause = killers(violation.model, violation.events, violation.steps, passed)
                if on != self.existing:
                    violation = without_replay(violation)
                found.append(Finding(violation, clause))
        return found

    def _bounded(self, program: Program) -> Program:
        bound = self.options.loop_bound
        return program if bound is None else msgspec.structs.replace(program, loop_bound=bound)

    def _explored(self, slots: Slots) -> Explored:
        """With a mark in every slot, and those that are fences in any case as such where violations are told."""
        found = self._robustness(self._bounded(slots.with_fences(self.always)), slots.marked(self.always))
        assert found.kept is not None
        if not found.kept.whole and TOO_MUCH not in self.notes:
            self.notes.append(TOO_MUCH)
        as_it_is = self.always == self.existing
        return Explored(
            found.kept, slots.points, self.options, self.always, lambda told: told if as_it_is else without_replay(told)
        )

    def _robustness(self, program: Program, marked: MarkedProgram | None = None) -> Robustness:
        asked = self.options
        found = robustness(
            program, asked.models, asked.semantics, monitors=asked.monitors, waiting=asked.waiting, budget=self.budget,
            marked=marked,
        )  # fmt: skip
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    def _not_robust(self, program: Program) -> list[Violation]:
        found = self._robustness(program)
        violations = [violation for model in self.options.models for violation in found.violations[model]]
        if not violations and not all(found.proves(model) for model in self.options.models):
            self._undecided(found.notes)
        return violations

    def _undecided(self, notes: Iterable[str]) -> NoReturn:
        raise Undecided(f"robust or not is not known: {'; '.join(dict.fromkeys(notes))}")

    def _not_safe(self, program: Program) -> list[Violation]:
        """SC first: what is unsafe there stays so with any fences."""
        violations: list[Violation] = []
        for model in ("sc", *self.options.models):
            found = outcomes(program, model, self.options.semantics, budget=self.budget)
            if found.interrupted:
                raise KeyboardInterrupt
            violations += safety_violations(program, model, found, self.options.semantics)
            if not violations and not found.complete:
                why = "a loop was cut; see --loop-bound" if found.cut else "the budget ran out; see --time"
                raise Undecided(f"safe or not under {model.upper()} is not known: {why}")
            if model == "sc" and violations:
                break
        return violations


def without_replay(violation: Violation) -> Violation:
    """Its schedule is of another program than the one that the user has."""
    return msgspec.structs.replace(violation, replay="")
