"""From a report of exact-c11 to a graph that C11 allows and SC does not, checked by the specification and told.

The graph has the events that come before ``prev`` in every SC execution like this one, and ``prev``, with the same sources
and the same order of writes, and then ``e``, which reads the write before the one that it should know, or takes the place
just before it (docs/explanation/c11.md, theorem 2). ``models.c11`` must find it consistent and not sequentially consistent.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise

import msgspec

from teetotal import models
from teetotal.answers.because import because, reading, whose
from teetotal.answers.events import Event, EventId, Issue, Kind, Request, Semantics
from teetotal.answers.schedules import TokenError, from_token, to_token, to_weak_token
from teetotal.answers.violation import Edge, Race, Reason, StoryStep, Violation
from teetotal.engines import story
from teetotal.engines.executions.monitors.witness import happens_before
from teetotal.engines.relations import of_graph
from teetotal.engines.telling import PLAINLY, Telling
from teetotal.models import c11
from teetotal.programs.program import Program


def violation(
    program: Program,
    triple: tuple[int, int, int],
    schedule: Sequence[int],
    semantics: Semantics,
    release_sequence: c11.ReleaseSequence,
) -> Violation:
    """What exact-c11 reported about a program, told."""
    events, request = before(program, schedule, semantics)
    thread = schedule[-1]
    index = sum(event.thread == thread for event in events)
    found = confirmed(
        program.memory,
        events,
        triple,
        lambda seen: [_done(thread, index, request, seen)],
        release_sequence,
    )
    delayed_at, previous_at, _ = triple
    kept = happens_before(events, previous_at)
    steps = [Issue(schedule[number]) for number in kept]
    known = known_writes([events[number] for number in kept], events[delayed_at])
    token = to_weak_token(steps, thread, known, semantics)
    return msgspec.structs.replace(found, replay=story.replay_of(program, token))


def known_writes(events: Sequence[Event], delayed: Event) -> int:
    """Those of its location before a write."""
    own = [event.id for event in events if event.address == delayed.address and event.writes]
    return own.index(delayed.id)


def replayed(program: Program, token: str, known: int) -> Violation:
    """What a token of C11 describes, told: the schedule that SC has, and how many writes the last step knows."""
    _, schedule, semantics = from_token(token, list(program.memory))
    threads = [step.thread for step in schedule]
    try:
        models.replay(program, "sc", schedule, semantics)
    except ValueError as error:
        raise TokenError(f"{program.source or program.name}: {error}; the token belongs to another program") from None
    events, request = before(program, threads, semantics)
    thread = threads[-1]
    index = sum(event.thread == thread for event in events)
    return older(program.memory, events, thread, request.address, known,
                 lambda seen: [_done(thread, index, request, seen)])  # fmt: skip


def older(
    memory: Mapping[str, int],
    events: Sequence[Event],
    thread: int,
    address: str | None,
    known: int,
    having_seen: Callable[[int], list[Event]],
    telling: Telling = PLAINLY,
) -> Violation:
    """The execution in which a thread's next event knows so many writes of its location, told again; ``TokenError`` where
    C11 does not have it, or SC has."""
    writes = [number for number, event in enumerate(events) if event.address == address is not None and event.writes]
    own = [number for number, event in enumerate(events) if event.thread == thread]
    if known >= len(writes) or not own:
        raise TokenError("the last step knows of all writes there are; the token belongs to another program")
    try:
        found = confirmed(memory, events, (writes[known], own[-1], len(events)), having_seen, "c20", telling)
    except (AssertionError, ValueError):
        raise TokenError("C11 does not have that execution; the token belongs to another program") from None
    return msgspec.structs.replace(found, kind="replay", message="")


def confirmed(
    memory: Mapping[str, int],
    events: Sequence[Event],
    triple: tuple[int, int, int],
    deciding: Callable[[int], list[Event]],
    release_sequence: c11.ReleaseSequence,
    telling: Telling = PLAINLY,
) -> Violation:
    """The graph behind a report on an execution whose ``events`` come before the deciding one, told. ``deciding``: what
    that may be, having seen a value. AssertionError where the specification does not agree."""
    delayed_at, previous_at, _ = triple
    numbers = [n for n in happens_before(events, previous_at) if events[n].address or not _no_event(events[n])]
    known = [events[number] for number in numbers]
    place = numbers.index(delayed_at)
    delayed = known[place]
    assert delayed.address is not None
    older = [event.value for event in known[:place] if event.address == delayed.address and event.writes]
    seen = older[-1] if older else memory[delayed.address]
    for event in deciding(seen or 0):
        found = graph(memory, known, release_sequence, event, delayed)
        if found.consistent and not found.sequentially_consistent:
            break
    else:
        raise AssertionError(f"a report of exact-c11 that the specification does not confirm: {triple}, {events}")
    told = [*known, event]
    last = max(n for n, other in enumerate(known) if other.thread == event.thread and not _no_event(other))
    cycle = _cycle(told, place, last)
    named = dict.fromkeys(str(told[edge.source].location) for edge in cycle if told[edge.source].location is not None)
    return Violation(
        model="c11",
        kind="robustness",
        events=told,
        cycle=cycle,
        steps=[*story.one_by_one(known, telling), _last_step(len(known), event, delayed)],
        locations=list(named),
        monitor="exact-c11",
        message=_message(event, delayed),
        repair=repair(told, cycle),
        initial=story.initial(memory, told, telling=telling),
        relations=of_graph(found, told),
    )


def _last_step(number: int, event: Event, delayed: Event) -> StoryStep:
    """What it writes is overwritten already."""
    how = "the value before" if event.reads else f"among the writes of {event.address} before"
    return StoryStep(event.thread, "event", number, text=f"{event.text}, {how} {whose(delayed)}")


def race(
    program: Program,
    triple: tuple[int, int, int],
    schedule: Sequence[int],
    semantics: Semantics,
    whole: bool = False,
) -> Race:
    """Two accesses that nothing orders, told."""
    events, request = before(program, schedule, semantics)
    first, after, deciding = triple
    thread = schedule[-1]
    if after != deciding:
        numbers = while_waiting(events, thread, after)
        events, first = [events[number] for number in numbers], numbers.index(first)
        schedule = [*(schedule[number] for number in numbers), thread]
    index = sum(event.thread == thread for event in events)
    second = _done(thread, index, request, None)
    replayed = models.replay(program, "sc", tuple(map(Issue, schedule)), semantics)
    if len(replayed.events[thread]) > index:
        second = replayed.events[thread][index]
    return race_between([*events, second], first, _replay(program, schedule, semantics), whole)


def while_waiting(events: Sequence[Event], thread: int, after: int) -> list[int]:
    """What has to come before a round of a loop in which a thread only waits, right after an event: rounds that wait are no
    part of an execution, and yet they read, and race."""
    own = [number for number, event in enumerate(events) if event.thread == thread]
    return sorted({*happens_before(events, after), *(happens_before(events, own[-1]) if own else ())})


def race_between(events: Sequence[Event], at: int, replay: str, whole: bool) -> Race:
    """Of the last of these events with an earlier one. ``whole``: with what leads to them."""
    first, second = events[at], events[-1]
    assert first.address is not None
    before: list[Event] = []
    if whole:
        leading = {*happens_before(events, at), *happens_before(events, len(events) - 1)}
        before = [events[number] for number in sorted(leading)]
    places = [event.location for event in (first, second)]
    return Race(
        address=first.address,
        first=first,
        second=second,
        locations=list(dict.fromkeys(str(place) for place in places if place is not None)),
        missing=missing(first, second),
        replay=replay,
        before=before,
    )


def as_violation(race: Race) -> Violation:
    return Violation(
        model="c11",
        kind="race",
        events=[race.first, race.second],
        steps=[StoryStep(event.thread, "event", number) for number, event in enumerate((race.first, race.second))],
        locations=race.locations,
        monitor="exact-c11",
        message=str(race),
        replay=race.replay,
        repair=race.missing,
    )


def missing(first: Event, second: Event) -> str:
    """Which synchronisation would order two accesses."""
    plain = [whose(event) for event in (first, second) if event.order == "na"]
    return (
        f"nothing that T{first.thread} does after its access is acquired by T{second.thread} before its own: a mutex "
        "around both, or a release store read by an acquire load between them, or atomic accesses for "
        f"{' and '.join(plain)}"
    )


def before(program: Program, schedule: Sequence[int], semantics: Semantics) -> tuple[list[Event], Request]:
    """The events of a schedule but for the last step, and what that asks for."""
    run = models.replay(program, "sc", tuple(map(Issue, schedule[:-1])), semantics)
    request = program.next(schedule[-1], run.locals[schedule[-1]])
    assert request is not None
    return run.issued(), request


def _no_event(event: Event) -> bool:
    """Of C11: part of an access on TSO or PSO, or a mark that was put into a program's text, which has an address."""
    return event.kind.is_fence and event.order == "na"


