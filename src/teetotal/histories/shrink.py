"""The smallest part of an inconsistent history that is still inconsistent.

What is removed with an operation is what cannot stay without it: reads of values that nobody is left to have written.
The result is minimal: whichever operation is removed, with what has to go with it, the rest is consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from teetotal.events import ModelName, Semantics
from teetotal.histories.check import check
from teetotal.histories.history import History
from teetotal.histories.problem import Problem
from teetotal.histories.time_limit import Clock
from teetotal.verdicts import Verdict

Item = int | str
"""An operation, or the address of a final value."""


def core_of(history: History, model: ModelName, semantics: Semantics, clock: Clock) -> set[Item]:
    """A part of the history that is enough for a contradiction: what the saturation's proof speaks of, if it finds one,
    else everything."""
    everything: set[Item] = {*range(len(history)), *history.final}
    problem = Problem(history, model, semantics)
    if problem.ambiguous:
        return everything
    checker = problem.checker()
    if checker.saturate(clock.left) != "inconsistent":
        return everything
    lemmas, cycle = checker.proof()
    edges = [*cycle, *(edge for claim, path in lemmas for edge in (claim, *path))]
    used = {op for edge in edges for op in edge[:3] if op >= 0}
    while True:  # a read needs what it read from
        more = {int(problem.source[op]) for op in used if problem.source[op] < len(history)} - used
        if not more:
            break
        used |= more
    addresses = {history[op].address for op in used}
    return {*used, *(address for address in history.final if address in addresses)}


def shrink(history: History, model: ModelName, semantics: Semantics, clock: Clock) -> tuple[list[Item], bool]:
    """A part of the history that the model forbids, and whether it is minimal: it is unless the time runs out."""
    items = core_of(history, model, semantics, clock)

    def forbidden(rest: set[Item]) -> bool:
        nonlocal items
        if clock.over:
            raise TimeoutError
        verdict = check(part(history, rest), model, semantics=semantics, seconds=clock.left).verdict
        if verdict is Verdict.INCONCLUSIVE:
            raise TimeoutError
        if verdict is Verdict.VIOLATION:
            items = rest
        return verdict is Verdict.VIOLATION

    try:
        minimise(items, lambda rest: closed(history, rest), forbidden)
    except TimeoutError:
        return sorted(items, key=str_last), False
    return sorted(items, key=str_last), True


def minimise(
    items: set[Item], close: Callable[[set[Item]], set[Item]], forbidden: Callable[[set[Item]], bool]
) -> set[Item]:
    """Removes chunks, from halves down to single items, as long as what is left is forbidden."""
    size = max(1, len(items) // 2)
    while True:
        removed = False
        for chunk in _chunks(sorted(items, key=str_last), size):
            rest = close(items - chunk)
            if rest < items and rest and forbidden(rest):
                items = rest
                removed = True
        if size == 1 and not removed:
            return items
        size = max(1, size // 2)


def closed(history: History, items: set[Item]) -> set[Item]:
    """Without the reads, and final values, whose value nobody is left to have written."""
    initial = history.initial
    starts = {(a, initial.get(a, 0)) for a in history.addresses}
    final = history.final
    while True:
        operations = {op: history[op] for op in items if isinstance(op, int)}
        written = starts | {(o.address, o.written) for o in operations.values() if o.written is not None}
        lost: set[Item] = {
            op for op, o in operations.items() if o.reads and o.read is not None and (o.address, o.read) not in written
        }
        lost |= {a for a in items if isinstance(a, str) and (a, final[a]) not in written}
        if not lost:
            return items
        items = items - lost


def part(history: History, items: Iterable[Item]) -> History:
    items = list(items)
    final = {address: history.final[address] for address in items if isinstance(address, str)}
    return history.restricted([op for op in items if isinstance(op, int)], final=final)


def str_last(item: Item) -> tuple[bool, Item]:
    return isinstance(item, str), item


def _chunks(items: list[Item], size: int) -> list[set[Item]]:
    return [set(items[i : i + size]) for i in range(0, len(items), size)]
