"""From a text with orders to the skeletons of its programs (``orders_problem``), by asking its own reader.

The text is written with every place as strong as it can be, and then once more for each place with another order there: the
instructions that differ are that place's. So nothing has to be known of how a front end makes instructions of words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from teetotal.answers.events import MemoryOrder
from teetotal.fences.edits import Patched
from teetotal.fences.orders import VALID, Place, Sites
from teetotal.fences.orders_problem import Owner, Skeleton
from teetotal.fences.slots import Slot
from teetotal.fences.sources import relocated
from teetotal.programs.program import Fence, Load, Program, Rmw, Store


class OrderedText(Protocol):
    """``places`` by number."""

    path: str
    text: str
    notes: list[str]

    @property
    def places(self) -> Sequence[Place]: ...

    def written(self, orders: Mapping[int, MemoryOrder]) -> Patched:
        """With these places' orders; its ``lines`` are by places."""
        ...

    def programs(self, text: str) -> list[Program]: ...


def skeletons(source: OrderedText, sites: Sites) -> list[Skeleton]:
    asked = [number for number, own in enumerate(sites.of_place) if own]
    everywhere: dict[int, MemoryOrder] = {}
    for number in asked:
        place = source.places[number]
        everywhere[number] = place.was if sites.weaken else VALID[place.what][-1]
    patched = source.written(everywhere)
    programs = [relocated(program, patched.was, source.path) for program in source.programs(patched.text)]
    owners: list[dict[Slot, Owner]] = [{} for _ in programs]
    for number in asked:
        other: MemoryOrder = "relaxed"
        if source.places[number].is_fence:
            other = "release" if everywhere[number] == "acquire" else "acquire"
        probed = source.programs(source.written({**everywhere, number: other}).text)
        for own, program, probe in zip(owners, programs, probed, strict=True):
            _add_owner(own, number, source.places[number].what == "failure", program, probe)
    return [Skeleton(program, own) for program, own in zip(programs, owners, strict=True)]


def _add_owner(owners: dict[Slot, Owner], number: int, fails: bool, program: Program, probe: Program) -> None:
    for thread, (one, two) in enumerate(zip(program.threads, probe.threads, strict=True)):
        seen = iter([_orders(instruction) for instruction in two.code if _counts(instruction)])
        for pc, instruction in enumerate(one.code):
            if not _counts(instruction) or next(seen) == _orders(instruction):
                continue
            known = owners.get(Slot(thread, pc), Owner(number))
            owners[Slot(thread, pc)] = known._replace(failure=number) if fails else known._replace(place=number)


def _counts(instruction: object) -> bool:
    """Not a fence that is part of an access: that comes and goes with the order."""
    return isinstance(instruction, Load | Store | Rmw | Fence) and not (
        isinstance(instruction, Fence) and instruction.order == "na"
    )


def _orders(instruction: object) -> tuple[object, object]:
    return getattr(instruction, "order", None), getattr(instruction, "failure", None)
