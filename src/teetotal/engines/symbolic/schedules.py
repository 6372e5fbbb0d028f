"""Schedules of Promela programs, replayed by the machines of ``models/``.

An engine's violation is a list of steps. Here the machine of the model runs it: loads, stores, fences and atomic accesses
are the machine's, with its buffers and commits; choices, labels and ghost variables, which no machine knows, are done
here. A step that is not possible, or a run that ends in no bad state, is an error: the engine's fault, never the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Commit, Event, EventId, Issue, Kind, Location, ModelName, Semantics
from teetotal.answers.schedules import Choice, ScheduleStep, TokenError
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.models import Run
from teetotal.programs.promela.evaluation import ghosts_hold
from teetotal.programs.promela.instructions import Begin, Choose, Control, Mark, Outcome, Slot
from teetotal.programs.promela.program import PromelaProgram

CoreStep = tuple[bool, int, int, int, list[tuple[int, int]]]


class Line(NamedTuple):
    """What one step did, for a person and for fence insertion.

    ``pending`` are the stores (location of the statement, address) that were in the process's buffer before the step,
    oldest first, and ``flushed`` those of them that the step itself made visible; for a commit, ``overtaken`` are those
    older than the one that became visible. ``passed`` are the places without a fence that the process passed since its
    step before. ``locked`` is an atomic block, ``ghost`` one that no buffer delays. ``buffers`` is what all buffers hold
    after the step, and ``memory`` what it changed in memory or in ghost variables.
    """

    step: ScheduleStep
    text: str
    location: Location | None
    event: Event | None = None
    pending: tuple[Event, ...] = ()
    committed: Event | None = None
    overtaken: tuple[Event, ...] = ()
    ghost: bool = False
    locked: bool = False
    flushed: tuple[Event, ...] = ()
    passed: tuple[int, ...] = ()
    buffers: tuple[tuple[str, ...], ...] = ()
    memory: tuple[tuple[str, int], ...] = ()


class Replay:
    """One run of a program with its fences on a machine, step by step."""

    def __init__(self, program: PromelaProgram, model: ModelName, semantics: Semantics) -> None:
        self.program = program
        self.model = model
        self.run = Run(program, model, semantics)
        self.ghosts = {name: value for name, value in program.memory.items() if name in program.ghosts}
        self.lines: list[Line] = []
        self.stores: dict[EventId, int] = {}
        """Where in its process's code each store was done."""
        self._seen = self.values()
        self._pending: list[list[Event]] = [[] for _ in program.processes]
        self._passed: list[list[int]] = [[] for _ in program.processes]  # by process, since its last step
        for p in range(len(program.processes)):
            self._skip(p)

    def control(self, p: int) -> Control:
        state = self.run.locals[p]
        assert isinstance(state, Control)
        return state

    def alternatives(self, p: int) -> list[Outcome] | None:
        """The ways on from a choice, a label or an atomic block, or None before an access of the machine's."""
        state = self.control(p)
        if state.status != "running":
            return []
        instruction = self.program.instruction(p, state)
        if isinstance(instruction, Choose | Mark):
            targets = [action[0] for action in self.program.actions(p, state)]
            return [((), target) for target in targets if isinstance(target, Control)]
        if isinstance(instruction, Begin):
            memory = {**self._memory(p, instruction.ghost), **self.ghosts}
            names = self.program.addresses
            footprint = self.program.footprint(p, state.pc)
            return self.program.outcomes(p, state, {x: memory[names[x]] for x in footprint})
        return None

    def take(self, step: ScheduleStep) -> None:
        if isinstance(step, Commit):
            self._commit(step)
            return
        p = step.thread
        way = step.alternative if isinstance(step, Choice) else 0
        alternatives = self.alternatives(p)
        if way >= (1 if alternatives is None else len(alternatives)):
            raise TeetotalError(f"process {p} cannot go on there{f' in way {way}' if way else ''}")
        if alternatives is None:
            self._access(p, step)
        else:
            self._internal(p, step, alternatives[way])
        self._skip(p)

    def bad(self) -> str | None:
        """Why the state reached is bad, if it is."""
        program = self.program
        for p, process in enumerate(program.processes):
            state = self.control(p)
            if state.status == "failed":
                return f"{process.name}: assertion failed at {program.where(p, state)}"
        for condition in program.properties:
            for case in condition.cases:
                stands = all((label in program.labels(p, self.control(p))) == at for p, label, at in case.labels)
                if stands and all(ghosts_hold(ghost, self.ghosts) for ghost in case.ghosts):
                    return f"forbidden state: {condition.name}"
        return None

    def drain(self) -> Iterator[ScheduleStep]:
        """Commit everything that is still in buffers."""
        while commits := self.run.memory.commits():
            self.take(commits[0])
            yield commits[0]

    # -- one step ---------------------------------------------------------------------------------------------------

    def _skip(self, p: int) -> None:
        """Go past fences that are not there."""
        end = self.program.past_absent_fences(p, self.control(p))
        while (state := self.control(p)) != end:
            slot = self.program.instruction(p, state)
            assert isinstance(slot, Slot)
            self._passed[p].append(slot.fence)
            self.run.locals[p] = self.program.after(p, state)

    def _passed_by(self, p: int) -> tuple[int, ...]:
        passed = tuple(self._passed[p])
        self._passed[p].clear()
        return passed

    def _buffers(self) -> tuple[tuple[str, ...], ...]:
        memory = self.run.memory
        return tuple(
            tuple("sfence" if w is None else f"{w.address}={w.value}" for w in memory.buffered(p))
            for p in range(len(self.program.processes))
        )

    def values(self) -> dict[str, int]:
        """What memory and ghost variables hold."""
        return {**{name: write.value for name, write in self.run.memory.m.items()}, **self.ghosts}

    def _changes(self) -> tuple[tuple[str, int], ...]:
        """Since the step before."""
        before, self._seen = self._seen, self.values()
        return tuple((name, value) for name, value in self._seen.items() if before.get(name) != value)

    def _memory(self, p: int, ghost: bool) -> dict[str, int]:
        """What an atomic block of p sees: memory as it is after p's own stores."""
        if ghost:
            return {}
        after = self.run.memory.copy()
        after.mfence(p)
        return {name: write.value for name, write in after.m.items()}

    def _access(self, p: int, step: Issue | Choice) -> None:
        if Issue(p) not in self.run.steps():
            raise TeetotalError(f"process {p} cannot go on there under {self.model.upper()}")
        pending = tuple(self._pending[p])
        pc = self.control(p).pc
        self.run.take(Issue(p))
        event = self.run.events[p][-1]
        if event.kind is Kind.ST and self.model != "sc":
            self._pending[p].append(event)
            self.stores[event.id] = pc
        buffered = {write.event for write in self.run.memory.buffered(p) if write is not None}
        self._pending[p] = [e for e in self._pending[p] if e.id in buffered]
        flushed = tuple(e for e in pending if e.id not in buffered)
        text = f"{self.program.processes[p].name}: {event.text}"
        self.lines.append(
            Line(
                step,
                text,
                event.location,
                event,
                pending,
                flushed=flushed,
                passed=self._passed_by(p),
                buffers=self._buffers(),
                memory=self._changes(),
            )
        )

    def _internal(self, p: int, step: Issue | Choice, outcome: Outcome) -> None:
        writes, target = outcome
        state = self.control(p)
        instruction = self.program.instruction(p, state)
        name = self.program.processes[p].name
        pending = tuple(self._pending[p])
        done: list[str] = []
        ghost = isinstance(instruction, Begin) and instruction.ghost
        if isinstance(instruction, Begin) and not ghost:
            self.run.memory.mfence(p)
            self._pending[p] = []
        for location, value in writes:
            address = self.program.addresses[location]
            done.append(f"{address} = {value}")
            if address in self.ghosts:
                self.ghosts[address] = value
            else:
                index = len(self.run.events[p])
                identity = Event(p, index, Kind.RMW, address, value, self.run.memory.m[address].value).id
                old, _ = self.run.memory.atomic(p, address, lambda _, v=value: v, identity)  # type: ignore[misc]
                event = Event(p, index, Kind.RMW, address, value, old.value, instruction.location)
                self.run.events[p] += (event,)
                self.run.src[event.id] = old.event
        self.run.locals[p] = target
        if isinstance(instruction, Begin):
            what = "ghost" if ghost else "atomic"
            text = f"{name}: {what} {', '.join(done) or 'step'}"
            flushed = () if ghost else pending
            passed = self._passed_by(p)
            self.lines.append(
                Line(
                    step,
                    text,
                    instruction.location,
                    None,
                    pending,
                    ghost=ghost,
                    locked=not ghost,
                    flushed=flushed,
                    passed=passed,
                    buffers=self._buffers(),
                    memory=self._changes(),
                )
            )
        else:
            labels = " ".join(self.program.labels(p, state))
            text = f"{name}: leaves {labels}" if labels else f"{name}: chooses"
            buffers = self._buffers()
            self.lines.append(Line(step, text, instruction.location, passed=self._passed_by(p), buffers=buffers))

    def _commit(self, step: Commit) -> None:
        if step not in self.run.memory.commits():
            what = "" if step.address is None else f" to {step.address}"
            raise TeetotalError(f"process {step.thread} has no store{what} to commit there under {self.model.upper()}")
        p = step.thread
        pending = self._pending[p]
        position = next(i for i, e in enumerate(pending) if step.address in (None, e.address))
        event = pending.pop(position)
        self.run.take(step)
        name = self.program.processes[p].name
        text = f"{name}: {event.text} reaches memory"
        overtaken = tuple(pending[:position])
        self.lines.append(
            Line(
                step, text, event.location, None, (), event, overtaken, buffers=self._buffers(), memory=self._changes()
            )
        )


