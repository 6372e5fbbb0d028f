"""What fence insertion needs of a source file: its places, its text with fences, and the programs of such a text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from teetotal.events import Kind, Location
from teetotal.programs.program import Fence, Instruction, Program, Thread


class Place(NamedTuple):
    """A gap in the text where a fence can stand, or (``existing``) a fence that stands there. ``location`` is the line of
    the statement ``after`` which it comes, or else ``before`` which."""

    location: Location
    after: str = ""
    before: str = ""
    existing: Kind | None = None


class Patched(NamedTuple):
    """``lines``: where the fences ended up. ``was``: for each line its number before."""

    text: str
    lines: Mapping[object, int]
    was: Sequence[int]


class TextSource(Protocol):
    """``places`` by any key. Every fence is (place's key, kind)."""

    path: str
    text: str
    notes: list[str]

    @property
    def places(self) -> Mapping[object, Place]: ...

    def patched(self, fences: Sequence[tuple[object, Kind]], removed: Collection[object] = ()) -> Patched: ...

    def programs(self, text: str) -> list[Program]: ...

    def place_of(self, thread: int, fence: Fence, everywhere: Patched) -> object | None:
        """The place of a fence in the text with fences everywhere; None for one that nobody may touch."""
        ...


def relocated(program: Program, was: Sequence[int], path: str) -> Program:
    """With the lines of the text as it was before it was patched."""

    def moved(instruction: Instruction) -> Instruction:
        place = instruction.location
        if place is None or place.file != path:
            return instruction
        return msgspec.structs.replace(instruction, location=Location(path, was[place.line]))

    threads = tuple(Thread(t.name, tuple(map(moved, t.code)), t.registers) for t in program.threads)
    return msgspec.structs.replace(program, threads=threads)
