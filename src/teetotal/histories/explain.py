"""Why a history is inconsistent, as a short proof in English over a minimal part of it.

The proof is read off the saturation's own edges (``core/histories/proof.hpp``): numbered facts, each with what forces
it, and then a cycle. Where saturation alone finds no cycle, cases are distinguished: two writes one way or the other,
or a read from one of several writes of the same value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from teetotal.answers.events import Event, Kind, Location, MachineName, Semantics
from teetotal.answers.numbers import Before
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Edge, Reason
from teetotal.budget import Budget
from teetotal.histories import proof
from teetotal.histories.check import check
from teetotal.histories.history import INITIAL_SOURCE, UNKNOWN_SOURCE, History
from teetotal.histories.parts import Parts, divided
from teetotal.histories.problem import Problem, Unwritten
from teetotal.histories.shrink import part, shrink

_SHORT: dict[int, Reason] = {
    Before.PROGRAM: "po",
    Before.READS_FROM: "src",
    Before.OVERWRITES: "fr",
    Before.INITIAL: "fr",
}
"""What verdicts call a reason; all others say which write is older: co."""
EXPLAIN_SECONDS = 20.0
"""How long an explanation may take if no time is given."""
SHRINK_SHARE = 0.7
"""Of that time, what shrinking may take; the rest is for the proof."""


class Explanation(NamedTuple):
    """``operations`` are numbers in the whole history, in the order in which ``proof`` numbers them from 1."""

    operations: list[int]
    finals: list[str]
    proof: list[str]
    cycle: list[Edge]
    """Of the contradiction that ends the proof, between places in ``operations``; empty if cases were distinguished."""
    minimal: bool


def explain(
    history: History, model: MachineName, semantics: Semantics | None = None, seconds: float | None = None
) -> Explanation:
    """A proof that the model forbids this history, which it must. If the time runs out, the part is not minimal, and
    there may be no more of a proof than that a search found no order."""
    semantics = semantics or Semantics()
    budget = Budget(EXPLAIN_SECONDS if seconds is None else seconds)
    parts = divided(history)
    number = None if parts is None else _wrong(parts, model, semantics, budget)
    if parts is None or number is None:
        return _explained(history, model, semantics, budget)
    found = _explained(parts.history(number), model, semantics, budget)
    own = parts.operations(number)
    return found._replace(operations=[int(own[op]) for op in found.operations])


def _wrong(parts: Parts, model: MachineName, semantics: Semantics, budget: Budget) -> int | None:
    """The first part that is inconsistent; None where that is not known, or a value was read that nobody wrote."""
    for number in range(len(parts)):
        try:
            verdict = check(parts.history(number), model, semantics=semantics, seconds=budget.limit).verdict
        except Unwritten:
            return None
        if verdict is Verdict.VIOLATION:
            return number
    return None


def _explained(history: History, model: MachineName, semantics: Semantics, budget: Budget) -> Explanation:
    try:
        items, minimal = shrink(history, model, semantics, Budget(budget.left * SHRINK_SHARE))
    except Unwritten as error:
        op = error.operations[:1]
        said = f"(1) reads {history[op[0]].read}, which nobody wrote." if op else error.message
        return Explanation(op, [], [said], [], True)
    operations = [item for item in items if isinstance(item, int)]
    finals = [item for item in items if isinstance(item, str)]
    prover = Prover(part(history, items), model, semantics, budget)
    proof = prover.prove(with_cases=minimal)
    return Explanation(operations, finals, proof, prover.cycle, minimal)


class Prover:
    def __init__(
        self, history: History, model: MachineName, semantics: Semantics, budget: Budget | None = None
    ) -> None:
        self.history = history
        self.model = model
        self.budget = budget or Budget()
        self.semantics = semantics
        self.problem = Problem(history, model, semantics)
        self.cycle: list[Edge] = []
        self.facts: dict[tuple[int, int], int] = {}
        self.numbered = 0

    def prove(self, with_cases: bool = True) -> list[str]:
        checker = self.problem.checker()
        if not self.problem.ambiguous and checker.saturate(self.budget.limit) == "inconsistent":
            return self._contradiction(checker, [])
        if not with_cases:
            return [
                "A search found no order. There was no time to make this part minimal, so there is no shorter proof."
            ]
        try:
            return self._sources()
        except TimeoutError:
            self.cycle = []
            return [
                "A search found no order. There was no time to distinguish all cases, so there is no shorter proof."
            ]

    # ---- cases

    def _sources(self) -> list[str]:
        problem = self.problem
        if not problem.ambiguous:
            return self._orders(problem.checker(), [])
        if problem.candidates:
            read, candidates = min(problem.candidates.items(), key=lambda item: (len(item[1]), item[0]))
            table, subject = problem.candidates, f"{self._name(read)} reads"
        else:
            address, candidates = next(iter(problem.final_candidates.items()))
            table, subject, read = problem.final_candidates, f"the final {self.history.addresses[address]} is", address
        column = problem.source if table is problem.candidates else problem.final
        del table[read]
        before = int(column[read])
        lines = []
        for source in candidates:
            column[read] = source
            what = "the initial value" if source == INITIAL_SOURCE else f"what {self._name(source)} wrote"
            lines += [f"Suppose that {subject} {what}.", *("  " + line for line in self._sources())]
        column[read] = before
        table[read] = candidates
        self.cycle = []
        return [*lines, "So whichever write it was, there is a contradiction."]

    def _orders(self, checker: Any, assumed: list[tuple[int, int]]) -> list[str]:
        left = self.budget.limit
        status = checker.saturate_assuming(assumed, left) if assumed else checker.saturate(left)
        try:
            if status == "unknown":
                raise TimeoutError
            if status == "inconsistent":
                return self._contradiction(checker, assumed)
            first, second = self._split(checker, assumed)
        finally:
            if assumed:
                checker.take_back()
        lines = []
        numbered, facts = self.numbered, dict(self.facts)
        for older, newer in ((first, second), (second, first)):
            lines.append(f"Suppose that {self._name(older)} is before {self._name(newer)}.")
            lines += ["  " + line for line in self._orders(checker, [*assumed, (older, newer)])]
            self.numbered, self.facts = numbered, dict(facts)
        self.cycle = []
        return [*lines, f"So neither {self._name(first)} nor {self._name(second)} can be first: a contradiction."]

    def _split(self, checker: Any, assumed: list[tuple[int, int]]) -> tuple[int, int]:
        """Two writes whose order is open; best if one of the two orders is contradictory at once."""
        pairs = list(zip(*(column.tolist() for column in checker.pairs(False)), strict=True))
        best = pairs[0]
        for first, second in pairs:
            if self.budget.over:
                raise TimeoutError
            refuted = 0
            for pair in ((first, second), (second, first)):
                refuted += checker.saturate_assuming([pair], None) == "inconsistent"
                checker.take_back()
            if refuted == 2:
                return first, second
            if refuted:
                best = first, second
        return best

    # ---- facts and the cycle

    def _contradiction(self, checker: Any, assumed: list[tuple[int, int]]) -> list[str]:
        lemmas, cycle = checker.proof()
        sources = {read: source for read, source in enumerate(self.problem.source.tolist()) if source != UNKNOWN_SOURCE}
        finals = dict(zip(self.history.addresses, self.problem.final.tolist(), strict=True))
        wrong = proof.refute(
            self.history, self.model, self.semantics, lemmas, cycle, sources=sources, finals=finals, assumed=assumed
        )
        assert not wrong, f"the engine's proof is none: {wrong}"
        if checker.impossible:
            return [self._impossible(*cycle[-1])]
        lines = [self._fact(claim, path) for claim, path in lemmas]
        self.cycle = [
            Edge(a, b, _SHORT.get(reason, "co"), self._because((a, b, why, reason))) for a, b, why, reason in cycle
        ]
        steps = [f"  {self._name(a)} is before {self._name(b)} {self._because((a, b, w, r))}" for a, b, w, r in cycle]
        return [*lines, "But there is a cycle:", *steps]

    def _fact(self, claim: tuple[int, int, int, int], path: list[tuple[int, int, int, int]]) -> str:
        a, b, why, reason = claim
        self.numbered += 1
        self.facts[a, b] = self.numbered
        way = self._way(path)
        if reason == Before.STORE:
            because = f"{self._name(why)} reads {self._name(b)}, and {self._name(a)} is before it ({way})"
        else:
            because = f"it reads {self._name(why)}, which {self._name(b)} overwrites ({way})"
        return f"Fact {self.numbered}. {self._name(a)} is before {self._name(b)}: {because}."

    def _way(self, path: list[tuple[int, int, int, int]]) -> str:
        return ", ".join(f"{self._name(a)} → {self._name(b)} {self._because((a, b, w, r))}" for a, b, w, r in path)

    def _because(self, edge: tuple[int, int, int, int]) -> str:
        a, b, why, reason = edge
        match reason:
            case _ if (a, b) in self.facts and reason in (Before.STORE, Before.OVERWRITES):
                return f"by fact {self.facts[a, b]}"
            case Before.PROGRAM:
                return "in program order"
            case Before.READS_FROM:
                return "by reading from it"
            case Before.STORE:
                return f"as {self._name(why)} reads {self._name(b)} after {self._name(a)}"
            case Before.OVERWRITES:
                return f"as it reads {self._name(why)}, which {self._name(b)} overwrites"
            case Before.INITIAL:
                return "as it reads the initial value, which the other overwrites"
            case Before.LOCATION:
                return f"as {self._name(why)}, later in its thread, reads {self._name(b)}"
            case Before.FINAL:
                return "as the final value is the other's"
            case _:
                return "as supposed"

    def _impossible(self, a: int, b: int, why: int, reason: int) -> str:
        match reason:
            case Before.READS_FROM:
                return f"{self._name(b)} reads {self._name(a)}, which its own thread does only later: a contradiction."
            case Before.INITIAL:
                return f"{self._name(a)} reads the initial value, but its own thread overwrote it in {self._name(b)}."
            case _:
                return f"The final value is the initial one, but {self._name(a)} overwrote it."

    def _name(self, op: int) -> str:
        return f"({op + 1})"


def event(history: History, op: int, file: str | None) -> Event:
    """An operation as the vocabulary's event."""
    columns = history.columns
    operation = history[op]
    thread = int(columns.thread[op])
    index = int((columns.thread[:op] == thread).sum())
    return Event(
        thread=thread,
        index=index,
        kind=operation.kind,
        address=operation.address,
        value=_plain(operation.read if operation.kind is Kind.LD else operation.written),
        read=_plain(operation.read if operation.kind is Kind.RMW else None),
        location=Location(file, operation.line) if file and operation.line else None,
        words=operation.text,
    )


def _plain(value: int | None) -> int | None:
    return None if value is None else int(value)  # nil is a number in JSON
