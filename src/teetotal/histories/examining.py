"""Everything that is asked about histories, one or many: verdict, witness and its check, proof, kernel."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from teetotal.answers.answer import Refusal
from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.events import MachineName, Semantics
from teetotal.answers.history import HistoryAnswer, HistoryViolation, Kernel
from teetotal.answers.options import HistoryOptions
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.histories.check import Check, Deciding, Decision, check, models_of, part_of
from teetotal.histories.history import History, thread_name
from teetotal.histories.parts import Parts, divided, worth_helping
from teetotal.histories.problem import Problem, Unwritten
from teetotal.histories.time_limit import within
from teetotal.scale import crew, supervision
from teetotal.scale.crew import OutOfBudget, WorkerDied, in_order
from teetotal.scale.scale import Scale

TRIES = 3
"""So often somebody may die of the same histories before they are given up."""
LONG_WITNESS = 100_000
"""Steps above which JSON has a witness only if asked (``--witness``)."""
INTERRUPTED = "interrupted before "
OTHER_MODELS_SECONDS = 5.0
"""How long the models that nobody asked for may take if no time is given."""


def examine(
    history: History,
    file: str,
    options: HistoryOptions,
    *,
    index: int = 0,
    spent: float = 0.0,
    by: Deciding | None = None,
) -> HistoryAnswer:
    """Everything that was asked about one history, of whose time so much is ``spent``. The verdict comes first: whatever
    fails after it is a note. ``by``: who decides its parts."""
    budget = Budget(max(0.0, options.seconds - spent))
    found: dict[str, Any] = {}
    notes: list[str] = []
    try:
        decision = check(
            history,
            options.model,
            engine=options.engine,
            seconds=budget.limit,
            semantics=options.semantics,
            use_order=options.use_order,
            by=by,
        )
        verdict, decided_by = decision.verdict, decision.decided_by
        found |= {"learned": decision.learned, "effort": decision.effort, **_witness(history, file, decision, options)}
    except Unwritten as error:
        if options.unwritten == "error":
            raise TeetotalError(f"{file}: {history.name + ': ' if history.name else ''}{error.message}") from error
        verdict, decided_by = Verdict.VIOLATION, "values"
    if options.kernel and options.model == "sc" and verdict is Verdict.SAFE:
        found["kernel"] = _attempt("the SC-kernel", notes, lambda: within(budget.limit, kernel_of, history))
    answer = _result(
        history, file, options, index, verdict, decided_by=decided_by, seconds=budget.passed, notes=notes, **found
    )
    if verdict is not Verdict.VIOLATION or not options.explain:
        return answer
    return replace(explained(history, answer, options, budget.limit), seconds=budget.passed)


def _result(
    history: History, file: str, options: HistoryOptions, index: int, verdict: Verdict, **found: Any
) -> HistoryAnswer:
    return HistoryAnswer(
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


def _witness(history: History, file: str, decision: Decision, options: HistoryOptions) -> dict[str, Any]:
    from teetotal.histories import witness

    if decision.witness is None:
        return {}
    found: dict[str, Any] = {"witness_steps": len(decision.witness)}
    if options.check_witness:
        wrong = witness.refute(history, decision.witness, _base(options), options.semantics)
        if wrong:
            raise AssertionError(f"the witness of {history.name or file} is wrong: {wrong}")
        found["witness_checked"] = True
    if options.witness or len(decision.witness) <= LONG_WITNESS:
        found["witness"] = witness.to_json(decision.witness)
    return found


def _base(options: HistoryOptions) -> MachineName:
    # A CCM violation is also one of wSC, and one of wSC also one of SC, whose proof is the simplest.
    return options.model if options.model in ("tso", "pso") else "sc"


def explained(history: History, answer: HistoryAnswer, options: HistoryOptions, seconds: float | None) -> HistoryAnswer:
    """With the proof of its violation and what other models say, as far as the time allows, and notes about the rest."""
    budget = Budget(seconds)
    notes = list(answer.notes)
    if budget.over:
        return replace(answer, notes=[*notes, "the time was over before the proof"])
    share = None if budget.limit is None else 0.8 * budget.limit
    proof = _attempt("the proof", notes, lambda: _proof(history, answer.input, options, share))
    left = OTHER_MODELS_SECONDS if budget.limit is None else budget.limit
    known: dict[str, Verdict] = {options.model: Verdict.VIOLATION}
    models = _attempt("the other models", notes, lambda: models_of(history, options.semantics, left, known))
    return replace(answer, notes=notes, violations=[] if proof is None else [proof], models=models or {})


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


def _proof(history: History, file: str, options: HistoryOptions, seconds: float | None) -> HistoryViolation:
    from teetotal.histories.explain import event, explain

    explanation = explain(history, _base(options), options.semantics, seconds)
    events = [event(history, op, file) for op in explanation.operations]
    return HistoryViolation(
        model=options.model,
        kind="history",
        events=events,
        threads=[thread_name(history[op].thread) for op in explanation.operations],
        operations=explanation.operations,
        finals=[f"{address} = {history.final[address]}" for address in explanation.finals],
        proof=explanation.proof,
        cycle=explanation.cycle,
        locations=[str(e.location) for e in events if e.location],
        minimal=explanation.minimal,
    )


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

Task = tuple[str, int, int, HistoryOptions]
"""A file, and which of its histories: from, to."""


def read_once(file: str, options: HistoryOptions, *, bounded: bool = False) -> tuple[list[History], float]:
    """The histories of a file, and how long it took to read them; those of the last file are kept, as long as it does not
    change. ``bounded``, it takes no longer than ``options`` allow: TimeoutError."""
    from teetotal.histories.readers import read

    try:
        status = os.stat(file)
    except OSError as error:
        raise ParseError(f"{file}: cannot be read: {error.strerror}") from error
    key = (file, options.format, options.split_transactions, status.st_mtime_ns, status.st_size)
    if key not in _LAST_READ:
        _LAST_READ.clear()
        budget = Budget(options.seconds if bounded else None)
        histories = read(
            file, format=options.format, split_transactions=options.split_transactions, seconds=budget.limit
        )
        _LAST_READ[key] = histories, budget.passed
    return _LAST_READ[key]


_LAST_READ: dict[tuple[object, ...], tuple[list[History], float]] = {}
atexit.register(_LAST_READ.clear)  # the columns go before the extension that they belong to


def examine_each(task: Task, scale: Scale | None = None) -> Iterator[HistoryAnswer | Refusal]:
    """``scale``: who helps with the parts of each. One that makes no sense is refused, and the next one examined."""
    file, start, stop, options = task
    for index in range(start, stop):
        with supervision.watching(options.seconds, late=options.late):
            histories, spent = read_once(file, options)
            supervision.looks_at_the_clock()
            by = None if scale is None else by_crew(scale, file, index, options)
            try:
                result = examine(histories[index], file, options, index=index, spent=spent, by=by)
            except TeetotalError as error:
                yield Refusal.of(error, file, "history")
                continue
        yield result
        if any(note.startswith(INTERRUPTED) for note in result.notes):
            raise KeyboardInterrupt


def examine_share(task: Task) -> list[HistoryAnswer | Refusal]:
    """A worker's share. It reads the file itself: that is faster than to send the histories."""
    return list(examine_each(task))


