"""A program with a fence in every place, of which any subset can be switched on. A stronger store is the fences around it.

Fences that are off are cut out of the code, so that engines see an ordinary program. An execution of that program is
walked again through the code with all its slots, which tells what slots each thread passed between two of its events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import msgspec

from teetotal.answers.costs import Costs
from teetotal.answers.events import Event, EventId, Kind
from teetotal.answers.remedies import Order, Remedy
from teetotal.engines.executions.overtakings import NOTHING, MarkedProgram
from teetotal.fences.insertion import Site
from teetotal.fences.killers import Passed
from teetotal.fences.overtaken import Point, kinds
from teetotal.programs.program import Assert, Assign, Assume, Branch, Fence, Instruction, Program, Thread
from teetotal.programs.promela.control_flow import comes_again


class Slot(NamedTuple):
    thread: int
    pc: int


class Slots:
    """``program`` has a fence in every slot; a site may have several slots, where threads share their text or where it
    is a stronger store."""

    def __init__(self, program: Program, site_of: Mapping[Slot, int], sites: Sequence[Site]) -> None:
        self.program = program
        self.site_of = site_of
        self.sites = tuple(sites)

    @cached_property
    def points(self) -> list[Point]:
        """Every slot as a mark."""
        found: list[Point] = []
        for slot in sorted(self.site_of):
            fence = self.program.threads[slot.thread].code[slot.pc]
            assert isinstance(fence, Fence)
            found.append(((self.site_of[slot], fence.kind),))
        return found

    def marked(self, fences: frozenset[int]) -> MarkedProgram:
        """The program with its marks, these of which are fences."""
        numbers = {slot: number for number, slot in enumerate(sorted(self.site_of), 1)}
        at = [
            numbers.get(Slot(number, pc), 0)
            for number, thread in enumerate(self.program.threads)
            for pc in range(len(thread.code))
        ]
        on = kinds(self.points, fences)
        return MarkedProgram(self.program, tuple(at), tuple(on.get(mark, NOTHING) for mark in range(len(self.points))))

    def with_fences(self, fences: frozenset[int]) -> Program:
        off = {slot for slot, site in self.site_of.items() if site not in fences}
        threads = tuple(
            Thread(
                thread.name, without(thread.code, {slot.pc for slot in off if slot.thread == number}), thread.registers
            )
            for number, thread in enumerate(self.program.threads)
        )
        return msgspec.structs.replace(self.program, threads=threads)

    def passed(self, events: Sequence[Event], fences: frozenset[int]) -> Passed:
        """For each event of an execution with these fences, the sites that its thread passed just before it."""
        own: dict[int, list[Event]] = {}
        for event in sorted(events, key=lambda event: event.index):
            own.setdefault(event.thread, []).append(event)
        found: dict[EventId, list[tuple[int, Kind]]] = {}
        program = msgspec.structs.replace(self.program, loop_bound=None)
        for thread, sequence in own.items():
            state = program.start(thread)
            for event in sequence:
                passed = found[event.id] = []
                while (site := self.site_of.get(Slot(thread, state.pc))) is not None and site not in fences:
                    slot = program.threads[thread].code[state.pc]
                    assert isinstance(slot, Fence)
                    passed.append((site, slot.kind))
                    state = program.update(thread, state, None)
                state = program.update(thread, state, event.value if event.kind is Kind.LD else event.read)
        return found


def from_fences(
    programs: Sequence[Program],
    site_of_fence: Callable[[int, Fence], tuple[object, Remedy] | None],
    costs: Costs,
    describe: Callable[[object, Remedy], Site],
) -> list[Slots]:
    """Slots where front ends found fences that were put into the text of these programs, which share their sites:
    ``site_of_fence`` tells of which place and kind a fence is, or None for one that is no candidate. Every thread of a
    program that has a fence pays for it."""
    numbers: dict[tuple[object, Remedy], int] = {}
    sites: list[Site] = []
    found: list[dict[Slot, int]] = []
    for program in programs:
        site_of: dict[Slot, int] = {}
        passes: Counter[int] = Counter()
        for number, thread in enumerate(program.threads):
            looping = in_loops(thread.code)
            for pc, instruction in enumerate(thread.code):
                if not isinstance(instruction, Fence) or (key := site_of_fence(number, instruction)) is None:
                    continue
                if key not in numbers:
                    numbers[key] = len(sites)
                    sites.append(describe(*key))
                site = site_of[Slot(number, pc)] = numbers[key]
                # A stronger store is an sfence, and perhaps an mfence too.
                passes[site] += not isinstance(key[1], Order) or instruction.kind is Kind.SFENCE
                loops = sites[site].in_loop or pc in looping
                often = max(Fraction(passes[site]), sites[site].passes)
                sites[site] = msgspec.structs.replace(
                    sites[site], in_loop=loops, passes=often, cost=costs.of(key[1], loops) * often
                )
        found.append(site_of)
    return [Slots(program, site_of, sites) for program, site_of in zip(programs, found, strict=True)]


def without_equals(slots: Sequence[Slots], keep: frozenset[int]) -> list[Slots]:
    """With one site of those that are equal: no access, jump or other way in lies between them in any thread. The first
    in the text stays, and stands beside all that they stood beside; sites to ``keep`` stay in any case."""
    runs: dict[int, list[tuple[int, int, int]]] = {}
    for number, each in enumerate(slots):
        for thread in range(each.program.thread_count):
            code = each.program.threads[thread].code
            targets = {instruction.target for instruction in code if isinstance(instruction, Branch)}
            start = 0
            for pc, instruction in enumerate(code):
                site = each.site_of.get(Slot(thread, pc))
                if site in keep or (site is None and not isinstance(instruction, Assign | Assert | Assume)):
                    start = pc + 1
                    continue
                if pc in targets:
                    start = pc
                if site is not None:
                    runs.setdefault(site, []).append((number, thread, start))
    sites = slots[0].sites
    seen: dict[tuple[Remedy, tuple[tuple[int, int, int], ...]], int] = {}
    beside = {number: set(site.beside) for number, site in enumerate(sites)}
    renamed: dict[object, object] = {}  # a place that went, by the one that stands for it
    left: dict[int, int] = {}
    for site in sorted(range(len(sites)), key=lambda site: (site not in keep, sites[site].location or ("", 0), site)):
        signature = (sites[site].kind, tuple(runs.get(site, ())))
        if site in keep or signature not in seen:
            left[site] = len(left)
            seen.setdefault(signature, site)
        else:
            beside[seen[signature]] |= beside[site]
            renamed[sites[site].place] = sites[seen[signature]].place
    chosen = [
        msgspec.structs.replace(
            sites[site], beside=frozenset(p for place in beside[site] for p in (place, renamed.get(place, place)))
        )
        for site in left
    ]
    result = []
    for each in slots:
        cut = {slot for slot, site in each.site_of.items() if site not in left}
        site_of: dict[Slot, int] = {}
        threads = []
        for number, old in enumerate(each.program.threads):
            gone = {slot.pc for slot in cut if slot.thread == number}
            threads.append(Thread(old.name, without(old.code, gone), old.registers))
            for slot, site in each.site_of.items():
                if slot.thread == number and slot not in cut:
                    site_of[Slot(number, slot.pc - sum(pc < slot.pc for pc in gone))] = left[site]
        program = msgspec.structs.replace(each.program, threads=tuple(threads))
        result.append(Slots(program, site_of, chosen))
    return result


def moved_to(instruction: Instruction, moved: Sequence[int]) -> Instruction:
    if isinstance(instruction, Branch):
        return msgspec.structs.replace(instruction, target=moved[instruction.target])
    return instruction


def without(code: Sequence[Instruction], cut: set[int]) -> tuple[Instruction, ...]:
    moved, kept = [], 0
    for pc in range(len(code) + 1):
        moved.append(kept)
        kept += pc not in cut
    return tuple(moved_to(instruction, moved) for pc, instruction in enumerate(code) if pc not in cut)


def in_loops(code: Sequence[Instruction]) -> set[int]:
    """The instructions that can come again: those that reach themselves."""
    if not any(isinstance(i, Branch) and i.target <= pc for pc, i in enumerate(code)):
        return set()
    return {pc for pc in range(len(code)) if comes_again(code, pc)}
