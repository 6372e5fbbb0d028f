"""The answer of ``teetotal history`` about one history: verdict, witness and its check, proof, kernel."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from teetotal.errors import TeetotalError
from teetotal.events import Event, ModelName, Semantics
from teetotal.histories.check import Engine, HistoryModel, Outcome, check, models_of
from teetotal.histories.history import History
from teetotal.histories.problem import Problem, Unwritten
from teetotal.histories.time_limit import Clock, within
from teetotal.scale import supervision
from teetotal.verdicts import Edge, Verdict

LONG_WITNESS = 100_000
"""Steps above which JSON has a witness only if asked (``--witness``)."""
INTERRUPTED = "interrupted before "
OTHER_MODELS_SECONDS = 5.0
"""How long the models that nobody asked for may take if no time is given."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    model: HistoryModel = "sc"
    engine: Engine = "auto"
    seconds: float | None = None
    """For all of a history: to read its file, to decide, to explain."""
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
    six: int = 0
    guess: int = 0


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
    index: int = 0
    """Its place among the histories of the file."""
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
    notes: list[str] = []
    """What was asked for beside the verdict and is missing."""
    text: list[str] = []
    """The explanation as a person reads it."""


def examine(history: History, file: str, options: Options, *, index: int = 0, spent: float = 0.0) -> HistoryResult:
    """Everything that was asked about one history, of whose time so much is ``spent``. The verdict comes first: whatever
    fails after it is a note."""
    clock = Clock(None if options.seconds is None else max(0.0, options.seconds - spent))
    found: dict[str, Any] = {}
    notes: list[str] = []
    try:
        outcome = check(
            history,
            options.model,
            engine=options.engine,
            seconds=clock.left,
            semantics=options.semantics,
            use_order=options.use_order,
        )
        verdict, decided_by = outcome.verdict, outcome.decided_by
        found |= {"learned": outcome.learned, "effort": outcome.effort, **_witness(history, file, outcome, options)}
    except Unwritten as error:
        if options.unwritten == "error":
            raise TeetotalError(f"{file}: {history.name + ': ' if history.name else ''}{error.message}") from error
        verdict, decided_by = Verdict.VIOLATION, "values"
    if verdict is Verdict.VIOLATION and options.explain:
        extras = explained(history, file, options, clock.left)
        notes += extras.pop("notes")
        found |= extras
    if options.kernel and options.model == "sc" and verdict is Verdict.SAFE:
        found["kernel"] = _attempt("the SC-kernel", notes, lambda: within(clock.left, kernel_of, history))
    return _result(
        history, file, options, index, verdict, decided_by=decided_by, seconds=clock.passed, notes=notes, **found
    )


def _result(history: History, file: str, options: Options, index: int, verdict: Verdict, **found: Any) -> HistoryResult:
    return HistoryResult(
        input=file,
        command="history",
        name=history.name,
        index=index,
        model=options.model,
        verdict=verdict,
        complete=verdict is not Verdict.INCONCLUSIVE,
        engine=options.engine,
        operations=len(history),
        threads=len(history.threads),
        addresses=len(history.addresses),
        **found,
    )


def _witness(history: History, file: str, outcome: Outcome, options: Options) -> dict[str, Any]:
    from teetotal.histories import witness

    if outcome.witness is None:
        return {}
    found: dict[str, Any] = {"witness_steps": len(outcome.witness)}
    if options.check_witness:
        wrong = witness.refute(history, outcome.witness, _base(options), options.semantics)
        if wrong:
            raise AssertionError(f"the witness of {history.name or file} is wrong: {wrong}")
        found["witness_checked"] = True
    if options.witness or len(outcome.witness) <= LONG_WITNESS:
        found["witness"] = witness.to_json(outcome.witness)
    return found


def _base(options: Options) -> ModelName:
    # A CCM violation is also one of wSC, and one of wSC also one of SC, whose proof is the simplest.
    return options.model if options.model in ("tso", "pso") else "sc"


def explained(history: History, file: str, options: Options, seconds: float | None) -> dict[str, Any]:
    """The proof of a violation and what the other models say, as far as the time allows, and ``notes`` about the rest."""
    clock = Clock(seconds)
    notes: list[str] = []
    found: dict[str, Any] = {"notes": notes}
    share = None if clock.left is None else 0.8 * clock.left
    if clock.over:
        notes.append("the time was over before the proof")
        return found
    found |= _attempt("the proof", notes, lambda: _proof(history, file, options, share)) or {}
    left = OTHER_MODELS_SECONDS if clock.left is None else clock.left
    known: dict[str, Verdict] = {options.model: Verdict.VIOLATION}
    models = _attempt("the other models", notes, lambda: models_of(history, options.semantics, left, known))
    return found if models is None else found | {"models": models}


