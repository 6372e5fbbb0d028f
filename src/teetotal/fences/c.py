"""Fences in C and C++: the problem, explored by running the program itself, and the patch in the language's own words.

To know which gaps a thread passed between two accesses, every gap gets a load of a location of its own, which nobody
writes: it conflicts with nothing, so that it changes neither the executions nor their cycles, and its event names the gap.
Fences that are on stand in the place of that load. All this happens on the line where it was, in a copy of the file.
"""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from teetotal.errors import TeetotalError
from teetotal.events import Event, EventId, Kind, Location, ModelName, Semantics
from teetotal.fences.c_gaps import Gap, Gaps, Statement
from teetotal.fences.costs import PREFERRED, Costs
from teetotal.fences.insertion import Finding, Site, Undecided
from teetotal.fences.killers import killers
from teetotal.fences.sources import Patched
from teetotal.fences.text import Edit, apply
from teetotal.programs.c import Source
from teetotal.programs.c import check as c_check
from teetotal.programs.c.build import CXX_SUFFIXES, CompileError
from teetotal.verdicts import CheckResult, Violation

Style = Literal["c11", "cpp11", "linux", "x86"]
WORDS: dict[Style, dict[Kind, str]] = {
    "c11": {
        Kind.MFENCE: "atomic_thread_fence(memory_order_seq_cst);",
        Kind.SFENCE: "atomic_thread_fence(memory_order_release);",
    },
    "cpp11": {
        Kind.MFENCE: "std::atomic_thread_fence(std::memory_order_seq_cst);",
        Kind.SFENCE: "std::atomic_thread_fence(std::memory_order_release);",
    },
    "linux": {Kind.MFENCE: "smp_mb();", Kind.SFENCE: "smp_wmb();"},
    "x86": {
        Kind.MFENCE: '__asm__ volatile("mfence" ::: "memory");',
        Kind.SFENCE: '__asm__ volatile("sfence" ::: "memory");',
    },
}
_HEADERS: dict[Style, str] = {"c11": "stdatomic.h", "cpp11": "atomic"}
_BUILTIN = {
    Kind.MFENCE: "__atomic_thread_fence(__ATOMIC_SEQ_CST);",
    Kind.SFENCE: "__atomic_thread_fence(__ATOMIC_RELEASE);",
}
KERNEL_FENCES = (
    "-Dsmp_mb()=__atomic_thread_fence(__ATOMIC_SEQ_CST)",
    "-Dsmp_wmb()=__atomic_thread_fence(__ATOMIC_RELEASE)",
)
"""What the kernel's fences are, for programs that are checked outside of it."""
_MARKS = "teetotal_gaps"
_MARK = re.compile(rf"{_MARKS}\[(\d+)\]")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")[^\n]*', re.MULTILINE)
_ORDERS = re.compile(r"\b(?P<prefix>(?:std::)?memory_order(?:_|::))relaxed\b")
_STORE = re.compile(r"\batomic_store_explicit\s*\(|\.store\s*\(|->store\s*\(")


