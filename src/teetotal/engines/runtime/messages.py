"""What ``teetotal-runtime`` tells, one object of JSON a line, as types (runtime/telling/output.hpp).

Text of a program may be any bytes. The runtime escapes every byte that is not plain ASCII as ``\\u00XX``; here the bytes
are put together again, and those that are no UTF-8 become what Python makes of them in names of files.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

import msgspec


def _text(told: Any) -> Any:
    """Of a field: text, or rows with text in them."""
    if isinstance(told, str):
        return told.encode("latin-1").decode(errors="surrogateescape")
    return type(told)(map(_text, told)) if isinstance(told, list | tuple) else told


class CutLoop(msgspec.Struct, frozen=True, array_like=True, order=True):
    """One that was not run to its end. What its thread read last: the place of that, the address, how many bytes and what
    they held, and the place of who wrote it; 0 where there is none."""

    place: int
    rounds: int
    thread: int
    read: int
    address: int
    size: int
    value: int
    writer: int


class StepRow(msgspec.Struct, frozen=True, array_like=True):
    """``kind`` is that of an event, or ``COMMIT``. ``cell`` is -1 for a fence. ``within``: the place in a library's header,
    0 where there is none."""

    thread: int
    kind: int
    tag: int
    cell: int
    place: int
    wrote: int
    before: int
    after: int
    verb: int
    within: int
    order: int = 0


COMMIT = 8
"""Beside the kinds of events: a store of an earlier step reaches memory."""


class Cell(msgspec.Struct, frozen=True, array_like=True):
    """A location as the runtime sees it: what kind, where, and for the heap which block, and where that was asked for. On
    a stack ``block`` is its owner's number, ``place`` in the function whose frame it is in, ``block_size`` that frame's
    canonical address; of what is thread-local, ``block`` is its owner's number, ``block_size`` an offset in what it has."""

    tag: int
    address: int
    size: int
    region: str
    block: int
    block_size: int
    place: int
    mixed: int


Cells: TypeAlias = dict[int, Cell]
Cause: TypeAlias = tuple[str, int, int]
"""What was done before that makes a failure one: words (none: empty), thread, place."""
Unseen: TypeAlias = tuple[str, int]
"""What no hook follows, and where it was met."""
Looked: TypeAlias = tuple[int, int, int, int]
"""An operation that a thread stands before: kind, tag, address, place."""


class Message(msgspec.Struct, frozen=True, tag_field="type"):
    """``TEXTS``: the fields in which text of the program may be."""

    TEXTS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self.TEXTS:
            msgspec.structs.force_setattr(self, name, _text(getattr(self, name)))


class Loaded(Message, frozen=True, tag="loaded"):
    base: int
    isolated: bool = False


class Restart(Message, frozen=True, tag="restart"):
    """What was told about violations and failures does not count: everything begins again."""


class Progress(Message, frozen=True, tag="progress"):
    executions: int
    explored: float


class Found(Message, frozen=True, tag="violation"):
    """A monitor's report: the numbers of the delayed store, of the event before the deciding one, and of that. ``at``:
    their places, which make it distinct."""

    monitor: str
    report: tuple[int, int, int]
    at: tuple[int, int, int]
    context: str
    steps: list[StepRow]
    cells: Cells
    race: bool = False


class Failed(Message, frozen=True, tag="failure"):
    """``waiting``, of a deadlock or a livelock: thread, place, kind, cell, verb. ``at`` makes it distinct."""

    TEXTS = ("message", "cause")

    what: str
    at: tuple[int, int, int]
    thread: int
    message: str
    place: int
    context: str
    steps: list[StepRow]
    cells: Cells
    cause: Cause = ("", 0, 0)
    waiting: list[tuple[int, int, int, int, int]] = []


class Trouble(Message, frozen=True, tag="error"):
    """``nondeterministic`` has what the thread stood before then and now, and what it saw. ``astray``: the search found
    what cannot be, in a program that does what no hook follows."""

    TEXTS = ("message", "unseen")

    what: Literal["load", "nondeterministic", "astray", "schedule", "overwritten", "internal"]
    message: str = ""
    thread: int = 0
    then: Looked = (0, 0, 0, 0)
    now: Looked | None = None
    saw: tuple[int, int] = (0, 0)
    unseen: list[Unseen] = []


class Stopped(Message, frozen=True, tag="stopped"):
    reason: Literal["budget", "memory", "interrupted"]


Failure: TypeAlias = tuple[int, int, str, str, Cause]
"""Thread, place, message, what, cause."""


class Replayed(Message, frozen=True, tag="replay"):
    TEXTS = ("failures",)

    steps: list[StepRow]
    failures: list[Failure]
    cells: Cells


class Executed(Message, frozen=True, tag="execution"):
    """Any execution, where all are asked for."""

    number: int
    steps: list[StepRow]
    cells: Cells


class Overtakings(Message, frozen=True, tag="overtakings"):
    """Some of those that are kept, where that is asked for (core/overtakings). ``number``: so many came before it; what was
    told from there on does not count any more. ``whole``: nothing was left out so far."""

    number: int
    piece: bytes
    whole: bool


class End(Message, frozen=True, tag="end"):
    """Of a search. ``stopped``: why, where it did not end by itself. ``whole``: why it was not explored in parts."""

    TEXTS = ("oddities", "unseen")

    executions: int = 0
    blocked: int = 0
    cut: int = 0
    complete: bool = False
    bounded: bool = False
    stopped: str = ""
    whole: str = ""
    redundant: int = 0
    steps: int = 0
    fresh: int = 0
    longest: int = 0
    shown: int = 0
    """Executions that some monitor had to look at."""
    classes: int = 0
    restarts: int = 0
    restored: int = 0
    seconds: float = 0.0
    cpu: float | None = None
    threads: int = 2
    symmetric: bool = False
    reporting: list[Any] = []
    passes: list[int] = []
    oddities: list[str] = []
    loops: list[CutLoop] = []
    unseen: list[Unseen] = []
    races: list[tuple[int, int, int]] = []
    hazards: list[tuple[int, int, int, int, int]] = []
    """Load buffering: whose load; its place, that of its thread's store and of the other's write; the address."""
    mixed: list[int] = []
    evaluated: list[int] = []
    """Places in the program that decide assertions, and were come to."""
    assembly: bool = False


class Explored(Message, frozen=True, tag="part"):
    """Of a search in parts (core/search/part.hpp): what is left, what it asks of those above. ``layout``: where cells of
    data begin, their sizes, and whether they are soft. ``found``: what was found out of threads with a certain past
    (runtime/schedule/first_found.hpp). ``restarts``: how often it has begun again by then. ``request``: the number of the
    request that it answers, where there were several."""

    left: str
    asks: str
    layout: list[tuple[int, int, int]]
    found: list[tuple[int, int]]
    restarts: int
    incomplete: bool
    request: int = 0


class Whole(Message, frozen=True, tag="refused"):
    """This search cannot be explored in parts."""

    TEXTS = ("why",)

    why: str


AnyMessage = (
    Explored
    | Whole
    | Loaded
    | Restart
    | Progress
    | Found
    | Failed
    | Trouble
    | Stopped
    | Replayed
    | Executed
    | Overtakings
    | End
)
_DECODER = msgspec.json.Decoder(AnyMessage)


def decode(line: bytes) -> AnyMessage:
    """``msgspec.DecodeError`` where it is none."""
    message: AnyMessage = _DECODER.decode(line)
    return message
