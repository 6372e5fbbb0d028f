"""The problem of orders and fences for a ``Program`` with the orders of C11, beside TSO and PSO where these are asked for
too.

A ``Skeleton`` is the program with every place (``orders.Place``) as strong as it can be: a fence in every gap, and beside
each access the fences that its order amounts to on TSO and PSO. With weaker orders it loses some of these, so one walk
through it tells of any execution which event has which place, and which fences that are not there its threads passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from teetotal.answers.events import Event, EventId, Kind, MemoryOrder
from teetotal.answers.options import FenceOptions, ReleaseSequence
from teetotal.answers.violation import Race, Violation
from teetotal.budget import Budget
from teetotal.engines.executions.robustness import robustness
from teetotal.engines.weak import as_violation
from teetotal.fences.evidence import Evidence, Item
from teetotal.fences.insertion import Finding, Site, Undecided
from teetotal.fences.killers import killers
from teetotal.fences.orders import Sites, fence_kind, needs, where_it_fails
from teetotal.fences.slots import Slot, without
from teetotal.programs.program import Fence, Instruction, Load, Program, Rmw, Store, Thread


class Owner(NamedTuple):
    """Whose order an instruction has: of a place, and of another where it fails. ``part``: it is a fence that stands for
    part of an access on TSO and PSO."""

    place: int
    failure: int | None = None
    part: Kind | None = None


class Skeleton:
    def __init__(self, program: Program, owners: Mapping[Slot, Owner]) -> None:
        self.program = program
        self.owners = dict(owners)
        for (thread, pc), owner in owners.items():  # what stands around an access is part of it
            code = program.threads[thread].code
            if isinstance(code[pc], Store | Rmw):
                for beside, kind in ((pc - 1, Kind.SFENCE), (pc + 1, Kind.MFENCE)):
                    if 0 <= beside < len(code) and _is_part(code[beside], kind):
                        self.owners[Slot(thread, beside)] = Owner(owner.place, part=kind)

    def with_orders(self, sites: Sites, orders: Sequence[MemoryOrder]) -> Program:
        threads = []
        for number, thread in enumerate(self.program.threads):
            code = list(thread.code)
            gone = set()
            for pc, instruction in enumerate(code):
                owner = self.owners.get(Slot(number, pc))
                if owner is None:
                    continue
                if not _is_there(sites, owner, orders):
                    gone.add(pc)
                elif owner.part is None:
                    code[pc] = _ordered(instruction, owner, orders)
            threads.append(Thread(thread.name, without(code, gone), thread.registers))
        return msgspec.structs.replace(self.program, threads=tuple(threads))

    def items(
        self, sites: Sites, orders: Sequence[MemoryOrder], events: Sequence[Event]
    ) -> tuple[list[Item], dict[EventId, list[tuple[int, Kind]]]]:
        """The events of an execution with these orders, which may lack those that C11 does not know, as evidence takes
        them; and for each the sites that its thread passed just before it, as which fence each would stand there."""
        program = msgspec.structs.replace(self.program, loop_bound=None)
        states = {thread: program.start(thread) for thread in range(program.thread_count)}
        found: list[Item] = []
        passed: dict[EventId, list[tuple[int, Kind]]] = {}
        for event in events:
            thread = event.thread
            state = states[thread]
            passing = passed[event.id] = []
            is_part = event.kind.is_fence and event.order == "na"
            while True:
                here = program.threads[thread].code[state.pc]
                owner = self.owners.get(Slot(thread, state.pc))
                there = owner is None or _is_there(sites, owner, orders)
                if there and not (isinstance(here, Fence) and _is_no_event(here, owner) and not is_part):
                    break
                assert owner is not None or isinstance(here, Fence)
                if owner is not None and not there:
                    passing += sites.as_fences(owner.place, owner.part)
                    if owner.part is None:
                        found.append(Item(thread, None, owner.place))
                state = program.update(thread, state, None)
            if owner is not None and sites.places[owner.place].is_fence:  # it could be a stronger one
                passing += sites.as_fences(owner.place, None)
            found.append(_item(event, owner))
            states[thread] = program.update(thread, state, event.value if event.kind is Kind.LD else event.read)
        return found, passed


def _item(event: Event, owner: Owner | None) -> Item:
    if owner is None or owner.part is not None:
        return Item(event.thread, event, None)
    if event.kind is Kind.RMW and not event.writes:
        return Item(event.thread, event, owner.place if owner.failure is None else owner.failure, owner.failure is None)
    return Item(event.thread, event, owner.place)


def _is_part(instruction: Instruction, kind: Kind) -> bool:
    return isinstance(instruction, Fence) and instruction.order == "na" and instruction.kind is kind


def _is_no_event(fence: Fence, owner: Owner | None) -> bool:
    """Of C11, whose executions are told without it."""
    return fence.order == "na" and (owner is None or owner.part is not None)


def _is_there(sites: Sites, owner: Owner, orders: Sequence[MemoryOrder]) -> bool:
    place, order = sites.places[owner.place], orders[owner.place]
    if owner.part is not None:
        return owner.part in needs(place.what, order)
    return not place.is_fence or order != "relaxed"


def _ordered(instruction: Instruction, owner: Owner, orders: Sequence[MemoryOrder]) -> Instruction:
    order = orders[owner.place]
    if isinstance(instruction, Rmw):
        failure = where_it_fails(order) if owner.failure is None else orders[owner.failure]
        return msgspec.structs.replace(instruction, order=order, failure=failure)
    if isinstance(instruction, Fence):
        return msgspec.structs.replace(instruction, order=order, kind=fence_kind(order))
    assert isinstance(instruction, Load | Store)
    return msgspec.structs.replace(instruction, order=order)


class OrdersProblem:
    """Of programs that share their places. ``as_it_is``: which sites make the program that the user has, if any do."""

    always: frozenset[int] = frozenset()
    weighed = True

    def __init__(
        self,
        skeletons: Sequence[Skeleton],
        sites: Sites,
        options: FenceOptions,
        budget: Budget | None = None,
    ) -> None:
        self.skeletons, self.ordered, self.options = skeletons, sites, options
        self.budget = budget or Budget()
        self.budget.begin()

    @property
    def sites(self) -> Sequence[Site]:
        return self.ordered.sites

    def known(self, fences: frozenset[int]) -> list[Finding] | None:
        return None

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        orders = self.ordered.orders(fences)
        return [finding for skeleton in self.skeletons for finding in self._findings_of(skeleton, fences, orders)]

    def _findings_of(self, skeleton: Skeleton, on: frozenset[int], orders: Sequence[MemoryOrder]) -> list[Finding]:
        program, asked = skeleton.with_orders(self.ordered, orders), self.options
        if asked.loop_bound is not None:
            program = msgspec.structs.replace(program, loop_bound=asked.loop_bound)
        found = robustness(
            program,
            asked.models,
            asked.semantics,
            waiting=asked.waiting,
            release_sequence=asked.release_sequence,
            budget=self.budget,
            whole_races=True,
        )
        if found.interrupted:
            raise KeyboardInterrupt
        told: list[Finding] = []
        for violation in (violation for model in asked.models for violation in found.violations[model]):
            items, passed = skeleton.items(self.ordered, orders, violation.events)
            violation = msgspec.structs.replace(violation, replay="")
            if violation.model == "c11":
                told.append(of_weak(self.ordered, violation, items, on, asked.release_sequence))
            else:
                told.append(Finding(violation, killers(violation.model, violation.events, violation.steps, passed)))
        for race in found.races:
            items, _ = skeleton.items(self.ordered, orders, race.before)
            told.append(of_race(self.ordered, race, items, on, asked.release_sequence))
        if not told and not all(found.proves(model) for model in asked.models):
            raise Undecided(f"robust or not is not known: {'; '.join(found.notes)}")
        return told


def of_weak(
    sites: Sites, violation: Violation, items: Sequence[Item], on: frozenset[int], release_sequence: ReleaseSequence
) -> Finding:
    delayed = violation.events[violation.cycle[-1].target].id
    first = next(n for n, item in enumerate(items) if item.event is not None and item.event.id == delayed)
    evidence = Evidence(sites, items, first, len(items) - 1, race=False, release_sequence=release_sequence)
    return _finding(sites, violation, evidence, on)


def of_race(
    sites: Sites, race: Race, items: Sequence[Item], on: frozenset[int], release_sequence: ReleaseSequence
) -> Finding:
    at = {item.event.id: n for n, item in enumerate(items) if item.event is not None}
    first, second = at[race.first.id], at[race.second.id]
    evidence = Evidence(sites, items, first, second, race=True, release_sequence=release_sequence)
    violation = as_violation(msgspec.structs.replace(race, replay="", before=[]))
    return _finding(sites, violation, evidence, on)


def _finding(sites: Sites, violation: Violation, evidence: Evidence, on: frozenset[int]) -> Finding:
    """Where the specification knows less than the monitor of what synchronises (a lock of readers), the graph says nothing
    of other sets: then any site of it may be what is needed."""
    clause = evidence.missing(on)
    if clause is not None:
        return Finding(violation, clause, evidence)
    places = {item.place for item in evidence.items if item.place is not None}
    return Finding(violation, frozenset(site for place in places for site in sites.of_place[place]) - on)
