"""Where control can go in a function of the compiler's assembly, from block to block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from teetotal.programs.c.assembly import Function, Statement

_LABEL = re.compile(r"\.L[\w.$]+")
_BRANCH = re.compile(r"\s*(j\w+|loop\w*)\s+(\.L[\w.$]+)\s*$")
_LEAVES = ("jmp", "ret", "ud2", "hlt")


class Labels(NamedTuple):
    before: dict[int, list[str]]
    """Those before each statement, by its identity."""
    tables: set[str]
    """Those that are known otherwise than as the target of a branch."""


def labels(statements: Sequence[Statement]) -> Labels:
    before: dict[int, list[str]] = {}
    tables: set[str] = set()
    pending: list[str] = []
    for statement in statements:
        if statement.label:
            pending.append(statement.label)
            continue
        if statement.is_code:
            if pending:
                before[id(statement)] = pending
                pending = []
        elif statement.text.lstrip().startswith((".section", ".loc", ".cfi", "#")):
            continue  # debugging information among it
        if ".L" in statement.text and _BRANCH.match(statement.text) is None:
            tables.update(_LABEL.findall(statement.text))
    return Labels(before, tables)


class Flow:
    """Of one function."""

    def __init__(self, function: Function, found: Labels) -> None:
        self.blocks = function.blocks
        names = [found.before.get(id(block[0].statement), []) for block in function.blocks]
        self._places = {name: number for number, before in enumerate(names) for name in before}
        self.anywhere = [
            number == 0 or any(name in found.tables or name[0].isdigit() for name in before)
            for number, before in enumerate(names)
        ]
        """Of each block: whether it can be come to from a table, or from outside."""

    def successors(self, number: int) -> Iterator[int]:
        """As far as the code says."""
        last = self.blocks[number][-1]
        target = _BRANCH.match(last.statement.text)
        if target is not None and target.group(2) in self._places:
            yield self._places[target.group(2)]
        if last.instruction.name not in _LEAVES and number + 1 < len(self.blocks):
            yield number + 1

    def strays(self, number: int) -> bool:
        """Whether it may go on elsewhere in the function: by a table, or to a label that is a number."""
        last = self.blocks[number][-1]
        if not last.instruction.ends_block or last.instruction.name in ("ret", "ud2", "hlt"):
            return False
        target = _BRANCH.match(last.statement.text)
        return target is None or target.group(2) not in self._places
