"""What threads do to each other, in words: ``create thread 1`` instead of an unlock of an object that stands for it.

Searches and monitors know eight kinds of events, and so does ``Event.kind``. What an operation is to a person is told
beside it, by ``Event.words``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from teetotal.answers.because import in_words
from teetotal.answers.events import Event, EventId, Kind
from teetotal.answers.numbers import Verb
from teetotal.answers.violation import Edge, StoryStep, Violation

_TOLD = {
    Verb.CREATE: "create {name}",
    Verb.BEGIN: "begin",
    Verb.END: "end",
    Verb.JOIN: "join {name}",
    Verb.LOCK: "lock {name}",
    Verb.UNLOCK: "unlock {name}",
    Verb.TRY_LOCK: "try to lock {name}{fate}",
    Verb.READ_LOCK: "lock {name} to read",
    Verb.TRY_READ_LOCK: "try to lock {name} to read{fate}",
    Verb.WRITE_LOCK: "lock {name} to write",
    Verb.TRY_WRITE_LOCK: "try to lock {name} to write{fate}",
    Verb.WAIT: "wait on {name}",
    Verb.WAKE: "wake up on {name}",
    Verb.WAKE_IDLY: "wake up on {name} for no reason",
    Verb.GIVE_UP: "give up waiting on {name}",
    Verb.SIGNAL: "signal {name}",
    Verb.BROADCAST: "broadcast {name}",
    Verb.ARRIVE: "arrive at {name}",
    Verb.LEAVE: "leave {name}",
    Verb.TAKE: "take {name}: {read} → {value}",
    Verb.TRY_TAKE: "try to take {name}{fate}",
    Verb.POST: "post {name}: {read} → {value}",
    Verb.LOOK: "look at {name}: {read}",
    Verb.ENTER_ONCE: "enter once {name}",
    Verb.LEAVE_ONCE: "leave once {name}",
    Verb.ENTER_SECTION: "enter an atomic section",
    Verb.LEAVE_SECTION: "leave the atomic section",
    Verb.ENTER_FUTEX: "enter {name}",
    Verb.LEAVE_FUTEX: "leave {name}",
    Verb.FREE: "free {name}",
    Verb.INITIALISE: "initialise {name}",
    Verb.DESTROY: "destroy {name}",
    Verb.END_LIFE: "end the life of {name}",
    Verb.DETACH: "detach {name}",
}
_WAITS = {
    Verb.JOIN: "to join {name}",
    Verb.LOCK: "to lock {name}",
    Verb.READ_LOCK: "to lock {name} to read",
    Verb.WRITE_LOCK: "to lock {name} to write",
    Verb.WAKE: "to be woken on {name}",
    Verb.LEAVE: "for others at {name}",
    Verb.TAKE: "to take {name}",
    Verb.ENTER_ONCE: "to enter once {name}",
    Verb.ENTER_SECTION: "to enter an atomic section",
    Verb.ENTER_FUTEX: "to enter {name}",
}


def told(verb: Verb, name: str, read: int, value: int, wrote: bool) -> str:
    """An operation that happened; empty where its kind says it all."""
    return _TOLD.get(verb, "").format(
        name=name, read=read, value=value, fate=", which succeeds" if wrote else ", which fails"
    )


def of_pointers(kind: Kind, name: str | None, value: int | None, read: int | None, pointers: Mapping[int, str]) -> str:
    """An access to a word that holds an address, which has a name; empty where it is as good as a number."""
    first, second = (None if number is None else pointers.get(number, str(number)) for number in (read, value))
    if (first, second) == tuple(None if number is None else str(number) for number in (read, value)):
        return ""
    match kind:
        case Kind.LD:
            return f"ld {name} → {second}"
        case Kind.ST:
            return f"st {name} = {second}"
        case Kind.RMW:
            return f"rmw {name}: {first}, unchanged" if value is None else f"rmw {name}: {first} → {second}"
        case _:
            return ""


def waiting(verb: Verb, name: str) -> str:
    """What a thread waits for that will never go on; a thread that is none of these looks again and again."""
    return _WAITS.get(verb, "spinning on {name}").format(name=name)


def worded(violation: Violation, told: Mapping[EventId, Event], pointers: Mapping[int, str]) -> Violation:
    """A violation that was told by the machines of ``models/``, with words for the operations that have some."""
    events = [as_told(event, told.get(event.id, event), pointers) for event in violation.events]
    edges = [_edge(edge, events) for edge in violation.cycle]
    beside = violation.sequential
    if beside is not None:
        shown = [as_told(event, told.get(event.id, event), pointers) for event in beside.events]
        beside = msgspec.structs.replace(beside, events=shown, steps=with_pointers(beside.steps, shown))
    return msgspec.structs.replace(
        violation,
        events=events,
        cycle=edges,
        steps=with_pointers(violation.steps, events),
        initial=pointed(violation.initial, pointers),
        sequential=beside,
    )


def values_named(violation: Violation, pointers: Mapping[int, str]) -> Violation:
    """Of events that have their words already: what memory holds, with addresses by their names."""
    steps = with_pointers(violation.steps, violation.events)
    return msgspec.structs.replace(violation, steps=steps, initial=pointed(violation.initial, pointers))


def pointed(memory: Mapping[str, str], pointers: Mapping[int, str]) -> dict[str, str]:
    """What locations hold, with addresses by their names."""
    return {address: pointers.get(int(value), value) for address, value in memory.items()}


def as_told(event: Event, told: Event, pointers: Mapping[int, str]) -> Event:
    words = told.words
    if (not words or _about_pointers(told)) and event.kind in (Kind.LD, Kind.ST, Kind.RMW):
        words = of_pointers(event.kind, event.address, event.value, event.read, pointers)  # it may see another value
    return msgspec.structs.replace(event, words=words, within=told.within)


def with_pointers(steps: list[StoryStep], events: Sequence[Event]) -> list[StoryStep]:
    """The same, where what buffers and memory hold is told as the events tell it."""
    shown = {(event.address, str(event.value)): _value(event) for event in events if event.writes}
    held = {f"{address}={value}": f"{address}={named}" for (address, value), named in shown.items()}
    return [
        msgspec.structs.replace(
            step,
            buffers=[[held.get(entry, entry) for entry in buffer] for buffer in step.buffers],
            memory={address: shown.get((address, value), value) for address, value in step.memory.items()},
        )
        for step in steps
    ]


def _value(event: Event) -> str:
    if not _about_pointers(event):
        return str(event.value)
    return event.words.partition(" = ")[2] if event.kind is Kind.ST else event.words.rpartition(" → ")[2]


def _about_pointers(event: Event) -> bool:
    return event.words.startswith(f"{event.kind} {event.address}")


def _edge(edge: Edge, events: list[Event]) -> Edge:
    first, second = events[edge.source], events[edge.target]
    because = edge.because
    if any(event.words and not _about_pointers(event) for event in (first, second)):
        because = in_words(edge.reason, first, second)
    else:
        for event in (first, second):
            because = because.replace(msgspec.structs.replace(event, words="").text, event.text)
    return msgspec.structs.replace(edge, because=because)
