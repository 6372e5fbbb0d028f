"""Processes that can take each other's place if locations and values are renamed with them, as where each owns slots.

An exchange g of two processes acts on locations (own slots change places), on what a location or register holds if that may
be the name of a process, and so on control states. It may be used if

1. each step of p from q, whatever is read, is g's image of a step of g(p) from g(q), labels and failed assertions included;
2. exchanging the processes in every case of what is forbidden gives the same cases.

Then runs from the initial state s are mapped to runs from g(s), and bad states to bad states. g(s) need not be s: whoever
explores from s, and goes on from h(t) where t is reached, finds what is reachable from some h(s), and that is bad if and
only if what h⁻¹ makes of it, which is reachable from s, is.

Which g that may be is guessed (``slots.py``) and 1 is checked: every process is run alone, a load returning all that
anybody stores to the location, and the control states and values so found are closed under all g. There, step by step, 1
is compared. It is enough to do so for exchanges that generate the others. If there are too many steps to look at, or one is
different, nothing is renamed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product

import msgspec

from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Kind
from teetotal.engines.symbolic.slots import NoGuess, Slots, aligned
from teetotal.engines.symbolic.symmetry import exchangeable
from teetotal.programs.promela.instructions import AccessAction, Atomically, Control, Fenced, Tau
from teetotal.programs.promela.program import PromelaProgram

MOST_STEPS = 6_000
"""Of all processes, before nothing is renamed."""
FEWEST = 3
"""Processes of one text: two of them have at most twice as many states as one needs."""

Contents = tuple[tuple[int, int], ...]
"""Locations, and what they hold."""
Step = tuple[str, int, Contents, Contents, Control]
"""What is done, at which fence's place (-1 for none), what is read, what is written, and the control state after it."""


class Renaming(msgspec.Struct, frozen=True):
    """The exchange of two processes: for each location where it goes, and the two values that change places in it (or
    equal ones); for each process the same of its registers."""

    exchanged: tuple[int, int]
    locations: tuple[int, ...]
    values: tuple[tuple[int, int], ...]
    registers: tuple[tuple[tuple[int, int], ...], ...]

    def process(self, p: int) -> int:
        a, b = self.exchanged
        return b if p == a else a if p == b else p

    def value(self, location: int, value: int) -> int:
        return _swapped(self.values[location], value)

    def control(self, program: PromelaProgram, p: int, state: Control) -> Control:
        """What p's control state is called as one of ``process(p)``. Registers that are read no more are 0."""
        if state.status != "running":
            return state
        alive = program.live_registers(p, state.pc)
        renamed = zip(self.registers[p], state.registers, alive, strict=True)
        return state._replace(registers=tuple(_swapped(names, v) if live else v for names, v, live in renamed))


def renamings(program: PromelaProgram, alike: list[int]) -> list[Renaming]:
    """Exchanges that may be used, of processes that are not interchangeable as they are; every permutation inside some
    groups of processes is a product of them."""
    alone = [p for p, first in enumerate(alike) if alike.count(first) == 1]
    groups = list(_groups(program, alone))
    owners = [group for group in groups if len(group) >= FEWEST]
    if not owners:
        return []
    together = {p for group in owners for p in group}
    groups = owners + [[p] for p in range(len(alike)) if p not in together]
    try:
        slots = Slots(program, groups)
        if _asks_renamed_ghosts(program, slots):
            return []
        _Alone(program, [_exchange(program, groups, slots, a, b) for g in owners for a, b in pairwise(g)]).compare()
    except (NoGuess, ProgramError):
        return []
    return [_exchange(program, groups, slots, a, b) for g in owners for a, b in combinations(g, 2)]


def _groups(program: PromelaProgram, processes: list[int]) -> Iterator[list[int]]:
    """Processes that differ in constants only, and that what is forbidden does not tell apart."""
    left = processes
    while left:
        first, *others = left
        group = [first]
        for p in others:
            if exchangeable(program, first, p) and _same_text(program, first, p):
                group.append(p)
        yield group
        left = [p for p in others if p not in group]


def _same_text(program: PromelaProgram, p: int, q: int) -> bool:
    a, b = program.processes[p], program.processes[q]
    if list(a.registers) != list(b.registers) or a.start != b.start:
        return False
    try:
        aligned([a.code, b.code], lambda _: None)
    except NoGuess:
        return False
    return True


def _asks_renamed_ghosts(program: PromelaProgram, slots: Slots) -> bool:
    ghosts = range(program.buffered, len(program.addresses))
    renamed = any(slots.at(x) for x in ghosts) or any(x in ghosts for f in slots.families for x in f.values())
    return renamed and any(case.ghosts for forbidden in program.properties for case in forbidden.cases)


