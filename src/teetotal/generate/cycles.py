"""Cycles of edges: which are valid, when two are the same, and all of them up to a length.

A cycle is a closed walk. Its accesses are the places where one edge ends and the next begins; each external edge goes
to a new thread, each different-location edge to a new location, and the last of each leads back to the first. So every
thread is one stretch of the cycle, and so is every location.

Two cycles that are rotations of each other are the same. The rotation we keep begins with a thread, the one that makes
the name of the test (``names``) smallest.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from teetotal.answers.arguments import checked
from teetotal.generate import names
from teetotal.generate.edges import EXTERNAL, INTERNAL, POD, POS, RMW, CycleError, Edge, fenced, parse

_COMPOSED = {("rf", "fr"), ("co", "co"), ("fr", "co")}
"""Communications that come to one: a read of w before w' says that w is before w', and so on."""


class Cycle:
    """A valid cycle in the rotation that we keep. Equal cycles are the same test."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        edges = tuple(edges)
        _check(edges)
        self.edges = names.canonical(edges)

    @classmethod
    @checked
    def parse(cls, text: str) -> Cycle:
        return cls(map(parse, text.replace(",", " ").split()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cycle) and self.edges == other.edges

    def __hash__(self) -> int:
        return hash(self.edges)

    def __len__(self) -> int:
        return len(self.edges)

    def __str__(self) -> str:
        return " ".join(map(str, self.edges))

    def __repr__(self) -> str:
        return f"Cycle.parse({str(self)!r})"

    @cached_property
    def name(self) -> str:
        return names.name(self.edges)

    @property
    def family(self) -> str:
        return names.family(self.edges)

    @property
    def is_irreducible(self) -> bool:
        """No two edges in a row come to one: what diy calls critical, where internal edges do not occur."""
        return not any(_composes(edge, after) for edge, after in zip(self.edges, _rotated(self.edges, 1), strict=True))


def _rotated(edges: Sequence[Edge], start: int) -> tuple[Edge, ...]:
    return (*edges[start:], *edges[:start])


def _composes(edge: Edge, after: Edge) -> bool:
    if not edge.external and not after.external:
        return True
    return (edge.relation, after.relation) in _COMPOSED


def _check(edges: tuple[Edge, ...]) -> None:
    for edge, after in zip(edges, _rotated(edges, 1), strict=True):
        if edge.target != after.source:
            reads = {"R": "a read", "W": "a write"}
            raise CycleError(f"{edge} ends at {reads[edge.target]}, but {after} begins at {reads[after.source]}")
    if sum(edge.external for edge in edges) < 2:
        raise CycleError("a cycle has at least two external edges (Rfe, Fre, Coe), since it has at least two threads")
    moves = [edge for edge in edges if not edge.same]
    if len(moves) == 1:
        raise CycleError(f"{moves[0]} leaves a location and no edge comes back to it")
    if not moves and not any(edge.relation == "po" for edge in edges):
        raise CycleError("communication at one location cannot be a cycle: it takes a program-order edge (Pod, Pos)")


# -- all of them ----------------------------------------------------------------------------------------------------


def vocabulary(fences: Iterable[str] = (), *, every: bool = False) -> tuple[Edge, ...]:
    """The edges of irreducible cycles; with ``every``, also internal ones, same-location ones and the rmw.

    PosWR, PosRW and PosWW say of an outcome what Rfi, Fri and Coi say, so only PosRR is among them.
    """
    edges = [*EXTERNAL, *POD, *(edge for fence in fences for edge in fenced(fence))]
    if every:
        edges += [*INTERNAL, POS[0], RMW]
    return tuple(edges)


def enumerate_cycles(length: int, edges: Sequence[Edge], *, every: bool = False) -> Iterator[Cycle]:
    """Every cycle of at most ``length`` of these edges, shortest first, each once; irreducible ones unless ``every``."""
    for size in range(2, length + 1):
        yield from _of_length(size, edges, every)


def _of_length(size: int, edges: Sequence[Edge], every: bool) -> Iterator[Cycle]:
    seen: set[Cycle] = set()
    after = {direction: [edge for edge in edges if edge.source == direction] for direction in "RW"}

    def walks(walk: list[Edge]) -> Iterator[list[Edge]]:
        if len(walk) == size:
            yield walk
            return
        for edge in after[walk[-1].target]:
            if every or not _composes(walk[-1], edge):
                walk.append(edge)
                yield from walks(walk)
                walk.pop()

    for first in edges:
        if not first.external:
            continue
        for walk in walks([first]):
            cycle = valid(walk)
            if cycle is not None and cycle not in seen and (every or cycle.is_irreducible):
                seen.add(cycle)
                yield cycle


def valid(edges: Iterable[Edge]) -> Cycle | None:
    try:
        return Cycle(edges)
    except CycleError:
        return None


def sample(
    count: int,
    length: int,
    edges: Sequence[Edge],
    rng: random.Random,
    *,
    every: bool = False,
    keep: Callable[[Cycle], bool] = lambda cycle: True,
) -> Iterator[Cycle]:
    """``count`` different random cycles of at most ``length`` edges, for lengths where nobody wants them all; of those
    that ``keep`` wants. Gives up with an error when they seem not to exist."""
    seen: set[Cycle] = set()
    found = misses = 0
    while found < count:
        walk = [rng.choice(edges)]
        for _ in range(rng.randint(1, length - 1)):
            fitting = [e for e in edges if e.source == walk[-1].target and (every or not _composes(walk[-1], e))]
            walk.append(rng.choice(fitting))
        cycle = valid(walk)
        if cycle is not None and cycle not in seen and (every or cycle.is_irreducible):
            seen.add(cycle)
            if keep(cycle):
                found, misses = found + 1, 0
                yield cycle
                continue
        misses += 1
        if misses > 300 * (found + 100):
            raise CycleError(
                f"only {found} such cycles of at most {length} edges were found, not {count}; ask for all of them instead"
            )


def of_family(name: str, fences: Iterable[str] = ()) -> list[Cycle]:
    """The family's test with, on each program-order edge, nothing or one of the fences."""
    shapes = names.FAMILIES.get(name)
    if shapes is None:
        raise CycleError(f"no family is called {name!r}; there are {', '.join(names.FAMILIES)}")
    found: dict[Cycle, None] = {}

    def choose(threads: Sequence[str], edges: list[Edge]) -> None:
        if not threads:
            found.setdefault(Cycle(edges))
            return
        this, following = threads[0], (threads[1:] or shapes)[0]
        leaving = [edge for edge in EXTERNAL if (edge.source, edge.target) == (this[-1], following[0])]
        for inner in _within(name, this, fences):
            choose(threads[1:], [*edges, *inner, *leaving])

    choose(shapes, [])
    return sorted(found, key=lambda cycle: (len(cycle.name), cycle.name))


def _within(family: str, thread: str, fences: Iterable[str]) -> list[list[Edge]]:
    """What may lie between the first and the last access of a thread."""
    if len(thread) == 1:
        return [[]]
    same = family in names.COHERENCE
    kinds: list[str | None] = [None, *fences]
    ends = {(edge.source, edge.target): edge for edge in (POS if same else POD)}
    plain = ends[thread[0], thread[1]]  # type: ignore[index]
    return [[plain._replace(fence=fence)] for fence in kinds]
