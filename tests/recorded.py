"""Recorded executions, random ones and store buffering: what an SC machine could have done, with values and mutexes."""

from __future__ import annotations

import random
from pathlib import Path

from teetotal import traces
from teetotal.answers.events import Event, Kind, Location
from teetotal.traces.trace import Trace

STORE_BUFFERING = [
    Event(0, 0, Kind.ST, "x", 1, location=Location("dekker.c", 12)),
    Event(0, 1, Kind.LD, "y", 0, location=Location("dekker.c", 13)),
    Event(1, 0, Kind.ST, "y", 1, location=Location("dekker.c", 24)),
    Event(1, 1, Kind.LD, "x", 1, location=Location("dekker.c", 25)),
]


def saved(events: list[Event], path: Path) -> str:
    traces.write(Trace.from_events(events), path)
    return str(path)


def recorded_events(rng: random.Random, size: int, valued: bool = True, plain: float = 0) -> list[Event]:
    """``plain``: how likely an event is a load or a store, beyond its share."""
    threads, addresses = rng.randint(1, 4), ["x", "y", "naïve → name", "buffer[3]"][: rng.randint(1, 4)]
    places = [Location("dekker.c", 12), Location("dir:odd/ä.c", 7), None]
    memory = dict.fromkeys([*addresses, "m"], 0)
    holder: int | None = None
    counts = [0] * threads
    events: list[Event] = []
    while len(events) < size:
        thread, place = rng.randrange(threads), rng.choice(places)
        kind, address = rng.choice(list(Kind)), rng.choice(addresses)
        if rng.random() < plain:
            kind = rng.choice((Kind.LD, Kind.ST))
        value = read = None
        wrote = False
        if kind.is_fence:
            address = None  # type: ignore[assignment]
        elif kind in (Kind.LOCK, Kind.UNLOCK):
            if (holder is not None) if kind is Kind.LOCK else (holder != thread):
                continue
            address, read, value = "m", int(kind is Kind.UNLOCK), int(kind is Kind.LOCK)
            holder = thread if kind is Kind.LOCK else None
        else:
            new = rng.choice((0, 1, -5, 2**63 - 1, -(2**63)))
            read = memory[address] if kind is Kind.RMW else None
            value = memory[address] if kind is Kind.LD else new
            if kind is Kind.RMW and rng.random() < 0.3:
                value = None
            elif kind is not Kind.LD:
                memory[address] = new
            if not valued:
                wrote = kind is Kind.RMW and value is not None
                value = read = None
        events.append(Event(thread, counts[thread], kind, address, value, read, place, wrote))
        counts[thread] += 1
    return events
