"""What C11's orders compile to on each processor, and what that costs: the table behind ``--target``.

Instructions are those of the usual mappings (GCC, Clang; for POWER and RISC-V the "leading fence" ones that both use).
Costs are relative: 1 is what a compiler may no longer do, with no instruction of its own; a full fence is 10 to 20. They
order choices and predict no nanosecond. A stronger order never costs less.

Without ``--target`` orders come first: any order of an access is cheaper than any fence.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

import msgspec

from teetotal.answers.events import MemoryOrder

Target = Literal["x86", "arm64", "power", "riscv"]
Operation = Literal["load", "store", "rmw", "fence"]


class Compiled(NamedTuple):
    cost: int
    instructions: str


_ORDERS: dict[str, tuple[MemoryOrder, ...]] = {
    "load": ("relaxed", "acquire", "seq_cst"),
    "store": ("relaxed", "release", "seq_cst"),
    "rmw": ("relaxed", "acquire", "release", "acq_rel", "seq_cst"),
    "fence": ("relaxed", "acquire", "release", "acq_rel", "seq_cst"),
}
"""What each operation can have, the columns of the tables below."""
_COSTS = {"load": (0, 2, 4), "store": (0, 2, 4), "rmw": (0, 2, 2, 3, 4), "fence": (0, 20, 20, 30, 40)}
_COMPILED: dict[Target, dict[str, tuple[tuple[int, str], ...]]] = {
    "x86": {
        "load": ((0, "mov"), (1, "mov"), (2, "mov")),
        "store": ((0, "mov"), (1, "mov"), (10, "xchg")),
        "rmw": ((0, "lock …"), (1, "lock …"), (1, "lock …"), (2, "lock …"), (3, "lock …")),
        "fence": ((0, ""), (1, ""), (1, ""), (2, ""), (10, "mfence")),
    },
    "arm64": {
        "load": ((0, "ldr"), (2, "ldapr"), (4, "ldar")),
        "store": ((0, "str"), (3, "stlr"), (4, "stlr")),
        "rmw": ((0, "ldadd …"), (2, "ldadda …"), (3, "ldaddl …"), (4, "ldaddal …"), (5, "ldaddal …")),
        "fence": ((0, ""), (6, "dmb ishld"), (10, "dmb ish"), (11, "dmb ish"), (12, "dmb ish")),
    },
    "power": {
        "load": ((0, "ld"), (4, "ld; cmp; bc; isync"), (20, "hwsync; ld; cmp; bc; isync")),
        "store": ((0, "st"), (6, "lwsync; st"), (16, "hwsync; st")),
        "rmw": (
            (0, "larx; stcx."),
            (4, "larx; stcx.; isync"),
            (6, "lwsync; larx; stcx."),
            (10, "lwsync; larx; stcx.; isync"),
            (20, "hwsync; larx; stcx.; isync"),
        ),
        "fence": ((0, ""), (6, "lwsync"), (7, "lwsync"), (8, "lwsync"), (16, "hwsync")),
    },
    "riscv": {
        "load": ((0, "l"), (4, "l; fence r,rw"), (14, "fence rw,rw; l; fence r,rw")),
        "store": ((0, "s"), (4, "fence rw,w; s"), (14, "fence rw,w; s; fence rw,rw")),
        "rmw": ((0, "amo"), (2, "amo.aq"), (2, "amo.rl"), (4, "amo.aqrl"), (5, "amo.aqrl")),
        "fence": ((0, ""), (4, "fence r,rw"), (5, "fence rw,w"), (6, "fence.tso"), (10, "fence rw,rw")),
    },
}
ANY = {operation: dict(zip(orders, _COSTS[operation], strict=True)) for operation, orders in _ORDERS.items()}
"""Costs where no target is given."""
TARGETS = {
    target: {
        operation: {order: Compiled(*one) for order, one in zip(_ORDERS[operation], row, strict=True)}
        for operation, row in table.items()
    }
    for target, table in _COMPILED.items()
}


class OrderCosts(msgspec.Struct, frozen=True):
    """Of orders of accesses and of fences, on a ``target``; ``loop`` as ``answers.costs`` has it."""

    target: Target | None = None
    loop: Fraction = Fraction(4)

    def of(self, operation: Operation, order: MemoryOrder, in_loop: bool) -> Fraction:
        once = ANY[operation][order] if self.target is None else TARGETS[self.target][operation][order].cost
        return Fraction(once) * (self.loop if in_loop else 1)
