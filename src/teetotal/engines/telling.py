"""How a run of a machine is put in words.

The machines of ``models/`` know events by kind, address and number. Whoever has more to say of an event (that the unlock of
a thread's object is the creation of that thread, that a number is the address of a node) says it here, before the cycle
and the story are made of it.
"""

from __future__ import annotations

from teetotal.answers import because
from teetotal.answers.events import Event
from teetotal.answers.violation import Reason


class Telling:
    """In the machine's own words."""

    def event(self, event: Event) -> Event:
        return event

    def value(self, value: int) -> str:
        """What a location or a buffer holds."""
        return str(value)

    def because(self, reason: Reason, first: Event, second: Event, seen: Event | None) -> str:
        """Of events as ``event`` gives them; ``seen`` as in ``answers.because``."""
        return because.because(reason, first, second, seen)


PLAINLY = Telling()
