"""Which SC executions are explored, as the command line's ``--explore`` names them.

======================  ================================================================================================
``--explore``           what it explores
======================  ================================================================================================
``all``                 one execution of each Mazurkiewicz class (Abdulla and others, POPL 2014: core/search/optimal.hpp);
                        complete with the exact monitors
``interleavings``       every interleaving
``preemptions:K``       every interleaving with at most K preemptions
``preemptions:0..K``    those without preemption, then those with 1, and so on, until a violation is found: iterative
                        context bounding (Musuvathi, Qadeer, PLDI 2007)
``random:N``            N random walks
``pct:N:D``             N walks of probabilistic concurrency testing at depth D (Burckhardt and others, ASPLOS 2010)
======================  ================================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from teetotal.answers.errors import TeetotalError


class Strategy(msgspec.Struct, frozen=True):
    """``name`` is the word before the colon, ``count`` the number K or N behind it, ``depth`` the D of ``pct``.

    Two names stand for ``preemptions:0..K``: ``iterated`` is the whole of it, with K as its ``count``, and ``exactly`` one
    of the searches that it is made of (``rounds``), with ``count`` preemptions, and K as its ``depth``."""

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

    def rounds(self) -> Iterator[Strategy]:
        """The searches that it is made of, one after the other, until one finds something."""
        if self.name != "iterated":
            yield self
        else:
            for bound in range(self.count + 1):
                yield Strategy("exactly", bound, self.count)

    @property
    def is_last(self) -> bool:
        """Whether this round of an iterated search is the one with K preemptions."""
        return self.count == self.depth

    def __str__(self) -> str:
        if self.name in ("iterated", "exactly"):  # as a whole, or one of its rounds
            return f"preemptions:0..{self.count if self.name == 'iterated' else self.depth}"
        parts = {"all": 0, "interleavings": 0, "preemptions": 1, "random": 1, "pct": 2}[self.name]
        return ":".join([self.name, *map(str, (self.count, self.depth)[:parts])])


_FORMS = {
    "all": r"all",
    "interleavings": r"interleavings",
    "preemptions": r"preemptions:(\d{1,9})",
    "iterated": r"preemptions:0\.\.(\d{1,9})",
    "random": r"random:(\d{1,18})",
    "pct": r"pct:(\d{1,18}):([1-9]\d{0,5})",
}


def parse(text: str) -> Strategy:
    for name, form in _FORMS.items():
        match = re.fullmatch(form, text)
        if match:
            return Strategy(name, *map(int, match.groups()))
    raise TeetotalError(
        f"{text!r} is no way to explore; there are all, interleavings, preemptions:K, preemptions:0..K, random:N and "
        "pct:N:D"
    )


def how_far(last: Strategy, found: bool) -> str:
    """What the rounds of ``preemptions:0..K`` came to, in words; ``last`` is the last of them."""
    preemptions = f"{last.count} preemption{'' if last.count == 1 else 's'}"
    return f"the first violations need {preemptions}" if found else f"got as far as executions with {preemptions}"