class CText:
    """The file, its gaps, and the fences that stand in it; sites are numbered gap by gap, then the existing ones."""

    def __init__(self, path: str, text: str, costs: Costs) -> None:
        self.path, self.text = path, text
        self.gaps = Gaps(text, Path(path).suffix in CXX_SUFFIXES)
        self.sites: list[Site] = []
        for number, gap in enumerate(self.gaps.gaps):
            for kind in (Kind.MFENCE, Kind.SFENCE):
                words = self.gaps.words(gap.statement)
                self.sites.append(
                    Site(
                        kind=kind,
                        place=number,
                        cost=costs.of(kind, gap.in_loop),
                        in_loop=gap.in_loop,
                        location=self._location(gap.statement),
                        after="" if gap.before else words,
                        before=words if gap.before else "",
                    )
                )
        self.first_existing = len(self.sites)
        for number, (statement, kind, in_loop) in enumerate(self.gaps.fences):
            cost = costs.of(kind, in_loop) * PREFERRED
            place = self._location(statement)
            self.sites.append(Site(kind=kind, place=-1 - number, cost=cost, in_loop=in_loop, location=place))

    @property
    def existing(self) -> frozenset[int]:
        return frozenset(range(self.first_existing, len(self.sites)))

    def _location(self, statement: Statement) -> Location:
        return Location(self.path, self.gaps.line(statement.start))

    def explored(self, on: frozenset[int]) -> str:
        """The text with these fences, and a mark in every other gap."""
        edits: list[tuple[Gap, str]] = []
        for number, gap in enumerate(self.gaps.gaps):
            words = [_BUILTIN[self.sites[site].kind] for site in (2 * number, 2 * number + 1) if site in on]
            edits.append((gap, " ".join([self._mark(number), *words])))
        count = len(self.gaps.gaps) + len(self.gaps.fences)
        cut = [
            Edit(statement.start, statement.end, self._mark(len(self.gaps.gaps) + number))
            for number, (statement, _, _) in enumerate(self.gaps.fences)
            if self.first_existing + number not in on
        ]
        body = apply(self.text, [*self.gaps.wrapped(edits), *cut]).text
        return f'static volatile char {_MARKS}[{max(count, 1)}];\n#line 1 "{self.path}"\n{body}'

    def _mark(self, number: int) -> str:
        return f"(void){_MARKS}[{number}];"

    def passed(self, events: Sequence[Event]) -> Callable[[Event], Sequence[int]]:
        """Marks are no accesses: each event gets those that its thread left since its last one."""
        found: dict[EventId, list[int]] = {}
        waiting: dict[int, list[int]] = {}
        for event in sorted(events, key=lambda event: (event.thread, event.index)):
            mark = _MARK.fullmatch(event.address or "")
            if mark is None:
                found[event.id] = waiting.pop(event.thread, [])
                continue
            gap = int(mark[1])
            own = waiting.setdefault(event.thread, [])
            if gap < len(self.gaps.gaps):
                own += [2 * gap, 2 * gap + 1]
            else:
                own.append(self.first_existing + gap - len(self.gaps.gaps))
        return lambda event: found.get(event.id, ())

    # -- the patch ------------------------------------------------------------------------------------------------------

    def patched(self, added: frozenset[int], removed: frozenset[int], style: Style, strengthen: bool) -> Patched:
        edits: list[Edit] = []
        strengthened = self._strengthened(added) if strengthen else {}
        edits += {edit.start: edit for edit in strengthened.values()}.values()
        plain = sorted(added - strengthened.keys())
        put = [(self.gaps.gaps[site // 2], WORDS[style][self.sites[site].kind], site) for site in plain]
        edits += self.gaps.patch(put, [self.gaps.fences[site - self.first_existing].statement for site in removed])
        if plain and style in _HEADERS and not self._includes(_HEADERS[style]):
            edits.append(self._include(_HEADERS[style]))
        text, lines, was = apply(self.text, edits)
        return Patched(text, lines, was)

    def _includes(self, header: str) -> bool:
        texts = _own_texts(Path(self.path), self.text, set())
        return any(system == header for text in texts for system, _ in _INCLUDE.findall(text))

    def mentions(self, name: str) -> bool:
        return any(name in text for text in _own_texts(Path(self.path), self.text, set()))

    def _include(self, header: str) -> Edit:
        """After the last of the first includes; before everything else where there are none."""
        words = f"#include <{header}>{self.gaps.newline}"
        matches = list(_INCLUDE.finditer(self.text))
        if not matches:
            return Edit(0, 0, words)
        system = [match for match in matches if match[1]] or matches
        end = self.text.find("\n", system[-1].end())
        end = len(self.text) if end < 0 else end + 1
        return Edit(end, end, words)

    def _strengthened(self, added: frozenset[int]) -> dict[int, Edit]:
        """Stores that can be made stronger instead: seq_cst before an mfence, release behind an sfence."""
        found: dict[int, Edit] = {}
        for site in added:
            gap = self.gaps.gaps[site // 2]
            full = self.sites[site].kind is Kind.MFENCE
            statement = gap.statement if full != gap.before else self._following(gap)
            if statement is None:
                continue
            words = self.text[statement.start : statement.end]
            order = _ORDERS.search(words)
            if order is None or len(_STORE.findall(words)) != 1 or len(_ORDERS.findall(words)) != 1:
                continue
            new = f"{order['prefix']}{'seq_cst' if full else 'release'}"
            found[site] = Edit(statement.start + order.start(), statement.start + order.end(), new, site)
        strong = {edit.start: edit for edit in found.values() if edit.new.endswith("seq_cst")}
        return {site: strong.get(edit.start, edit) for site, edit in found.items()}

    def _following(self, gap: Gap) -> Statement | None:
        """The statement behind a gap, if nothing else stands between."""
        for other in self.gaps.gaps:
            between = self.text[gap.statement.end : other.statement.start]
            if other.statement.start >= gap.statement.end and not between.strip():
                return other.statement
        return None


def _own_texts(path: Path, text: str, seen: set[Path]) -> Iterator[str]:
    """The file and those of the user's that it includes."""
    yield text
    for _, own in _INCLUDE.findall(text):
        inner = path.parent / own
        if own and inner not in seen and inner.is_file():
            seen.add(inner)
            yield from _own_texts(inner, inner.read_text(errors="replace"), seen)


class CProblem:
    def __init__(
        self,
        text: CText,
        source: Source,
        models: Sequence[ModelName],
        goal: Literal["robust", "safe"],
        semantics: Semantics,
        *,
        always: frozenset[int] = frozenset(),
        loop_bound: int | None = None,
        seconds: float = math.inf,
    ) -> None:
        self.text, self.source, self.models, self.goal, self.semantics = text, source, tuple(models), goal, semantics
        self.always, self.loop_bound = always, loop_bound
        self.deadline = time.perf_counter() + seconds

    @property
    def sites(self) -> Sequence[Site]:
        return self.text.sites

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        try:
            result = self.check(self.text.explored(fences | self.always))
        except CompileError as error:
            self.check(self.text.text)  # what is wrong with the program itself is told as such
            where = ", ".join(map(str, self.text.gaps.unread[:8])) or "none that the parser knows of"
            raise TeetotalError(
                f"{self.text.path}: the gaps between its statements are not what they seem, perhaps because of macros "
                f"(lines not understood: {where}); the compiler says:\n{error.message}"
            ) from error
        wanted = [v for v in result.violations if (v.kind == "robustness") == (self.goal == "robust")]
        if self.goal == "safe" and any(v.model == "sc" for v in wanted):
            wanted = [v for v in wanted if v.model == "sc"]
        if not wanted:
            for model in self.models:
                known = result.models[model].robust if self.goal == "robust" else result.models[model].safe
                if known is None:
                    raise Undecided(f"{self.goal} or not under {model.upper()} is not known: {'; '.join(result.notes)}")
        return [Finding(_without_marks(violation), self._killers(violation)) for violation in wanted]

    def _killers(self, violation: Violation) -> frozenset[int]:
        passed = self.text.passed(violation.events)
        return killers(violation.model, violation.events, violation.steps, passed, lambda site: self.sites[site].kind)

    def check(self, text: str, more_flags: Sequence[str] = ()) -> CheckResult:
        """Of the program with this text in the file's place."""
        options = c_check.Options(
            models=self.models,
            semantics=self.semantics,
            loop_bound=self.loop_bound,
            goal=self.goal,
            seconds=max(0.0, self.deadline - time.perf_counter()),
        )
        original = Path(self.text.path)
        with tempfile.TemporaryDirectory(prefix="teetotal-fence-") as directory:
            copy = Path(directory) / original.name
            copy.write_bytes(text.encode())
            flags = ("-iquote", str(original.parent), "-Wno-unused-value", *more_flags, *self.source.flags)
            result = c_check.check(msgspec.structs.replace(self.source, files=(str(copy),), flags=flags), options)
        return msgspec.structs.replace(result, input=self.text.path, name=original.name)


def _without_marks(violation: Violation) -> Violation:
    """As the program itself would do it. There is nothing to replay: the schedule is that of the copy with its marks."""
    kept = [n for n, event in enumerate(violation.events) if _MARK.fullmatch(event.address or "") is None]
    number = {old: new for new, old in enumerate(kept)}
    steps = [
        msgspec.structs.replace(step, event=number[step.event]) for step in violation.steps if step.event in number
    ]
    cycle = [
        msgspec.structs.replace(edge, source=number[edge.source], target=number[edge.target])
        for edge in violation.cycle
    ]
    events = [violation.events[n] for n in kept]
    return msgspec.structs.replace(violation, events=events, steps=steps, cycle=cycle, replay="")
