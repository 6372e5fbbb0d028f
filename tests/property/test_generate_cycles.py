"""Cycles: what is valid, what they are called, that every one is found once, and that diy makes the same of them."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import permutations, product

import pytest

from shared import data
from teetotal.generate import Cycle, litmus, prediction
from teetotal.generate.candidate import candidate_of
from teetotal.generate.cycles import enumerate_cycles, of_family, sample, valid, vocabulary
from teetotal.generate.edges import ALL, CycleError, Edge, parse
from teetotal.generate.names import FAMILIES
from teetotal.generate.prediction import Candidate, acyclic, coherent_orders
from teetotal.programs import litmus as litmus_format
from teetotal.programs.litmus import layout
from teetotal.programs.program import Fence, Load, Program, Rmw, Store, Thread

NAMES = {
    "PodWR Fre PodWR Fre": "SB",
    "Fre MFencedWR Fre PodWR": "SB+mfence+po",
    "MFencedWR Fre MFencedWR Fre": "SB+mfences",
    "PodWR Fre PodWW PodWR Fre": "SB+po+po-W-po",
    "PodWR Fre PodWR PodRR Fre": "SB+po+po-R-po",
    "Rfi PodRR Fre Rfi PodRR Fre": "SB+rfi-pos",
    "PodRW Rfe PodRW Rfe": "LB",
    "Rfe PodRR Fre SFencedWW": "MP+sfence+po",
    "PodWW Rfe PodRW Coe": "S",
    "PodWW Coe PodWR Fre": "R",
    "Fre PosWW Coe PosWR": "R+poss",
    "PodWW Coe XchgdWW Coe": "2+2W+po+xchg",
    "Rfe PodRW Rfe PodRR Fre": "WRC",
    "Rfe PodRR Fre PodWR Fre": "RWC",
    "Rfe PodRW Rfe PodRW Coe": "WWC",
    "Rfe PodRR Fre Rfe MFencedRR Fre": "IRIW+mfence+po",
    "PodWW Rfe PodRW Rfe PodRR Fre": "ISA2",
    "PodWW Rfe PodRR Fre PodWR Fre": "W+RWC",
    "Rfe PodRW Coe PodWR Fre PodWW": "Z6.0",
    "Fre PodWW Coe PodWW Coe PodWR": "Z6.5",
    "PodWR Fre PodWR Fre PodWR Fre": "3.SB",
    "Rfe PosRR Fre": "CoRR",
    "Rfe PosRW Coe": "CoRW2",
    "Coe PosWR Fre": "CoWR",
    "Rfe MFencesRR Fre": "W+RR+mfences",
    "Rfe PodRR Fre MFencedWR Fre PodWR Fre PodWW": "WW+RR+WR+WR+po+po+mfence+po",
    "PodWR Rmw PodWR Fre Coe": "W+WR+po-rmw-po",
    "Wse PodWW Wse PodWW": "2+2W",
}


@pytest.mark.parametrize(("edges", "name"), NAMES.items())
def test_names(edges: str, name: str) -> None:
    cycle = Cycle.parse(edges)
    assert cycle.name == name
    assert Cycle.parse(str(cycle)) == cycle


def test_a_cycle_has_no_beginning() -> None:
    edges = Cycle.parse("PodWW Rfe PodRW PodWW Rfe MFencedRR Fre").edges
    rotations = {Cycle([*edges[i:], *edges[:i]]) for i in range(len(edges))}
    assert len(rotations) == 1


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("PodWR Rfe", "PodWR ends at a read, but Rfe begins at a write"),
        ("Fre PodWR MFencedWR Fre", "PodWR ends at a read, but MFencedWR begins at a write"),
        ("PodWR Fre", "at least two external edges"),
        ("PodWW PodWW", "at least two external edges"),
        ("", "at least two external edges"),
        ("Rfe Fre", "takes a program-order edge"),
        ("Coe Coe", "takes a program-order edge"),
        ("Rfe Rmw Coe", "takes a program-order edge"),
        ("PodWW Coe PosWW Coe", "PodWW leaves a location and no edge comes back to it"),
        ("PodWR Fry", "'Fry' is no edge"),
        ("Rmw Rmw", "Rmw ends at a write, but Rmw begins at a read"),
    ],
)
def test_what_is_no_cycle(edges: str, message: str) -> None:
    with pytest.raises(CycleError, match=re.escape(message)):
        Cycle.parse(edges)


def test_every_edge_is_read_as_it_is_written() -> None:
    assert all(parse(str(edge)) == edge for edge in ALL)
    assert len({str(edge) for edge in ALL}) == len(ALL)


def test_too_much_for_a_test_is_refused() -> None:
    with pytest.raises(CycleError, match="at most 14 reads"):
        litmus(Cycle.parse("PodWR " + "PodRR " * 14 + "Fre PodWR Fre"))
    with pytest.raises(CycleError, match="at most 26 locations"):
        litmus(Cycle.parse("PodWR Fre " * 27))


# -- all of them ------------------------------------------------------------------------------------------------------


def rotations(walk: tuple[Edge, ...]) -> set[tuple[Edge, ...]]:
    return {(*walk[i:], *walk[:i]) for i in range(len(walk))}


@pytest.mark.parametrize(
    ("length", "every", "fences"), [(4, True, ("mfence",)), (5, False, ("sfence",)), (4, True, ())]
)
def test_enumeration_finds_each_cycle_once(length: int, every: bool, fences: tuple[str, ...]) -> None:
    """Against every sequence of edges, divided into classes of rotations."""
    edges = vocabulary(fences, every=every)
    found = list(enumerate_cycles(length, edges, every=every))
    assert len(set(found)) == len(found)
    classes: set[frozenset[tuple[Edge, ...]]] = set()
    for size in range(2, length + 1):
        for walk in product(edges, repeat=size):
            if any(a.target != b.source for a, b in zip(walk, (*walk[1:], walk[0]), strict=True)):
                continue
            cycle = valid(walk)
            if cycle is not None and (every or cycle.is_irreducible):
                classes.add(frozenset(rotations(walk)))
    assert {frozenset(rotations(cycle.edges)) for cycle in found} == classes
    assert len(found) == len(classes)


def test_the_irreducible_cycles_are_the_classical_families() -> None:
    """Up to six edges every irreducible cycle has a classical name: 6 with two threads, then the tests of the surveys."""
    found = {cycle.name for cycle in enumerate_cycles(6, vocabulary())}
    classical = {name for name, shapes in FAMILIES.items() if sum(map(len, shapes)) <= 6}
    assert found == classical - {"CoRR", "CoRW2", "CoWR"}


def test_no_two_cycles_share_a_name() -> None:
    edges = vocabulary(("mfence", "sfence", "xchg"), every=True)
    cycles = [*enumerate_cycles(4, edges, every=True), *sample(3000, 9, edges, random.Random(4), every=True)]
    names = Counter(cycle.name for cycle in set(cycles))
    assert names.most_common(1)[0][1] == 1


def test_samples_are_the_same_for_the_same_seed() -> None:
    edges = vocabulary(("mfence",))
    assert [*sample(20, 8, edges, random.Random(1))] == [*sample(20, 8, edges, random.Random(1))]
    assert [*sample(20, 8, edges, random.Random(1))] != [*sample(20, 8, edges, random.Random(2))]
    with pytest.raises(CycleError, match="only 6 such cycles"):
        list(sample(7, 4, vocabulary(), random.Random(0)))
    with pytest.raises(CycleError, match="only 0 such cycles"):
        list(sample(1, 4, vocabulary(), random.Random(0), keep=lambda _: False))


def test_families() -> None:
    assert [cycle.name for cycle in of_family("SB", ["mfence"])] == ["SB", "SB+mfences", "SB+mfence+po"]
    for name in FAMILIES:
        assert [cycle.name for cycle in of_family(name)] == [name]
    assert len(of_family("IRIW", ["mfence", "sfence"])) == 6
    with pytest.raises(CycleError, match="no family is called 'XX'"):
        of_family("XX")


# -- the tests that they make -----------------------------------------------------------------------------------------


def test_values_say_coherence() -> None:
    program = litmus(Cycle.parse("Rfe PodRR Fre PodWW Coe")).program
    assert litmus_format.write(program, "X86_64").split("}\n")[1] == (
        " P0          | P1            | P2          ;\n"
        " movq $2,(x) | movq (x),%rax | movq $1,(y) ;\n"
        "             | movq (y),%rbx | movq $1,(x) ;\n"
        "exists (1:rax=2 /\\ 1:rbx=0 /\\ x=2)\n"
    )


def test_three_writes_have_an_observer() -> None:
    test = litmus(Cycle.parse("PodWW Coe Coe PodWW Coe"))
    assert len(test.program.threads) == 4
    assert [access.reads for access in test.candidate.threads[3]] == [1, 2]
    assert test.candidate.final == {"x": 3, "y": 2}
    assert {access.location for access in test.candidate.threads[3]} == {"x"}


def test_three_writes_in_order_need_no_observer() -> None:
    test = litmus(Cycle.parse("PodWW Coi Coi Rfe PodRR Fre"))
    assert len(test.program.threads) == 2


# -- as diy makes them ------------------------------------------------------------------------------------------------


def diy_tests() -> list[tuple[str, Cycle, Program]]:
    """Name, cycle and program of each file of the shared corpus that says its cycle."""
    found = []
    for path in sorted(data("litmus-x86").glob("*.litmus")):
        info = layout.split(path.read_text(), path.name).info
        if "Cycle" in info:
            found.append((path.stem, Cycle.parse(info["Cycle"]), litmus_format.read_file(path)))
    return found


def plain_name(name: str) -> tuple[str, tuple[str, ...]]:
    """Family and labels, without what diy does not say or says by numbers; of the labels' rotations the smallest."""
    name = re.sub(r"\d{3}$", "", re.sub(r"-[RW](?=-)", "", name))
    family, *labels = re.split(r"\+(?=[a-z])", name)
    if len(labels) > 1 and len(set(labels)) == 1:
        labels = [f"{labels[0]}s"]
    return family, min(tuple(labels[i:] + labels[:i]) for i in range(max(1, len(labels))))


