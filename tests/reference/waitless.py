"""Executions without waiting rounds by definition (docs/explanation/waiting.md): SC, TSO and PSO machines that carry
traces, every execution, no reduction. Slow, and independent of core/."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

from teetotal.answers.events import Kind, Request, Semantics
from teetotal.programs.expressions import Const, Expr, Reg, leaves
from teetotal.programs.program import Assign, Branch, Load, LocalState, Program, Rmw

Id = tuple[int, int]
"""An event: its thread, and which of its events it is."""
Ending = Literal["end", "hang", "vain", "other"]
INITIAL: Id = (-1, 0)
MARK = -1
"""In a buffer: an sfence."""


class Recorded(NamedTuple):
    kind: Kind
    address: int
    source: Id | None
    writes: bool


class Trace(NamedTuple):
    threads: tuple[tuple[Recorded, ...], ...]
    order: tuple[tuple[Id, ...], ...]
    """Of each location: its writes as they became visible."""


class Node(NamedTuple):
    locals: tuple[LocalState, ...]
    memory: tuple[tuple[int, Id], ...]
    buffers: tuple[tuple[tuple[int, int, Id], ...], ...]
    seen: tuple[frozenset[object], ...]
    trace: Trace


class TooMany(Exception):
    """More than brute force can do, or executions without an end."""


MOST_EVENTS = 50


class Machine:
    """At most ``most`` nodes are walked."""

    def __init__(
        self, program: Program, model: str = "sc", semantics: Semantics = Semantics(), *, most: int = 20_000
    ) -> None:
        self.program, self.model, self.semantics, self.most = program, model, semantics, most
        self.numbers = {name: number for number, name in enumerate(program.memory)}
        self.live = [_live(program, thread) for thread in range(len(program.threads))]
        self.updates: dict[tuple[int, LocalState, int | None], LocalState] = {}
        self.requests: dict[tuple[int, LocalState], Request | None] = {}

    def start(self) -> Node:
        count = len(self.program.threads)
        states = tuple(self.program.start(thread) for thread in range(count))
        memory = tuple((value, INITIAL) for value in self.program.memory.values())
        seen = tuple(frozenset([self.standing(thread, state)]) for thread, state in enumerate(states))
        return Node(states, memory, ((),) * count, seen, Trace(((),) * count, ((),) * len(memory)))

    def nodes(self) -> Iterator[tuple[Node, bool]]:
        """Every reachable node, and whether it is the last of its executions."""
        start = self.start()
        known, todo = {start}, [start]
        while todo:
            node = todo.pop()
            following = [after for _, after in self.steps(node)]
            yield node, not following
            for after in following:
                if after not in known:
                    known.add(after)
                    todo.append(after)
            if len(known) > self.most or any(len(events) > MOST_EVENTS for events in node.trace.threads):
                raise TooMany

    def steps(self, node: Node) -> Iterator[tuple[int, Node]]:
        for thread in range(len(node.locals)):
            after = self.issue(node, thread)
            if after is not None:
                yield thread, after
            for place in self.committable(node.buffers[thread]):
                yield thread, self.commit(node, thread, place)

    def run(self, schedule: list[int]) -> Node:
        """Where a schedule of an SC execution leads, which must have no waiting round."""
        node = self.start()
        for thread in schedule:
            after = self.issue(node, thread)
            assert after is not None, "the thread waits"
            node = after
        return node

    # -- one step -------------------------------------------------------------------------------------------------

    def issue(self, node: Node, thread: int, rule: bool = True) -> Node | None:
        """The thread's next operation; None where it has none, or waits."""
        state = node.locals[thread]
        request = self.request(thread, state)
        if request is None:
            return None
        kind, buffer = request.kind, node.buffers[thread]
        address = -1 if request.address is None else self.numbers[request.address]
        if not self.flushed(kind, address, buffer):
            return None
        own = node.trace.threads[thread]
        event: Id = (thread, len(own))
        value, source = (0, INITIAL)
        if address >= 0:
            forwarded = [entry for entry in buffer if entry[0] == address]
            value, source = forwarded[-1][1:] if forwarded else node.memory[address]
        written = self.written(request, value)
        if kind is Kind.LOCK and value != 0:
            return None
        changes = kind in (Kind.ST, Kind.LOCK, Kind.UNLOCK) or (written is not None and written != value)
        if rule and not changes and self.completes(node, thread, value):
            return None
        after = self.update(thread, state, value if kind in (Kind.LD, Kind.RMW) else None)
        recorded = Recorded(
            kind, address, source if kind is not Kind.ST and address >= 0 else None, written is not None
        )
        trace = node.trace._replace(threads=_with(node.trace.threads, thread, (*own, recorded)))
        memory, buffers = node.memory, node.buffers
        if kind is Kind.ST and self.model != "sc":
            buffers = _with(buffers, thread, (*buffer, (address, written or 0, event)))
        elif written is not None:
            memory = _with(memory, address, (written, event))
            trace = trace._replace(order=_with(trace.order, address, (*trace.order[address], event)))
        elif kind is Kind.SFENCE and self.model == "pso" and buffer and buffer[-1][0] != MARK:
            buffers = _with(buffers, thread, (*buffer, (MARK, 0, INITIAL)))
        here = frozenset([self.standing(thread, after)])
        seen = _with(node.seen, thread, here if changes else node.seen[thread] | here)
        return Node(_with(node.locals, thread, after), memory, buffers, seen, trace)

    def flushed(self, kind: Kind, address: int, buffer: tuple[tuple[int, int, Id], ...]) -> bool:
        everything = self.model == "tso" or self.semantics.rmw == "all"
        everything = everything or (kind is Kind.UNLOCK and self.semantics.mutex == "fence")
        if kind is Kind.MFENCE or (kind.is_atomic and everything):
            return not buffer
        return not kind.is_atomic or all(entry[0] not in (address, MARK) for entry in buffer)

    def written(self, request: Request, old: int) -> int | None:
        match request.kind:
            case Kind.ST:
                return request.value
            case Kind.RMW:
                assert request.function is not None
                new = request.function(old)
                return old if new is None and self.semantics.failed_cas == "write" else new
            case Kind.LOCK:
                return 1
            case Kind.UNLOCK:
                return 0
        return None

    def committable(self, buffer: tuple[tuple[int, int, Id], ...]) -> list[int]:
        if self.model == "tso":
            return [0] if buffer else []
        first: dict[int, int] = {}
        for place, (address, _, _) in enumerate(buffer):
            if address == MARK:
                break
            first.setdefault(address, place)
        return list(first.values())

    def commit(self, node: Node, thread: int, place: int) -> Node:
        buffer = node.buffers[thread]
        address, value, event = buffer[place]
        left = (*buffer[:place], *buffer[place + 1 :])
        while left and left[0][0] == MARK:
            left = left[1:]
        trace = node.trace._replace(order=_with(node.trace.order, address, (*node.trace.order[address], event)))
        memory = _with(node.memory, address, (value, event))
        return node._replace(memory=memory, buffers=_with(node.buffers, thread, left), trace=trace)

    # -- waiting --------------------------------------------------------------------------------------------------

    def standing(self, thread: int, state: LocalState) -> object:
        if state.status != "running":
            return None
        return state.pc, tuple(state.registers[register] for register in self.live[thread][state.pc])

    def completes(self, node: Node, thread: int, value: int) -> bool:
        """Of a step that changes nothing: whether it leads, perhaps through fences, to where the thread was."""
        request = self.request(thread, node.locals[thread])
        assert request is not None
        read = value if request.kind in (Kind.LD, Kind.RMW) else None
        state = self.update(thread, node.locals[thread], read)
        for _ in self.program.threads[thread].code:
            if state.status != "running":
                return False
            if self.standing(thread, state) in node.seen[thread]:
                return True
            following = self.request(thread, state)
            assert following is not None
            if not following.kind.is_fence:
                return False
            state = self.update(thread, state, None)
        return False

    def ending(self, node: Node) -> Ending:
        """Of the last node of an execution."""
        statuses = {state.status for state in node.locals}
        if statuses == {"ended"}:
            return "end"
        if not statuses <= {"ended", "running"}:
            return "other"
        waiting = [thread for thread, state in enumerate(node.locals) if state.status == "running"]
        return "vain" if any(self.goes_on_alone(node, thread) for thread in waiting) else "hang"

    def goes_on_alone(self, node: Node, thread: int) -> bool:
        known: set[LocalState] = set()
        while node.locals[thread] not in known:
            known.add(node.locals[thread])
            after = self.issue(node, thread, rule=False)
            if after is None:
                return node.locals[thread].status != "running"
            if [value for value, _ in after.memory] != [value for value, _ in node.memory]:
                return True
            request = self.request(thread, node.locals[thread])
            if request is not None and request.kind in (Kind.ST, Kind.LOCK, Kind.UNLOCK):
                return True
            node = after
        return False

    # -- the program, each question asked once -----------------------------------------------------------------------

    def request(self, thread: int, state: LocalState) -> Request | None:
        if (thread, state) not in self.requests:
            self.requests[thread, state] = self.program.next(thread, state)
        return self.requests[thread, state]

    def update(self, thread: int, state: LocalState, response: int | None) -> LocalState:
        key = (thread, state, response)
        if key not in self.updates:
            self.updates[key] = self.program.update(thread, state, response)
        return self.updates[key]


