"""The independent checker of proofs that a history is inconsistent: lemmas, each an edge with the path that forces it,
and at last a cycle. It knows the history, the model's program order and eight reasons, and nothing of chains or engines.

An edge (a, b, why, reason) says that a comes before b in every run that has this history: loads at the moment at which they
read, stores at that at which they become visible. The reasons are those of ``core/histories/chains.hpp``:

==============  =====================================================================================================
program         the model keeps a before b (``keeps``, and what follows from it)
reads from      b reads what a wrote, in another thread
store           a writes what ``why`` reads from b, and is before ``why`` by the lemma's path
overwrites      a reads what ``why`` wrote, which is before the write b of the address by the lemma's path
initial         a reads the initial value, and b writes the address
location        ``why`` reads b, and a is an earlier write of its own thread to the address
final           the final value is b's, and a writes the address
assumed         one of the two cases that the caller distinguishes
==============  =====================================================================================================

Or one edge alone cannot be: a read of what its own thread writes only later, a read of the initial value after an own
write, or a final value that is the initial one though somebody wrote.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from teetotal.answers.events import Kind, MachineName, Semantics
from teetotal.answers.numbers import Before
from teetotal.histories.history import INITIAL_SOURCE, History, Operation

Edge = tuple[int, int, int, int]
Lemma = tuple[Edge, Sequence[Edge]]


def keeps(model: MachineName, semantics: Semantics, first: Operation, second: Operation) -> bool:
    """Whether a thread's operation stays before a later one, for all that lies between."""
    if model == "sc":
        return True
    if first.kind is Kind.SFENCE and model == "pso":  # it ends when what stood before it is visible
        return second.kind is not Kind.LD
    if first.kind is not Kind.ST:
        return True
    if model == "tso":
        return second.kind not in (Kind.LD, Kind.SFENCE)
    match second.kind:
        case Kind.MFENCE | Kind.SFENCE:
            return True
        case Kind.ST:
            return first.address == second.address
        case Kind.RMW:
            return semantics.rmw == "all" or first.address == second.address
    return False


def refute(
    history: History,
    model: MachineName,
    semantics: Semantics,
    lemmas: Sequence[Lemma],
    cycle: Sequence[Edge],
    *,
    sources: Mapping[int, int] | None = None,
    finals: Mapping[str, int] | None = None,
    assumed: Collection[tuple[int, int]] = (),
) -> str:
    """What is wrong with a proof, "" if it is one. ``sources`` and ``finals`` are cases that the caller distinguishes
    where a value was written more than once: which write a read saw, by their numbers, and which was the last of an
    address."""
    return _Checker(history, model, semantics, sources or {}, finals or {}, assumed).refute(lemmas, cycle)