def _done(thread: int, index: int, request: Request, seen: int | None) -> Event:
    """A request as the event that it becomes, having seen a value."""
    kind, address, value, function, location, order, failure = request
    event = Event(thread, index, kind, address, location=location, order=order)
    if kind is Kind.ST:
        return msgspec.structs.replace(event, value=value)
    if seen is None or kind is Kind.LD:
        return msgspec.structs.replace(event, value=seen)
    new = {Kind.LOCK: 1, Kind.UNLOCK: 0}.get(kind) if function is None else function(seen)
    return msgspec.structs.replace(event, value=new, read=seen, order=failure if new is None else order)


def graph(
    memory: Mapping[str, int],
    known: Sequence[Event],
    release_sequence: c11.ReleaseSequence,
    deciding: Event | None = None,
    delayed: Event | None = None,
) -> c11.Graph:
    """Of an SC execution; and then of an event more, which does not know of the ``delayed`` write."""
    start = c11.initial(memory, release_sequence)
    mo = {address: list(order) for address, order in start.order.items()}
    rf: dict[EventId, EventId] = {}
    events = [*start.events, *(_effective(event) for event in known if not _no_event(event))]
    for event in events[len(start.events) :]:
        if event.address is None:
            continue
        if event.reads:
            rf[event.id] = mo[event.address][-1]
        if event.writes:
            mo[event.address].append(event.id)
    if deciding is not None and delayed is not None:
        assert deciding.address is not None
        order = mo[deciding.address]
        place = order.index(delayed.id)
        if deciding.reads:
            rf[deciding.id] = order[place - 1]
        if deciding.writes:
            order.insert(place, deciding.id)
        events.append(deciding)
    return c11.Graph(tuple(events), rf, {address: tuple(order) for address, order in mo.items()}, release_sequence)