class Summary(NamedTuple):
    """``robust`` up to waiting: each waitless execution whose buffers are empty has an SC trace. ``outcomes``: what is
    observed where all threads ended. ``failures``: threads and instructions whose assertion can fail. ``hangs``: whether
    all that have not ended can wait for ever. ``traces``: of the longest executions, and how each ends."""

    robust: bool
    outcomes: set[tuple[int, ...]]
    failures: set[tuple[int, int]]
    hangs: bool
    traces: dict[Trace, Ending]


def summary(program: Program, model: str, semantics: Semantics = Semantics(), *, most: int = 20_000) -> Summary:
    robust = True
    outcomes: set[tuple[int, ...]] = set()
    failures: set[tuple[int, int]] = set()
    traces: dict[Trace, Ending] = {}
    machine = Machine(program, model, semantics, most=most)
    for node, last in machine.nodes():
        if last:
            traces[node.trace] = machine.ending(node)
        robust = robust and (model == "sc" or any(node.buffers) or is_sc(node.trace))
        statuses = [state.status for state in node.locals]
        failures |= {(thread, node.locals[thread].pc) for thread, how in enumerate(statuses) if how == "failed"}
        if last and set(statuses) == {"ended"}:
            memory = dict(zip(program.memory, (value for value, _ in node.memory), strict=True))
            outcomes.add(program.outcome(node.locals, memory))
    return Summary(robust, outcomes, failures, "hang" in traces.values(), traces)


