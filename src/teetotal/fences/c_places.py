"""The places of a C or C++ text that have an order of C11, or could have a fence, and their edits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from teetotal.answers.events import Location, MemoryOrder
from teetotal.fences.c_atomics import AtomicCall
from teetotal.fences.c_gaps import Gap, Gaps, Statement
from teetotal.fences.edits import Edit
from teetotal.fences.orders import WHERE_IT_FAILS, Place

Words = Callable[[MemoryOrder], str]
"""A fence of this order as a statement."""


class CPlaces:
    """The gaps first, unless only what is written counts (``weaken``), then call by call their orders. ``first``: the
    number of the first place."""

    def __init__(self, gaps: Gaps, location: Callable[[int], Location], weaken: bool, first: int = 0) -> None:
        self.gaps, self.first = gaps, first
        self.places: list[Place] = []
        self.calls: list[tuple[AtomicCall, int]] = []  # each with the number of its first place
        self.put: list[Gap] = [] if weaken else gaps.gaps
        for gap in self.put:
            words = gaps.words(gap.statement)
            self.places.append(
                Place(
                    what="gap",
                    was="relaxed",
                    location=location(gap.statement.start),
                    after="" if gap.before else words,
                    before=words if gap.before else "",
                    in_loop=gap.in_loop,
                )
            )
        for call in gaps.atomics:
            own = first + len(self.places)
            self.calls.append((call, own))
            for number, written in enumerate(call.orders):
                self.places.append(
                    Place(
                        what="failure" if number else call.what,
                        was=written.order,
                        location=location(call.start),
                        at=gaps.words(call) + (WHERE_IT_FAILS if number else ""),
                        in_loop=call.in_loop,
                        success=own if number else None,
                    )
                )
        self._statements = {gap.statement.start: gap.statement for gap in gaps.gaps}

    def edits(self, orders: Mapping[int, MemoryOrder], words: Words) -> list[Edit]:
        """Those that give these places these orders; keys are places. A fence that is relaxed is none, and goes."""
        put = [
            (gap, words(orders[self.first + number]), self.first + number)
            for number, gap in enumerate(self.put)
            if orders.get(self.first + number, "relaxed") != "relaxed"
        ]
        gone = [
            statement
            for call, own in self.calls
            if call.what == "fence" and orders.get(own) == "relaxed"
            if (statement := self._alone(call)) is not None
        ]
        edits = self.gaps.patch(put, gone)
        for call, own in self.calls:
            changed = {n: orders[own + n] for n in range(len(call.orders)) if own + n in orders}
            changed = {n: order for n, order in changed.items() if order != call.orders[n].order}
            if changed and not (call.what == "fence" and self._alone(call) in gone):
                for edit in call.edits(changed, own):
                    key = None if edit.key is None else own + edit.key[1]  # type: ignore[index]
                    edits.append(edit._replace(key=key))
        return edits

    def _alone(self, call: AtomicCall) -> Statement | None:
        """The statement that a fence makes by itself."""
        statement = self._statements.get(call.start)
        rest = "" if statement is None else self.gaps.text[call.end : statement.end].strip()
        return statement if rest == ";" else None


def fence_words(style: str) -> Words:
    kernel = {
        "acquire": "smp_rmb();",
        "release": "smp_wmb();",
        "acq_rel": "smp_rmb(); smp_wmb();",
        "seq_cst": "smp_mb();",
    }

    def words(order: MemoryOrder) -> str:
        if style == "linux":
            return kernel[order]
        if style == "builtin":
            return f"__atomic_thread_fence(__ATOMIC_{order.upper()});"
        std = "std::" if style == "cpp11" else ""
        return f"{std}atomic_thread_fence({std}memory_order_{order});"

    return words