class Share(msgspec.Struct, frozen=True):
    """What a checkpoint keeps of a share in which nothing was refused."""

    answers: list[HistoryAnswer]


def examine_all(tasks: list[Task], scale: Scale) -> Iterator[HistoryAnswer | Refusal]:
    """The shares' results, in order, by whoever helps; as soon as they are known, for somebody may press Ctrl-C. Where time
    is given, a share is one history, and is ended by force if it does not end by itself. Those that a checkpoint knows are
    done. Where all are about one history that has parts, they are given the parts, one question after the other."""
    checkpoint = scale.checkpoint
    if not tasks:
        return
    if not scale.alone and _is_one_in_parts(tasks):
        for task in tasks:
            yield from examine_each(task, scale)
        return
    limit = Budget(tasks[0][3].seconds).limit
    if (len(tasks) <= 1 or (scale.alone and limit is None)) and checkpoint is None:
        for task in tasks:
            yield from examine_each(task)
        return

    def name(task: Task) -> str:
        file, start, stop, options = task
        return f"{options.model} {start}-{stop} {file}"

    known = {} if checkpoint is None else {name(task): checkpoint.item(name(task), Share) for task in tasks}
    asked = [task for task in tasks if known.get(name(task)) is None]

    def done() -> Iterator[tuple[int, list[HistoryAnswer | Refusal] | WorkerDied]]:
        for position, found in crew.each(scale.crew(examine_share, len(asked), limit), asked, TRIES):
            if checkpoint is not None and not isinstance(found, WorkerDied):
                answers = [answer for answer in found if isinstance(answer, HistoryAnswer)]
                if len(answers) == len(found):
                    checkpoint.save_item(name(asked[position]), Share(answers))
            yield position, found

    new = in_order(done())
    for task in tasks:
        if (share := known.get(name(task))) is not None:
            yield from share.answers
            continue
        found = next(new)
        if isinstance(found, WorkerDied):
            yield from _lost(task, found)
        else:
            yield from found


