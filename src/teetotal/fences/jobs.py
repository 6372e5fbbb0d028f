"""What a search for changes needs of a front end, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from teetotal.answers.check import CheckAnswer
from teetotal.answers.fence import FenceAnswer
from teetotal.answers.options import FenceOptions
from teetotal.budget import Budget
from teetotal.engines import interpreted
from teetotal.fences import edits
from teetotal.fences.insertion import Problem
from teetotal.fences.orders import Sites
from teetotal.programs.program import Program


class Patch(NamedTuple):
    """The texts of all files by their names, and in which line of its file what was added stands, by its site."""

    texts: Mapping[str, str]
    lines: Mapping[int, int]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A problem with its texts: how a set of sites is written, how what was written is checked, and what is to be said of
    the program as it is. ``notes`` may become more while it is solved. ``ordered``: where the sites are orders of C11."""

    problem: Problem
    existing: frozenset[int]
    originals: Mapping[str, str]
    write: Callable[[frozenset[int], frozenset[int]], Patch]
    check: Callable[[Mapping[str, str]], list[CheckAnswer]]
    as_it_is: Callable[[], list[CheckAnswer]]
    notes: Sequence[str] = ()
    ordered: Sites | None = None


def checked(programs: Iterable[Program], options: FenceOptions, budget: Budget) -> list[CheckAnswer]:
    """What ``check`` says of each, in the time that is left."""
    return [
        interpreted.check(program, options.as_check(), Budget(budget.left, scale=budget.scale)) for program in programs
    ]


class Repair(msgspec.Struct, frozen=True):
    """The answer, and the patched texts that it speaks of, by the names of their files, with those that they were made
    of. ``answer, text = repair`` for one file."""

    answer: FenceAnswer
    texts: Mapping[str, str]
    originals: Mapping[str, str]

    @property
    def text(self) -> str:
        """Of the first file, or of the only one."""
        return next(iter(self.texts.values()))

    def __iter__(self) -> Iterator[Any]:
        return iter((self.answer, self.text))

    def write(self) -> FenceAnswer:
        """Puts the patched texts into their files, if the fences are proved, and keeps the old ones beside them: the answer
        with the names of the latter."""
        if not self.answer.proved or not self.answer.diff:
            return self.answer
        backups = edits.write(self.texts, self.originals)
        return replace(self.answer, backup=next(iter(backups.values())), backups=backups)

    def __repr__(self) -> str:
        return f"<Repair {self.answer.headline}>"

    def __str__(self) -> str:
        return f"{self.answer}\n{self.answer.diff}" if self.answer.diff else str(self.answer)
