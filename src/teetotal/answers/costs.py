"""What a fence or a stronger order costs: its kind, and whether a loop runs it again and again."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import msgspec

from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Kind
from teetotal.answers.remedies import Order, Remedy

PREFERRED = Fraction(999, 1000)
"""Of two fences of the same cost the one that is there already: nothing is changed for nothing."""


class Costs(msgspec.Struct, frozen=True):
    """An mfence waits until the buffer is empty, an sfence only keeps an order: measured on processors the first costs
    several times the second. A stronger order is a little cheaper than the fence that it saves: no further instruction.
    ``loop`` multiplies the cost of what a loop can run again."""

    mfence: Fraction = Fraction(10)
    sfence: Fraction = Fraction(3)
    release: Fraction = Fraction(2)
    seq_cst: Fraction = Fraction(9)
    rmw: Fraction = Fraction(10)
    loop: Fraction = Fraction(4)

    def of(self, kind: Remedy, in_loop: bool) -> Fraction:
        once = {
            Kind.MFENCE: self.mfence,
            Kind.SFENCE: self.sfence,
            Order.RELEASE: self.release,
            Order.SEQ_CST: self.seq_cst,
            Order.RMW: self.rmw,
        }[kind]
        return once * (self.loop if in_loop else 1)

    def worth_trying(self, orders: Iterable[Order]) -> tuple[Order, ...]:
        """Without an rmw that is dearer than a seq_cst store: it does the same (``kinds``), so no minimal set has it; and
        the other way round."""
        asked = list(orders)
        if Order.RMW in asked and Order.SEQ_CST in asked and self.rmw != self.seq_cst:
            asked.remove(Order.RMW if self.rmw > self.seq_cst else Order.SEQ_CST)
        return tuple(asked)


def parse(text: str) -> Costs:
    """``mfence=10,sfence=1,loop=4``, any of them."""
    names = Costs.__struct_fields__
    given: dict[str, Fraction] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        try:
            if len(value) > 20 or "e" in value.lower():  # a thousand digits are as good as none
                raise ValueError
            number = Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise TeetotalError(f"--cost {part}: expected a number, as in mfence=10,sfence=1,loop=4") from None
        if name not in names:
            raise TeetotalError(f"--cost {part}: there are costs for {', '.join(names)}")
        if number <= 0:
            raise TeetotalError(f"--cost {part}: a cost is more than 0")
        given[name] = number
    return Costs(**given)
