"""The smallest part of an inconsistent history that is still inconsistent.

What is removed with a write is what cannot stay without it: the reads that may have seen it. With fewer writes to choose
from, a part may be forbidden though the whole is not. The result is minimal: whichever operation is removed, with what
has to go with it, the rest is consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from teetotal.answers.events import MachineName, Semantics
from teetotal.answers.verdict import Verdict
from teetotal.histories.check import check
from teetotal.histories.history import History
from teetotal.histories.problem import Problem
from teetotal.histories.time_limit import Clock

Item = int | str
"""An operation, or the address of a final value."""
Needs = Callable[[Item], set[Item]]
"""The writes that a read may have seen, or that may have given a final value."""


def core_of(problem: Problem, needs: Needs, clock: Clock) -> set[Item]:
    """A part of the history that is enough for a contradiction: what the saturation's proof speaks of, if it finds one,
    else everything."""
    history = problem.history
    everything: set[Item] = {*range(len(history)), *history.final}
    if problem.ambiguous:
        return everything
    checker = problem.checker()
    if checker.saturate(clock.left) != "inconsistent":
        return everything
    lemmas, cycle = checker.proof()
    edges = [*cycle, *(edge for claim, path in lemmas for edge in (claim, *path))]
    used: set[Item] = {op for edge in edges for op in edge[:3] if op >= 0}
    used |= history.final.keys() & {history[op].address for op in used if isinstance(op, int)}
    while more := {write for item in used for write in needs(item)} - used:
        used |= more
    return used


def needs_of(problem: Problem) -> Needs:
    number = {name: i for i, name in enumerate(problem.history.addresses)}

    def needs(item: Item) -> set[Item]:
        if isinstance(item, int):
            writes = problem.candidates.get(item) or [int(problem.source[item])]
        else:
            writes = problem.final_candidates.get(number[item]) or [int(problem.final[number[item]])]
        return {write for write in writes if write < len(problem.history)}

    return needs


def shrink(history: History, model: MachineName, semantics: Semantics, clock: Clock) -> tuple[list[Item], bool]:
    """A part of the history that the model forbids, and whether it is minimal: it is unless the time runs out."""
    problem = Problem(history, model, semantics)
    needs = needs_of(problem)
    items = core_of(problem, needs, clock)

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
        minimise(items, lambda rest: closed(needs, rest), forbidden)
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


def closed(needs: Needs, items: set[Item]) -> set[Item]:
    """Without what cannot stay."""
    while lost := {item for item in items if not needs(item) <= items}:
        items = items - lost
    return items


def part(history: History, items: Iterable[Item]) -> History:
    items = list(items)
    final = {address: history.final[address] for address in items if isinstance(address, str)}
    return history.restricted([op for op in items if isinstance(op, int)], final=final)


def str_last(item: Item) -> tuple[bool, Item]:
    return isinstance(item, str), item


def _chunks(items: list[Item], size: int) -> list[set[Item]]:
    return [set(items[i : i + size]) for i in range(0, len(items), size)]
