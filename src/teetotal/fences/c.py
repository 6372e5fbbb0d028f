"""The problem of fences for a C or C++ program, explored by running the program itself.

Where the goal is a robust program, one exploration with a mark in every place answers for all sets (``overtaken``). Fences
that are there are marks, too; where violations are told, they are fences all the same. Otherwise, and where that
exploration was not whole, each set that is asked about is compiled and explored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import ProgramError, TeetotalError
from teetotal.answers.events import Event, EventId, Kind, Location
from teetotal.answers.options import TRIAGE_SECONDS, CheckOptions, FenceOptions
from teetotal.answers.violation import Violation
from teetotal.budget import Budget
from teetotal.engines.executions.overtakings import Kept
from teetotal.engines.runtime import checking
from teetotal.fences.c_files import CFiles
from teetotal.fences.c_text import MARKS
from teetotal.fences.insertion import Finding, Site, Undecided
from teetotal.fences.killers import Passed, killers
from teetotal.fences.overtaken import LATE, TOO_MUCH, Explored, Point, keeps, kinds
from teetotal.programs.c.compilers import CompileError

if TYPE_CHECKING:
    from teetotal.fences.ordered_c import OrderedCFiles

KERNEL_FENCES = (
    "-Dsmp_mb()=__atomic_thread_fence(__ATOMIC_SEQ_CST)",
    "-Dsmp_wmb()=__atomic_thread_fence(__ATOMIC_RELEASE)",
)
"""What the kernel's fences are, for programs that are checked outside of it."""
_ERROR = re.compile(r"^([^:\n]+):(\d+):(?:\d+:)? (?:fatal )?error:", re.MULTILINE)
MARK = re.compile(rf"{MARKS}\[(\d+)\]")


class Misplaced(TeetotalError):
    """The compiler does not take what stands between two statements, as the parser sees them: perhaps macros hide what
    they are. ``places`` are those that it names."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(
            f"{name}: the gaps between its statements are not what they seem, perhaps because of macros; the compiler says:"
            f"\n{said}"
        )
        self.places = [Location(file, int(line)) for file, line in _ERROR.findall(said)]


class Exploring:
    """A C program with changes, explored: with marks in it, as it would be written, and as it is. The runtime knows of the
    marks: they are no part of a loop that waits, and no events of C11."""

    def __init__(self, files: CFiles | OrderedCFiles, options: FenceOptions, *, budget: Budget | None = None) -> None:
        self.files, self.options = files, options
        self.models, self.goal = options.models, options.goal
        self.budget = budget or Budget()
        self.weighed = False  # the first exploration tells what each site costs
        self._original: CheckAnswer | None = None
        self._under_sc: CheckAnswer | None = None

    def explored(self, texts: Mapping[str, str], marks: checking.Marks | None = None) -> CheckAnswer:
        if self.budget.over:  # to compile takes longer than anybody would wait
            raise Undecided(f"{self.goal} or not is not known: the budget ran out; see --time")
        try:
            return self.check(texts, marks=marks or checking.Marks(MARKS))
        except CompileError as error:
            self.check_as_it_is()  # what is wrong with the program itself is told as such
            raise Misplaced(self.files.source.name, error.message) from error

    @property
    def kernel_fences(self) -> tuple[str, ...]:
        """What the compiler has to be told where fences are written as the kernel does, and nothing of it is included."""
        known = self.files.mentions("smp_mb") or self.files.mentions("smp_wmb")
        return KERNEL_FENCES if self.options.style == "linux" and not known else ()

    def check_patched(self, changed: Mapping[str, str]) -> CheckAnswer:
        try:
            return self.check(changed, self.kernel_fences)
        except CompileError as error:
            raise TeetotalError(
                f"{self.files.source.name}: the fences that were found do not compile as they would be written; see "
                f"--style.\n{error.message}"
            ) from error

    def check(
        self, changed: Mapping[str, str], more_flags: tuple[str, ...] = (), *, marks: checking.Marks | None = None
    ) -> CheckAnswer:
        """Of the program with these texts in the files' places."""
        with self.files.copied(changed, marked=marks is not None, more_flags=more_flags) as copies:
            try:
                result = copies.of_the_files(checking.check(copies.source, self._options(), self.budget, marks=marks))
                if marks is not None and marks.kept is not None:
                    marks.kept.told = {key: copies.of_the_files(told) for key, told in marks.kept.told.items()}
                if marks is not None and not self.weighed:
                    self.files.weigh(marks.passes)
                    self.weighed = True
            except (CompileError, ProgramError) as error:
                raise type(error)(copies.renamed(error.message), error.location) from error
        names = " ".join(Path(name).name for name in self.files.source.files)
        return msgspec.structs.replace(result, input=self.files.source.name, name=names)

    def check_as_it_is(self) -> CheckAnswer:
        """Once: also whether what is not robust breaks anything."""
        if self._original is None:
            self._original = checking.check(self.files.source, self._options(TRIAGE_SECONDS), self.budget)
        return self._original

    def _check_under_sc(self) -> CheckAnswer:
        """Once, unless more is known: for what fails there already, whatever else a search with buffers finds."""
        if self._original is not None:
            return self._original
        if self._under_sc is None:
            options = msgspec.structs.replace(self._options(), models=("sc",))
            self._under_sc = checking.check(self.files.source, options, self.budget)
        return self._under_sc

    def _options(self, triage: float = 0.0) -> CheckOptions:
        return self.options.as_check(whole_races="c11" in self.models, triage=triage, shorten=False)


