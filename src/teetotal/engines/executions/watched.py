"""The executions of a program, watched by monitors, in parts: what a worker does with one, and what all say together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from teetotal import _core
from teetotal.answers.events import Semantics
from teetotal.answers.options import ReleaseSequence
from teetotal.answers.strategies import Strategy
from teetotal.answers.verdict import Waiting
from teetotal.budget import Budget
from teetotal.engines.encoding import encode, encode_semantics
from teetotal.engines.executions.parts import Division, Exploration, PartAnswer, Refused
from teetotal.engines.executions.walks import Walks
from teetotal.programs.program import Program
from teetotal.scale.digest import digest
from teetotal.scale.scale import Slice

Finding = tuple[int, tuple[int, int, int], list[int], bool]
"""Which monitor; delayed, previous and deciding event; schedule; whether it is a data race."""
Placed = tuple[tuple[int, int, int], Finding]
"""Behind the three places that make it distinct."""
Cut = tuple[int, int, int, int]


class Counts(NamedTuple):
    """Of a search, as the core tells them."""

    executions: int
    blocked: int
    cut: int
    complete: bool
    full: bool = False
    endless: bool = False
    bounded: bool = False


class Question(msgspec.Struct, frozen=True):
    program: Program
    semantics: Semantics
    waiting: Waiting
    monitors: tuple[str, ...]
    release_sequence: ReleaseSequence
    megabytes: int
    twins: tuple[int, ...] = ()
    """As ``encoding.twins``, where threads that do the same are to begin in order."""
    explore: Strategy = Strategy("all")
    seed: int = 0
    marks: tuple[tuple[int, ...], tuple[int, ...], int] = ((), (), 0)
    """Of which mark each instruction is, what each mark is to the monitors, and how many bytes may be kept."""

    def division(self) -> Division:
        return _core if self.explore.name == "all" else Walks(self.explore.count)


DIVIDED = frozenset({"all", "random", "pct"})
"""The searches that have parts; others are one sequence each."""


class Watched(msgspec.Struct, frozen=True):
    """Of a slice. ``uses``: of each location, as data (1) or as a mutex (2). ``kept``: of its overtakings, and whether that
    is all."""

    executions: int
    blocked: int
    cut: int
    full: bool
    endless: bool
    findings: list[Placed]
    cuts: list[Cut]
    uses: list[int]
    kept: tuple[bytes, bool] = (b"", True)


def explore(item: tuple[Question, str, Slice]) -> PartAnswer[Watched]:
    """What a worker does. Whatever goes wrong here goes wrong for who explores alone, too, and is told then."""
    question, part, slice = item
    try:
        result, findings, cuts, uses, interrupted, left, asks, kept = _core.monitored_part(
            encode(question.program),
            encode_semantics(question.semantics),
            question.waiting == "skip",
            question.explore.name,
            question.explore.depth,
            question.seed,
            list(question.monitors),
            question.release_sequence == "c11",
            part,
            slice.seconds,
            slice.executions,
            question.megabytes,
            question.twins,
            question.marks,
        )
    except Exception as error:
        return PartAnswer(refused=str(error))
    told = Watched(
        result.executions, result.blocked, result.cut, result.full, result.endless, findings, cuts, uses, kept
    )
    over = result.full or result.endless
    return PartAnswer(left, asks, told, result.executions, over, interrupted)


Kept = list[tuple[bytes, bool]]
Together = tuple[Counts, list[Placed], list[Cut], bool, Kept]


def explored(question: Question, budget: Budget, watch: Callable[[int, float], None] | None) -> Together | None:
    """By whoever helps: as ``_core.monitored_search`` would tell it. None: that has to be asked alone."""
    scale = budget.scale
    try:
        exploration = Exploration(
            lambda: digest(repr(question).encode(errors="backslashreplace")), Watched, scale, question.division()
        )
        if not exploration.over and not exploration.parts[0].begun:
            whole = exploration.parts[0].text
            exploration.take(0, explore((question, whole, scale.slice.first.within(budget.left))))
        if not exploration.over and not exploration.interrupted and not budget.over:
            crew = scale.crew(explore)
            try:
                exploration.run(
                    crew,
                    lambda part, share: (question, part, scale.slice.within(budget.left, share)),
                    budget.until,
                    watch,
                )
                exploration.finish(crew)
            finally:
                crew.close()
        everything = exploration.finished and question.explore.is_exhaustive
        return together(exploration.all_told(), everything, exploration.interrupted)
    except Refused as why:
        scale.note(f"explored by one worker: {why}")
        return None


def together(slices: Iterable[Watched], everything: bool, interrupted: bool) -> Together:
    """``everything``: the search is finished, and leaves nothing out."""
    counts = Counts(0, 0, 0, complete=everything)
    findings: dict[tuple[int, tuple[int, int, int]], Finding] = {}
    cuts: set[Cut] = set()
    uses: dict[int, int] = {}
    kept: Kept = []
    for told in slices:
        kept.append(told.kept)
        counts = Counts(
            counts.executions + told.executions,
            counts.blocked + told.blocked,
            counts.cut + told.cut,
            everything and counts.cut + told.cut == 0,
            counts.full or told.full,
            counts.endless or told.endless,
        )
        for places, finding in told.findings:
            findings.setdefault((finding[0], places), finding)
        cuts.update(told.cuts)
        for location, use in enumerate(told.uses):
            if use and uses.setdefault(location, use) != use:
                raise Refused("a location is used both as a mutex and as data")
    placed = [(places, finding) for (_, places), finding in findings.items()]
    return counts, placed, sorted(cuts), interrupted, kept
