"""From a report to its happens-before cycle: ``e′ →* prev → e → e′``, with the reason for each step.

The monitors decide without it; this looks back over the recorded events between e′ and prev, which is where every path
between them lies, and takes a shortest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from teetotal.answers.events import Event, Kind
from teetotal.answers.violation import Edge, Reason
from teetotal.engines.executions.monitors.witness import ReportLike


class _Reached(NamedTuple):
    """How many steps from e′, and by which last one: the shortest so far to any event of some set."""

    steps: int
    number: int


def cycle(events: Sequence[Event], report: ReportLike) -> list[Edge]:
    """The edges in order, from e′ round to e′; ``source`` and ``target`` are numbers of events.

    The last one, from e to e′, is what the relaxed execution adds: e comes before e′ is visible.
    """
    came_by: dict[int, Edge] = {}
    in_thread: dict[int, _Reached] = {}
    writers: dict[str, _Reached] = {}
    readers: dict[str, _Reached] = {}
    last_write: dict[str, int] = {}
    steps = {report.delayed: 0}
    for number in range(report.delayed, report.previous + 1):
        event = events[number]
        address = event.address
        if number != report.delayed:
            ways: list[tuple[_Reached | None, Reason]] = [(in_thread.get(event.thread), "po")]
            if address is not None:
                source = last_write.get(address)
                if event.reads and source in steps:
                    ways.append((_Reached(steps[source], source), "src"))
                if event.writes:
                    ways += [(writers.get(address), "co"), (readers.get(address), "fr")]
            found = [(way, reason) for way, reason in ways if way is not None]
            if found:
                way, reason = min(found, key=lambda pair: pair[0].steps)
                steps[number] = way.steps + 1
                came_by[number] = Edge(way.number, number, reason)
        if address is not None and event.writes:
            last_write[address] = number
        if number in steps:
            here = _Reached(steps[number], number)
            _keep(in_thread, event.thread, here)
            if address is not None and event.writes:
                _keep(writers, address, here)
            if address is not None and event.reads:
                _keep(readers, address, here)
    if report.previous not in steps:
        raise ValueError(f"event {report.delayed} does not happen before event {report.previous}")
    back: list[Edge] = []
    at = report.previous
    while at != report.delayed:
        back.append(came_by[at])
        at = came_by[at].source
    overtaking: Reason = "co" if events[report.deciding].kind is Kind.ST else "fr"
    return [
        *reversed(back),
        Edge(report.previous, report.deciding, "po"),
        Edge(report.deciding, report.delayed, overtaking),
    ]


def _keep(best: dict[Any, _Reached], key: int | str, here: _Reached) -> None:
    if key not in best or here.steps < best[key].steps:
        best[key] = here