def _effective(event: Event) -> Event:
    """A mutex has no order of its own."""
    orders = {Kind.LOCK: "acquire", Kind.UNLOCK: "release"}
    return msgspec.structs.replace(event, order=orders.get(event.kind, event.order))


# -- telling it -------------------------------------------------------------------------------------------------------


def _cycle(events: Sequence[Event], delayed: int, previous: int) -> list[Edge]:
    """From the delayed write to ``prev``, with as few edges against the flow of values as can be, and back through e."""
    last = len(events) - 1
    path = _path(events[:-1], delayed, previous)
    edges = [Edge(a, b, reason, because(reason, events[a], events[b], seen)) for a, b, reason, seen in path]
    edges.append(Edge(previous, last, "po", because("po", events[previous], events[last])))
    deciding = events[last]
    if deciding.writes:
        why = f"because in C11 {whose(deciding)} may come before {whose(events[delayed])} among the writes"
        edges.append(Edge(last, delayed, "co", why))
    else:
        seen = deciding.value if deciding.kind is Kind.LD else deciding.read
        why = f"because in C11 {reading(deciding)} may see {seen}, which {whose(events[delayed])} overwrites"
        edges.append(Edge(last, delayed, "fr", why))
    return edges


def _path(events: Sequence[Event], start: int, goal: int) -> list[tuple[int, int, Reason, Event | None]]:
    """As few of mo and rb as possible, then as short as possible."""
    edges: dict[int, list[tuple[int, Reason, Event | None]]] = {number: [] for number in range(len(events))}
    by_thread: dict[int, list[int]] = {}
    last_write: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    for number, event in enumerate(events):
        if not _no_event(event):
            by_thread.setdefault(event.thread, []).append(number)
        if event.address is None:
            continue
        source = last_write.get(event.address)
        if event.reads and source is not None:
            edges[source].append((number, "src", None))
        if event.writes:
            if source is not None:
                edges[source].append((number, "co", None))
            seen = None if source is None else events[source]
            for reader in readers.pop(event.address, []):
                edges[reader].append((number, "fr", seen))
            last_write[event.address] = number
        if event.reads and not event.writes:
            readers.setdefault(event.address, []).append(number)
    for own in by_thread.values():
        for a, b in pairwise(own):
            edges[a].append((b, "po", None))
    queue: list[tuple[int, int, int]] = [(0, 0, start)]
    came: dict[int, tuple[int, Reason, Event | None]] = {}
    best = {start: (0, 0)}
    while queue:
        against, length, here = heapq.heappop(queue)
        if here == goal:
            break
        for there, reason, seen in edges[here]:
            cost = (against + (reason in ("co", "fr")), length + 1)
            if cost < best.get(there, (len(events), len(events))):
                best[there] = cost
                came[there] = (here, reason, seen)
                heapq.heappush(queue, (*cost, there))
    path: list[tuple[int, int, Reason, Event | None]] = []
    while goal != start:
        origin, reason, seen = came[goal]
        path.append((origin, goal, reason, seen))
        goal = origin
    return path[::-1]


