"""Small random histories for the tests, valid and not."""

from __future__ import annotations

import random

from teetotal.answers.events import Kind
from teetotal.histories.history import History, Operation

ADDRESSES = "xyzuvw"


def random_small(
    rng: random.Random,
    *,
    threads: int = 3,
    operations: int = 8,
    addresses: int = 2,
    fences: float = 0.1,
    rmws: float = 0.1,
    values: int | None = None,
    unknown: float = 0.0,
    failing: float = 0.0,
) -> History:
    """Reads get any value of their address, so about half of these are inconsistent. ``values`` bounds the values, so
    that they repeat. ``failing``: so many of the rmws write nothing."""
    written = [0] * addresses
    plan: list[list[object]] = []
    for _ in range(operations):
        thread, address, choice = str(rng.randrange(threads)), rng.randrange(addresses), rng.random()
        if choice < fences:
            plan.append([thread, rng.choice([Kind.MFENCE, Kind.SFENCE]), None, None])
            continue
        kind = Kind.RMW if choice < fences + rmws else Kind.ST if choice < 0.55 else Kind.LD
        written[address] += kind is not Kind.LD
        plan.append([thread, kind, address, None if kind is Kind.LD else written[address]])
    result = []
    for thread, kind, address, value in plan:
        if address is None:
            result.append(Operation(thread, kind))
            continue
        read = None
        if kind is not Kind.ST and rng.random() >= unknown:
            read = rng.choice([v for v in range(written[address] + 1) if v != value])
        if values:
            read, value = (None if v is None else v % values for v in (read, value))
        if failing and kind is Kind.RMW and rng.random() < failing:
            value = None
        result.append(Operation(thread, kind, ADDRESSES[address], read, value))
    return History.of(result)
