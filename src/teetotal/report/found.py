"""What a plain answer (``to_plain``, or a line of ``--json``) has found, for the formats that machines read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from teetotal.answers.answer import Refusal, Undecided
from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import Location
from teetotal.answers.fence import FenceAnswer
from teetotal.answers.history import HistoryAnswer, HistoryViolation
from teetotal.answers.monitor import MonitorAnswer, MonitorViolation
from teetotal.answers.record import StressAnswer
from teetotal.answers.verify import Confirmation, VerifyAnswer
from teetotal.answers.violation import Violation
from teetotal.report.json import numbered

_KINDS: dict[str, type[Violation]] = {"history": HistoryViolation, "monitor": MonitorViolation}


def violations(plain: dict[str, Any]) -> list[Violation]:
    """As values: what fails before what is only not robust. A replay is one, where it shows something bad."""
    told = plain.get("violations", [])
    if plain.get("command") == "replay" and plain.get("verdict") == "violation":
        told = [plain]
    kind = _KINDS.get(plain.get("command", ""), Violation)
    return sorted((msgspec.convert(numbered(one), kind) for one in told), key=lambda one: one.kind == "robustness")


class _Piece(msgspec.Struct):
    line: int
    text: list[str]


_OF_VERBS: dict[str, type[msgspec.Struct]] = {
    "check": CheckAnswer,
    "fence": FenceAnswer,
    "history": HistoryAnswer,
    "monitor": MonitorAnswer,
    "record hardware": StressAnswer,
    "verify": VerifyAnswer,
}


def oddity(plain: dict[str, Any]) -> str:
    """What an answer that somebody brings has that no verb says; empty if it is one."""
    kind: type[msgspec.Struct] = Undecided
    if "models" in plain or "model" in plain:
        kind = Confirmation if "accepted" in plain else _OF_VERBS.get(plain["command"], Violation)
    elif "error" in plain:
        kind = Refusal
    try:
        told = msgspec.convert(numbered(plain), kind)
        for violation in [told] if isinstance(told, Violation) else getattr(told, "violations", []):
            _check_positions(violation)
        msgspec.convert(plain.get("sources", {}), dict[str, list[_Piece]])
    except (msgspec.ValidationError, LookupError) as error:
        return str(error)
    return ""


def _check_positions(violation: Violation) -> None:
    """LookupError where something points to an event that is not there."""
    named = [at for edge in violation.cycle for at in (edge.source, edge.target)]
    named += [at for first, second, _ in violation.relations for at in (first, second)]
    executions = [(named, violation.events, violation.steps)]
    beside = violation.sequential
    if beside is not None:
        executions.append(([beside.delayed, beside.deciding], beside.events, beside.steps))
    for positions, events, steps in executions:
        told = [step.event for step in steps if step.action != "step" or step.event != -1]
        if any(not 0 <= at < len(events) for at in (*positions, *told)):
            raise LookupError("an event is pointed to that is not there")


def headline(violation: Violation) -> str:
    """In a line: what, and under which model."""
    what = violation.message or " → ".join(str(violation.events[edge.source]) for edge in violation.cycle)
    if isinstance(violation, HistoryViolation):
        what = what or f"{len(violation.events)} operations that no order explains"
    if violation.kind == "race":  # which says so itself
        return f"{violation.model.upper()}: {what}"
    kind = "not robust" if violation.kind == "robustness" else violation.kind
    return f"{violation.model.upper()}: {kind}{f': {what}' if what else ''}"


def story(violation: Violation) -> Iterator[str]:
    """The proof, a sentence a line, and how to see it again."""
    yield headline(violation)
    if isinstance(violation, HistoryViolation):
        yield from violation.proof
    for edge in violation.cycle:
        first, second = violation.events[edge.source], violation.events[edge.target]
        yield f"{first} comes before {second} {'in program order' if edge.reason == 'po' else edge.because}"
    if violation.cycle:
        yield f"so {violation.events[violation.cycle[0].source]} would come before itself: a contradiction."
    if violation.replay:
        yield f"Again: {violation.replay}"


def places(violation: Violation) -> list[Location]:
    """Of the cycle, from its end: that is the event which no SC execution has. Else those that are named."""
    of_cycle = [violation.events[edge.source].location for edge in reversed(violation.cycle)]
    named = [place for place in of_cycle if place is not None] or list(filter(None, map(_place, violation.locations)))
    events = named or [event.location for event in reversed(violation.events) if event.location is not None]
    return list(dict.fromkeys(events))


def _place(text: str) -> Location | None:
    file, _, line = text.rpartition(":")
    return Location(file, int(line)) if file and line.isdecimal() else None


class Trouble(NamedTuple):
    """Why there is no answer, or less than was asked for. ``refused``: the input is wrong, and not only too much."""

    what: str
    location: Location | None
    refused: bool


def trouble(plain: dict[str, Any]) -> Trouble | None:
    if "error" in plain:
        file, line = plain.get("file"), plain.get("line")
        return Trouble(plain["error"], None if file is None else Location(file, line or 1), True)
    if plain.get("verdict") == "inconclusive":
        return Trouble("inconclusive: " + ("; ".join(plain.get("notes", [])) or "the budget ran out"), None, False)
    return None


def proved(plain: dict[str, Any]) -> bool:
    """Whether the fences do what they are for, although the program may fail under SC."""
    return plain.get("met", False) is True or plain.get("verdict") == "safe"


def name(plain: dict[str, Any]) -> str:
    named, given = plain.get("name", ""), str(plain.get("input", ""))
    return f"{given}: {named}" if named and named != given else given
