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


_R, _A, _L, _AL, _S = "relaxed", "acquire", "release", "acq_rel", "seq_cst"
ANY: dict[str, dict[str, int]] = {
    "load": {_R: 0, _A: 2, _S: 4},
    "store": {_R: 0, _L: 2, _S: 4},
    "rmw": {_R: 0, _A: 2, _L: 2, _AL: 3, _S: 4},
    "fence": {_R: 0, _A: 20, _L: 20, _AL: 30, _S: 40},
}
"""Costs where no target is given."""
TARGETS: dict[Target, dict[str, dict[str, Compiled]]] = {
    "x86": {
        "load": {_R: Compiled(0, "mov"), _A: Compiled(1, "mov"), _S: Compiled(2, "mov")},
        "store": {_R: Compiled(0, "mov"), _L: Compiled(1, "mov"), _S: Compiled(10, "xchg")},
        "rmw": {
            _R: Compiled(0, "lock …"),
            _A: Compiled(1, "lock …"),
            _L: Compiled(1, "lock …"),
            _AL: Compiled(2, "lock …"),
            _S: Compiled(3, "lock …"),
        },
        "fence": {
            _R: Compiled(0, ""),
            _A: Compiled(1, ""),
            _L: Compiled(1, ""),
            _AL: Compiled(2, ""),
            _S: Compiled(10, "mfence"),
        },
    },
    "arm64": {
        "load": {_R: Compiled(0, "ldr"), _A: Compiled(2, "ldapr"), _S: Compiled(4, "ldar")},
        "store": {_R: Compiled(0, "str"), _L: Compiled(3, "stlr"), _S: Compiled(4, "stlr")},
        "rmw": {
            _R: Compiled(0, "ldadd …"),
            _A: Compiled(2, "ldadda …"),
            _L: Compiled(3, "ldaddl …"),
            _AL: Compiled(4, "ldaddal …"),
            _S: Compiled(5, "ldaddal …"),
        },
        "fence": {
            _R: Compiled(0, ""),
            _A: Compiled(6, "dmb ishld"),
            _L: Compiled(10, "dmb ish"),
            _AL: Compiled(11, "dmb ish"),
            _S: Compiled(12, "dmb ish"),
        },
    },
    "power": {
        "load": {
            _R: Compiled(0, "ld"),
            _A: Compiled(4, "ld; cmp; bc; isync"),
            _S: Compiled(20, "hwsync; ld; cmp; bc; isync"),
        },
        "store": {_R: Compiled(0, "st"), _L: Compiled(6, "lwsync; st"), _S: Compiled(16, "hwsync; st")},
        "rmw": {
            _R: Compiled(0, "larx; stcx."),
            _A: Compiled(4, "larx; stcx.; isync"),
            _L: Compiled(6, "lwsync; larx; stcx."),
            _AL: Compiled(10, "lwsync; larx; stcx.; isync"),
            _S: Compiled(20, "hwsync; larx; stcx.; isync"),
        },
        "fence": {
            _R: Compiled(0, ""),
            _A: Compiled(6, "lwsync"),
            _L: Compiled(7, "lwsync"),
            _AL: Compiled(8, "lwsync"),
            _S: Compiled(16, "hwsync"),
        },
    },
    "riscv": {
        "load": {
            _R: Compiled(0, "l"),
            _A: Compiled(4, "l; fence r,rw"),
            _S: Compiled(14, "fence rw,rw; l; fence r,rw"),
        },
        "store": {
            _R: Compiled(0, "s"),
            _L: Compiled(4, "fence rw,w; s"),
            _S: Compiled(14, "fence rw,w; s; fence rw,rw"),
        },
        "rmw": {
            _R: Compiled(0, "amo"),
            _A: Compiled(2, "amo.aq"),
            _L: Compiled(2, "amo.rl"),
            _AL: Compiled(4, "amo.aqrl"),
            _S: Compiled(5, "amo.aqrl"),
        },
        "fence": {
            _R: Compiled(0, ""),
            _A: Compiled(4, "fence r,rw"),
            _L: Compiled(5, "fence rw,w"),
            _AL: Compiled(6, "fence.tso"),
            _S: Compiled(10, "fence rw,rw"),
        },
    },
}


class OrderCosts(msgspec.Struct, frozen=True):
    """Of orders of accesses and of fences, on a ``target``; ``loop`` as ``answers.costs`` has it."""

    target: Target | None = None
    loop: Fraction = Fraction(4)

    def of(self, operation: Operation, order: MemoryOrder, in_loop: bool) -> Fraction:
        once = ANY[operation][order] if self.target is None else TARGETS[self.target][operation][order].cost
        return Fraction(once) * (self.loop if in_loop else 1)
