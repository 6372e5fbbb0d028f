"""Fences in the functions of a C litmus test, in the words that the test uses: C11's or the Linux kernel's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from teetotal.answers.costs import Costs
from teetotal.answers.events import Kind, Location
from teetotal.answers.remedies import KINDS, Order, Remedy
from teetotal.fences.c_gaps import Gap, Gaps, Statement
from teetotal.fences.c_orders import StoreCall, strongest
from teetotal.fences.edits import Edit, Patched, apply
from teetotal.fences.sources import Place
from teetotal.programs import litmus
from teetotal.programs.litmus import layout
from teetotal.programs.program import Fence, Program

_LINUX = re.compile(r"\b(?:WRITE_ONCE|READ_ONCE|smp_\w+|spin_lock|xchg\w*|cmpxchg\w*|atomic_t)\b")
_HEAD = re.compile(r"(\bP\d+\s*\()([^()]*)(?=\)\s*\{)")
_TAG = re.compile(r"/\*(gap|store) (\d+) (\w+)\*/")
_REMEDIES: dict[str, Remedy] = {str(kind): kind for kind in (*KINDS, *Order)}


def is_linux(code: str) -> bool:
    """Whether a test is written in the words of the Linux kernel."""
    return _LINUX.search(code) is not None


def parsable(code: str) -> str:
    """With blanks for the parameters of threads: to a parser of C, a function without a type is a call, and no argument of
    a call is ``volatile``."""
    return _HEAD.sub(lambda head: head[1] + re.sub(r"\S", " ", head[2]), code)


class CLitmusText:
    """The code of a test with its gaps, whose offsets are counted from ``offset`` on in the text."""

    def __init__(self, path: str, text: str, *, orders: bool = False, atomics: bool = False) -> None:
        self.path, self.text = path, text
        self.notes: list[str] = []
        parts = layout.split(text, path)
        self.offset = len(text) - len(parts.condition.text) - len(parts.code.text)  # comments are blanks there
        self.linux = is_linux(parts.code.text)
        code = parsable(parts.code.text)
        self.gaps = Gaps(code, cpp=False, orders=orders, kernel=self.linux, atomics=atomics)

    def location(self, offset: int) -> Location:
        return Location(self.path, 1 + self.text.count("\n", 0, self.offset + offset))

    def applied(self, edits: Iterable[Edit]) -> Patched:
        moved = (edit._replace(start=edit.start + self.offset, end=edit.end + self.offset) for edit in edits)
        return apply(self.text, moved)

    def programs(self, text: str) -> list[Program]:
        return [litmus.read(text, self.path)]


class CLitmus(CLitmusText):
    """Places are the gaps, the fences that are there, and with ``strengthen`` the stores: ``("gap", 3)`` and so on."""

    def __init__(self, path: str, text: str, strengthen: bool = False, costs: Costs = Costs()) -> None:
        super().__init__(path, text, orders=strengthen)
        self.words: dict[Remedy, str] = {
            Kind.MFENCE: "smp_mb();" if self.linux else "atomic_thread_fence(memory_order_seq_cst);",
            Kind.SFENCE: "smp_wmb();" if self.linux else "atomic_thread_fence(memory_order_release);",
        }
        self.stores = [store for store in self.gaps.stores if self._statement(store) is not None]
        self.places: dict[object, Place] = {}
        beside: dict[int, set[object]] = {}
        for number, store in enumerate(self.stores):
            near = self.gaps.beside(store)
            for gap_number in near:
                beside.setdefault(gap_number, set()).add(("store", number))
            self.places[("store", number)] = Place(
                self.location(store.start),
                at=self.gaps.words(store),
                kinds=costs.worth_trying(store.words),
                beside=frozenset(("gap", gap_number) for gap_number in near),
            )
        for number, gap in enumerate(self.gaps.gaps):
            told = self.gaps.words(gap.statement)
            self.places[("gap", number)] = Place(
                self.location(gap.statement.start),
                after="" if gap.before else told,
                before=told if gap.before else "",
                beside=frozenset(beside.get(number, ())),
            )
        for number, fence in enumerate(self.gaps.fences):
            self.places[("fence", number)] = Place(self.location(fence.statement.start), existing=fence.kind)

    def _statement(self, store: StoreCall) -> Statement | None:
        """The statement that a store makes by itself."""
        found = [gap.statement for gap in self.gaps.gaps if gap.statement.start == store.start]
        return min(found, key=lambda statement: statement.end) if self.gaps.beside(store) and found else None

    # -- patches -------------------------------------------------------------------------------------------------------

    def patched(self, chosen: Sequence[tuple[object, Remedy]], removed: Collection[object] = ()) -> Patched:
        put = []
        orders: dict[int, list[Order]] = {}
        for key, kind in chosen:
            what, number = _read(key)
            if isinstance(kind, Order):
                orders.setdefault(number, []).append(kind)
            else:
                assert what == "gap"
                put.append((self.gaps.gaps[number], self.words[kind], (key, kind)))
        edits = self.gaps.patch(put, [self.gaps.fences[_read(key)[1]].statement for key in removed])
        for number, asked in orders.items():
            first, *more = self.stores[number].words[strongest(asked)]
            edits += [first._replace(key=("store", number)), *more]
        done = self.applied(edits)
        done.lines.update({(key, kind): done.lines[key] for key, kind in chosen if isinstance(kind, Order)})
        return done

    def everywhere(self) -> Patched:
        """Every fence on a line of its own, with a comment that names it; stores as they are, with the fences that their
        stronger orders amount to before and after them."""
        put = [
            (gap, "".join(self._tagged("gap", number, kind, kind) for kind in KINDS) + "\n")
            for number, gap in enumerate(self.gaps.gaps)
        ]
        for number, store in enumerate(self.stores):
            statement = self._statement(store)
            assert statement is not None
            orders = [kind for kind in self.places[("store", number)].kinds if isinstance(kind, Order)]
            full = [order for order in orders if order.is_full]
            for before, fence, asked in ((True, Kind.SFENCE, orders), (False, Kind.MFENCE, full)):
                words = "".join(self._tagged("store", number, order, fence) for order in asked) + "\n"
                put.append((Gap(statement, before, False), words))
        done = self.applied(self.gaps.wrapped(put))
        lines: dict[object, int] = {}
        for line_number, line in enumerate(done.text.split("\n"), start=1):
            for what, number_of, kind in _TAG.findall(line):
                key = (what, int(number_of)), _REMEDIES[kind]
                lines[key if key not in lines else (*key, "after")] = line_number
        return done._replace(lines=lines)

    def _tagged(self, what: str, number: int, kind: Remedy, fence: Kind) -> str:
        return f"\n{self.words[fence]} /*{what} {number} {kind}*/"

    def site_of(self, thread: int, fence: Fence, everywhere: Patched) -> tuple[object, Remedy] | None:
        assert fence.location is not None
        line = fence.location.line
        for key, at in everywhere.lines.items():
            if at == line:
                assert isinstance(key, tuple)
                return key[0], key[1]
        same = [
            key
            for key, place in self.places.items()
            if place.existing is fence.kind and place.location.line == everywhere.was[line]
        ]
        return (same[0], fence.kind) if len(same) == 1 else None


def _read(key: object) -> tuple[str, int]:
    assert isinstance(key, tuple)
    what, number = key
    return what, number
