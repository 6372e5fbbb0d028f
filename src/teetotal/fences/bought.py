"""What fences for robustness buy: whether anything that the program asserts fails without them."""

from __future__ import annotations

from collections.abc import Sequence

from teetotal.answers.check import CheckAnswer
from teetotal.answers.triage import NOTHING_ASSERTED, Triage, worst


def bought(as_it_is: Sequence[CheckAnswer]) -> tuple[Triage | None, str]:
    """From what ``check`` says of the programs without the fences: the word, and a line."""
    triage = worst(answer.triage for answer in as_it_is)
    if triage is None:
        return None, ""
    if triage == "harmless":
        return triage, "robustness alone: without them nothing that the program asserts fails (proved)"
    if triage == "unknown" and any(NOTHING_ASSERTED in answer.notes for answer in as_it_is):
        return triage, "robustness: the program asserts nothing that could fail without them"
    if triage == "unknown":
        return triage, "robustness: whether anything that the program asserts fails without them is not known"
    if any(answer.models["sc"].safe is False for answer in as_it_is):
        return triage, "robustness alone: the program fails under SC already"
    broken = next(
        violation
        for answer in as_it_is
        for model in answer.models.values()
        if model.triage == "breaks"
        for violation in model.violations
        if violation.kind != "robustness"
    )
    return triage, f"safety: without them, under {broken.model.upper()}, {broken.message}"