def replay_core(
    graph: ControlGraph, fences: frozenset[int], model: ModelName, steps: Iterable[CoreStep]
) -> tuple[Replay, list[ScheduleStep]]:
    """Replay what an engine of the core found, and the schedule in the form above."""
    replay = Replay(graph.program.with_fences(fences), model, graph.semantics)
    schedule: list[ScheduleStep] = []
    names = graph.program.addresses
    for commits, p, number, location, writes in steps:
        step: ScheduleStep
        if commits:
            step = Commit(p, names[location] if model == "pso" else None)
        else:
            target = replay.program.past_absent_fences(p, graph.controls[p][number])
            alternatives = replay.alternatives(p)
            ways = [(to_writes, replay.program.past_absent_fences(p, to)) for to_writes, to in alternatives or []]
            wanted = (tuple((x, v) for x, v in writes), target)
            way = 0 if alternatives is None else ways.index(wanted)
            step = Choice(p, way) if way else Issue(p)
        replay.take(step)
        schedule.append(step)
        if not commits:
            assert replay.control(p) == target, "the machine and the engine went different ways"
    return replay, schedule


def replay_schedule(
    program: PromelaProgram, model: ModelName, schedule: Iterable[ScheduleStep], semantics: Semantics = Semantics()
) -> Replay:
    """``TokenError`` at a step that is not possible there."""
    replay = Replay(program, model, semantics)
    for number, step in enumerate(schedule, 1):
        try:
            if step.thread >= len(program.processes):
                raise TeetotalError(f"there is no process {step.thread}")
            replay.take(step)
        except TeetotalError as error:
            raise TokenError(f"step {number}: {error}; the token belongs to another program") from error
    return replay
