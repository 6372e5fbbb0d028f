"""Evidence: events, the cycle of happens-before through them, and the execution as a story."""

from __future__ import annotations

from typing import Literal

import msgspec

from teetotal.answers.events import Event, EventId, Location, ModelName

Reason = Literal["po", "src", "co", "fr"]
REASONS: tuple[Reason, ...] = ("po", "src", "co", "fr")
"""By number: ``graph::Reason`` in the core."""


class Edge(msgspec.Struct, frozen=True):
    """One step of a happens-before cycle, between positions in the violation's ``events``, and why it holds."""

    source: int
    target: int
    reason: Reason
    because: str = ""


ViolationKind = Literal[
    "robustness", "race", "assertion", "final assertion", "outcome", "deadlock", "wild access", "replay",
    "livelock", "crash", "use after free", "use after return", "heap overflow", "misuse", "abort", "history",
]  # fmt: skip
"""``outcome`` is a result that SC does not have, and that the program asks about. ``replay`` is an execution shown
again, whether or not it violates anything. Of those after it ``history`` is of recorded histories, the others of C
programs."""


class StoryStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step of a violating execution as told to a person: an event of a thread, the commit of one of its stores, or a
    ``step`` that is neither (of Promela: a choice, a label, a ghost variable), and what the buffers of all threads hold
    after it (oldest store first, ``sfence`` for a marker; none are told of a commit that a fence or an atomic operation
    makes, since it and what made it are one step of the machine). ``text`` tells it where the event does not, with the
    ``location`` of a step. ``memory``: what the step changes in memory, from location to value."""

    thread: int
    action: Literal["event", "commit", "step"]
    event: int
    buffers: list[list[str]] = []
    text: str = ""
    location: Location | None = None
    memory: dict[str, str] = {}


class Sequential(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The SC execution in which a monitor saw that a store could be overtaken, up to the event that overtakes it:
    ``delayed`` and ``deciding`` are their positions among its ``events``."""

    events: list[Event]
    steps: list[StoryStep]
    delayed: int
    deciding: int


class Race(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two accesses of one location, one of them a write, one of them not atomic, that nothing orders: undefined in C11.
    ``before``, where it was asked for: the events of the SC execution that lead to the two, in order, and they."""

    address: str
    first: Event
    second: Event
    locations: list[str] = []
    missing: str = ""
    replay: str = ""
    before: list[Event] = []

    def __str__(self) -> str:
        return f"data race on {self.address}: {self.first} and {self.second}"


class Hazard(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Load buffering, which RC11 forbids and processors and compilers do not: relaxed loads, each followed by a store that
    the next of them reads."""

    segments: list[str]
    locations: list[str] = []

    def __str__(self) -> str:
        return f"load buffering: {', '.join(self.segments)}"


class Violation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Evidence against robustness or safety. ``events`` are those of the whole execution where it is
    short, else those of the cycle; ``steps`` tell it, from the ``initial`` values of the locations in it; ``replay`` is
    the command that shows it again. ``relations``, as positions in ``events``: reads-from (``src``), the next write in
    coherence order (``co``), and from a read the first write after its source (``fr``). ``sequential``: the SC execution
    beside it, where a monitor found it in one. Under C11: processors that can show it, and what would ``repair`` it."""

    model: ModelName
    kind: ViolationKind
    events: list[Event]
    cycle: list[Edge] = []
    steps: list[StoryStep] = []
    locations: list[str] = []
    monitor: str | None = None
    message: str = ""
    replay: str = ""
    shown_by: list[str] = []
    repair: str = ""
    initial: dict[str, str] = {}
    relations: list[tuple[int, int, Reason]] = []
    sequential: Sequential | None = None

    def __str__(self) -> str:
        what = self.message or " → ".join(str(self.events[edge.source]) for edge in self.cycle)
        return f"{self.model.upper()}: {self.kind}{f': {what}' if what else ''}"

    @property
    def shape(self) -> frozenset[tuple[EventId, EventId, Reason]]:
        """The cycle by itself: two violations of the same shape are one, reached on different ways."""
        ends = ((self.events[edge.source].id, self.events[edge.target].id, edge.reason) for edge in self.cycle)
        return frozenset(ends)