def classes(program: Program, semantics: Semantics = Semantics()) -> dict[Trace, Ending]:
    """The traces of the longest waitless SC executions, and how each ends."""
    return summary(program, "sc", semantics).traces


def is_sc(trace: Trace) -> bool:
    """Whether program order, sources, the order of writes and "reads before" have no cycle."""
    position = {event: place for order in trace.order for place, event in enumerate(order)}
    after: dict[Id, set[Id]] = {}
    for thread, events in enumerate(trace.threads):
        previous: Id | None = None
        for index, recorded in enumerate(events):
            if recorded.kind.is_fence:
                continue
            event = (thread, index)
            after.setdefault(event, set())
            if previous is not None:
                after[previous].add(event)
            previous = event
            if recorded.source is None:
                continue
            if recorded.source != INITIAL:
                after.setdefault(recorded.source, set()).add(event)
            order = trace.order[recorded.address]
            place = position.get(recorded.source, -1)
            if place + 1 < len(order) and order[place + 1] != event:
                after[event].add(order[place + 1])
    for order in trace.order:
        for first, second in pairwise(order):
            after.setdefault(first, set()).add(second)
    done: dict[Id, bool] = {}

    def acyclic(event: Id) -> bool:
        if event in done:
            return done[event]
        done[event] = False
        done[event] = all(acyclic(target) for target in after.get(event, ()))
        return done[event]

    return all(acyclic(event) for event in after)


def _with(items: tuple, place: int, item: object) -> tuple:  # type: ignore[type-arg]
    return (*items[:place], item, *items[place + 1 :])


def _live(program: Program, thread: int) -> list[list[int]]:
    """Of each instruction: the registers, by position, that some path from there uses before it writes them."""
    code, registers = program.threads[thread].code, list(program.threads[thread].registers)
    lasting = {what.name for what in program.observed if what.thread == thread}

    def used(pc: int) -> set[str]:
        fields: list[Expr | None] = [
            getattr(code[pc], name, None) for name in ("address", "value", "when", "condition")
        ]
        return {leaf.name for field in fields if field is not None for leaf in leaves(field) if isinstance(leaf, Reg)}

    def needed(register: str) -> Callable[[int], bool]:
        def from_here(pc: int) -> bool:
            todo, passed = [pc], set()
            while todo:
                at = todo.pop()
                if at in passed:
                    continue
                passed.add(at)
                if at == len(code):
                    if register in lasting:
                        return True
                    continue
                if register in used(at):
                    return True
                instruction = code[at]
                if isinstance(instruction, Load | Rmw | Assign) and instruction.register == register:
                    continue
                if isinstance(instruction, Branch):
                    todo.append(instruction.target)
                    if instruction.when == Const(1):
                        continue
                todo.append(at + 1)
            return False

        return from_here

    return [[number for number, name in enumerate(registers) if needed(name)(pc)] for pc in range(len(code))]
