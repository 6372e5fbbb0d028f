"""Every configuration that a small Promela program reaches on the machine of a model, with buffers up to a bound: the judge
of certificates. It knows nothing of automata but how to run a word through one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import NamedTuple

from teetotal.answers.events import Issue, ModelName, Semantics
from teetotal.answers.schedules import Choice, ScheduleStep
from teetotal.engines.symbolic.certificates import Certificate
from teetotal.engines.symbolic.schedules import Replay
from teetotal.models import PSO, Write
from teetotal.programs.promela import PromelaProgram
from teetotal.programs.promela.instructions import Control

Word = tuple[tuple[int, int] | None, ...]
"""A buffer in the order of the stores: (location, value), None for an sfence's marker."""


class Configuration(NamedTuple):
    memory: tuple[int, ...]
    processes: tuple[tuple[Word, Control], ...]


def configurations(
    program: PromelaProgram, model: ModelName, semantics: Semantics, bound: int
) -> tuple[set[Configuration], set[Configuration]]:
    """All that are reachable while no buffer holds more than ``bound`` stores and markers, and the bad ones of them."""
    start = Replay(program, model, semantics)
    seen = {configuration(start)}
    bad = set(seen) if start.bad() else set()
    pending = [start]
    while pending:
        replay = pending.pop()
        for step in steps(replay):
            after = _copy(replay)
            after.take(step)
            reached = configuration(after)
            if reached in seen or any(len(word) > bound for word, _ in reached.processes):
                continue
            seen.add(reached)
            pending.append(after)
            if after.bad():
                bad.add(reached)
    return seen, bad


def steps(replay: Replay) -> Iterator[ScheduleStep]:
    yield from replay.run.memory.commits()
    possible = replay.run.steps()
    for p in range(len(replay.program.processes)):
        ways = replay.alternatives(p)
        if ways is None and Issue(p) in possible:
            yield Issue(p)
        for way in range(len(ways or [])):
            yield Choice(p, way) if way else Issue(p)


def configuration(replay: Replay) -> Configuration:
    memory = {**{name: write.value for name, write in replay.run.memory.m.items()}, **replay.ghosts}
    processes = range(len(replay.program.processes))
    return Configuration(
        tuple(memory[name] for name in replay.program.memory),
        tuple((word(replay, p), replay.control(p)) for p in processes),
    )


def word(replay: Replay, p: int) -> Word:
    memory = replay.run.memory
    numbers = {name: number for number, name in enumerate(replay.program.addresses)}
    if not isinstance(memory, PSO):
        return tuple((numbers[w.address], w.value) for w in memory.buffered(p) if w is not None)
    queues = [list(queue) for queue in memory.B[p].values()]
    found: list[tuple[int, int] | None] = []
    while any(queues):
        segment: list[Write] = []
        for queue in queues:
            while queue and isinstance(entry := queue[0], Write):
                segment.append(entry)
                del queue[0]
        found += [(numbers[w.address], w.value) for w in sorted(segment, key=lambda w: w.event or (-1, -1))]
        if any(queues):
            if found and found[-1] is not None:
                found.append(None)
            for queue in queues:
                del queue[0]  # the same marker heads them all
    return tuple(found)


def _copy(replay: Replay) -> Replay:
    other = copy.copy(replay)
    other.run = replay.run.copy()
    other.ghosts = dict(replay.ghosts)
    other.lines, other.stores = [], {}
    other._pending = [list(pending) for pending in replay._pending]
    other._passed = [[] for _ in replay._passed]
    return other


def covers(certificate: Certificate, found: Configuration) -> bool:
    """Whether one of the certificate's states holds the configuration."""
    return any(
        tuple(certificate.memories[memory]) == found.memory
        and all(_accepts(certificate, k, p, *found.processes[p]) for p, k in enumerate(parts))
        for memory, parts in certificate.states
    )


def _accepts(certificate: Certificate, k: int, p: int, letters: Word, control: Control) -> bool:
    node = 0
    for letter in letters:
        number = 0 if letter is None else 1 + certificate.letters.index(letter) if letter in certificate.letters else -1
        following = dict(certificate.automata[k][node][0]).get(number)
        if following is None:
            return False
        node = following
    return any(certificate.controls[p][q] == tuple(control) for q in certificate.automata[k][node][1])
