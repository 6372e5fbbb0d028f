"""What it means that a C program is not robust: what a search of the relaxed machine itself, to the first failure, says.

Robustness is decided from SC executions alone, so whether an assertion fails in an execution that SC does not have is a
question of its own, and may take far longer to answer: it has a budget of its own, and never changes the verdict on
robustness.
"""

from __future__ import annotations

from msgspec.structs import replace

from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import ModelName
from teetotal.answers.triage import NOTHING_ASSERTED, triaged, worst


def told(answer: CheckAnswer, model: ModelName, search: CheckAnswer | None, *, asserts: bool) -> CheckAnswer:
    """With what the search of that model, under which the program is not robust, has found; None: there was none.
    ``asserts``: whether the program has assertions."""
    found = answer.models[model]
    notes = list(answer.notes)
    if search is not None:
        relaxed = search.models[model]
        found = replace(
            found,
            safe=relaxed.safe,
            violations=found.violations + relaxed.violations,
            executions=search.executions or None,
        )
        if relaxed.safe is None:
            why = "; ".join(note for note in search.notes if note not in notes) or "see above"
            found = replace(found, reason=f"{search.executions or 0:,} executions explored: {why}")
            notes.append(f"whether that breaks anything under {model.upper()} is not known: {found.reason}")
    elif found.safe is None:
        notes.append(
            f"whether anything fails in executions that only {model.upper()} allows was not asked: "
            "--triage and --goal safe explore these"
        )
    found = replace(found, triage=triaged(found.robust, found.safe, asserts=asserts))
    if found.safe and not asserts and NOTHING_ASSERTED not in notes:
        notes.append(NOTHING_ASSERTED)
    models = {**answer.models, model: found}
    return replace(
        answer,
        models=models,
        violations=[violation for each in models.values() for violation in each.violations],
        notes=notes,
        triage=worst(each.triage for each in models.values()),
    )
