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
is compared. If there are too many steps to look at, or one is different, nothing is renamed.

Not all g need be compared, nor for all p. Let f be the first of a group of owners, h_p the exchange of f and p, and P_p
what p does. If h_p P_f = P_p for each p of the group, and s P_f = P_f for exchanges s that generate all permutations that
leave f alone, then g P_p = P_g(p) for every g: h_g(p) g h_p leaves f alone, so g P_p = g h_p P_f = h_g(p) P_f = P_g(p).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise, product

import msgspec

from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Kind
from teetotal.engines.symbolic.scans import HAD, in_any_order
from teetotal.engines.symbolic.slots import NoGuess, Slots, aligned
from teetotal.engines.symbolic.symmetry import exchangeable
from teetotal.programs.promela.instructions import AccessAction, Atomically, Control, Fenced, Tau
from teetotal.programs.promela.program import PromelaProgram

MOST_STEPS = 6_000
"""Of all processes, before nothing is renamed."""
MOST_FREED_STEPS = 150_000
"""The same with scans in any order, which is tried only where much work is certain."""
FEWEST = 3
"""Processes of one text: two of them have at most twice as many states as one needs."""

Contents = tuple[tuple[int, int], ...]
"""Locations, and what they hold."""
Step = tuple[str, int, Contents, Contents, Control]
"""What is done, at which fence's place (-1 for none), what is read, what is written, and the control state after it."""


class Renaming(msgspec.Struct, frozen=True):
    """The exchange of two processes: for each location where it goes, and the two values that change places in it (or
    equal ones); for each process the positions of registers with values that do, these values, and whether it is sets of
    them that such a register holds, as bits."""

    exchanged: tuple[int, int]
    locations: tuple[int, ...]
    values: tuple[tuple[int, int], ...]
    registers: tuple[tuple[tuple[int, tuple[int, int], bool], ...], ...]

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
        registers = list(state.registers)
        for position, names, is_set in self.registers[p]:
            if alive[position]:
                registers[position] = (_bits_swapped if is_set else _swapped)(names, registers[position])
        return Control(state.pc, tuple(registers))


def renamings(program: PromelaProgram, alike: list[int]) -> list[Renaming]:
    """Exchanges that may be used, of processes that are not interchangeable as they are; every permutation inside some
    groups of processes is a product of them."""
    groups, owners = _owners(program, alike)
    try:
        return _checked(program, groups, owners, Slots(program, groups), MOST_STEPS) if owners else []
    except (NoGuess, ProgramError):
        return []


def freed(
    program: PromelaProgram, alike: list[int], poll: Callable[[], None]
) -> tuple[PromelaProgram, list[Renaming]] | None:
    """The program with scans in any order (``scans.py``), if that is what it takes for exchanges, and these. ``poll`` is
    called now and then, and may raise."""
    groups, owners = _owners(program, alike)
    try:
        other, names = in_any_order(program, owners, Slots(program, groups))
        if not names:
            return None
        return other, _checked(other, groups, owners, Slots(other, groups, names), MOST_FREED_STEPS, poll)
    except (NoGuess, ProgramError):
        return None


def _owners(program: PromelaProgram, alike: list[int]) -> tuple[list[list[int]], list[list[int]]]:
    """All processes in groups, and which of these may be owners of slots."""
    alone = [p for p, first in enumerate(alike) if alike.count(first) == 1]
    owners = [group for group in _groups(program, alone) if len(group) >= FEWEST]
    together = {p for group in owners for p in group}
    return owners + [[p] for p in range(len(alike)) if p not in together], owners


def _checked(
    program: PromelaProgram,
    groups: list[list[int]],
    owners: list[list[int]],
    slots: Slots,
    most: int,
    poll: Callable[[], None] = lambda: None,
) -> list[Renaming]:
    if _asks_renamed_ghosts(program, slots):
        raise NoGuess
    exchanges = {(a, b): _exchange(program, groups, slots, a, b) for g in owners for a, b in combinations(g, 2)}
    from_first = [exchanges[group[0], p] for group in owners for p in group[1:]]
    alone = _Alone(program, from_first, most, poll)
    for group in groups:
        first, *others = group
        for p in others:
            alone.compare(exchanges[first, p], first)
        for pair in [*pairwise(others), *(pair for g in owners if g is not group for pair in pairwise(g))]:
            alone.compare(exchanges[pair], first)
    return list(exchanges.values())


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
    registers = []
    for p, process in enumerate(program.processes):
        held = [names(slots.names.get((first[p], name.removesuffix(HAD)), {})) for name in process.registers]
        sets = [name.endswith(HAD) for name in process.registers]
        registers.append(tuple((n, (x, y), sets[n]) for n, (x, y) in enumerate(held) if x != y))
    return Renaming(
        (a, b), tuple(locations), tuple(names(slots.at(x)) for x in range(len(locations))), tuple(registers)
    )


def _swapped(names: tuple[int, int], value: int) -> int:
    a, b = names
    return b if value == a else a if value == b else value


def _bits_swapped(names: tuple[int, int], value: int) -> int:
    a, b = names
    return value if (value >> a ^ value >> b) & 1 == 0 else value ^ (1 << a | 1 << b)


class _Alone:
    """Every process run alone, with every value that a location may hold; all of it closed under the ``exchanges``."""

    def __init__(self, program: PromelaProgram, exchanges: list[Renaming], most: int, poll: Callable[[], None]) -> None:
        self.program, self.exchanges, self.most, self.poll = program, exchanges, most, poll
        self.values: list[set[int]] = [set() for _ in program.addresses]
        self.steps: list[dict[Control, set[Step]]] = [{} for _ in program.processes]
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

    def compare(self, g: Renaming, p: int) -> None:
        """That the exchange maps the steps of p to those of the process that p becomes; ``NoGuess`` if it does not."""
        q = g.process(p)
        if len(self.steps[p]) != len(self.steps[q]):
            raise NoGuess
        for state, steps in self.steps[p].items():
            self.poll()
            image = g.control(self.program, p, state)
            if {self._image(g, p, step) for step in steps} != self.steps[q].get(image):
                raise NoGuess
            if self.program.labels(p, state) != self.program.labels(q, image) or state.status != image.status:
                raise NoGuess

    def _stands(self, p: int, state: Control) -> None:
        if state not in self.steps[p]:
            self.steps[p][state] = set()
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
        self.poll()
        for g in self.exchanges:
            self._stands(g.process(p), g.control(self.program, p, state))
        for step in self._possible(p, state):
            self.count += 1
            if self.count > self.most:
                raise NoGuess
            self.steps[p][state].add(step)
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
