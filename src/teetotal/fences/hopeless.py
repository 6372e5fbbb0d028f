"""Why no fence helps against a violation, and which lines a person would have to change instead."""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.events import Event, Kind
from teetotal.answers.violation import Violation


def why_hopeless(violation: Violation, weaken: bool = False) -> Iterator[str]:
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
