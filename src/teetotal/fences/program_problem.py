"""The problem of fences for a ``Program``: explore it with the fences that are on, and tell what is still violated."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from teetotal.answers.options import FenceOptions
from teetotal.answers.violation import Violation
from teetotal.budget import Budget
from teetotal.engines.executions.robustness import robustness
from teetotal.engines.interpreted import safety_violations
from teetotal.engines.states.outcomes import outcomes
from teetotal.fences.insertion import Finding, Site, Undecided
from teetotal.fences.killers import killers
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

    @property
    def sites(self) -> Sequence[Site]:
        return self.slots[0].sites

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        on = fences | self.always
        found = []
        for slots in self.slots:
            program = slots.with_fences(on)
            if self.options.loop_bound is not None:
                program = msgspec.structs.replace(program, loop_bound=self.options.loop_bound)
            violations = self._not_robust(program) if self.options.goal == "robust" else self._not_safe(program)
            for violation in violations:
                passed = slots.passed(violation.events, on)
                clause = killers(violation.model, violation.events, violation.steps, passed)
                if on != self.existing:  # a schedule of another program than the one that the user has
                    violation = msgspec.structs.replace(violation, replay="")
                found.append(Finding(violation, clause))
        return found

    def _not_robust(self, program: Program) -> list[Violation]:
        asked = self.options
        found = robustness(
            program, asked.models, asked.semantics, monitors=asked.monitors, waiting=asked.waiting, budget=self.budget
        )
        if found.interrupted:
            raise KeyboardInterrupt
        violations = [violation for model in asked.models for violation in found.violations[model]]
        if not violations and not all(found.proves(model) for model in asked.models):
            raise Undecided(f"robust or not is not known: {'; '.join(found.notes)}")
        return violations

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
