"""Orders and fences in the functions of a C litmus test, in the words that the test uses: C11's, or the kernel's fences."""

from __future__ import annotations

from collections.abc import Mapping

from teetotal.answers.events import MemoryOrder
from teetotal.fences.c_places import CPlaces, fence_words
from teetotal.fences.edits import Patched
from teetotal.fences.litmus_c import CLitmusText


class OrderedLitmus(CLitmusText):
    def __init__(self, path: str, text: str, weaken: bool) -> None:
        super().__init__(path, text, atomics=True)
        if self.linux:
            self.notes.append("the kernel's accesses are left as they are: fences alone are put in")
        self._own = CPlaces(self.gaps, self.location, weaken)
        self.places = self._own.places
        self._words = fence_words("linux" if self.linux else "c11")

    def written(self, orders: Mapping[int, MemoryOrder]) -> Patched:
        return self.applied(self._own.edits(orders, self._words))