class _Checker:
    def __init__(
        self,
        history: History,
        model: MachineName,
        semantics: Semantics,
        sources: Mapping[int, int],
        finals: Mapping[str, int],
        assumed: Collection[tuple[int, int]],
    ) -> None:
        self.history, self.model, self.semantics, self.assumed = history, model, semantics, assumed
        self.operations = list(history)
        self.threads = {t: [i for i, op in enumerate(self.operations) if op.thread == t] for t in history.threads}
        self.sources, self.finals = sources, finals
        self.initial, self.final = history.initial, history.final
        self.writers: dict[tuple[str | None, int], list[int]] = {}
        for i, op in enumerate(self.operations):
            if op.written is not None:
                self.writers.setdefault((op.address, op.written), []).append(i)
        self.facts: set[Edge] = set()

    def refute(self, lemmas: Sequence[Lemma], cycle: Sequence[Edge]) -> str:
        for edge in (edge for claim, path in [*lemmas, (None, cycle)] for edge in [claim, *path] if edge is not None):
            if not all(0 <= op < len(self.operations) for op in edge[:2]):
                return f"{edge}: no operation"
        for claim, path in lemmas:
            if not self.follows(claim, path):
                return f"{claim}: its path does not force it"
            self.facts.add(claim)
        if len(cycle) == 1 and self.impossible(cycle[0]):
            return ""
        return self.broken(cycle, None) or ("" if cycle else "no cycle")

    def broken(self, path: Sequence[Edge], ends: tuple[int, int] | None) -> str:
        """What is wrong with a path, which without ends is a cycle."""
        first, last = ends if ends is not None else (path[0][0], path[0][0]) if path else (0, 0)
        at = first
        for edge in path:
            if edge[0] != at:
                return f"{edge}: does not begin where the edge before it ends"
            if edge not in self.facts and not self.holds(edge):
                return f"{edge}: does not hold"
            at = edge[1]
        return "" if at == last else "it does not lead to its end"

    # ---- reasons

    def holds(self, edge: Edge) -> bool:
        """Whether an edge holds for a reason that needs no lemma."""
        a, b, why, reason = edge
        if reason == Before.PROGRAM:
            return self.kept(a, b)
        if reason == Before.READS_FROM:
            return self.read(a, b) and self.operations[a].thread != self.operations[b].thread
        if reason == Before.INITIAL:
            return self.read(INITIAL_SOURCE, a) and self.writes_to(b, a) and a != b
        if reason == Before.LOCATION and 0 <= why < len(self.operations) and a != b:
            return self.read(b, why) and self.writes_to(a, why) and self.in_program_order(a, why)
        if reason == Before.FINAL:
            return self.writes_to(a, b) and self.is_final(b) and a != b
        return reason == Before.ASSUMED and (a, b) in self.assumed

    def follows(self, claim: Edge, path: Sequence[Edge]) -> bool:
        """Whether a lemma's path forces its claim."""
        a, b, why, reason = claim
        if not 0 <= why < len(self.operations) or a == b:
            return False
        if reason == Before.STORE:
            forced = self.read(b, why) and self.writes_to(a, why) and a != why and not self.broken(path, (a, why))
        else:
            forced = self.read(why, a) and self.writes_to(b, a) and b != why and not self.broken(path, (why, b))
        return forced and reason in (Before.STORE, Before.OVERWRITES)

    def impossible(self, edge: Edge) -> bool:
        a, b, _, reason = edge
        if reason == Before.READS_FROM:
            return self.read(a, b) and self.in_program_order(b, a)
        if reason == Before.INITIAL:
            return self.read(INITIAL_SOURCE, a) and self.writes_to(b, a) and self.in_program_order(b, a)
        address = self.operations[a].address
        initial = address in self.final and self.final[address] == self.initial.get(address, 0)
        return reason == Before.FINAL and initial and self.writes_to(a, a) and self.last_of(address) == INITIAL_SOURCE

    # ---- facts about the history

    def in_program_order(self, a: int, b: int) -> bool:
        return self.operations[a].thread == self.operations[b].thread and a < b

    def kept(self, a: int, b: int) -> bool:
        """Whether program order, as far as the model keeps it, leads from a to b."""
        if not self.in_program_order(a, b):
            return False
        reached = {_sort(self.operations[a])}  # operations of the same sort are kept before the same ones
        thread = self.threads[self.operations[a].thread]
        for op in thread[thread.index(a) + 1 : thread.index(b) + 1]:
            after = _sort(self.operations[op])
            if any(keeps(self.model, self.semantics, before, after) for before in reached):
                reached.add(after)
                if op == b:
                    return True
        return False

    def writes_to(self, write: int, other: int) -> bool:
        """Whether it writes the address of the other."""
        written, address = self.operations[write].written, self.operations[write].address
        return written is not None and address is not None and address == self.operations[other].address

    def read(self, source: int, read: int) -> bool:
        """Whether the read saw that write (``INITIAL_SOURCE``: the initial value): as supposed, or as nobody else can
        have written it."""
        operation = self.operations[read]
        if not operation.reads or operation.read is None:
            return False
        candidates = [write for write in self.candidates(operation.address, operation.read) if write != read]
        return source in candidates and self.sources.get(read, source if len(candidates) == 1 else None) == source

    def is_final(self, write: int) -> bool:
        return self.last_of(self.operations[write].address) == write

    def last_of(self, address: str | None) -> int | None:
        if address is None or address not in self.final:
            return None
        candidates = self.candidates(address, self.final[address])
        supposed = self.finals.get(address, candidates[0] if len(candidates) == 1 else None)
        return supposed if supposed in candidates else None

    def candidates(self, address: str | None, value: int) -> list[int]:
        """Who may have written it."""
        found = self.writers.get((address, value), [])
        return [INITIAL_SOURCE, *found] if self.initial.get(address or "", 0) == value else found


def _sort(operation: Operation) -> Operation:
    return Operation("", operation.kind, operation.address)
