"""From a cycle to the execution that it describes, and from that to a litmus test which asks for exactly this execution.

Values say coherence, as in diy: the writes of a location are one stretch of the cycle and write 1, 2, … in its order,
and each read of that stretch sees the last write before it. So along a stretch everything is coherent, and the cycle
lies in what connects the stretches. A cycle at one location is one stretch that bites its tail: it is cut at its first
program-order edge, the edge that the outcome contradicts.

The condition says what every read of a written location saw, and the last value of every location with two writes or
more. That fixes which write each read saw, but with three writes or more perhaps not their order: where coherence
alone (``prediction.coherent_orders``) leaves more than one, an observer thread reads the location again and again and
the condition says that it saw the values one after another. Loads cannot change what other threads do, so the observer
changes no verdict. In this way another execution with the same final values does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice
from typing import NamedTuple

from teetotal.answers.arguments import checked
from teetotal.answers.events import MODELS, Kind, Semantics
from teetotal.generate.cycles import Cycle
from teetotal.generate.edges import FENCES, CycleError, Edge
from teetotal.generate.prediction import Access, Candidate, Prediction, coherent_orders, predict
from teetotal.programs.expressions import Addr, Const, Expr, Final, Op
from teetotal.programs.program import Condition, Fence, Instruction, Load, Program, Rmw, Store, Thread

LOCATIONS = "xyzabcdefghijklmnopqrstuvw"
REGISTERS = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", *(f"r{number}" for number in range(8, 15)))
"""Those of the machine but the stack's, and one for the writer."""


class Litmus(NamedTuple):
    cycle: Cycle
    candidate: Candidate
    program: Program

    @property
    def name(self) -> str:
        return self.program.name

    def predict(self, semantics: Semantics = Semantics()) -> Prediction:
        return Prediction({model: predict(self.candidate, model, semantics) for model in MODELS})


@checked
def litmus(cycle: Cycle) -> Litmus:
    candidate = candidate_of(cycle)
    return Litmus(cycle, candidate, program_of(candidate, cycle.name))


# -- the execution --------------------------------------------------------------------------------------------------


def candidate_of(cycle: Cycle) -> Candidate:
    """Threads in the order of the cycle's rotation, then observers."""
    edges = cycle.edges
    places, values = _locations(edges), _values(edges)
    names = iter(LOCATIONS[1 + max(places) :])
    threads: list[list[Access]] = [[]]
    for i, edge in enumerate(edges):
        if edges[i - 1].relation != "rmw":  # else this is the write of the access before it
            threads[-1].append(_access(edges, i, places, values))
        if edge.external:
            threads.append([])
        elif edge.fence is not None:
            threads[-1].append(_fence(edge.fence, names))
    candidate = Candidate.of(threads[:-1])
    return _with_observers(candidate)


def _access(edges: Sequence[Edge], i: int, places: list[int], values: list[int]) -> Access:
    location = _name(places[i])
    if edges[i].relation == "rmw":
        return Access(Kind.RMW, location, reads=values[i], writes=values[i] + 1)
    if edges[i].source == "R":
        return Access(Kind.LD, location, reads=values[i])
    return Access(Kind.ST, location, writes=values[i])


def _fence(fence: str, names: Iterator[str]) -> Access:
    kind = FENCES[fence]
    if kind is not Kind.RMW:
        return Access(kind)
    location = next(names, None)
    if location is None:
        raise CycleError(f"a test has at most {len(LOCATIONS)} locations")
    return Access(kind, location, reads=0, writes=1)


def _name(number: int) -> str:
    if number >= len(LOCATIONS):
        raise CycleError(f"a test has at most {len(LOCATIONS)} locations")
    return LOCATIONS[number]


def _locations(edges: Sequence[Edge]) -> list[int]:
    """The location of each edge's source: a number that every different-location edge moves on."""
    places = [0]
    for edge in edges[:-1]:
        places.append(places[-1] + (not edge.same))
    last = places[-1] + (not edges[-1].same)
    return [place % last if last else place for place in places]


def _values(edges: Sequence[Edge]) -> list[int]:
    """What each edge's source reads or writes, counted along each location's stretch."""
    values = [0] * len(edges)
    start, value = _cut(edges), 0
    for i in (*range(start, len(edges)), *range(start)):
        if i == start or not edges[i - 1].same:
            value = 0
        value += edges[i].source == "W"
        values[i] = value
    return values


def _cut(edges: Sequence[Edge]) -> int:
    """Where a stretch begins: behind an edge that leaves a location, or else behind the first program-order edge."""
    ends = [i for i, edge in enumerate(edges) if not edge.same]
    ends = ends or [i for i, edge in enumerate(edges) if edge.relation == "po"]
    return (ends[0] + 1) % len(edges)


def _with_observers(candidate: Candidate) -> Candidate:
    for location, writes in candidate.writes().items():
        if len(writes) >= 3 and len(list(islice(coherent_orders(candidate, location), 2))) > 1:
            values = range(1, len(writes))  # the last one is the final value
            candidate = candidate.with_thread([Access(Kind.LD, location, reads=value) for value in values])
    return candidate


# -- the test -------------------------------------------------------------------------------------------------------


def program_of(candidate: Candidate, name: str) -> Program:
    written = candidate.writes()
    threads: list[Thread] = []
    asked: list[tuple[Final, int]] = []
    for number, accesses in enumerate(candidate.threads):
        builder = _Thread(number, written)
        for access in accesses:
            builder.add(access)
        threads.append(Thread(f"P{number}", tuple(builder.code), dict.fromkeys(builder.registers, 0)))
        asked += builder.asked
    for location, final in candidate.final.items():
        asked.append((Final(None, location), final))
    locations = dict.fromkeys(a.location for accesses in candidate.threads for a in accesses if a.location is not None)
    terms: list[Expr] = [Op("==", (what, Const(value))) for what, value in asked]
    return Program(
        name=name,
        threads=tuple(threads),
        memory=dict.fromkeys(sorted(locations, key=LOCATIONS.index), 0),
        condition=Condition("exists", reduce(lambda left, right: Op("and", (left, right)), terms)),
        observed=tuple(what for what, _ in asked),
    )


class _Thread:
    def __init__(self, number: int, written: dict[str, list[int]]) -> None:
        self.number = number
        self.written = written
        self.code: list[Instruction] = []
        self.registers: list[str] = []
        self.asked: list[tuple[Final, int]] = []

    def add(self, access: Access) -> None:
        if access.location is None:
            self.code.append(Fence(kind=access.kind))
            return
        address = Addr(access.location)
        if access.reads is None:
            assert access.writes is not None
            self.code.append(Store(address=address, value=Const(access.writes)))
            return
        register = self.register()
        if access.writes is None:
            self.code.append(Load(register=register, address=address))
        else:
            self.code.append(Rmw(register=register, address=address, value=Const(access.writes)))
        if self.is_of_interest(access):
            self.asked.append((Final(self.number, register), access.reads))

    def is_of_interest(self, access: Access) -> bool:
        """Whether the read could have seen anything else: some other access writes there."""
        assert access.location is not None
        others = len(self.written.get(access.location, ())) - (access.writes is not None)
        return others > 0

    def register(self) -> str:
        if len(self.registers) == len(REGISTERS):
            raise CycleError(f"a thread of a test has at most {len(REGISTERS)} reads")
        self.registers.append(REGISTERS[len(self.registers)])
        return self.registers[-1]
