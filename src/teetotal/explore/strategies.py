"""Which SC executions are explored, as the command line's ``--explore`` names them."""

from __future__ import annotations

import re

import msgspec

from teetotal.errors import TeetotalError


class Strategy(msgspec.Struct, frozen=True):
    """``all``: one execution per Mazurkiewicz class, complete with the exact monitors. ``interleavings``: every one.
    ``preemptions:K``: every interleaving with at most K preemptions. ``random:N``: N random walks. ``pct:N:D``: N walks
    of probabilistic concurrency testing at depth D."""

    name: str
    count: int = 0
    depth: int = 0

    @property
    def is_reduced(self) -> bool:
        """Whether it leaves out interleavings that are equivalent to one it explores."""
        return self.name == "all"

    @property
    def is_exhaustive(self) -> bool:
        """Whether it leaves nothing out that matters, given enough time."""
        return self.name in ("all", "interleavings")

    def __str__(self) -> str:
        parts = {"all": 0, "interleavings": 0, "preemptions": 1, "random": 1, "pct": 2}[self.name]
        return ":".join([self.name, *map(str, (self.count, self.depth)[:parts])])


_FORMS = {
    "all": r"all",
    "interleavings": r"interleavings",
    "preemptions": r"preemptions:(\d{1,9})",
    "random": r"random:(\d{1,18})",
    "pct": r"pct:(\d{1,18}):([1-9]\d{0,5})",
}


def parse(text: str) -> Strategy:
    for name, form in _FORMS.items():
        match = re.fullmatch(form, text)
        if match:
            return Strategy(name, *map(int, match.groups()))
    raise TeetotalError(
        f"{text!r} is no way to explore; there are all, interleavings, preemptions:K, random:N and pct:N:D"
    )
