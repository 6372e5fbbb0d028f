"""The edges of a critical cycle, in the notation of diy.

Alglave, Maranget, Sarkar, Sewell, "Fences in weak memory models" (CAV 2010), section 4, and the diy tool:

====================  ==========================================================================================
edge                  from → to
====================  ==========================================================================================
``Rfe``, ``Rfi``      a write → a read of it, by another thread (external) or the same (internal)
``Fre``, ``Fri``      a read → a write that comes after the one it read from, in coherence order
``Coe``, ``Coi``      a write → a write that comes after it in coherence order (diy also says ``Wse``, ``Wsi``)
``PodRW`` …           program order to another location; R and W say what the two accesses are
``PosRW`` …           program order, same location
``MFencedRW`` …       as ``Pod``, with an mfence between; ``MFencesRW`` as ``Pos``
``SFencedRW`` …       the same with an sfence
``XchgdRW`` …         the same with an exchange (an rmw) on a location that nobody else uses
``Rmw``               the read of an rmw → its write: both ends are one instruction
====================  ==========================================================================================

``Xchgd`` and ``Rmw`` are the two places of an rmw. diy has the second; the first is ours, since what an rmw does to
the stores before it is what the models disagree about.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Kind

Direction = Literal["R", "W"]
Relation = Literal["rf", "fr", "co", "po", "rmw"]

FENCES: dict[str, Kind] = {"mfence": Kind.MFENCE, "sfence": Kind.SFENCE, "xchg": Kind.RMW}
"""What may stand on a program-order edge, by the name in options and test names."""
_FENCE_SPELLING = {"mfence": "MFence", "sfence": "SFence", "xchg": "Xchg"}


class CycleError(TeetotalError):
    """Not a cycle that makes a litmus test."""


class Edge(NamedTuple):
    """``external``: to another thread. ``same``: to the same location. ``fence``: what stands between, for po."""

    relation: Relation
    source: Direction
    target: Direction
    external: bool = False
    same: bool = True
    fence: str | None = None

    def __str__(self) -> str:
        match self.relation:
            case "rmw":
                return "Rmw"
            case "po":
                spelling = "Po" if self.fence is None else _FENCE_SPELLING[self.fence]
                return f"{spelling}{'s' if self.same else 'd'}{self.source}{self.target}"
        return f"{self.relation.capitalize()}{'e' if self.external else 'i'}"

    @property
    def label(self) -> str:
        """As in the name of a test: ``po``, ``pos``, ``mfence``, ``rfi``."""
        match self.relation:
            case "rmw":
                return "rmw"
            case "po":
                return (self.fence or "po") + ("s" if self.same else "")
        return f"{self.relation}{'e' if self.external else 'i'}"

    @property
    def names_its_ends(self) -> bool:
        """Whether the label alone tells the directions of both ends."""
        return self.relation != "po"


def po(source: Direction, target: Direction, *, same: bool = False, fence: str | None = None) -> Edge:
    return Edge("po", source, target, same=same, fence=fence)


_DIRECTIONS: tuple[Direction, ...] = ("R", "W")
_PAIRS = [(source, target) for source in _DIRECTIONS for target in _DIRECTIONS]

EXTERNAL = (
    Edge("rf", "W", "R", external=True),
    Edge("fr", "R", "W", external=True),
    Edge("co", "W", "W", external=True),
)
INTERNAL = tuple(edge._replace(external=False) for edge in EXTERNAL)
RMW = Edge("rmw", "R", "W")
POD = tuple(po(source, target) for source, target in _PAIRS)
POS = tuple(po(source, target, same=True) for source, target in _PAIRS)


def fenced(fence: str, *, same: bool = False) -> tuple[Edge, ...]:
    return tuple(po(source, target, same=same, fence=fence) for source, target in _PAIRS)


ALL = (
    *EXTERNAL,
    *INTERNAL,
    RMW,
    *POD,
    *POS,
    *(edge for fence in FENCES for same in (False, True) for edge in fenced(fence, same=same)),
)
_BY_NAME = {str(edge).lower(): edge for edge in ALL} | {"wse": EXTERNAL[2], "wsi": INTERNAL[2]}


def parse(text: str) -> Edge:
    edge = _BY_NAME.get(text.lower())
    if edge is None:
        raise CycleError(
            f"{text!r} is no edge; there are Rfe Fre Coe Rfi Fri Coi Rmw, and PodXY PosXY MFencedXY MFencesXY "
            "SFencedXY SFencesXY XchgdXY XchgsXY with R or W for X and Y"
        )
    return edge
