"""A judge for the symbolic engines: the machines of Linden, Wolper (TACAS 2013), section 2, state by state.

Written from the paper, over the control graphs of the front end, and without anything of ``core/symbolic``: one queue for
each process (TSO) or for each process and location (PSO), a ``★`` of an sfence in all queues of its process. Buffers have
at most ``capacity`` stores, so that "no bad state" is the truth only where no buffer was ever full.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeVar

from teetotal.answers.events import Kind, ModelName, Semantics
from teetotal.programs.program import Unlock
from teetotal.programs.promela.evaluation import ghosts_hold
from teetotal.programs.promela.instructions import AccessAction, Atomically, Control, Fenced, Tau
from teetotal.programs.promela.program import PromelaProgram

Store = tuple[int, int]
Queue = tuple[Store | None, ...]
"""Stores, oldest first; None is ``★``."""
T = TypeVar("T")
Found = Literal["bad", "safe", "full", "large"]


class State(NamedTuple):
    memory: tuple[int, ...]
    controls: tuple[Control, ...]
    queues: tuple[tuple[Queue, ...], ...]
    """By process, then by location (TSO: one for all)."""


def replaced(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])


class Explorer:
    def __init__(self, program: PromelaProgram, model: ModelName, semantics: Semantics, capacity: int) -> None:
        self.program, self.model, self.semantics, self.capacity = program, model, semantics, capacity
        self.full = False

    def run(self, most: int) -> Found:
        """``full`` where a buffer was and nothing bad was found, ``large`` where there are more states than ``most``."""
        program = self.program
        processes = range(len(program.processes))
        queues = ((),) * (program.buffered if self.model == "pso" else 1)
        start = State(
            tuple(program.memory.values()), tuple(program.begin(p) for p in processes), (queues,) * len(processes)
        )
        seen, waiting = {start}, [start]
        for state in waiting:
            if self.bad(state):
                return "bad"
            if len(seen) > most:
                return "large"
            for after in self.successors(state):
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return "full" if self.full else "safe"

    def bad(self, state: State) -> bool:
        program = self.program
        if any(control.status == "failed" for control in state.controls):
            return True
        named = dict(zip(program.memory, state.memory, strict=True))
        return any(
            all((label in program.labels(p, state.controls[p])) == at for p, label, at in case.labels)
            and all(ghosts_hold(ghost, named) for ghost in case.ghosts)
            for condition in program.properties
            for case in condition.cases
        )

    def successors(self, s: State) -> Iterator[State]:
        for p, control in enumerate(s.controls):
            yield from self.commits(s, p)
            for action in self.program.actions(p, control):
                yield from self.steps(s, p, action)

    def commits(self, s: State, p: int) -> Iterator[State]:
        for i, queue in enumerate(s.queues[p]):
            if queue and queue[0] is not None:
                x, value = queue[0]
                rest = without_markers(replaced(s.queues[p], i, queue[1:]))
                yield State(replaced(s.memory, x, value), s.controls, replaced(s.queues, p, rest))

    def steps(self, s: State, p: int, action: Tau | AccessAction | Atomically | Fenced) -> Iterator[State]:
        program, control, queues = self.program, s.controls[p], s.queues[p]
        own = [store for queue in queues for store in queue if store is not None]

        def to(target: Control, after: tuple[Queue, ...] = queues, memory: tuple[int, ...] = s.memory) -> State:
            return State(memory, replaced(s.controls, p, target), replaced(s.queues, p, after))

        match action:
            case Tau(target):
                yield to(target)
            case Fenced(fence, target):
                if fence not in program.fences:
                    yield to(target)
                else:
                    yield from self.fence(s, p, program.sites[fence].kind, target)
            case AccessAction(Kind.LD, x, _):
                value = next((v for y, v in reversed(own) if y == x), s.memory[x])
                yield to(program.after_load(p, control, value))
            case AccessAction(Kind.ST, x, value) if self.model == "sc":
                yield to(program.after(p, control), memory=replaced(s.memory, x, value))
            case AccessAction(Kind.ST, x, value):
                i = x if self.model == "pso" else 0
                if len(own) == self.capacity:
                    self.full = True
                else:
                    yield to(program.after(p, control), replaced(queues, i, (*queues[i], (x, value))))
            case AccessAction(kind, _, _):
                yield from self.fence(s, p, kind, program.after(p, control))
            case Atomically(footprint, needs):
                unlocks = isinstance(program.instruction(p, control), Unlock) and self.semantics.mutex == "fence"
                alone = (
                    isinstance(needs, int) and self.model == "pso" and self.semantics.rmw == "address" and not unlocks
                )
                # Alone: nothing of its own location is waiting, not even an sfence, which would be in all queues.
                if needs is None or not any(queues) or (alone and isinstance(needs, int) and not queues[needs]):
                    for writes, target in program.outcomes(p, control, {x: s.memory[x] for x in footprint}):
                        memory = s.memory
                        for x, value in writes:
                            memory = replaced(memory, x, value)
                        yield to(target, memory=memory)

    def fence(self, s: State, p: int, kind: Kind, target: Control) -> Iterator[State]:
        queues = s.queues[p]
        if kind is Kind.SFENCE and self.model == "pso":
            # A second ★ behind the first waits for nothing else; without that the states would have no end.
            if any(queue and queue[-1] is not None for queue in queues):
                queues = without_markers(tuple((*queue, None) for queue in queues))
        elif kind is Kind.MFENCE and any(queues):
            return
        yield State(s.memory, replaced(s.controls, p, target), replaced(s.queues, p, queues))


def without_markers(queues: tuple[Queue, ...]) -> tuple[Queue, ...]:
    """A ★ goes when it heads all queues of its process."""
    while all(queue and queue[0] is None for queue in queues):
        queues = tuple(queue[1:] for queue in queues)
    return queues


def explored(
    program: PromelaProgram, model: ModelName, semantics: Semantics, capacities: range = range(1, 4), most: int = 800
) -> Found:
    """With growing buffers: until something bad is found, no buffer is full, or it is too large."""
    found: Found = "full"
    for capacity in capacities:
        found = Explorer(program, model, semantics, capacity).run(most)
        if found != "full":
            break
    return found
