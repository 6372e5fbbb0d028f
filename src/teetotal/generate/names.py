"""Names of tests: the classical family, then what lies within each thread, as diy has it.

``MP+mfence+po`` is message passing with an mfence in the first thread; ``SB+mfences`` has one in each, and ``SB`` none
at all. A thread with more than one edge joins them: ``po-rfi``. Families are known by what each thread begins and ends
with: ``WW+RR`` is MP. What has no classical name is called by that: ``WW+RR+WR+WR+…``.

Of a test's rotations, the one with the smallest family name counts, then the one with the smallest labels: W before WW
before RR before RW before WR, and short labels before long ones.

One deviation: diy numbers tests whose names collide (``SB+po+po-po001``), so a name's meaning depends on what else was
generated. Here an access between two program-order edges is named (``SB+po+po-W-po``), and no two cycles share a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from teetotal.generate.edges import Edge

FAMILIES: dict[str, tuple[str, ...]] = {
    "SB": ("WR", "WR"),
    "LB": ("RW", "RW"),
    "MP": ("WW", "RR"),
    "S": ("WW", "RW"),
    "R": ("WW", "WR"),
    "2+2W": ("WW", "WW"),
    "WRC": ("W", "RW", "RR"),
    "WWC": ("W", "RW", "RW"),
    "RWC": ("W", "RR", "WR"),
    "WRR+2W": ("W", "RR", "WW"),
    "WRW+WR": ("W", "RW", "WR"),
    "WRW+2W": ("W", "RW", "WW"),
    "3.SB": ("WR", "WR", "WR"),
    "3.LB": ("RW", "RW", "RW"),
    "3.2W": ("WW", "WW", "WW"),
    "ISA2": ("WW", "RW", "RR"),
    "W+RWC": ("WW", "RR", "WR"),
    "Z6.0": ("WW", "RW", "WR"),
    "Z6.1": ("WW", "WW", "RW"),
    "Z6.2": ("WW", "RW", "RW"),
    "Z6.3": ("WW", "WW", "RR"),
    "Z6.4": ("WW", "WR", "WR"),
    "Z6.5": ("WW", "WW", "WR"),
    "IRIW": ("W", "RR", "W", "RR"),
    "IRRWIW": ("W", "RR", "W", "RW"),
    "IRWIW": ("W", "RW", "W", "RW"),
    "4.SB": ("WR",) * 4,
    "4.LB": ("RW",) * 4,
    "4.2W": ("WW",) * 4,
    "CoRR": ("W", "RR"),
    "CoRW2": ("W", "RW"),
    "CoWR": ("W", "WR"),
}
"""What each thread begins and ends with, in the order in which the name's labels go."""

COHERENCE = {"CoRR", "CoRW2", "CoWR"}
"""Families whose accesses are all at one location."""

_ORDER = {shape: rank for rank, shape in enumerate(("W", "R", "WW", "RR", "RW", "WR"))}
_NAMES = {shapes: name for name, shapes in FAMILIES.items() if name not in COHERENCE}
_COHERENCE_NAMES = {FAMILIES[name]: name for name in COHERENCE}


def canonical(edges: Sequence[Edge]) -> tuple[Edge, ...]:
    """The rotation that counts: it begins where a thread does."""
    starts = [(i + 1) % len(edges) for i, edge in enumerate(edges) if edge.external]
    rotations = [(*edges[start:], *edges[:start]) for start in starts]
    return min(rotations, key=_key)


def threads(edges: Sequence[Edge]) -> list[list[Edge]]:
    """The edges within each thread, for edges that begin where a thread does."""
    found: list[list[Edge]] = [[]]
    for edge in edges:
        if edge.external:
            found.append([])
        else:
            found[-1].append(edge)
    return found[:-1]


def shapes(edges: Sequence[Edge]) -> tuple[str, ...]:
    """First and last access of each thread."""
    result: list[str] = []
    first = edges[0].source
    fresh = True
    for edge, after in zip(edges, (*edges[1:], edges[0]), strict=True):
        if edge.external:
            result.append(first if fresh else first + edge.source)
            first, fresh = after.source, True
        else:
            fresh = False
    return tuple(result)


def family(edges: Sequence[Edge]) -> str:
    """Of edges in the rotation that counts."""
    shape = shapes(edges)
    if [edge.label for edge in edges if not edge.external] == ["pos"] and shape in _COHERENCE_NAMES:
        return _COHERENCE_NAMES[shape]
    return _NAMES.get(shape, "+".join(shape))


def name(edges: Sequence[Edge]) -> str:
    """Of edges in the rotation that counts."""
    base = family(edges)
    labels = [_label(inner) for inner in threads(edges) if inner]
    if base in COHERENCE or set(labels) <= {"po"}:
        return base
    if len(set(labels)) == 1 and len(labels) > 1:
        return f"{base}+{labels[0]}s"
    return "+".join([base, *labels])


def _label(inner: Sequence[Edge]) -> str:
    parts = [inner[0].label]
    for edge, after in pairwise(inner):
        if not edge.names_its_ends and not after.names_its_ends:
            parts.append(edge.target)
        parts.append(after.label)
    return "-".join(parts)


def _key(edges: tuple[Edge, ...]) -> tuple[list[int], list[tuple[int, str]]]:
    labels = [_label(inner) if inner else "" for inner in threads(edges)]
    return [_ORDER[shape] for shape in shapes(edges)], [(label.count("-"), label) for label in labels]
