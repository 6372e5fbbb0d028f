"""Why one event comes before another, in a sentence: the same words for every engine and every verb."""

from __future__ import annotations

from teetotal.answers.events import Event, Kind, ModelName
from teetotal.answers.violation import Edge, Reason

UNKNOWN = "a value"
"""What a read saw, where that was recorded before the part of the trace that is known."""


def whose(event: Event) -> str:
    return f"T{event.thread}'s {event.text}"


def reading(event: Event) -> str:
    return f"T{event.thread}'s {'load' if event.kind is Kind.LD else event.kind} of {event.address}"


def because(reason: Reason, first: Event, second: Event, seen: Event | str | None = None) -> str:
    """For an edge of happens-before. ``seen``, for ``fr``: the write that the read saw, None for the initial value."""
    match reason:
        case "po":
            return f"because T{first.thread} does {first.text} before {second.text}"
        case "src":
            return f"because {reading(second)} saw {whose(first)}"
        case "co":
            return f"because {whose(first)} reached memory before {whose(second)}"
        case "fr" if seen is UNKNOWN:
            return f"because {reading(first)} saw a value that {whose(second)} overwrites"
        case "fr":
            what = "the initial value" if seen is None else whose(seen) if isinstance(seen, Event) else seen
            return f"because {reading(first)} saw {what}, which {whose(second)} overwrites"


def in_words(reason: Reason, first: Event, second: Event) -> str:
    """For events that are told in words of their own: creating a thread, waiting for a condition."""
    return because("po", first, second) if reason == "po" else f"because {whose(first)} came before {whose(second)}"


def overtaking(model: ModelName, deciding: Event, delayed: Event, ends: tuple[int, int]) -> Edge:
    """The step that no SC execution has: it closes the cycle."""
    if deciding.kind is Kind.LD:
        what = f"{reading(deciding)} may see the value that {whose(delayed)} overwrites later"
        return Edge(*ends, "fr", f"because under {model.upper()} {what}")
    what = f"{whose(deciding)} may reach memory before {whose(delayed)}"
    return Edge(*ends, "co", f"because under {model.upper()} {what}")
