"""What a fence costs: its kind, and whether a loop runs it again and again."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from teetotal.errors import TeetotalError
from teetotal.events import Kind

PREFERRED = Fraction(999, 1000)
"""Of two fences of the same cost the one that is there already: nothing is changed for nothing."""
_NAMES = ("mfence", "sfence", "loop")


class Costs(msgspec.Struct, frozen=True):
    """An mfence waits until the buffer is empty, an sfence only keeps an order: measured on processors the first costs
    several times the second. ``loop`` multiplies the cost of a fence that a loop can run again."""

    mfence: Fraction = Fraction(10)
    sfence: Fraction = Fraction(3)
    loop: Fraction = Fraction(4)

    def of(self, kind: Kind, in_loop: bool) -> Fraction:
        return (self.mfence if kind is Kind.MFENCE else self.sfence) * (self.loop if in_loop else 1)


def parse(text: str) -> Costs:
    """``mfence=10,sfence=1,loop=4``, any of them."""
    given: dict[str, Fraction] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        try:
            number = Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise TeetotalError(f"--cost {part}: expected a number, as in mfence=10,sfence=1,loop=4") from None
        if name not in _NAMES:
            raise TeetotalError(f"--cost {part}: there are costs for {', '.join(_NAMES)}")
        if number <= 0:
            raise TeetotalError(f"--cost {part}: a cost is more than 0")
        given[name] = number
    return Costs(**given)
