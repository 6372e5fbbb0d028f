"""Orders and fences in the functions of a C litmus test, in the words that the test uses: C11's, or the kernel's fences."""

from __future__ import annotations

from collections.abc import Mapping

from teetotal.answers.events import Location, MemoryOrder
from teetotal.fences.c_gaps import Gaps
from teetotal.fences.c_places import CPlaces, fence_words
from teetotal.fences.edits import Patched, apply
from teetotal.fences.litmus_c import is_linux, parsable
from teetotal.fences.orders import Place
from teetotal.programs import litmus
from teetotal.programs.litmus import layout
from teetotal.programs.program import Program


class OrderedLitmus:
    def __init__(self, path: str, text: str, weaken: bool) -> None:
        self.path, self.text = path, text
        self.notes: list[str] = []
        parts = layout.split(text, path)
        self.offset = len(text) - len(parts.condition.text) - len(parts.code.text)  # comments are blanks there
        linux = is_linux(parts.code.text)
        if linux:
            self.notes.append("the kernel's accesses are left as they are: fences alone are put in")
        self._own = CPlaces(Gaps(parsable(parts.code.text), cpp=False, atomics=True), self._location, weaken)
        self._words = fence_words("linux" if linux else "c11")

    def _location(self, offset: int) -> Location:
        return Location(self.path, 1 + self.text.count("\n", 0, self.offset + offset))

    @property
    def places(self) -> list[Place]:
        return self._own.places

    def written(self, orders: Mapping[int, MemoryOrder]) -> Patched:
        edits = self._own.edits(orders, self._words)
        moved = (edit._replace(start=edit.start + self.offset, end=edit.end + self.offset) for edit in edits)
        return apply(self.text, moved)

    def programs(self, text: str) -> list[Program]:
        return [litmus.read(text, self.path)]