def _attempt(what: str, notes: list[str], work: Callable[[], Any]) -> Any:
    """The result of something that is not the verdict, and must not cost it: None with a note if it cannot be had."""
    try:
        result = work()
        if result is None:
            notes.append(f"the time was over before {what}")
        return result
    except KeyboardInterrupt:
        notes.append(INTERRUPTED + what)
    except TeetotalError as error:
        notes.append(error.message)
    except MemoryError:
        notes.append(f"no memory for {what}")
    except Exception as error:  # whatever it is, the verdict stands
        notes.append(f"{what} failed: {type(error).__name__}: {error}")
    return None


def _proof(history: History, file: str, options: Options, seconds: float | None) -> dict[str, Any]:
    from teetotal.histories.explain import event, explain, render

    explanation = explain(history, _base(options), options.semantics, seconds)
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
    return {"violations": [violation], "text": render(history, explanation, file)}


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
    six, guess = (_ordered_by(problem, rule) for rule in ("six", "guess"))
    return Kernel(pairs=ordered + opened, kernel=len(pairs), wsc=ordered, ccm=len(first), six=six, guess=guess)


def _ordered_by(problem: Problem, rule: str) -> int:
    checker = problem.checker()
    checker.saturate(None)
    checker.extend(rule, None)
    return len(checker.pairs(True)[0])


# ---- many histories

Task = tuple[str, int, int, Options]
"""A file, and which of its histories: from, to."""


def read_once(file: str, options: Options, *, bounded: bool = False) -> tuple[list[History], float]:
    """The histories of a file, and how long it took to read them; those of the last file are kept, as long as it does not
    change. ``bounded``, it takes no longer than ``options`` allow: TimeoutError."""
    from teetotal.histories.readers import read

    status = os.stat(file)
    key = (file, options.format, options.split_transactions, status.st_mtime_ns, status.st_size)
    if key not in _LAST_READ:
        _LAST_READ.clear()
        clock = Clock(options.seconds if bounded else None)
        histories = read(file, format=options.format, split_transactions=options.split_transactions, seconds=clock.left)
        _LAST_READ[key] = histories, clock.passed
    return _LAST_READ[key]


_LAST_READ: dict[tuple[object, ...], tuple[list[History], float]] = {}
atexit.register(_LAST_READ.clear)  # the columns go before the extension that they belong to


def examine_each(task: Task) -> Iterator[HistoryResult]:
    file, start, stop, options = task
    for index in range(start, stop):
        with supervision.watching(options.seconds, late=options.late):
            histories, spent = read_once(file, options)
            supervision.looks_at_the_clock()
            result = examine(histories[index], file, options, index=index, spent=spent)
        yield result
        if any(note.startswith(INTERRUPTED) for note in result.notes):
            raise KeyboardInterrupt


def examine_share(task: Task) -> tuple[list[HistoryResult], TeetotalError | None]:
    """A worker's share, up to the first that cannot be examined. It reads the file itself: that is faster than to send
    the histories."""
    results = []
    try:
        for result in examine_each(task):
            results.append(result)
    except TeetotalError as error:
        return results, error
    return results, None


def examine_all(tasks: list[Task], workers: int) -> Iterator[HistoryResult]:
    """The shares' results, in order, by that many processes; as soon as they are known, for somebody may press Ctrl-C."""
    if workers == 1 or len(tasks) == 1:
        for task in tasks:
            yield from examine_each(task)
        return
    from teetotal.scale.local import WorkerDied, each, in_order

    for number, found in enumerate(in_order(each(examine_share, tasks, workers))):
        if isinstance(found, WorkerDied):
            yield from _lost(tasks[number], found)
            continue
        results, error = found
        yield from results
        if error is not None:
            raise error


def _lost(task: Task, why: Exception) -> Iterator[HistoryResult]:
    """What is said about the histories of a share whose process died."""
    file, start, stop, options = task
    histories, _ = read_once(file, options)
    for index in range(start, stop):
        yield _result(
            histories[index],
            file,
            options,
            index,
            Verdict.INCONCLUSIVE,
            decided_by="memory",
            seconds=0.0,
            learned=f"nothing: {why}",
        )


def not_read(file: str, options: Options) -> HistoryResult:
    """What is said about a file whose reading took all the time that was given."""
    nobody = History.of([])
    learned = "nothing: the time was over before the file was read"
    return _result(
        nobody, file, options, 0, Verdict.INCONCLUSIVE, decided_by="reading", seconds=options.seconds, learned=learned
    )
