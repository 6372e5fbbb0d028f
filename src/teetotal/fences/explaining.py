"""What is said beside a patch, or instead of one: what its fences buy, and why no fence helps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import Event, Kind
from teetotal.answers.triage import NOTHING_ASSERTED, Triage, worst
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Violation


def what_they_buy(as_it_is: Sequence[CheckAnswer]) -> tuple[Triage | None, str]:
    """Whether anything that the program asserts fails without them, from what ``check`` says of the programs as they are:
    the word, and a line."""
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


def failures_under_sc(answer: CheckAnswer) -> list[Violation]:
    return answer.models["sc"].violations if "sc" in answer.models else []


def why_not_safe(answers: Sequence[CheckAnswer], met: Verdict, verdict: Verdict) -> Iterator[str]:
    """What is wrong with programs although they are what was asked for, from what ``check`` says of them."""
    failing = [answer for answer in answers if failures_under_sc(answer)]
    for answer in failing:
        told = next((failure.message for failure in failures_under_sc(answer) if failure.message), "")
        who = "it" if len(answers) == 1 else answer.name
        yield f"{who} fails under SC already, and no fence repairs that{told and f': {told}'}"
    if not failing and met is Verdict.SAFE and verdict is Verdict.INCONCLUSIVE:
        yield "whether anything fails is not known"


def why_no_fence_helps(violation: Violation, weaken: bool = False) -> Iterator[str]:
    """And which lines a person would have to change instead."""
    if weaken:
        yield "this happens with the orders as they are written: without --weaken, stronger ones are looked for"
        return
    if violation.model == "c11":
        first, second = violation.events[0], violation.events[-1]
        yield "no order that is written out here, and no fence between two statements, prevents this" + (
            f": {first.text} and {second.text} need a mutex around them, or to be atomic"
            if violation.kind == "race"
            else ""
        )
        return
    if violation.model == "sc":
        yield "this happens under SC too: it is a fault of the program that no fence repairs"
        return
    yield "no fence between two statements prevents this violation"
    for first, second in _overtaken(violation):
        if first.location == second.location:
            yield (
                f"{first.location}: {first.text} and {second.text} come from one statement, perhaps from a macro or a "
                "helper without a gap: write them as two statements, so that a fence can stand between them"
            )
        else:
            yield (
                f"{first.location} and {second.location}: {second.text} overtakes {first.text}, and between them is no "
                "gap that could be patched: a fence has to be put there by hand"
            )


def _overtaken(violation: Violation) -> Iterator[tuple[Event, Event]]:
    """Stores and later accesses of their threads that became visible the other way round: neighbours in the cycle, or
    where there is none each such store with the first that overtakes it."""
    events = violation.events
    shown: dict[int, int] = {}  # when each event is over
    for number, step in enumerate(violation.steps):
        if step.action == "commit" or events[step.event].kind is not Kind.ST:
            shown[step.event] = number

    def overtakes(late: int, early: int) -> bool:
        return shown.get(early, len(violation.steps)) > shown.get(late, len(violation.steps))

    if violation.cycle:
        pairs = [(edge.source, edge.target) for edge in violation.cycle if edge.reason == "po"]
        yield from ((events[early], events[late]) for early, late in pairs if overtakes(late, early))
        return
    order = sorted(range(len(events)), key=lambda number: events[number].id)
    for position, early in enumerate(order):
        later = (n for n in order[position + 1 :] if events[n].thread == events[early].thread and overtakes(n, early))
        if events[early].kind is Kind.ST and (late := next(later, None)) is not None:
            yield events[early], events[late]