def _message(deciding: Event, delayed: Event) -> str:
    at = "" if delayed.location is None else f" ({delayed.location})"
    if deciding.kind is Kind.LD or not deciding.writes:
        seen = deciding.value if deciding.kind is Kind.LD else deciding.read
        return f"{reading(deciding)} may still see {seen}, the value before {whose(delayed)}{at}"
    if deciding.reads:
        return f"{reading(deciding)} may read and replace {deciding.read}, the value before {whose(delayed)}{at}"
    return (
        f"{whose(deciding)} may take effect before {whose(delayed)}{at}, which T{deciding.thread} has already seen the "
        "effects of"
    )


def shown(violation: Violation, x86: bool | None) -> Violation:
    """With the processors that can show it. x86 is TSO: what exact-tso says of the program, None where it was not asked.
    For the others the shape of the cycle decides (docs/explanation/c11.md has the table, measured with herd7)."""
    if violation.kind != "robustness":
        return violation
    events = violation.events
    runs = [list(run) for reason, run in groupby(violation.cycle, lambda edge: edge.reason) if reason == "po"]
    pairs = [(events[run[0].source], events[run[-1].target]) for run in runs]
    fences = [event for event in events if event.kind.is_fence and not _no_event(event)]

    def fenced(first: Event, second: Event) -> bool:
        return any(f.thread == first.thread and first.index <= f.index <= second.index for f in fences)

    def in_order(first: Event, second: Event) -> bool:
        """By orders or fences, but for a store and a load after it."""
        acquires, releases = first.reads and first.order in c11.ACQUIRE, second.writes and second.order in c11.RELEASE
        return acquires or releases or fenced(first, second)

    buffered = [pair for pair in pairs if not pair[0].reads and not pair[1].writes]
    processors = ["x86"] if x86 else []
    if not all(in_order(*pair) for pair in pairs):
        acquiring = all(in_order(*pair) or (pair in buffered and pair[1].order in c11.ACQUIRE) for pair in pairs)
        processors += ["POWER", "ARMv8 (with ldapr)"] if acquiring else ["ARMv8", "POWER", "RISC-V"]
    elif buffered or not all(first.writes for first, _ in pairs):
        processors += ["POWER"]
    return msgspec.structs.replace(violation, shown_by=processors)


def repair(events: Sequence[Event], cycle: Sequence[Edge]) -> str:
    """Orders that make this behaviour impossible: if values alone lead back, release and acquire along them."""
    crossing = [edge for edge in cycle[:-1] if edge.reason != "po"]
    between = [edge for edge in crossing if events[edge.source].thread != events[edge.target].thread]
    if all(edge.reason == "src" for edge in between):
        stores = dict.fromkeys(_named(events[edge.source]) for edge in between)
        loads = dict.fromkeys(_named(events[edge.target]) for edge in between)
        return f"memory_order_release for {', '.join(stores)}; memory_order_acquire for {', '.join(loads)}"
    threads = sorted({events[edge.source].thread for edge in cycle if edge.reason == "po"})
    where = " and ".join(f"T{thread}" for thread in threads)
    return (
        f"atomic_thread_fence(memory_order_seq_cst) between the two accesses of {where}, or memory_order_seq_cst for all "
        "accesses of the cycle"
    )


def _named(event: Event) -> str:
    return whose(event) if event.location is None else f"{event.location} ({event.text})"


def _replay(program: Program, schedule: Sequence[int], semantics: Semantics) -> str:
    token = to_token("sc", tuple(map(Issue, schedule)), (), semantics)
    return story.replay_of(program, token)
