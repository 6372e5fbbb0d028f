"""What fence insertion needs of a source file: its places, its text with fences, and the programs of such a text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from teetotal.answers.events import Kind, Location
from teetotal.answers.remedies import KINDS, Remedy
from teetotal.fences.edits import Patched
from teetotal.programs.program import Fence, Instruction, Program, Thread


class Place(NamedTuple):
    """A gap in the text where a fence can stand, or (``existing``) a fence that stands there; or a store ``at`` which the
    order can become stronger. ``location`` is the line of the statement ``after`` which a fence comes, or else ``before``
    which, or of the store. ``beside``: the keys of the store's gaps, or of the gap's stores."""

    location: Location
    after: str = ""
    before: str = ""
    at: str = ""
    existing: Kind | None = None
    kinds: tuple[Remedy, ...] = KINDS
    beside: frozenset[object] = frozenset()


class TextSource(Protocol):
    """``places`` by any key. Everything that can be done is (place's key, kind)."""

    path: str
    text: str
    notes: list[str]

    @property
    def places(self) -> Mapping[object, Place]: ...

    def patched(self, chosen: Sequence[tuple[object, Remedy]], removed: Collection[object] = ()) -> Patched: ...

    def everywhere(self) -> Patched:
        """With every fence, and the fences that stronger stores amount to."""
        ...

    def programs(self, text: str) -> list[Program]: ...

    def site_of(self, thread: int, fence: Fence, everywhere: Patched) -> tuple[object, Remedy] | None:
        """The place and kind of a fence in the text with fences everywhere; None for one that nobody may touch."""
        ...


def all_fences(places: Mapping[object, Place]) -> list[tuple[object, Remedy]]:
    return [(key, kind) for key, place in places.items() if place.existing is None for kind in KINDS]


def relocated(program: Program, was: Sequence[int], path: str) -> Program:
    """With the lines of the text as it was before it was patched."""

    def moved(instruction: Instruction) -> Instruction:
        place = instruction.location
        if place is None or place.file != path:
            return instruction
        return msgspec.structs.replace(instruction, location=Location(path, was[place.line]))

    threads = tuple(Thread(t.name, tuple(map(moved, t.code)), t.registers) for t in program.threads)
    return msgspec.structs.replace(program, threads=threads)