def _is_one_in_parts(tasks: list[Task]) -> bool:
    if len({task[:3] for task in tasks}) > 1 or tasks[0][2] - tasks[0][1] > 1:
        return False
    file, index, _, options = tasks[0]
    return worth_helping(read_once(file, options)[0][index])


class PartTask(NamedTuple):
    """One of the parts of a history, and the seconds for it."""

    file: str
    place: int
    number: int
    options: HistoryOptions
    seconds: float | None


def decide_part(task: PartTask) -> Decision | None:
    """What a worker does. Where it was not forked from whoever read the file, it reads it itself."""
    options = task.options
    history = read_once(task.file, options)[0][task.place]
    parts = divided(history)
    assert parts is not None
    budget = Budget(task.seconds)
    whole = Check(history, options.model, options.engine, budget, options.semantics, options.use_order, None)
    return part_of(whole, parts, task.number)


class Decided(msgspec.Struct, frozen=True):
    """What a checkpoint keeps of a part."""

    decision: Decision


def by_crew(scale: Scale, file: str, index: int, options: HistoryOptions) -> Deciding:
    """The parts of a history by whoever helps, as ``in_turn``; those that a checkpoint knows are done."""

    def decide(check: Check, parts: Parts) -> Generator[Decision | None, None, None]:
        def name(number: int) -> str:
            return f"{options.model} {index} part {number} of {len(parts)} {file}"

        checkpoint = scale.checkpoint
        known: dict[int, Decided | None] = dict.fromkeys(range(len(parts)))
        if checkpoint is not None:
            known = {number: checkpoint.item(name(number), Decided) for number in known}
        asked = [number for number, found in known.items() if found is None]
        tasks = (PartTask(file, index, number, options, check.budget.limit) for number in asked)

        def done() -> Generator[tuple[int, Decision | WorkerDied | None], None, None]:
            with closing(crew.each(scale.crew(decide_part, len(asked)), tasks, TRIES)) as found:
                for position, decision in found:
                    if checkpoint is not None and isinstance(decision, Decision) and decision.verdict.holds is not None:
                        checkpoint.save_item(name(asked[position]), Decided(_in_json(decision)))
                    yield position, decision

        with closing(done()) as found:
            new = in_order(found)
            for before in known.values():
                decision = next(new) if before is None else before.decision
                yield check.lost(str(decision)) if isinstance(decision, WorkerDied) else decision

    return decide


def _in_json(decision: Decision) -> Decision:
    return decision if decision.witness is None else replace(decision, witness=decision.witness.tolist())


def _lost(task: Task, why: Exception) -> Iterator[HistoryAnswer]:
    """What is said about the histories of a share whose process died."""
    file, start, stop, options = task
    histories, _ = read_once(file, options)
    late = isinstance(why, OutOfBudget) and not why.memory
    for index in range(start, stop):
        yield _result(
            histories[index],
            file,
            options,
            index,
            Verdict.INCONCLUSIVE,
            decided_by="time" if late else "memory",
            seconds=options.seconds if late else 0.0,
            learned=f"nothing: {why}",
        )


def not_read(file: str, options: HistoryOptions) -> HistoryAnswer:
    """What is said about a file whose reading took all the time that was given."""
    nobody = History.of([])
    learned = "nothing: the time was over before the file was read"
    return _result(
        nobody, file, options, 0, Verdict.INCONCLUSIVE, decided_by="reading", seconds=options.seconds, learned=learned
    )