class CProblem(Exploring):
    files: CFiles

    def __init__(self, *asked: Any, always: frozenset[int] = frozenset(), **more: Any) -> None:
        super().__init__(*asked, **more)
        self.always = always
        self.notes: list[str] = []
        self._explored: Explored | None = None
        self._known: dict[tuple[frozenset[int], frozenset[int]], list[Finding] | None] = {}

    @property
    def sites(self) -> Sequence[Site]:
        return self.files.sites

    def known(self, fences: frozenset[int]) -> list[Finding] | None:
        key = (self.always, fences)
        if self._explored is not None and key not in self._known:
            if self.budget.over and fences:
                raise Undecided(LATE)
            self._known[key] = self._explored.findings(fences | self.always, self.sites, self.always)
        return self._known.get(key)

    def _explore_once(self) -> tuple[CheckAnswer, bool]:
        """What it says of the fences that are on in any case, and whether it kept all that was found."""
        marks = checking.Marks(MARKS, fences=kinds(self.files.points, self.always), kept=Kept())
        result = self.explored(self.files.explored(frozenset()), marks)
        assert marks.kept is not None
        if not marks.kept.whole:
            self.notes.append(TOO_MUCH)
        as_it_is = self.always == self.files.existing
        self._explored = Explored(
            marks.kept, self.files.points, self.options, self.always,
            lambda violation: self._as_the_user_sees_it(violation, as_it_is),
        )  # fmt: skip
        return result, marks.kept.whole

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        on = fences | self.always
        if keeps(self.options) and self._explored is None:
            result, whole = self._explore_once()
            if (found := self.known(fences)) is not None:
                return found
            if on == self.always and whole:
                raise Undecided(f"robust or not is not known: {'; '.join(result.notes)}")
        result = self.explored(self.files.explored(on))
        wanted = [v for v in result.violations if (v.kind == "robustness") == (self.goal == "robust")]
        if self.goal == "safe" and any(v.model == "sc" for v in wanted):
            wanted = [v for v in wanted if v.model == "sc"]
        if not wanted:
            for model in self.models:
                known = result.models[model].robust if self.goal == "robust" else result.models[model].safe
                if known is None:
                    raise Undecided(f"{self.goal} or not under {model.upper()} is not known: {'; '.join(result.notes)}")
        as_it_is = on == self.files.existing
        return [
            Finding(self._as_the_user_sees_it(violation, as_it_is), self._killers(violation)) for violation in wanted
        ]

    def _killers(self, violation: Violation) -> frozenset[int]:
        return killers(violation.model, violation.events, violation.steps, passed(violation.events, self.files.points))

    # -- violations as the user's own program shows them -----------------------------------------------------------------

    def _as_the_user_sees_it(self, violation: Violation, as_it_is: bool) -> Violation:
        """Of the program as it is, the same violation of the user's own files, which can be replayed there; else, as the
        program would do it without marks: that schedule is of a copy."""
        if as_it_is:
            if self._original is None and self.budget.over:
                return without_marks(violation)
            told = self.check_as_it_is() if violation.model != "sc" else self._check_under_sc()
            found = (each for each in told.violations if _key(each) == _key(violation))
            if (same := next(found, None)) is not None:
                return same
        return without_marks(violation)


def _key(violation: Violation) -> object:
    return violation.model, violation.kind, violation.message, tuple(violation.locations)


def passed(events: Sequence[Event], points: Sequence[Point]) -> Passed:
    """Marks are no accesses: each event gets those that its thread left since its last one."""
    found: dict[EventId, list[tuple[int, Kind]]] = {}
    waiting: dict[int, list[tuple[int, Kind]]] = {}
    for event in sorted(events, key=lambda event: (event.thread, event.index)):
        mark = MARK.fullmatch(event.address or "")
        if mark is None:
            found[event.id] = waiting.pop(event.thread, [])
        else:
            waiting.setdefault(event.thread, []).extend(points[int(mark[1])])
    return found


def without_marks(violation: Violation) -> Violation:
    kept = [n for n, event in enumerate(violation.events) if MARK.fullmatch(event.address or "") is None]
    number = {old: new for new, old in enumerate(kept)}
    steps = [
        msgspec.structs.replace(step, event=number[step.event]) for step in violation.steps if step.event in number
    ]
    cycle = [
        msgspec.structs.replace(edge, source=number[edge.source], target=number[edge.target])
        for edge in violation.cycle
    ]
    events = [violation.events[n] for n in kept]
    relations = [(number[a], number[b], why) for a, b, why in violation.relations if a in number and b in number]
    return msgspec.structs.replace(violation, events=events, steps=steps, cycle=cycle, relations=relations, replay="")
