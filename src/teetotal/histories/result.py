"""The answer of ``teetotal history`` about one history: verdict, witness and its check, proof, kernel."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from teetotal.errors import TeetotalError
from teetotal.events import Event, ModelName, Semantics
from teetotal.histories.check import Engine, HistoryModel, check, models_of
from teetotal.histories.history import History
from teetotal.histories.problem import Problem, Unwritten
from teetotal.scale import supervision
from teetotal.verdicts import Edge, Verdict

LONG_WITNESS = 100_000
"""Steps above which JSON has a witness only if asked (``--witness``)."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    model: HistoryModel = "sc"
    engine: Engine = "auto"
    seconds: float | None = None
    semantics: Semantics = Semantics()
    use_order: bool = True
    explain: bool = True
    kernel: bool = False
    check_witness: bool = False
    witness: bool = False
    unwritten: Literal["error", "violation"] = "error"
    format: str | None = None
    split_transactions: bool = False
    late: str = ""
    """What to say of a history that takes far longer than ``seconds``, and has to be ended."""


class HistoryViolation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why it is inconsistent: the operations of a minimal part, a proof over them, and the cycle that ends it."""

    model: HistoryModel
    events: list[Event]
    operations: list[int]
    proof: list[str]
    cycle: list[Edge] = []
    locations: list[str] = []
    minimal: bool = True


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of writes of one address: all, those that every witness orders alike, and those that a saturation finds."""

    pairs: int
    kernel: int
    wsc: int
    ccm: int


class HistoryResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    input: str
    command: str
    name: str
    model: HistoryModel
    verdict: Verdict
    complete: bool
    seconds: float
    engine: Engine
    decided_by: str
    operations: int
    threads: int
    addresses: int
    duplicates: int = 0
    models: dict[str, Verdict] = {}
    """Of an inconsistent history: what each model says about it."""
    witness: list[int] | None = None
    witness_steps: int | None = None
    witness_checked: bool | None = None
    violations: list[HistoryViolation] = []
    kernel: Kernel | None = None
    learned: str = ""
    effort: dict[str, int] = {}
    text: list[str] = []
    """The explanation as a person reads it."""


def examine(history: History, file: str, options: Options) -> HistoryResult:
    """Everything that was asked about one history."""
    from teetotal.histories import witness

    started = time.monotonic()
    found: dict[str, Any] = {}
    try:
        outcome = check(
            history,
            options.model,
            engine=options.engine,
            seconds=options.seconds,
            semantics=options.semantics,
            use_order=options.use_order,
        )
        verdict, decided_by = outcome.verdict, outcome.decided_by
        found |= {"learned": outcome.learned, "effort": outcome.effort}
    except Unwritten as error:
        if options.unwritten == "error":
            raise TeetotalError(f"{file}: {history.name + ': ' if history.name else ''}{error.message}") from error
        verdict, decided_by, outcome = Verdict.VIOLATION, "values", None
    if outcome is not None and outcome.witness is not None:
        found["witness_steps"] = len(outcome.witness)
        if options.check_witness:
            base: ModelName = options.model if options.model in ("tso", "pso") else "sc"
            wrong = witness.refute(history, outcome.witness, base, options.semantics)
            if wrong:
                raise AssertionError(f"the witness of {history.name or file} is wrong: {wrong}")
            found["witness_checked"] = True
        if options.witness or len(outcome.witness) <= LONG_WITNESS:
            found["witness"] = witness.to_json(outcome.witness)
    if verdict is Verdict.VIOLATION and options.explain:
        left = None if options.seconds is None else max(0.0, options.seconds - (time.monotonic() - started))
        found |= _explained(history, file, options, left)
    if options.kernel and verdict is Verdict.SAFE:
        found["kernel"] = kernel_of(history)
    return HistoryResult(
        input=file,
        command="history",
        name=history.name,
        model=options.model,
        verdict=verdict,
        complete=verdict is not Verdict.INCONCLUSIVE,
        seconds=time.monotonic() - started,
        engine=options.engine,
        decided_by=decided_by,
        operations=len(history),
        threads=len(history.threads),
        addresses=len(history.addresses),
        **found,
    )


def _explained(history: History, file: str, options: Options, left: float | None) -> dict[str, Any]:
    from teetotal.histories.explain import event, explain, render

    # A CCM violation is also one of wSC, and one of wSC also one of SC, whose proof is the simplest.
    base: ModelName = options.model if options.model in ("tso", "pso") else "sc"
    explanation = explain(history, base, options.semantics, left)
    events = [event(history, op, file) for op in explanation.operations]
    violation = HistoryViolation(
        model=options.model,
        events=events,
        operations=explanation.operations,
        proof=explanation.proof,
        cycle=explanation.cycle,
        locations=[str(e.location) for e in events if e.location],
        minimal=explanation.minimal,
    )
    return {
        "violations": [violation],
        "models": models_of(history, options.semantics, left),
        "text": render(history, explanation, file),
    }


def kernel_of(history: History) -> Kernel:
    """The SC-kernel and how much of it each saturation finds (section 4 of the paper, and its table in section 6)."""
    from teetotal.histories.sat import kernel

    problem = Problem(history, "sc", Semantics())
    if problem.ambiguous:
        raise TeetotalError("the SC-kernel is defined for values that are written once")
    pairs = kernel(problem)
    if pairs is None:
        raise TeetotalError("an inconsistent history has no SC-kernel")
    checker = problem.checker()
    checker.saturate(None)
    ordered, opened = len(checker.pairs(True)[0]), len(checker.pairs(False)[0])
    _, first, _ = problem.checker(rules="base").ccm(True, None)
    return Kernel(pairs=ordered + opened, kernel=len(pairs), wsc=ordered, ccm=len(first))


# ---- many histories

Task = tuple[str, int, int, Options]
"""A file, and which of its histories: from, to."""


def read_once(file: str, format: str | None, split_transactions: bool) -> list[History]:
    """The histories of a file; those of the last file are kept, as long as it does not change."""
    from teetotal.histories.readers import read

    status = os.stat(file)
    key = (file, format, split_transactions, status.st_mtime_ns, status.st_size)
    if key not in _LAST_READ:
        _LAST_READ.clear()
        _LAST_READ[key] = read(file, format=format, split_transactions=split_transactions)
    return _LAST_READ[key]


_LAST_READ: dict[tuple[object, ...], list[History]] = {}


def examine_each(task: Task) -> Iterator[HistoryResult]:
    file, start, stop, options = task
    for history in read_once(file, options.format, options.split_transactions)[start:stop]:
        with supervision.watching(options.seconds, late=options.late):
            result = examine(history, file, options)
        yield result


def examine_share(task: Task) -> list[HistoryResult] | TeetotalError:
    """A worker's share. It reads the file itself: that is faster than to send the histories."""
    try:
        return list(examine_each(task))
    except TeetotalError as error:
        return error


def examine_all(tasks: list[Task], workers: int) -> Iterator[HistoryResult]:
    """The shares' results, in order, by that many processes; as soon as they are known, for somebody may press Ctrl-C."""
    if workers == 1 or len(tasks) == 1:
        for task in tasks:
            yield from examine_each(task)
        return
    from teetotal.scale.local import WorkerDied, each, in_order

    for number, found in enumerate(in_order(each(examine_share, tasks, workers))):
        if isinstance(found, WorkerDied):
            raise TeetotalError(f"{tasks[number][0]}: {found}")
        if isinstance(found, TeetotalError):
            raise found
        yield from found
