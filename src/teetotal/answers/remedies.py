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

from teetotal.answers.events import Kind


class Order(Enum):
    RELEASE = "release"
    SEQ_CST = "seq_cst"
    RMW = "rmw"

    def __str__(self) -> str:
        return self.value

    @property
    def is_full(self) -> bool:
        """Whether nothing younger overtakes the store either."""
        return self is not Order.RELEASE


Remedy = Kind | Order
"""``Kind.MFENCE``, ``Kind.SFENCE`` or an order."""
FenceKind = Literal[Kind.MFENCE, Kind.SFENCE]
KINDS: tuple[FenceKind, FenceKind] = (Kind.MFENCE, Kind.SFENCE)
RemedyName = Literal["mfence", "sfence", "release", "seq_cst", "rmw"]
