"""The answer of ``teetotal fence`` as text: the patch, a table of its fences, and the verdict of the patched program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from teetotal.answers.check import CheckAnswer
from teetotal.answers.fence import FenceAnswer, PlacedFence
from teetotal.answers.verdict import Verdict
from teetotal.report import terminal
from teetotal.report.style import PLAIN, Page, columns, counted

_FENCES = ("mfence", "sfence", "acquire_fence", "acq_rel_fence")


def render(result: FenceAnswer, page: Page = PLAIN) -> str:
    return "\n".join(_lines(result, page))


def headline(result: FenceAnswer, page: Page = PLAIN) -> str:
    """The verdict, in a line."""
    goal = _goal(result)
    if not result.proved and not result.fences:
        word = "cannot be made" if result.verdict is Verdict.VIOLATION else "not known how to make it"
        return f"{result.input}: {word} {goal}"
    of = f" of {result.cost_before:g}" if result.cost_before else ""
    told = f"{_count(result.fences)}, cost {result.cost:g}{of}{_on(result)}, {result.minimality}"
    if not result.fences:
        told = "no order can be weaker" if result.cost_before else "no fence to add"
    done = page.good("proved") if result.proved else page.bad(f"NOT proved ({result.verdict})")
    return f"{result.input}: {told}; {goal}: {done}{_but(result, page)}"


def _but(result: FenceAnswer, page: Page) -> str:
    """What the verdict is about where the goal is met: the notes say what fails."""
    if not result.proved or result.verdict is Verdict.SAFE:
        return ""
    return f", but {page.bad('NOT SAFE') if result.verdict is Verdict.VIOLATION else 'safe or not: unknown'}"


def _goal(result: FenceAnswer) -> str:
    goal = "robust and race-free" if "c11" in result.models else result.goal
    return f"{goal} under {' and '.join(model.upper() for model in result.models)}"


def _on(result: FenceAnswer) -> str:
    return "" if result.target is None else f" on {result.target}"


def _lines(result: FenceAnswer, page: Page) -> Iterator[str]:
    goal = _goal(result)
    yield from page.wrapped(headline(result, page))
    if result.diff:
        yield result.diff
    if not result.proved and not result.fences:
        for violation in result.violations[:1]:
            yield from terminal.tell(violation, result.input, page)
            yield ""
        if result.sets:
            yield from _sets(result, "found until then")
        yield from _notes(result, page)
        return
    if result.fences:
        yield from _table(result.fences, result.input)
        yield ""
    if result.removed:
        yield "Taken out:"
        yield from (f"  {fence.kind} at {_place(fence, result.input)}" for fence in result.removed)
        yield ""
    if not result.fences and not result.removed:
        yield f"{result.input}: already {goal}"
        if result.unnecessary:
            each = ", each by itself" if len(result.unnecessary) > 1 else ""
            yield f"Not needed for that{each} (--remove takes out as many as can go together):"
            yield from (f"  {fence.kind} at {_place(fence, result.input)}" for fence in result.unnecessary)
    if len(result.sets) > 1:
        yield from _sets(result, "the cheapest first")
    if result.buys:
        yield from page.wrapped(f"What they buy: {result.buys}")
    for patched in result.patched:
        yield from page.wrapped(f"Patched: {_verdict(patched)}")
    yield from _notes(result, page)
    for path, backup in result.backups.items():
        yield f"{path} is patched; as it was: {backup}"


def _notes(result: FenceAnswer, page: Page) -> Iterator[str]:
    for note in result.notes:
        yield from page.wrapped(f"Note: {note}")
    yield f"{counted(result.checks, 'exploration')}, {result.seconds:.3f} s"


def _sets(result: FenceAnswer, which: str) -> Iterator[str]:
    yield f"{counted(len(result.sets), 'minimal set')}, {which}:"
    for number, one in enumerate(result.sets, start=1):
        cost = sum(fence.cost for fence in one)
        yield f"  {number}. cost {cost:g}: {'; '.join(_where(fence, result.input) for fence in one)}"
    yield ""


def _table(fences: Sequence[PlacedFence], source: str) -> Iterator[str]:
    known = any(fence.breaks for fence in fences)
    rows = [("line", "kind", "where", "cost", "breaks the cycles through lines" if known else "")]
    for fence in fences:
        rows.append((
            ("" if fence.file == source else f"{fence.file}:") + str(fence.patched_line or fence.line),
            fence.change,
            f"{fence.side} {fence.after or fence.before or fence.at}",
            f"{fence.cost:g}{_why(fence)}",
            " and ".join(f"({cycle})" for cycle in fence.breaks[:4]) + (" …" if len(fence.breaks) > 4 else ""),
        ))  # fmt: skip
    return columns(rows)


def _why(fence: PlacedFence) -> str:
    """What makes it dear."""
    passes = [] if fence.passes == 1 else [f"{fence.passes:g} passes"]
    reasons = passes + (["loop"] if fence.in_loop else [])
    return f" ({', '.join(reasons)})" if reasons else ""


def _where(fence: PlacedFence, source: str) -> str:
    return f"{fence.change} {fence.side} {_place(fence, source)}"


def _place(fence: PlacedFence, source: str) -> str:
    return f"line {fence.line}" if fence.file == source else f"{fence.file}:{fence.line}"


def _count(fences: Sequence[PlacedFence]) -> str:
    """Fences that come, stores of TSO and PSO that get stronger, and orders of C11 that change."""
    orders = sum(bool(fence.was) for fence in fences)
    put = sum(fence.kind in _FENCES and not fence.was for fence in fences)
    numbers = {"fence": put, "order": orders, "stronger store": len(fences) - orders - put}
    return " and ".join(counted(count, what) for what, count in numbers.items() if count)


def _verdict(result: CheckAnswer) -> str:
    """What each model's executions are; a question that nobody asked of a model is not told."""
    asks_robust = any(model.robust is not None for name, model in result.models.items() if name != "sc")
    asks_safe = any(model.safe is not None for model in result.models.values())
    parts = []
    for name, model in result.models.items():
        words = []
        if name != "sc" and (asks_robust or not asks_safe):
            words.append({True: "robust", False: "NOT ROBUST", None: "robust or not: unknown"}[model.robust])
            if model.race_free is not msgspec.UNSET:
                races = {True: "race-free", False: "RACES", None: "race-free or not: unknown"}
                words.append(races[model.race_free])
        if asks_safe and (model.safe is not None or model.verdict is not Verdict.SAFE):
            words.append({True: "safe", False: "NOT SAFE", None: "safe or not: unknown"}[model.safe])
        parts.append(f"{name.upper()} {', '.join(words)}")
    whole = "everything explored" if result.complete else "not everything explored"
    return f"{result.name}: {'; '.join(parts)} ({whole})"