def shape(thread: Thread, names: dict[str, int]) -> list[tuple[str, int | None]]:
    """Kinds and places of a thread's accesses; places numbered as they come."""
    result: list[tuple[str, int | None]] = []
    for instruction in thread.code:
        match instruction:
            case Fence(kind=kind):
                result.append((str(kind), None))
            case Load() | Store() | Rmw():
                place = names.setdefault(instruction.address.name, len(names))  # type: ignore[union-attr]
                result.append((type(instruction).__name__, place))
    return result


def shapes(program: Program, first: int) -> list[list[tuple[str, int | None]]]:
    names: dict[str, int] = {}
    threads = [*program.threads[first:], *program.threads[:first]]
    return [shape(thread, names) for thread in threads]


def test_diy_makes_the_same_programs_and_names() -> None:
    tests = diy_tests()
    assert len(tests) >= 300
    for name, cycle, theirs in tests:
        test = litmus(cycle)
        assert plain_name(test.name) == plain_name(name)
        assert shapes(test.program, 0) in [shapes(theirs, i) for i in range(len(theirs.threads))], name


@pytest.mark.parametrize("edges", ["PodWW " + "Coi " * 12 + "Rfe PodRR Fre", "PodWW " + "Coe " * 12 + "PodWW Coe"])
def test_many_writes_to_a_location(edges: str) -> None:
    """Trying every order of them would take days."""
    test = litmus(Cycle.parse(edges))
    assert not test.predict().allowed["tso"]
    assert test.predict().allowed["pso"]
    (order,) = coherent_orders(test.candidate, "x" if "Coe Coe" in edges else "y")
    assert order == tuple(range(1, len(order) + 1))


def test_coherent_orders_against_all_orders() -> None:
    """Against the definition: every order that makes program order within the location and communication acyclic."""
    counts: Counter[int] = Counter()
    cycles = sample(400, 8, vocabulary(every=True), random.Random(6), every=True)
    for candidate in (candidate_of(cycle) for cycle in cycles):
        writers = tuple(t for t in candidate.threads if any(access.writes is not None for access in t))
        for loose in (candidate, Candidate(writers, {})):  # as it is, and with neither observers nor last values
            for location, values in loose.writes().items():
                same = prediction._same_location_order(loose, location)
                slow = {
                    order
                    for order in permutations(values)
                    if loose.final.get(location) in (None, order[-1])
                    and acyclic(same | prediction._communication(loose, location, order, forwarded=True))
                }
                assert set(coherent_orders(loose, location)) == slow
                counts[len(slow)] += 1
    assert len(counts) > 3