def _exchange(program: PromelaProgram, groups: list[list[int]], slots: Slots, a: int, b: int) -> Renaming:
    def names(holders: dict[int, int]) -> tuple[int, int]:
        return (holders[a], holders[b]) if a in holders and b in holders else (0, 0)

    locations = list(range(len(program.addresses)))
    for family in slots.families:
        x, y = names(family)
        locations[x], locations[y] = y, x
    first = {p: group[0] for group in groups for p in group}
    registers = (
        tuple(names(slots.names.get((first[p], register), {})) for register in process.registers)
        for p, process in enumerate(program.processes)
    )
    return Renaming(
        (a, b), tuple(locations), tuple(names(slots.at(x)) for x in range(len(locations))), tuple(registers)
    )


def _swapped(names: tuple[int, int], value: int) -> int:
    a, b = names
    return b if value == a else a if value == b else value


class _Alone:
    """Every process run alone, with every value that a location may hold; all of it closed under the ``exchanges``."""

    def __init__(self, program: PromelaProgram, exchanges: list[Renaming]) -> None:
        self.program, self.exchanges = program, exchanges
        self.values: list[set[int]] = [set() for _ in program.addresses]
        self.steps: dict[tuple[int, Control], set[Step]] = {}
        self.readers: list[set[tuple[int, Control]]] = [set() for _ in program.addresses]
        self.todo: list[tuple[int, Control]] = []
        self.count = 0
        for x, value in enumerate(program.memory.values()):
            self._holds(x, value)
        for p in range(len(program.processes)):
            self._stands(p, program.begin(p))
        while self.todo:
            p, state = self.todo.pop()
            self._take(p, state)

    def compare(self) -> None:
        """That the exchanges map steps to steps; ``NoGuess`` if one does not."""
        for g in self.exchanges:
            for (p, state), steps in self.steps.items():
                image = g.process(p), g.control(self.program, p, state)
                if {self._image(g, p, step) for step in steps} != self.steps[image]:
                    raise NoGuess
                if self.program.labels(p, state) != self.program.labels(*image) or state.status != image[1].status:
                    raise NoGuess

    def _stands(self, p: int, state: Control) -> None:
        if (p, state) not in self.steps:
            self.steps[p, state] = set()
            self.todo.append((p, state))

    def _holds(self, location: int, stored: int) -> None:
        todo = [(location, stored)]
        while todo:
            x, value = todo.pop()
            if value not in self.values[x]:
                self.values[x].add(value)
                self.todo += self.readers[x]
                todo += [(g.locations[x], g.value(x, value)) for g in self.exchanges]

    def _take(self, p: int, state: Control) -> None:
        for g in self.exchanges:
            self._stands(g.process(p), g.control(self.program, p, state))
        for step in self._possible(p, state):
            self.count += 1
            if self.count > MOST_STEPS:
                raise NoGuess
            self.steps[p, state].add(step)
            for x, value in step[3]:
                self._holds(x, value)
            self._stands(p, step[4])

    def _possible(self, p: int, state: Control) -> Iterator[Step]:
        program = self.program
        for action in program.actions(p, state):
            match action:
                case Tau(target):
                    yield "tau", -1, (), (), target
                case Fenced(fence, target):
                    yield "fenced", fence, (), (), target
                case AccessAction(Kind.LD, address, _):
                    self.readers[address].add((p, state))
                    for value in list(self.values[address]):
                        yield "load", -1, ((address, value),), (), program.after_load(p, state, value)
                case AccessAction(Kind.ST, address, value):
                    yield "store", -1, (), ((address, value),), program.after(p, state)
                case AccessAction(kind, _, _):
                    yield kind.name, -1, (), (), program.after(p, state)
                case Atomically(footprint, _):
                    for x in footprint:
                        self.readers[x].add((p, state))
                    for values in product(*(list(self.values[x]) for x in footprint)):
                        read = tuple(zip(footprint, values, strict=True))
                        for writes, target in program.outcomes(p, state, dict(read)):
                            yield "atomic", -1, read, tuple(sorted(writes)), target

    def _image(self, g: Renaming, p: int, step: Step) -> Step:
        what, fence, read, writes, target = step
        return what, fence, _renamed(g, read), _renamed(g, writes), g.control(self.program, p, target)


def _renamed(g: Renaming, contents: Contents) -> Contents:
    return tuple(sorted((g.locations[x], g.value(x, value)) for x, value in contents))
