"""Is a history SC, TSO or PSO? The engines, and how ``auto`` combines them.

==============  ===========================================================================================
engine          what it does
==============  ===========================================================================================
``auto``        replay the file's order and the recorded times; saturate; search (``core/histories/decide.hpp``);
                SAT if the search takes long, or if values repeat
``X+enum``      X, then SAT over the pairs left open: the paper's wSC+ENUM and CCM+ENUM; ``sat`` is ``wsc+enum``
``X+dbcop``     X, then search over frontiers (``core/histories/frontier.hpp``): the paper's wSC+DBCOP
``enum``        SAT alone
``dbcop``       search over frontiers alone
==============  ===========================================================================================

X is what orders writes first: ``wsc``, the saturation; ``six`` and ``guess``, the stronger saturations of the paper's
section 4 (``core/histories/extended.hpp``); ``ccm``, before ``enum`` only. Every engine decides SC, TSO and PSO, except
``ccm+enum``, which is about SC. Under TSO and PSO saturation means wTSO and wPSO. A consistent history always comes with a
witness; ``witness.refute`` checks it independently.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import Any

import msgspec
import numpy as np

from teetotal import _core
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import MachineName, Semantics
from teetotal.answers.history import HISTORY_MODELS, Engine, HistoryModel
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.histories.history import History
from teetotal.histories.parts import Parts, divided
from teetotal.histories.problem import MODEL_NUMBERS, Problem, Unwritten
from teetotal.histories.time_limit import ProcessEnded, within

SEARCH_CONFLICTS = 2000
"""Conflicts after which ``auto`` asks the SAT solver, and one more for every 50 operations. Random histories have a few."""
VALUE_STATES = 500_000
"""States after which the search by values (``core/histories/values.hpp``) gives up."""
SAT_PAIRS = 2_000_000
"""More open pairs of writes than these ``auto`` does not put to the SAT solver."""

_VERDICTS = {"consistent": Verdict.SAFE, "inconsistent": Verdict.VIOLATION, "unknown": Verdict.INCONCLUSIVE}
_WEAKER: dict[HistoryModel, tuple[HistoryModel, ...]] = {
    "sc": ("tso", "pso", "wsc", "ccm"),
    "tso": ("pso",),
    "wsc": ("ccm",),
}
"""Models that allow whatever this one allows."""


_STEPS = ("order", "search", "sat")
"""What finds witnesses, in the order in which it is tried."""


class Decision(msgspec.Struct, kw_only=True):
    """What was found out about one history under one model."""

    verdict: Verdict
    seconds: float
    decided_by: str
    """The step that gave the answer: ``order``, ``saturation``, ``search``, ``sat``, ``sources``."""
    witness: Any = None
    """Steps of a schedule, as ``witness.py`` describes them, if consistent under SC, TSO or PSO."""
    learned: str = ""
    """Where the answer is inconclusive: what is known all the same."""
    effort: dict[str, int] = {}


def check(
    history: History,
    model: HistoryModel = "sc",
    *,
    engine: Engine = "auto",
    seconds: float | None = None,
    semantics: Semantics | None = None,
    use_order: bool = True,
    by: Deciding | None = None,
) -> Decision:
    """Decides one history. ``seconds`` bounds the time; without it the answer is inconclusive only where memory runs out.
    ``use_order=False`` keeps ``auto`` from trying the file's own order first. ``by``: who decides its parts, where ``auto``
    finds several; the answer does not depend on that."""
    return Check(history, model, engine, Budget(seconds), semantics or Semantics(), use_order, by or in_turn).run()


def _needs(error: MemoryError) -> str:
    said = str(error)
    return said if said.startswith("it needs") else "the memory is not enough"


def part_of(check: Check, parts: Parts, number: int) -> Decision | None:
    """What is found out about one of a history's parts; None: a value was read that nobody wrote."""
    history = parts.history(number)
    limit = Budget(check.budget.limit)
    try:
        return Check(history, check.model, check.engine, limit, check.semantics, check.use_order, None).run()
    except Unwritten:
        return None


Deciding = Callable[["Check", Parts], Generator[Decision | None, None, None]]
"""Outcomes of a history's parts, in their order, as ``part_of`` gives them."""


def in_turn(check: Check, parts: Parts) -> Generator[Decision | None, None, None]:
    for number in range(len(parts)):
        yield part_of(check, parts, number)


