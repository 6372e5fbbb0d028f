"""Fences in the functions of a C litmus test, in the words that the test uses: C11's or the Linux kernel's."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from teetotal.events import Kind, Location
from teetotal.fences.c_gaps import Gaps
from teetotal.fences.sources import Patched, Place
from teetotal.fences.text import Edit, apply
from teetotal.programs import litmus
from teetotal.programs.litmus import layout
from teetotal.programs.program import Fence, Program

_LINUX = re.compile(r"\b(?:WRITE_ONCE|READ_ONCE|smp_\w+|spin_lock|xchg\w*|cmpxchg\w*|atomic_t)\b")
_TAG = re.compile(r"/\*gap (\d+) (mfence|sfence)\*/")


class CLitmus:
    """Places are the numbers of gaps, and -1, -2, … the fences that are there."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.notes: list[str] = []
        parts = layout.split(text, path)
        self.offset = len(text) - len(parts.condition.text) - len(parts.code.text)  # comments are blanks there
        self.gaps = Gaps(parts.code.text, cpp=False)
        linux = _LINUX.search(parts.code.text) is not None
        self.words = {
            Kind.MFENCE: "smp_mb();" if linux else "atomic_thread_fence(memory_order_seq_cst);",
            Kind.SFENCE: "smp_wmb();" if linux else "atomic_thread_fence(memory_order_release);",
        }
        self.places: dict[object, Place] = {}
        for number, gap in enumerate(self.gaps.gaps):
            told = self.gaps.words(gap.statement)
            place = self._location(gap.statement.start)
            self.places[number] = Place(place, before=told) if gap.before else Place(place, after=told)
        for number, fence in enumerate(self.gaps.fences):
            self.places[-1 - number] = Place(self._location(fence.statement.start), existing=fence.kind)

    def _location(self, offset: int) -> Location:
        return Location(self.path, 1 + self.text.count("\n", 0, self.offset + offset))

    def patched(self, fences: Sequence[tuple[object, Kind]], removed: Collection[object] = ()) -> Patched:
        if len(fences) == 2 * len(self.gaps.gaps) and not removed:
            return self._everywhere()
        put = [(self.gaps.gaps[_number(key)], self.words[kind], (key, kind)) for key, kind in fences]
        edits = self.gaps.patch(put, [self.gaps.fences[-1 - _number(key)].statement for key in removed])
        return Patched(*apply(self.text, map(self._moved, edits)))

    def _everywhere(self) -> Patched:
        """Every fence on a line of its own, with a comment that names it."""
        kinds = (Kind.MFENCE, Kind.SFENCE)
        gaps = [
            (gap, "".join(f"\n{self.words[kind]} /*gap {number} {kind}*/" for kind in kinds) + "\n")
            for number, gap in enumerate(self.gaps.gaps)
        ]
        text, _, was = apply(self.text, map(self._moved, self.gaps.wrapped(gaps)))
        lines: dict[object, int] = {}
        for number, line in enumerate(text.split("\n"), start=1):
            for gap, kind in _TAG.findall(line):
                lines[(int(gap), Kind.MFENCE if kind == "mfence" else Kind.SFENCE)] = number
        return Patched(text, lines, was)

    def _moved(self, edit: Edit) -> Edit:
        return edit._replace(start=edit.start + self.offset, end=edit.end + self.offset)

    def programs(self, text: str) -> list[Program]:
        return [litmus.read(text, self.path)]

    def place_of(self, thread: int, fence: Fence, everywhere: Patched) -> object | None:
        assert fence.location is not None
        line = fence.location.line
        for key, at in everywhere.lines.items():
            assert isinstance(key, tuple)
            if at == line and key[1] is fence.kind:
                found: object = key[0]
                return found
        same = [
            key
            for key, place in self.places.items()
            if place.existing is fence.kind and place.location.line == everywhere.was[line]
        ]
        return same[0] if len(same) == 1 else None


def _number(key: object) -> int:
    assert isinstance(key, int)
    return key
