"""One file of a C or C++ program: its sites, its text as it is explored, and its patch in the language's own words.

To know what a thread passed between two accesses, every gap gets a load of a location of its own, a *mark*, which nobody
writes: it conflicts with nothing, so that it changes neither the executions nor their cycles, and its event names the gap.
Fences that are on stand behind that load. A store that can be stronger has a mark before it and one after it. All this
happens on the line where it was, in a copy of the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from teetotal.answers.costs import PREFERRED, Costs
from teetotal.answers.events import Kind, Location
from teetotal.answers.remedies import KINDS, Order, Remedy
from teetotal.fences.c_gaps import Gap, Gaps
from teetotal.fences.c_macros import NO_MACROS, Macros
from teetotal.fences.c_orders import strongest
from teetotal.fences.edits import Edit, Patched, apply
from teetotal.fences.insertion import Site
from teetotal.fences.overtaken import Point

Style = Literal["c11", "cpp11", "linux", "x86", "builtin"]
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
    "builtin": {
        Kind.MFENCE: "__atomic_thread_fence(__ATOMIC_SEQ_CST);",
        Kind.SFENCE: "__atomic_thread_fence(__ATOMIC_RELEASE);",
    },
}
HEADERS: dict[Style, str] = {"c11": "stdatomic.h", "cpp11": "atomic"}
MARKS = "teetotal_gaps"
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[ \t]*([^\n]*)", re.MULTILINE)


class CFile:
    """A file that is patched: its text and gaps, what it includes, and what each mark stands for (``points``)."""

    points: Sequence[object]

    def __init__(self, path: str, text: str, gaps: Gaps) -> None:
        self.path, self.text, self.gaps = path, text, gaps

    def location(self, offset: int) -> Location:
        return Location(self.path, self.gaps.line(offset))

    def included(self) -> Iterator[tuple[bool, str]]:
        """Whether between brackets, and the name."""
        for match in _DIRECTIVE.finditer(self.text):
            named = re.match(r'<([^>\n]+)>|"([^"\n]+)"', match[2]) if match[1] == "include" else None
            if named is not None:
                yield named[1] is not None, named[1] or named[2]

    def include(self, header: str) -> Edit:
        """After the last include before any code that no condition guards, a system header's if there is one; otherwise
        where the header's guard begins, or before everything."""
        words = f"#include <{header}>{self.gaps.newline}"
        code = min((gap.statement.start for gap in self.gaps.gaps), default=len(self.text))
        at, guard, depth, base = 0, "", 0, 0
        found: dict[bool, int] = {}
        for number, match in enumerate(_DIRECTIVE.finditer(self.text)):
            end = self.text.find("\n", match.end()) + 1 or len(self.text)
            name, rest = match[1], match[2].strip()
            if match.start() > code:
                break
            if name == "pragma" and rest == "once":
                at = end
            elif name == "define" and guard and rest.split()[:1] == [guard]:
                at, base = end, 1
            elif name == "include" and depth == base:
                found[rest.startswith("<")] = end
            guard = rest if name == "ifndef" and number == 0 else ""
            depth += name.startswith("if")
            depth -= name == "endif"
        if at and not found and self.text[at : at + 2].startswith(("\n", "\r")):  # a guard with a blank line behind it
            words = self.gaps.newline + words
        at = found.get(True, found.get(False, at))
        if at and self.text[at - 1] != "\n":
            words = self.gaps.newline + words.removesuffix(self.gaps.newline)
        return Edit(at, at, words)


