"""A violation as a story: where, what happens step by step, and why no sequentially consistent execution does that.

Told are the steps that matter: those of the cycle or, where there is none, those by which threads see each other, and
the last of each thread. What lies between is folded into a line. Buffers are told where they change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from teetotal.answers.events import Event, Location
from teetotal.answers.violation import StoryStep, Violation
from teetotal.report.excerpts import excerpt
from teetotal.report.style import PLAIN, Page, counted

FEW = 12
"""Executions that are no longer than this are told whole."""
_NARROW = 30
"""So many columns are enough for buffers."""


class Row(NamedTuple):
    number: str
    what: str
    where: str
    buffers: str


def tell(violation: Violation, source: str, page: Page = PLAIN) -> Iterator[str]:
    """Without its headline."""
    yield from excerpt(violation, page)
    yield from steps(violation, source, page)
    yield from proof(violation, page)
    if violation.model == "c11" and violation.kind == "robustness":
        yield from page.wrapped(f"{violation.message}.", "  ")
        shown = ", ".join(violation.shown_by) or "none of x86, ARMv8, POWER, RISC-V that we know of"
        yield from page.wrapped(f"Shown by: {shown}; a compiler may reorder what the orders allow.", "  ")
    if violation.repair:
        missing = "Missing" if violation.kind == "race" else "Repair"
        yield from page.wrapped(f"{missing}: {violation.repair}", "  ")
    if violation.replay:
        yield f"  Again: {violation.replay}"


def proof(violation: Violation, page: Page = PLAIN) -> Iterator[str]:
    """Why the execution is not sequentially consistent, if it is not."""
    if not violation.cycle:
        return
    yield "  No sequentially consistent execution does that:"
    width = max(len(str(violation.events[edge.source])) for edge in violation.cycle)
    lines = []
    for edge in violation.cycle:
        first, second = violation.events[edge.source], violation.events[edge.target]
        why = "in program order" if edge.reason == "po" else edge.because
        lines.append((f"{first!s:<{width}}  comes before  {second!s:<{width}}", why))
    for told, why in lines:
        if page.fits(len(told) + len(why) + 6):
            yield f"    {told}  {why}"
        else:
            yield from page.wrapped(told.rstrip(), "    ", "        ")
            yield from page.wrapped(why, "      ", "        ")
    last = f"so {violation.events[violation.cycle[0].source]} would come before itself: a contradiction."
    yield from page.wrapped(last, "  ")


def steps(violation: Violation, source: str, page: Page = PLAIN, *, folded: bool = True) -> Iterator[str]:
    """The execution, a step a line."""
    told = violation.steps
    if not told:
        return
    everything = page.unfolded or not folded or len(told) <= FEW
    kept = set(range(len(told))) if everything else _that_matter(violation)
    rows = [Row("", "what happens", "where", "buffers after it" if violation.model in ("tso", "pso") else "")]
    held: Sequence[Sequence[str]] = ()
    for is_kept, run in groupby(range(len(told)), key=kept.__contains__):
        numbers = list(run)
        if not is_kept and len(numbers) > 1:
            who = sorted({told[number].thread for number in numbers})
            steps = counted(len(numbers), "step")
            rows.append(Row("", f"… {steps} of {', '.join(f'T{thread}' for thread in who)}", "", ""))
            continue
        for number in numbers:
            step = told[number]
            what, where = _worded(violation, step, source)
            rows.append(Row(str(number + 1), what, where, _buffers(step.buffers, held)))
            held = step.buffers or held
    yield from table(rows, page)
    if any(row.what.startswith("…") for row in rows):
        yield "  (-v tells every step)"


def table(rows: Sequence[Row], page: Page = PLAIN) -> Iterator[str]:
    """In columns as far as there is room: what buffers hold is broken into lines, and where too little room is left for
    them, or for places, these go below."""
    head, *rest = rows
    number, what, where = (max(len(row[column]) for row in rows) for column in range(3))
    left = 2 + number + 2
    if page.fits(left + what + 2 + where + 2 + _NARROW):
        column = left + what + 2 + where + 2
        for row in rows:
            line = f"  {row.number:>{number}}  {row.what:<{what}}  {row.where:<{where}}  "
            for buffers in page.wrapped(row.buffers, " " * column, " " * (column + 2)):
                line = (line + buffers[column:]).rstrip()
                yield page.faint(line) if row is head else line
                line = " " * column
        return
    beside = page.fits(left + what + 2 + where)
    if beside:
        yield page.faint(f"  {'':>{number}}  {head.what:<{what}}  {head.where}".rstrip())
    for row in rest:
        if beside:
            yield f"  {row.number:>{number}}  {row.what:<{what}}  {row.where}".rstrip()
        else:
            place = f" ({row.where})" if row.where else ""
            yield from page.wrapped(row.what + place, f"  {row.number:>{number}}  ", " " * (left + 2))
        if row.buffers:
            yield from page.wrapped(f"buffers: {row.buffers}", " " * (left + 2), " " * (left + 4))


def _worded(violation: Violation, step: StoryStep, source: str) -> tuple[str, str]:
    """What a step does, and where."""
    commit = step.action == "commit"
    what, location, within = f"T{step.thread} {step.text}", step.location, ""
    if step.action != "step":
        event = violation.events[step.event]
        location, within = event.location, event.within
        if not step.text:
            what = f"T{step.thread}: {event.text}{' reaches memory' if commit else ''}"
    where = place_of(location, source) if location is not None and not commit else ""
    return what, where + (f" in {within}" if where and within else "")


def place_of(place: Location, source: str) -> str:
    """A line of the program's file, or of another by its name alone where that lies beside it."""
    if place.file == source:
        return f"line {place.line}"
    beside = os.path.dirname(place.file) == os.path.dirname(source.split(" ")[0])
    return f"{os.path.basename(place.file) if beside else place.file}:{place.line}"


def _buffers(now: Sequence[Sequence[str]], before: Sequence[Sequence[str]]) -> str:
    """What they hold, where that is not what they held at the last step that was told."""
    held = [list(entries) for entries in now]
    if not now or held == [list(entries) for entries in before] or not (any(held) or any(before)):
        return ""
    return (
        "  ".join(f"T{thread}[{', '.join(entries)}]" for thread, entries in enumerate(held) if entries) or "all empty"
    )


def _that_matter(violation: Violation) -> set[int]:
    """Numbers of steps."""
    events = violation.events
    chosen = {edge.source for edge in violation.cycle} or set(_seen_by_others(events))
    last = {} if violation.cycle else {step.thread: number for number, step in enumerate(violation.steps)}
    kept = {number for number, step in enumerate(violation.steps) if step.action != "step" and step.event in chosen}
    kept |= {number for number, step in enumerate(violation.steps) if step.action == "step" and step.text}
    return kept | set(last.values()) | {len(violation.steps) - 1}


def _seen_by_others(events: Sequence[Event]) -> Iterator[int]:
    """Positions of events by which one thread learns of another: a write, and the first access after it by somebody else.
    Events stand in the order in which they happened."""
    latest: dict[str, int] = {}
    for number, event in enumerate(events):
        if event.address is None:
            continue
        before = latest.get(event.address)
        if before is not None and events[before].thread != event.thread:
            yield from (before, number)
        if event.writes or (before is not None and events[before].thread != event.thread):
            latest[event.address] = number
