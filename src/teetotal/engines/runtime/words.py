"""What threads do to each other, in words: ``create thread 1`` instead of an unlock of an object that stands for it.

Searches and monitors know eight kinds of events, and so does ``Event.kind``. What an operation is to a person is told
beside it, by ``Event.words``.
"""

from __future__ import annotations

from teetotal.answers.events import Kind
from teetotal.answers.numbers import Verb

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


def of_access(kind: Kind, name: str | None, read: str | None, value: str | None) -> str:
    """An access to a word that holds an address, where what it read or wrote has a name."""
    match kind:
        case Kind.LD:
            return f"ld {name} → {value}"
        case Kind.ST:
            return f"st {name} = {value}"
        case Kind.RMW:
            return f"rmw {name}: {read}, unchanged" if value is None else f"rmw {name}: {read} → {value}"
        case _:
            return ""


def waiting(verb: Verb, name: str) -> str:
    """What a thread waits for that will never go on; a thread that is none of these looks again and again."""
    return _WAITS.get(verb, "spinning on {name}").format(name=name)