class Check:
    def __init__(
        self,
        history: History,
        model: HistoryModel,
        engine: Engine,
        budget: Budget,
        semantics: Semantics,
        use_order: bool,
        by: Deciding | None,
    ) -> None:
        """``by``: None where it is not divided."""
        if engine == "ccm+enum" and model not in ("sc", "wsc", "ccm"):
            raise TeetotalError("the engine ccm+enum is about SC: CCM is no approximation of TSO or PSO")
        self.history = history
        self.model = model
        self.base: MachineName = model if model in ("tso", "pso") else "sc"
        self.engine = engine
        self.prior, self.finish = _parts(engine)
        self.semantics = semantics
        self.use_order = use_order
        self.by = by
        self.budget = budget
        self.effort: dict[str, int] = {}

    def run(self) -> Decision:
        try:
            return self._decide()
        except TimeoutError:
            return self._decided("unknown", "saturation", learned="the saturation did not end")
        except MemoryError as error:
            return self.lost(_needs(error))
        except ProcessEnded as ended:
            return self._decided("unknown", "sat", learned=f"nothing: {ended}")

    def lost(self, why: str) -> Decision:
        """Where nothing is known: whoever worked on it has not come to an end."""
        return self._decided("unknown", "memory", learned=f"nothing: {why}")

    def _decide(self) -> Decision:
        if self.engine == "auto" and self.use_order and self.model in MODEL_NUMBERS:
            for order in likely_witnesses(self.history):
                if not _core.refute_witness(self.history.columns, order, MODEL_NUMBERS["sc"], True):
                    steps = order if self.base == "sc" else self._schedule((order // 2).astype(np.uint32))
                    return self._decided("consistent", "order", steps)
        if self.by is not None and self.engine == "auto" and self.model in MODEL_NUMBERS:
            parts = divided(self.history)
            if parts is not None:
                with closing(self.by(self, parts)) as decisions:
                    return self._in_parts(parts, decisions)
        _core.affordable(_core.memory_to_saturate(self.history.columns, MODEL_NUMBERS[self.base]))
        problem = Problem(self.history, self.base, self.semantics)
        if problem.ambiguous:
            return self._by_sources(problem)
        if self.model == "ccm":
            status, _, _ = problem.checker().ccm(False, self.budget.limit)
            return self._decided(status, "saturation", learned="the saturation did not end")
        if self.model != "wsc" and self.finish == "enum" and self.prior in ("nothing", "ccm"):
            return self._sat(problem)
        checker = problem.checker(rules="base" if self.prior == "nothing" and self.model != "wsc" else "saturated")
        status = checker.saturate(self.budget.limit)
        self.effort["visits"] = checker.visits
        if status == "consistent" and self.model != "wsc" and self.prior in ("six", "guess"):
            status = checker.extend(self.prior, self.budget.limit)
        if status != "consistent" or self.model == "wsc":
            return self._decided(status, "saturation", learned="the saturation did not end")
        match self.finish:
            case "enum":
                return self._sat(problem)
            case "dbcop":
                return self._search(checker, "frontier")
            case _:
                return self._auto(problem, checker)

    def _in_parts(self, parts: Parts, decisions: Iterable[Decision | None]) -> Decision:
        """It is inconsistent as its first part that is, and consistent as the one that took most to be found so."""
        found: list[Decision] = []
        violation = False
        for decision in decisions:
            if decision is None:
                self._refuse_unwritten()
                raise AssertionError("a part reads what nobody wrote, and the whole does not")
            found.append(decision)
            for what, count in decision.effort.items():
                self.effort[what] = self.effort.get(what, 0) + count
            if violation := decision.verdict is Verdict.VIOLATION:
                break
            if self.budget.over:
                break
        left = [] if self.budget.over else range(len(found), len(parts))
        for number in left:  # which would have been told before anything was decided
            sources = _core.resolve_sources(parts.columns.history(number))
            if sources.unwritten or sources.unwritten_final:
                self._refuse_unwritten()
        if violation:
            return self._decided("inconsistent", found[-1].decided_by)
        for decision in found:
            if decision.verdict is Verdict.INCONCLUSIVE:
                return self._decided("unknown", decision.decided_by, learned=decision.learned)
        if len(found) < len(parts):
            learned = f"{len(found)} of {len(parts)} independent parts are consistent"
            return self._decided("unknown", found[-1].decided_by, learned=learned)
        witness = np.concatenate([parts.schedule(number, decision.witness) for number, decision in enumerate(found)])
        return self._decided("consistent", max((o.decided_by for o in found), key=_STEPS.index), witness)

    def _refuse_unwritten(self) -> None:
        Problem(self.history, self.base, self.semantics)

    def _auto(self, problem: Problem, checker: Any) -> Decision:
        decision = self._search(checker, "decide", SEARCH_CONFLICTS + len(self.history) // 50)
        if decision.verdict is not Verdict.INCONCLUSIVE or self.budget.over:
            return decision
        checker = problem.checker()
        if checker.saturate(self.budget.limit) == "unknown":
            return decision
        if len(checker.pairs(False)[0]) <= SAT_PAIRS:
            return self._sat(problem)
        return self._search(checker, "decide")

    def _search(self, checker: Any, kind: str, conflicts: int | None = None) -> Decision:
        learned = f"no saturation rule rejects it: it is {self._weak_name()}"
        if self.prior == "nothing":
            learned = "program order and reading alone do not contradict each other"
        try:
            status, order = checker.decide(kind, self.budget.limit, conflicts)
        except MemoryError as error:
            return self._decided("unknown", "memory", learned=f"{learned}; to search, {_needs(error)}")
        if status != "unknown":
            self.effort |= {"choices": checker.choices, "conflicts": checker.conflicts}
        return self._decided(status, "search", None if order is None else self._schedule(order), learned)

    def _sat(self, problem: Problem) -> Decision:
        from teetotal.histories.sat import solve

        result = within(self.budget.limit, solve, problem, self.prior)
        if result is None:
            return self._decided("unknown", "sat", learned="the SAT solver did not end")
        self.effort |= {"rounds": result.rounds, "clauses": result.clauses, "variables": result.variables}
        order = None if result.order is None else self._schedule(np.asarray(result.order, np.uint32))
        return self._decided(result.status, "sat", order)

    def _by_sources(self, problem: Problem) -> Decision:
        """Values that repeat: which write was read is part of what is searched for."""
        if self.model in ("wsc", "ccm"):
            raise TeetotalError(
                f"{problem.duplicates} duplicate values: {self.model} is defined for values that are written once; "
                "the models sc, tso and pso are decided all the same"
            )
        if not problem.narrow(self.budget):
            return self._decided("inconsistent", "sources")
        if problem.ambiguous:
            return self._by_values(problem)
        checker = problem.checker()
        if (status := checker.saturate(self.budget.limit)) != "consistent":
            return self._decided(status, "saturation", learned="the saturation did not end")
        return self._search(checker, "decide")

    def _by_values(self, problem: Problem) -> Decision:
        """Under SC values alone can be searched, which is quick where it succeeds; otherwise the sources are variables."""
        if self.base == "sc" and self.engine == "auto":
            columns = self.history.columns
            left = self.budget.limit
            share = None if left is None else left / 2
            status, order, choices, conflicts = _core.search_values(columns, share, VALUE_STATES)
            if status != "unknown":
                self.effort |= {"choices": choices, "conflicts": conflicts}
                return self._decided(status, "search", None if order is None else self._schedule(order))
        return self._sat(problem)

    def _schedule(self, order: Any) -> Any:
        return _core.schedule_of_order(self.history.columns, order, MODEL_NUMBERS[self.base])

    def _weak_name(self) -> str:
        return {"sc": "wSC", "tso": "wTSO", "pso": "wPSO"}[self.base]

    def _decided(self, status: str, decided_by: str, witness: Any = None, learned: str = "") -> Decision:
        verdict = _VERDICTS[status]
        return Decision(
            verdict=verdict,
            seconds=self.budget.passed,
            decided_by=decided_by,
            witness=witness,
            learned=learned if verdict is Verdict.INCONCLUSIVE else "",
            effort=self.effort,
        )


def _parts(engine: Engine) -> tuple[str, str]:
    """What orders writes first, and what finishes the work."""
    match engine:
        case "auto":
            return "wsc", "auto"
        case "sat":
            return "wsc", "enum"
        case "enum" | "dbcop":
            return "nothing", engine
    prior, finish = engine.split("+")
    return prior, finish


def likely_witnesses(history: History) -> list[Any]:
    """Orders that a recorder may have written down: that of the file, and by the time of each operation's end or begin."""
    columns = history.columns
    orders = [np.arange(len(history), dtype=np.uint64)]
    for times in (columns.end, columns.begin):
        if len(times) and (times >= 0).all():
            by_time = np.lexsort((np.arange(len(history)), times)).astype(np.uint64)
            orders.append(by_time)
    return [2 * order for order in orders]


def models_of(
    history: History,
    semantics: Semantics | None = None,
    seconds: float | None = None,
    known: dict[str, Verdict] | None = None,
) -> dict[str, Verdict]:
    """Each model's verdict, from the strongest to the weakest, in so many seconds altogether. What is ``known``, and
    follows from that or from what is found, is not asked again."""
    budget = Budget(seconds)
    verdicts = dict(known or {})
    for model in HISTORY_MODELS:
        try:
            verdicts[model] = (
                _implied(model, verdicts) or check(history, model, seconds=budget.limit, semantics=semantics).verdict
            )
        except Unwritten:
            verdicts[model] = Verdict.VIOLATION
        except TeetotalError:
            continue  # wsc and ccm are not defined for duplicate values
    return {model: verdicts[model] for model in HISTORY_MODELS if model in verdicts}


def _implied(model: HistoryModel, verdicts: dict[str, Verdict]) -> Verdict | None:
    """What stronger models allow is allowed, and what weaker ones forbid is forbidden."""
    if verdicts.get(model, Verdict.INCONCLUSIVE) is not Verdict.INCONCLUSIVE:
        return verdicts[model]
    if any(verdicts.get(stronger) is Verdict.SAFE for stronger, allowed in _WEAKER.items() if model in allowed):
        return Verdict.SAFE
    if any(verdicts.get(weaker) is Verdict.VIOLATION for weaker in _WEAKER.get(model, ())):
        return Verdict.VIOLATION
    return None
