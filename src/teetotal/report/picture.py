"""A violation as a picture, for notebooks and pages: a lane for each thread, time goes down, the cycle in red.

Nothing but SVG: no script, no font that is fetched, no colour that a dark page would swallow. Names are text, escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from teetotal.answers.answer import Answer
from teetotal.answers.violation import Violation
from teetotal.report.terminal import headline_of

_LANE, _BOX, _ROW, _TOP, _LEFT = 300, 232, 26, 58, 14
_CHARACTERS = 34
"""That a box has room for."""
MOST = 60
"""Steps that a picture has room for."""


def register() -> None:
    """Let every answer show itself in a notebook."""
    Answer._repr_html_ = html  # type: ignore[attr-defined]
    Answer._repr_svg_ = svg  # type: ignore[attr-defined]


def html(answer: Answer) -> str:
    """The verdict, what was found in a line each, and the picture of the first."""
    violations: list[Violation] = getattr(answer, "violations", [])
    found = dict.fromkeys(headline_of(violation, answer.input) for violation in violations if violation.steps)
    lines = "".join(f"<li>{escape(line)}</li>" for line in list(found)[:5])
    more = f"<li>and {len(found) - 5} more</li>" if len(found) > 5 else ""
    notes = "".join(f"<li>note: {escape(note)}</li>" for note in answer.notes)
    return f"<p><b>{escape(answer.headline)}</b></p><ul>{lines}{more}{notes}</ul>{svg(answer) or ''}"


def svg(answer: Answer) -> str | None:
    """The first violation that can be drawn: what fails before cycles. None where there is none."""
    violations: list[Violation] = getattr(answer, "violations", [])
    told = [violation for violation in violations if 0 < len(violation.steps) <= MOST]
    first = next(iter(sorted(told, key=lambda violation: violation.kind == "robustness")), None)
    return None if first is None else drawn(first, answer.input)


def drawn(violation: Violation, source: str) -> str:
    threads = sorted({step.thread for step in violation.steps})
    lanes = {thread: _LEFT + number * _LANE for number, thread in enumerate(threads)}
    width, height = _LEFT * 2 + len(threads) * _LANE, _TOP + (len(violation.steps) + 1) * _ROW + 8
    title = headline_of(violation, source)
    body = "".join(_body(violation, lanes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="monospace" font-size="12"><title>{escape(title)}</title>'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        f'<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="#c0392b"/></marker></defs>'
        f'<text x="{_LEFT}" y="20" font-weight="bold" fill="#222222">{escape(_short(title, width // 8))}</text>'
        f"{body}</svg>\n"
    )


def _body(violation: Violation, lanes: dict[int, int]) -> Iterator[str]:
    for thread, x in lanes.items():
        yield f'<text x="{x}" y="44" fill="#666666">T{thread}</text>'
    places: dict[int, tuple[int, int]] = {}
    in_cycle = {edge.source for edge in violation.cycle}
    for row, step in enumerate(violation.steps):
        x, y = lanes[step.thread], _TOP + row * _ROW
        event = violation.events[step.event] if step.action != "step" else None
        if step.action == "commit":
            assert event is not None
            yield f'<text x="{x + 18}" y="{y + 15}" fill="#8e6a00">⇩ {escape(_short(event.text))} reaches memory</text>'
            continue
        marked = event is not None and step.event in in_cycle
        stroke, fill = ("#c0392b", "#fdecea") if marked else ("#bbbbbb", "#f7f7f7")
        text = step.text or (event.text if event is not None else "")
        line = f" :{event.location.line}" if event is not None and event.location is not None else ""
        yield f'<rect x="{x}" y="{y}" width="{_BOX}" height="20" rx="4" fill="{fill}" stroke="{stroke}"/>'
        yield f'<text x="{x + 6}" y="{y + 14}" fill="#222222">{escape(_short(text + line))}</text>'
        places[step.event] = (x, y)
    for edge in violation.cycle:
        if edge.source in places and edge.target in places:
            yield _arrow(places[edge.source], places[edge.target], edge.reason)


def _arrow(start: tuple[int, int], end: tuple[int, int], reason: str) -> str:
    (x1, y1), (x2, y2) = start, end
    if x1 == x2:  # program order: along the left edge
        path = f"M{x1 + 10} {y1 + 20} L{x2 + 10} {y2}" if y2 > y1 else f"M{x1 + 10} {y1} L{x2 + 10} {y2 + 20}"
        place = (x1 + 14, (y1 + y2) // 2 + 14)
    else:
        left, right = (x1 + _BOX, x2) if x1 < x2 else (x1, x2 + _BOX)
        path = f"M{left} {y1 + 10} L{right} {y2 + 10}"
        place = ((left + right) // 2 + 2, (y1 + y2) // 2 + 6)
    label = f'<text x="{place[0]}" y="{place[1]}" font-size="10" fill="#c0392b">{reason}</text>'
    return f'<path d="{path}" stroke="#c0392b" stroke-width="1.5" fill="none" marker-end="url(#end)"/>{label}'


def _short(text: str, most: int = _CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