class CText(CFile):
    """Sites are numbered from ``first_site``: gap by gap, the existing fences, then store by store; so are marks, from
    ``first_mark``, with two for a store. ``points`` tells what each mark stands for, ``marks`` of each site the mark
    that whoever passes it passes too."""

    def __init__(
        self,
        path: str,
        text: str,
        costs: Costs = Costs(),
        *,
        cpp: bool = False,
        macros: Macros = NO_MACROS,
        strengthen: bool = False,
        without: Collection[int] = (),
        first_site: int = 0,
        first_mark: int = 0,
    ) -> None:
        super().__init__(path, text, Gaps(text, cpp, macros, orders=strengthen, without=without))
        self.first_site, self.first_mark = first_site, first_mark
        self.sites: list[Site] = []
        self.points: list[Point] = []
        self.marks: list[int] = []
        self._add_gaps_and_fences(costs)
        self._add_stores(costs)

    def _add_gaps_and_fences(self, costs: Costs) -> None:
        beside: dict[int, set[object]] = {}
        for number, store in enumerate(self.gaps.stores):
            for gap_number in self.gaps.beside(store):
                beside.setdefault(gap_number, set()).add((self.path, "store", number))
        for number, gap in enumerate(self.gaps.gaps):
            words = self.gaps.words(gap.statement)
            point = []
            for kind in KINDS:
                point.append((self.first_site + len(self.sites), kind))
                self.marks.append(self.first_mark + number)
                self.sites.append(
                    Site(
                        kind=kind,
                        place=(self.path, "gap", number),
                        cost=costs.of(kind, gap.in_loop),
                        in_loop=gap.in_loop,
                        location=self.location(gap.statement.start),
                        after="" if gap.before else words,
                        before=words if gap.before else "",
                        beside=frozenset(beside.get(number, ())),
                    )
                )
            self.points.append(tuple(point))
        self.first_existing = len(self.sites)
        behind = {gap.statement: number for number, gap in enumerate(self.gaps.gaps) if not gap.before}
        for number, (statement, fence, in_loop) in enumerate(self.gaps.fences):
            # Where the fence is on, it has no mark of its own.
            self.marks.append(self.first_mark + behind.get(statement, len(self.points)))
            self.points.append(((self.first_site + len(self.sites), fence),))
            self.sites.append(
                Site(
                    kind=fence,
                    place=(self.path, "fence", number),
                    cost=costs.of(fence, in_loop) * PREFERRED,
                    in_loop=in_loop,
                    location=self.location(statement.start),
                )
            )

    def _add_stores(self, costs: Costs) -> None:
        self.first_stronger = len(self.sites)
        self._stronger: list[dict[int, Order]] = []  # for each store its sites
        for number, store in enumerate(self.gaps.stores):
            beside = frozenset((self.path, "gap", gap_number) for gap_number in self.gaps.beside(store))
            own: dict[int, Order] = {}
            for order in costs.worth_trying(store.words):
                own[len(self.sites)] = order
                self.marks.append(self.first_mark + len(self.points))
                self.sites.append(
                    Site(
                        kind=order,
                        place=(self.path, "store", number),
                        cost=costs.of(order, store.in_loop),
                        in_loop=store.in_loop,
                        location=self.location(store.start),
                        at=self.gaps.words(store),
                        beside=beside,
                    )
                )
            self._stronger.append(own)
            self.points.append(tuple((self.first_site + site, Kind.SFENCE) for site in own))
            self.points.append(
                tuple((self.first_site + site, Kind.MFENCE) for site, order in own.items() if order.is_full)
            )

    @property
    def existing(self) -> frozenset[int]:
        return frozenset(range(self.first_site + self.first_existing, self.first_site + self.first_stronger))

    # -- what is explored ------------------------------------------------------------------------------------------------

    def explored(self, on: frozenset[int]) -> str:
        """The text with these of all sites, and its marks."""
        on = self._own(on)
        gaps: list[tuple[Gap, str]] = []
        for number, gap in enumerate(self.gaps.gaps):
            fences = [
                _builtin(kind) for site, kind in zip((2 * number, 2 * number + 1), KINDS, strict=True) if site in on
            ]
            gaps.append((gap, " ".join([f"{self._mark(number)};", *fences])))
        edits = self.gaps.wrapped(gaps)
        for number, (statement, _, _) in enumerate(self.gaps.fences):
            if self.first_existing + number not in on:
                mark = f"{self._mark(len(self.gaps.gaps) + number)};"
                edits.append(Edit(statement.start, statement.end, mark))
        first = len(self.gaps.gaps) + len(self.gaps.fences)
        for number, (store, own) in enumerate(zip(self.gaps.stores, self._stronger, strict=True)):
            before, after = self._mark(first + 2 * number), self._mark(first + 2 * number + 1)
            edits.append(Edit(store.start, store.start, f"({before}, (void)"))
            edits.append(Edit(store.end, store.end, f", {after})"))
            asked = [order for site, order in own.items() if site in on]
            edits += store.words[strongest(asked)] if asked else ()
        return apply(self.text, edits).text

    def _own(self, sites: Iterable[int]) -> frozenset[int]:
        """By their numbers in this file."""
        return frozenset(site - self.first_site for site in sites if 0 <= site - self.first_site < len(self.sites))

    def _mark(self, number: int) -> str:
        return f"(void){MARKS}[{self.first_mark + number}]"

    # -- the patch ---------------------------------------------------------------------------------------------------------

    def patched(self, added: frozenset[int], removed: frozenset[int], style: Style, includes: bool) -> Patched:
        """``includes``: whether the header that the fences need is there."""
        added, removed = self._own(added), self._own(removed)
        fences = sorted(site for site in added if site < self.first_existing)
        put = [(self.gaps.gaps[site // 2], WORDS[style][KINDS[site % 2]], self.first_site + site) for site in fences]
        edits = self.gaps.patch(put, [self.gaps.fences[site - self.first_existing].statement for site in removed])
        shared: dict[int, int] = {}
        for store, own in zip(self.gaps.stores, self._stronger, strict=True):
            asked = {site: order for site, order in own.items() if site in added}
            if asked:
                first, *more = store.words[strongest(asked.values())]
                name = min(asked)
                shared |= dict.fromkeys(asked, name)
                edits += [first._replace(key=self.first_site + name), *more]
        if fences and style in HEADERS and not includes:
            edits.append(self.include(HEADERS[style]))
        done = apply(self.text, edits)
        done.lines.update({self.first_site + site: done.lines[self.first_site + name] for site, name in shared.items()})
        return done


def _builtin(kind: Remedy) -> str:
    assert isinstance(kind, Kind)
    return WORDS["builtin"][kind]
