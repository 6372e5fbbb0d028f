"""The answer of ``teetotal monitor`` as text: a short table, then each distinct violation as a short proof."""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.monitor import MonitorAnswer, MonitorViolation
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Violation
from teetotal.report.excerpts import excerpt
from teetotal.report.story import proof
from teetotal.report.style import PLAIN, Page, counted

FEW = 3
"""Of more violations than this per monitor, the others are one line each, unless all are asked for."""
MOST = 10
"""So many of these lines per monitor; the rest are counted."""


def render(result: MonitorAnswer, page: Page = PLAIN, *, every_violation: bool = False) -> str:
    return "\n".join(_lines(result, page, every_violation))


def headline(result: MonitorAnswer, page: Page = PLAIN) -> str:
    """The verdict, in a line."""
    word = {
        Verdict.SAFE: page.good("no violation can be seen in this trace"),
        Verdict.VIOLATION: f"{page.bad('violation')} ({len(result.violations):,} distinct)",
        Verdict.INCONCLUSIVE: page.doubt("inconclusive"),
    }[result.verdict]
    return f"{result.input}: {word}{'' if result.complete else ', not everything read'}"


def _lines(result: MonitorAnswer, page: Page, every: bool) -> Iterator[str]:
    yield from page.wrapped(headline(result, page))
    yield f"{counted(result.events, 'event')}, {counted(result.threads, 'thread')}, {result.seconds:.3f} s"
    yield ""
    yield from _table(result)
    told: dict[object, MonitorViolation] = {}
    for monitor in dict.fromkeys(violation.monitor for violation in result.violations):
        violations = [violation for violation in result.violations if violation.monitor == monitor]
        if not every:
            violations.sort(key=lambda violation: -violation.count)
        lines = []
        for number, violation in enumerate(violations):
            same = told.setdefault(_identity(violation), violation)
            if same is not violation and (every or number < FEW):
                yield ""
                yield from page.wrapped(f"{_headline(violation)}: as {same.monitor} says")
            elif every or number < FEW:
                yield ""
                yield from tell(violation, page)
            else:
                lines.append(_headline(violation))
        if lines:
            yield ""
            yield f"{len(lines):,} more of {monitor}, the most frequent first (--violations tells them all):"
            for line in lines[:MOST]:
                yield from page.wrapped(line, "  ")
            if len(lines) > MOST:
                yield f"  … and {len(lines) - MOST:,} more"
    yield ""
    for note in result.notes:
        yield from page.wrapped(f"Note: {note}")


def tell(violation: MonitorViolation, page: Page = PLAIN) -> Iterator[str]:
    yield from page.wrapped(_headline(violation))
    yield from page.wrapped(f"{violation.message[:1].upper()}{violation.message[1:]}.", "  ")
    told = Violation(model=violation.model, kind=violation.kind, events=violation.events, cycle=violation.cycle)
    yield from excerpt(told, page)
    yield from proof(told, page)


def _table(result: MonitorAnswer) -> Iterator[str]:
    rows = [("monitor", "model", "reports", f"distinct ({result.group}s)")]
    for model, answer in result.models.items():
        for monitor, reports in answer.reports.items():
            distinct = sum(violation.monitor == monitor for violation in result.violations)
            rows.append((monitor, model.upper(), f"{reports:,}", f"{distinct:,}"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for monitor, model_name, reports_text, distinct_text in rows:
        left = f"{monitor:<{widths[0]}}  {model_name:<{widths[1]}}"
        yield f"{left}  {reports_text:>{widths[2]}}  {distinct_text:>{widths[3]}}"


def _headline(violation: MonitorViolation) -> str:
    times = "once" if violation.count == 1 else f"{violation.count:,} times"
    delayed, *between, deciding = violation.locations
    by_way = f" after {between[0]}" if between else ""
    what = f"races with {delayed}" if violation.kind == "race" else f"can overtake {delayed}"
    return f"{violation.model.upper()}, {violation.monitor}: {deciding}{by_way} {what} ({times})"


def _identity(violation: MonitorViolation) -> object:
    """What makes it the same violation as another monitor's."""
    return violation.delayed, violation.previous, violation.deciding, tuple(violation.locations)
