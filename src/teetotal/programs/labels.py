"""Code in the making, in which jumps name places that are not known yet."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from teetotal.answers.events import Location
from teetotal.programs.expressions import Expr
from teetotal.programs.program import Branch, Instruction


class Label:
    """A place in the code that jumps can name before it is known."""


class Jump(msgspec.Struct, frozen=True):
    """A ``Branch`` whose target is not known yet."""

    target: Label
    when: Expr
    location: Location | None


Item = Instruction | Jump | Label


def resolved(items: Sequence[Item]) -> tuple[Instruction, ...]:
    """With numbers for labels."""
    positions: dict[Label, int] = {}
    for number, item in enumerate(items):
        if isinstance(item, Label):
            positions[item] = number - len(positions)
    return tuple(
        Branch(target=positions[item.target], when=item.when, location=item.location)
        if isinstance(item, Jump)
        else item
        for item in items
        if not isinstance(item, Label)
    )
