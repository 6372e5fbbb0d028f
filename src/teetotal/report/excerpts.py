"""Lines of the program's own source with what happens at them: a caret under what is touched, and who touches it.

The place of an event is a line; which part of it is meant is found by the name of what the event touches. Where that is
not in the line (a macro, an alias), the whole of it is marked.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from teetotal.answers.events import Event, Location
from teetotal.answers.violation import Violation
from teetotal.report.style import PLAIN, Page

MOST = 8
"""Lines that are shown of one violation."""
_LABELS = 3
"""Things said about one part of a line."""
_PLACE = re.compile(r" at (\S+):(\d+)")
"""In what is said about a failure."""
_NAME = re.compile(r"[A-Za-z_]\w*")


class Mark(NamedTuple):
    line: Location
    begin: int
    end: int
    label: str


def excerpt(violation: Violation, page: Page = PLAIN) -> Iterator[str]:
    """The lines that matter: those of the cycle, or of the last step of each thread, and where something fails."""
    marks: dict[tuple[Location, int, int], list[str]] = {}
    for mark in _marks(violation):
        labels = marks.setdefault((mark.line, mark.begin, mark.end), [])
        labels += [mark.label] if mark.label not in labels else []
    files = dict.fromkeys(line.file for line, _, _ in marks)
    lines = sorted({line for line, _, _ in marks}, key=lambda line: (list(files).index(line.file), line.line))
    shown = lines if page.unfolded else lines[:MOST]
    gutter = max((len(str(line.line)) for line in shown), default=0)
    file = None
    for line in shown:
        if line.file != file:
            file = line.file
            yield f"  {' ' * gutter} ╷ {page.place(file)}"
        text = _text(line)
        yield f"  {page.faint(f'{line.line:>{gutter}} │')} {_cut(text, page, gutter + 5)}"
        parts = {(begin, end): labels for (place, begin, end), labels in marks.items() if place == line}
        for (begin, end), labels in sorted(parts.items(), key=lambda part: (part[0] == _whole(text), part[0])):
            yield from _under(begin, end, labels, gutter, page)
    if len(shown) < len(lines):
        yield f"  {' ' * gutter} │ … and {len(lines) - len(shown)} more lines (-v shows them)"


def _marks(violation: Violation) -> Iterator[Mark]:
    events = _that_matter(violation)
    for event in events:
        if event.location is not None and (text := _text(event.location)):
            yield Mark(event.location, *_span(text, event), str(event))
    found = _PLACE.search(violation.message) if violation.kind not in ("robustness", "outcome") else None
    if found is not None and (text := _text(place := Location(found[1], int(found[2])))):
        yield Mark(place, *_whole(text), "fails" if "assertion" in violation.kind else violation.kind)


def _that_matter(violation: Violation) -> Iterable[Event]:
    if violation.cycle:
        return [violation.events[edge.source] for edge in violation.cycle]
    last = {event.thread: event for event in violation.events}
    return last.values()


def _text(place: Location) -> str:
    """The line, without its end; empty where it cannot be read."""
    if not Path(place.file).is_file():
        return ""
    return linecache.getline(place.file, place.line).rstrip().expandtabs(4)


def _whole(text: str) -> tuple[int, int]:
    """Without what stands behind two slashes."""
    code = text.split(" //")[0].rstrip() or text
    return len(code) - len(code.lstrip()), len(code)


def _span(text: str, event: Event) -> tuple[int, int]:
    """Of the name of what is touched: ``next`` for ``node#1.next``, ``flag`` for ``flag[0]``. In a litmus test threads
    stand side by side."""
    begin, end = _whole(text)
    if text.rstrip().endswith(";") and text.count("|"):
        parts = text.rstrip().rstrip(";").split("|")
        if event.thread < len(parts):
            begin = sum(len(part) + 1 for part in parts[: event.thread])
            begin, end = begin + _whole(parts[event.thread])[0], begin + len(parts[event.thread].rstrip())
    address = re.sub(r" in \w+\(\)$|\[.*?\]", "", event.address or "")
    for name in reversed(_NAME.findall(address)):
        found = re.compile(rf"\b{re.escape(name)}\b").search(text, begin, end)
        if found is not None:
            return found.span()
    return begin, end


def _cut(text: str, page: Page, before: int) -> str:
    room = None if page.width is None else page.width - before
    return text if room is None or len(text) <= room else f"{text[: room - 1]}…"


def _under(begin: int, end: int, labels: list[str], gutter: int, page: Page) -> Iterator[str]:
    """Carets, and what is said about them: beside where there is room, else below."""
    said = labels if page.unfolded else labels[:_LABELS]
    more = [f"and {len(labels) - len(said)} more"] if len(said) < len(labels) else []
    told = "; ".join(said + more)
    left = f"  {' ' * gutter} "
    carets = "^" * max(1, end - begin)
    if page.fits(len(left) + 2 + end + 1 + len(told)):
        yield f"{left}{page.faint('│')} {' ' * begin}{page.bad(carets)} {told}"
        return
    room = None if page.width is None else page.width - len(left) - 2 - begin
    if room is None or room > 1:  # else it stands where the line was cut
        yield f"{left}{page.faint('│')} {' ' * begin}{page.bad(carets[:room])}"
    for line in page._replace(width=None if page.width is None else page.width - len(left) - 2).wrapped(told, "  "):
        yield f"{left}{page.faint('│')} {line}"
