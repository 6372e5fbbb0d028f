"""The answer of ``teetotal monitor`` as text: a short table, then each distinct violation as a short proof."""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.monitor import MonitorAnswer, MonitorViolation
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Violation
from teetotal.report.terminal import counted, proof

FEW = 5
"""Of more violations than this per monitor, the others get one line each, unless all are asked for."""


def render(result: MonitorAnswer, *, every_violation: bool = False) -> str:
    return "\n".join(_lines(result, every_violation))


def _lines(result: MonitorAnswer, every: bool) -> Iterator[str]:
    yield f"{result.input}: {counted(result.events, 'event')}, {counted(result.threads, 'thread')}"
    yield ""
    yield from _table(result)
    told: list[MonitorViolation] = []
    for monitor in dict.fromkeys(violation.monitor for violation in result.violations):
        violations = [violation for violation in result.violations if violation.monitor == monitor]
        for number, violation in enumerate(violations):
            same = next((other for other in told if _same(violation, other)), None)
            if same is not None:
                yield ""
                yield f"{_headline(violation)}: as {same.monitor} says"
            elif every or number < FEW:
                yield ""
                yield from tell(violation)
                told.append(violation)
            else:
                if number == FEW:
                    yield ""
                    yield f"{len(violations) - FEW} more (--violations tells them all):"
                yield f"  {_headline(violation)}"
    yield ""
    for note in result.notes:
        yield f"Note: {note}"
    yield f"{result.input}: {_verdict(result)}"


def tell(violation: MonitorViolation) -> Iterator[str]:
    yield _headline(violation)
    yield f"  {violation.message[:1].upper()}{violation.message[1:]}."
    yield from proof(
        Violation(model=violation.model, kind=violation.kind, events=violation.events, cycle=violation.cycle)
    )


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
    return f"{violation.model.upper()}, {violation.monitor}: {deciding}{by_way} can overtake {delayed} ({times})"


def _same(a: MonitorViolation, b: MonitorViolation) -> bool:
    ends = (a.delayed, a.previous, a.deciding) == (b.delayed, b.previous, b.deciding)
    return ends and a.locations == b.locations and a.monitor != b.monitor


def _verdict(result: MonitorAnswer) -> str:
    count = len(result.violations)
    word = {
        Verdict.SAFE: "no violation can be seen in this trace",
        Verdict.VIOLATION: f"violation ({count:,} distinct)",
        Verdict.INCONCLUSIVE: "inconclusive",
    }[result.verdict]
    return f"{word}{'' if result.complete else ', not everything read'}; {result.seconds:.3f} s"
