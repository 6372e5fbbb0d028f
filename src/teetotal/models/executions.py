"""A program on a machine: every execution, every trace, every outcome, by definition.

Burnim, Sen, Stergiou (TACAS 2011), sections 2 and 4:

======================================  ==========================================
paper                                   here
======================================  ==========================================
program ``(s_0, next, update)``         ``ProgramLike``: ``start``, ``next``, ``update``
transition labelled ``(e_i, r_i)``      ``Run.issue(p)``
transition from ``τ_MM``                ``Run.commit(step)``
trace ``(E, →_p, src, →_st)``           ``Trace``
Definition 2, conflict order ``→_c``    ``conflict_order``
Definition 3, ``→_hb``                  ``happens_before``
Proposition 1, SC iff acyclic           ``is_sc``
Definition 4                            ``robust``
======================================  ==========================================

A trace is taken when the program has ended and every buffer is empty, as the paper asks. Added to the paper: a thread
may block for ever (at a lock, at the bound of a loop); a run that ends so is complete too, with what it did.

This is the specification that the engines are tested against: it walks the whole tree of executions, and merges two
runs only when both their states and their traces so far are the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from teetotal.answers.events import Commit, Event, EventId, Issue, Kind, ModelName, Request, Semantics, Step
from teetotal.models.memory import Memory, Write
from teetotal.models.pso import PSO
from teetotal.models.sc import SC
from teetotal.models.tso import TSO

_LD, _ST, _LOCK, _UNLOCK, _MFENCE, _SFENCE = Kind.LD, Kind.ST, Kind.LOCK, Kind.UNLOCK, Kind.MFENCE, Kind.SFENCE
"""Once: in a walk over all executions, looking up a member takes longer than what is done with it."""
MACHINES: dict[ModelName, type[Memory]] = {"sc": SC, "tso": TSO, "pso": PSO}


class ProgramLike(Protocol):
    """The paper's ``(s_0, next, update)``; a thread's local state is any hashable value."""

    @property
    def initial_memory(self) -> Mapping[str, int]: ...
    @property
    def thread_count(self) -> int: ...
    def start(self, thread: int) -> Hashable: ...
    def next(self, thread: int, state: Any) -> Request | None: ...
    def update(self, thread: int, state: Any, response: int | None) -> Hashable: ...
    def halted(self, thread: int, state: Any) -> bool: ...


class Remembered:
    """A program that computes each local step once: a walk over all executions asks the same again and again."""

    def __init__(self, program: ProgramLike) -> None:
        self.initial_memory = program.initial_memory
        self.thread_count = program.thread_count
        self.start = program.start
        self.next = cache(program.next)
        self.update = cache(program.update)
        self.halted = program.halted


class Trace(NamedTuple):
    """``(E, →_p, src, →_st)``: the events of each thread in program order, sources of reads, order of writes."""

    threads: tuple[tuple[Event, ...], ...]
    src: tuple[tuple[EventId, EventId | None], ...]
    co: tuple[tuple[str, tuple[EventId, ...]], ...]

    def events(self) -> Iterator[Event]:
        for thread in self.threads:
            yield from thread


class Run:
    """One execution in the making: local states, a machine, and what has happened so far."""

    def __init__(self, program: ProgramLike, model: ModelName, semantics: Semantics) -> None:
        self.program = program
        self.memory = MACHINES[model](program.initial_memory, program.thread_count, semantics)
        self.locals: list[Any] = [program.start(p) for p in range(program.thread_count)]
        self.events: list[tuple[Event, ...]] = [()] * program.thread_count
        self.src: dict[EventId, EventId | None] = {}
        self.schedule: tuple[Step, ...] = ()

    def steps(self) -> list[Step]:
        """Everything that can happen next."""
        issues = [Issue(p) for p in range(self.program.thread_count) if self._enabled(p)]
        return [*issues, *self.memory.commits()]

    def take(self, step: Step) -> None:
        self.schedule += (step,)
        if isinstance(step, Commit):
            self.memory.commit(step)
        else:
            self._issue(step.thread)

    def issued(self) -> list[Event]:
        """The events of all threads, in the order in which they were issued."""
        threads = [iter(events) for events in self.events]
        return [next(threads[step.thread]) for step in self.schedule if isinstance(step, Issue)]

    def copy(self) -> Run:
        other = object.__new__(Run)
        other.program = self.program
        other.memory = self.memory.copy()
        other.locals = list(self.locals)
        other.events = list(self.events)
        other.src = dict(self.src)
        other.schedule = self.schedule
        return other

    def trace(self) -> Trace:
        return Trace(
            tuple(self.events),
            tuple(sorted(self.src.items())),
            tuple(sorted((address, writes) for address, writes in self.memory.order.items() if writes)),
        )

    def past(self) -> Hashable:
        """The trace in few words: threads that saw the same have done the same."""
        return tuple(map(len, self.events)), frozenset(self.src.items()), tuple(self.memory.order.values())

    def final_memory(self) -> dict[str, int]:
        return {address: write.value for address, write in self.memory.m.items()}

    def finished(self) -> bool:
        """Every thread ran to its end, none is blocked."""
        return all(self.program.halted(p, self.locals[p]) for p in range(self.program.thread_count))

    def state(self) -> Hashable:
        return tuple(self.locals), self.memory.state()

    def _enabled(self, p: int) -> bool:
        request = self.program.next(p, self.locals[p])
        if request is None:
            return False
        if request.kind is _LOCK:
            assert request.address is not None
            return self.memory.load(p, request.address).value == 0
        return True

    def _issue(self, p: int) -> None:
        request = self.program.next(p, self.locals[p])
        assert request is not None, f"thread {p} has nothing to do"
        event, source, response = perform(self.memory, p, len(self.events[p]), request)
        self.events[p] += (event,)
        if event.reads:
            self.src[event.id] = source
        self.locals[p] = self.program.update(p, self.locals[p], response)


def perform(memory: Memory, p: int, index: int, request: Request) -> tuple[Event, EventId | None, int | None]:
    """One request on a machine: the event, the write that it read from (if it reads), and the response."""
    kind, address, value, function, location, order, failure = request
    event = EventId(p, index)
    if kind is _MFENCE:
        memory.mfence(p)
    elif kind is _SFENCE:
        memory.sfence(p)
    if kind.is_fence:
        return Event(p, index, kind, location=location, order=order), None, None
    assert address is not None
    if kind is _ST:
        assert value is not None
        memory.store(p, Write(address, value, event))
        return Event(p, index, kind, address, value, location=location, order=order), None, None
    if kind is _LD:
        seen = memory.load(p, address)
        return Event(p, index, kind, address, seen.value, location=location, order=order), seen.event, seen.value
    # A mutex operation is an rmw on the mutex: a lock waits for 0 (``Run._enabled``) and writes 1.
    if kind is _UNLOCK and memory.semantics.mutex == "fence":
        memory.mfence(p)
    if function is None:
        held = int(kind is _LOCK)
        old, new = memory.atomic(p, address, lambda _: held, event)
    else:
        old, new = memory.atomic(p, address, function, event)
    done = Event(p, index, kind, address, new, old.value, location, order=failure if new is None else order)
    return done, old.event, old.value


def executions(program: ProgramLike, model: ModelName, semantics: Semantics = Semantics()) -> Iterator[Run]:
    """One complete run for every reachable (final state, trace)."""
    stack = [Run(Remembered(program), model, semantics)]
    seen: set[Hashable] = set()
    while stack:
        run = stack.pop()
        key = (run.state(), run.past())
        if key in seen:
            continue
        seen.add(key)
        steps = run.steps()
        if not steps:
            yield run
        for step in steps:
            successor = run.copy()
            successor.take(step)
            stack.append(successor)


def traces(program: ProgramLike, model: ModelName, semantics: Semantics = Semantics()) -> set[Trace]:
    return {run.trace() for run in executions(program, model, semantics)}


def final_states(
    program: ProgramLike, model: ModelName, semantics: Semantics = Semantics()
) -> set[tuple[tuple[Hashable, ...], tuple[tuple[str, int], ...]]]:
    """The reachable final states: local states and memory, of runs in which every thread ended."""
    stack = [Run(Remembered(program), model, semantics)]
    seen: set[Hashable] = set()
    finals: set[tuple[tuple[Hashable, ...], tuple[tuple[str, int], ...]]] = set()
    while stack:
        run = stack.pop()
        state = run.state()
        if state in seen:
            continue
        seen.add(state)
        steps = run.steps()
        if not steps and run.finished():
            finals.add((tuple(run.locals), tuple(sorted(run.final_memory().items()))))
        for step in steps:
            successor = run.copy()
            successor.take(step)
            stack.append(successor)
    return finals


def conflict_order(trace: Trace) -> set[tuple[EventId, EventId]]:
    """Definition 2, all pairs. Ours differs in one word: an event does not conflict with itself, though an rmw is
    both a read and a write."""
    position = {event: i for _, order in trace.co for i, event in enumerate(order)}
    order_of = dict(trace.co)
    edges: set[tuple[EventId, EventId]] = set()
    for _, order in trace.co:
        edges.update((order[i], order[j]) for i in range(len(order)) for j in range(i + 1, len(order)))
    address_of = {event.id: event.address for event in trace.events()}
    for read, source in trace.src:
        if source is not None:
            edges.add((source, read))
        address = address_of[read]
        assert address is not None
        later = order_of.get(address, ())[0 if source is None else position[source] + 1 :]
        edges.update((read, write) for write in later if write != read)
    return edges


def happens_before(trace: Trace) -> set[tuple[EventId, EventId]]:
    """Definition 3: program order (each event and the next) and conflict order."""
    edges = conflict_order(trace)
    for thread in trace.threads:
        edges.update((a.id, b.id) for a, b in pairwise(thread))
    return edges


def is_sc(trace: Trace) -> bool:
    """Proposition 1: a trace is sequentially consistent iff its happens-before is acyclic."""
    successors: dict[EventId, list[EventId]] = {event.id: [] for event in trace.events()}
    waiting = dict.fromkeys(successors, 0)
    for a, b in happens_before(trace):
        successors[a].append(b)
        waiting[b] += 1
    ready = [event for event, count in waiting.items() if count == 0]
    done = 0
    while ready:
        done += 1
        for b in successors[ready.pop()]:
            waiting[b] -= 1
            if waiting[b] == 0:
                ready.append(b)
    return done == len(successors)


def robust(program: ProgramLike, model: ModelName, semantics: Semantics = Semantics()) -> bool:
    """Definition 4, negated: every execution's trace is sequentially consistent."""
    return all(is_sc(run.trace()) for run in executions(program, model, semantics))


def replay(program: ProgramLike, model: ModelName, schedule: tuple[Step, ...], semantics: Semantics) -> Run:
    """The run that a schedule describes; ValueError at a step that is not possible there."""
    run = Run(program, model, semantics)
    for number, step in enumerate(schedule):
        if step not in run.steps():
            raise ValueError(f"step {number} of the schedule, {step}, is not possible there under {model.upper()}")
        run.take(step)
    return run
