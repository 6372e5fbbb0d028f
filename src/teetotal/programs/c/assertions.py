"""Where a program's assertions are decided: a pass over the assembly lists them, so that the runtime can tell which of
them some execution comes to (runtime/telling/assertions.hpp).

``assert`` is a branch over a call of ``__assert_fail``. What is listed, with the call, is where code of the same line
begins, before the call; where there is none, as for ``assert(0)``, the jumps that lead to the call, or the call itself. So
what shares a line with something that runs counts as evaluated. Nothing is changed in the code.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from pathlib import Path
from typing import NamedTuple

from teetotal.answers.events import Location
from teetotal.programs.c.assembly import Function, Item, Text
from teetotal.programs.c.build import Source, expanded
from teetotal.programs.c.compilers import ASSEMBLY_SUFFIXES
from teetotal.programs.c.control_flow import Flow, labels
from teetotal.programs.c.instrument import att
from teetotal.programs.c.objects import Object, Section

SECTION = ".teetotal.assertions"
FAILS = "__assert_fail"
_MARKER = re.compile(r'# (\d+) "')
_TEXT = r'"(?:[^"\\]|\\.)*"'
_WRITTEN = re.compile(rf'\b{FAILS}\s*\(\s*{_TEXT}\s*,\s*"((?:[^"\\]|\\.)*)"\s*,\s*(\d+)\s*,')
_ENTRY = struct.Struct("<ii")


class Decision(NamedTuple):
    """Offsets in the program: of the instruction that decides, and of the call."""

    place: int
    call: int


class Assertions:
    """A pass over the assembly: puts the table there."""

    def __init__(self) -> None:
        self._numbers = count()

    def __call__(self, program: Text, functions: Sequence[Function]) -> None:
        failing = [one for one in functions if any(item.calls == FAILS for block in one.blocks for item in block)]
        found = labels(program.statements) if failing else None
        for function in failing:
            assert found is not None
            flow = Flow(function, found)
            for number, block in enumerate(function.blocks):
                for call in block:
                    if call.calls == FAILS:
                        for decides in _same_line(flow, number, call) or _deciding(flow, number) or [call]:
                            self._list(decides, call)

    def _list(self, decides: Item, call: Item) -> None:
        here, there = self._label(decides), self._label(call)
        begin = [f'\t.pushsection {SECTION},"a?",@progbits', "\t.balign 4"]
        entry = [*begin, f"\t.long {here} - ., {there} - .", "\t.popsection"]
        call.statement.before += att(entry, call.statement)

    def _label(self, item: Item) -> str:
        label = f".Lteetotal_asserts_{next(self._numbers)}"
        item.statement.before += att([f"{label}:"], item.statement)
        return label


def _same_line(flow: Flow, failing: int, call: Item) -> list[Item]:
    """What comes first in each block, but the one that fails."""
    place = call.statement.place
    found = [
        next((item for item in block if item.whole and not item.statement.app and item.statement.place == place), None)
        for number, block in enumerate(flow.blocks)
        if number != failing and place is not None
    ]
    return [item for item in found if item is not None]


def _deciding(flow: Flow, number: int) -> list[Item]:
    """The conditional jumps that lead to a block: its predecessors' last, or theirs where one only runs into it."""
    found: list[Item] = []
    open_, seen = [number], {number}
    while open_:
        target = open_.pop()
        for before, block in enumerate(flow.blocks):
            if before in seen or target not in flow.successors(before):
                continue
            seen.add(before)
            last = block[-1].instruction
            if last.branches and not last.is_call and last.name != "jmp":
                found.append(block[-1])
            elif all(item.calls != FAILS for item in block):
                open_.append(before)
    return found


def written(source: Source) -> list[tuple[Location, Location]]:
    """Those of the preprocessed text, as the user spells the files. On several lines, compilers take it for the first or
    for the last: both are told."""
    found: dict[tuple[Location, Location], None] = {}
    for file in source.files:
        if Path(file).suffix in ASSEMBLY_SUFFIXES or b"assert" not in Path(file).read_bytes():
            continue
        pieces: list[str] = []
        lines: list[int] = []
        line = 1
        for piece in expanded(source, file).splitlines():
            if (marker := _MARKER.match(piece)) is not None:
                line = int(marker[1])
                continue
            pieces.append(f"{piece}\n")
            lines.append(line)
            line += 1
        ends = list(accumulate(map(len, pieces)))
        for match in _WRITTEN.finditer("".join(pieces)):
            name, last = match.groups()
            first = lines[bisect_right(ends, match.start())]
            found[Location(name, first), Location(name, int(last))] = None
    return list(found)


def table(program: Path) -> Section | None:
    """Of a linked program."""
    return next((one for one in Object(program.read_bytes()).sections if one.name == SECTION), None)


def decisions(program: Path) -> Iterator[Decision]:
    section = table(program)
    if section is None:
        return
    data = program.read_bytes()[section.offset : section.offset + section.size]
    for at, (place, call) in enumerate(_ENTRY.iter_unpack(data)):
        here = section.address + at * _ENTRY.size
        yield Decision(here + place, here + 4 + call)
