"""What can be done against a violation: put in a fence, or make a store that is there stronger.

What a stronger store does on TSO and PSO (docs/explanation/c-runtime.md: orders become events), told as fences around it:

==========================  =======================  =============================================================
kind                        events                   as fences
==========================  =======================  =============================================================
``release``                 sfence, st               an sfence before it
``seq_cst``                 sfence, st, mfence       an sfence before it, an mfence after it
``rmw``, a seq_cst one      rmw; with ``--rmw        the same: everything older is visible before it, and it is before
                            address`` sfence, rmw    anything younger. What it reads, nobody looks at.
==========================  =======================  =============================================================

Loads need nothing: no load is late on either machine, whatever its order.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal

from teetotal.answers.events import Kind, MemoryOrder


class Order(Enum):
    """Of an access. Those that only C11 minds (``relaxed``: as weak as can be) are nothing to TSO and PSO."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SEQ_CST = "seq_cst"
    RMW = "rmw"

    def __str__(self) -> str:
        return self.value

    @property
    def is_full(self) -> bool:
        """Whether nothing younger overtakes the store either."""
        return self in (Order.SEQ_CST, Order.RMW)


class C11Fence(Enum):
    """Fences that differ from an mfence (seq_cst) and an sfence (release) in C11 alone."""

    NONE = "no_fence"
    ACQUIRE = "acquire_fence"
    ACQ_REL = "acq_rel_fence"

    def __str__(self) -> str:
        return self.value


Remedy = Kind | Order | C11Fence
"""``Kind.MFENCE``, ``Kind.SFENCE``, another fence of C11's, or an order."""
FENCES: dict[MemoryOrder, Remedy] = {
    "relaxed": C11Fence.NONE,
    "acquire": C11Fence.ACQUIRE,
    "release": Kind.SFENCE,
    "acq_rel": C11Fence.ACQ_REL,
    "seq_cst": Kind.MFENCE,
}
FenceKind = Literal[Kind.MFENCE, Kind.SFENCE]
KINDS: tuple[FenceKind, FenceKind] = (Kind.MFENCE, Kind.SFENCE)
RemedyName = Literal[
    "mfence", "sfence", "acquire_fence", "acq_rel_fence", "no_fence",
    "relaxed", "acquire", "release", "acq_rel", "seq_cst", "rmw",
]  # fmt: skip
