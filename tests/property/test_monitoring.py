"""Recorded traces through the monitors, batch by batch: the same as the monitors say of the whole, told from a window."""

from __future__ import annotations

import io
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import monitored_events
from recorded import STORE_BUFFERING, recorded_events, saved
from teetotal import models, traces
from teetotal.answers.events import Event, Kind, Location, Semantics
from teetotal.answers.monitor import MonitorAnswer
from teetotal.answers.options import MonitorOptions
from teetotal.answers.verdict import Verdict
from teetotal.engines.executions import monitors
from teetotal.traces import Batch, Tables, monitoring
from teetotal.traces.batch import batches_of
from teetotal.traces.reader import TraceReader
from teetotal.traces.trace import Trace
from trace_of_columns import to_model


class InPieces(TraceReader):
    """A trace that comes in batches of a few events."""

    def __init__(self, trace: Trace, size: int) -> None:
        super().__init__(traces.reader.Stream("pieces", io.BytesIO()))
        self.tables = Tables(trace.addresses, trace.locations)
        self.pieces = batches_of(trace, size)

    def read(self) -> Any:
        return self.pieces


def monitored(events: list[Event], size: int = 7, **options: Any) -> MonitorAnswer:
    return monitoring.monitor(InPieces(Trace.from_events(events), size), MonitorOptions(**options))


def placed(rng: random.Random, size: int) -> list[Event]:
    """Random events, each with one of a few places."""
    places = [Location("a.c", line) for line in range(1, 6)]
    return [
        Event(e.thread, e.index, e.kind, e.address, e.value, e.read, rng.choice(places))
        for e in recorded_events(rng, size, plain=0.8)
    ]


# -- the same as the monitors themselves ------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["pair", "triple"])
def test_reports_are_those_of_the_monitors_grouped(group: Any) -> None:
    rng = random.Random(20)
    semantics = Semantics(rmw="address", mutex="rmw")
    seen = 0
    for _ in range(150):
        events = placed(rng, rng.randint(5, 60))
        result = monitored(events, monitors=tuple(monitors.MONITORS), group=group, semantics=semantics)
        for name, info in monitors.MONITORS.items():
            reports = monitored_events.run(name, events, semantics)
            keys = [
                (r.delayed, r.deciding) if group == "pair" else (r.delayed, r.previous, r.deciding) for r in reports
            ]
            expected = Counter(tuple(str(events[number].location) for number in key) for key in keys)
            own = [violation for violation in result.violations if violation.monitor == name]
            assert {tuple(violation.locations): violation.count for violation in own} == expected
            assert result.models[info.model].reports[name] == len(reports)
            seen += len(reports)
            for violation in own:
                first = next(
                    r for r, key in zip(reports, keys, strict=True)
                    if [str(events[number].location) for number in key] == violation.locations
                )  # fmt: skip
                assert (violation.delayed, violation.previous, violation.deciding) == (
                    first.delayed, first.previous, first.deciding,
                )  # fmt: skip
    assert seen > 500


def test_every_cycle_goes_round() -> None:
    """Each edge but the last is happens-before of the recorded trace; the last one leads back to the delayed store."""
    rng = random.Random(21)
    checked = 0
    for _ in range(100):
        events = recorded_events(rng, 40, plain=0.8)
        full = Trace.from_events(events)
        ids = {event.id: number for number, event in enumerate(events)}
        spec = to_model(full)
        conflicts = models.conflict_order(spec)
        for violation in monitored(events, size=6).violations:
            assert violation.events[0] == events[violation.delayed]
            assert violation.events[-1] == events[violation.deciding]
            assert violation.events[-2] == events[violation.previous]
            *steps, last = violation.cycle
            for edge, following in zip(violation.cycle, [*steps[1:], last, steps[0]], strict=True):
                assert edge.target == following.source
            for edge in steps:
                a, b = violation.events[edge.source], violation.events[edge.target]
                assert events[ids[a.id]] == a
                if edge.reason == "po":
                    assert (a.thread, a.index < b.index) == (b.thread, True)
                else:
                    assert (a.id, b.id) in conflicts
            assert (last.source, last.target) == (len(violation.events) - 1, 0)
            checked += 1
    assert checked > 100


def test_the_initial_value_is_named_only_where_it_was_seen() -> None:
    """The path is found in a part of the trace, in which an older value looks like an initial one."""
    before = [Event(2, 0, Kind.ST, "y", 5, location=Location("dekker.c", 1))]
    buffering = [Event(e.thread, e.index, e.kind, e.address, e.value or 5, None, e.location) for e in STORE_BUFFERING]
    told = [edge.because for edge in monitored([*before, *buffering]).violations[0].cycle]
    assert "because T0's load of y saw a value that T1's st y = 1 overwrites" in told
    told = [edge.because for edge in monitored(STORE_BUFFERING).violations[0].cycle]
    assert "because T0's load of y saw the initial value, which T1's st y = 1 overwrites" in told


def test_events_without_a_place_are_grouped_by_thread_kind_and_address() -> None:
    bare = [Event(e.thread, e.index, e.kind, e.address, e.value) for e in STORE_BUFFERING]
    result = monitored(bare)
    assert [violation.locations for violation in result.violations] == [["T0: st x", "T1: ld x"]] * 2


def test_threads_with_large_numbers_cost_nothing() -> None:
    far = [Event(e.thread * 65535, e.index, e.kind, e.address, e.value, location=e.location) for e in STORE_BUFFERING]
    result = monitored(far)
    assert result.threads == 2
    assert result.verdict is Verdict.VIOLATION
    assert result.violations[0].events[-1].thread == 65535


def test_too_many_threads_are_an_error_after_what_was_found() -> None:
    crowd = [Event(thread, 0, Kind.LD, "z", 0) for thread in range(2, 1200)]
    result = monitored([*STORE_BUFFERING, *crowd], size=4)
    assert len(result.violations) == 2
    assert not result.complete
    assert str(result.error).startswith(f"{result.input}: event ")
    assert "more than 1024 threads cannot be monitored" in str(result.error)


def test_no_memory_is_no_fault_of_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found before stays; nothing found is inconclusive, as --memory promises, not a damaged trace."""
    feed = monitoring.Watch.feed

    def full(watch: monitoring.Watch, batch: Batch) -> None:
        if batch.first >= 4:
            raise MemoryError
        feed(watch, batch)

    monkeypatch.setattr(monitoring.Watch, "feed", full)
    quiet = [Event(0, index, Kind.LD, "z", 0) for index in range(8)]
    for events, verdict in ((quiet, Verdict.INCONCLUSIVE), ([*STORE_BUFFERING, *quiet], Verdict.VIOLATION)):
        result = monitored(events, size=4)
        assert (result.verdict, result.error, result.complete) == (verdict, None, False)
        assert any("not enough memory" in note for note in result.notes)


# -- the window -------------------------------------------------------------------------------------------------------


def far_apart(distance: int) -> list[Event]:
    filler = [Event(2, i, Kind.LD, "z", 0, location=Location("filler.c", 1)) for i in range(distance)]
    return [*STORE_BUFFERING[:3], *filler, STORE_BUFFERING[3]]


def test_a_path_out_of_the_window_is_left_out_and_said_so(tmp_path: Path) -> None:
    events = far_apart(1000)
    near = monitored(events, window=2000)
    assert len(near.violations[0].cycle) == 4
    path = saved(events, tmp_path / "far.jsonl")
    pieces = monitored(events, size=10, window=100)
    assert pieces.violations[0].cycle == []
    assert [event.text for event in pieces.violations[0].events] == ["ld x → 1"]
    message = pieces.violations[0].message
    assert "event 0, at dekker.c:12, which happens before it" in message
    assert "the events lie 1,003 apart, more than the window of 100 events keeps" in message
    # A file is looked at once more, so that all three are known.
    again = monitoring.monitor(InPieces(Trace.from_events(events), 10), MonitorOptions(window=100), again=path)
    assert again.violations[0].events == [events[0], events[2], events[-1]]
    assert "T0's st x = 1 at dekker.c:12 (event 0)" in again.violations[0].message
    assert again.violations[0].cycle == []


def test_a_batch_without_events_is_nothing_special() -> None:
    class Empty(InPieces):
        def read(self) -> Any:
            for batch in self.pieces:
                yield Batch.of_rows(batch.first, [])
                yield batch

    reader = Empty(Trace.from_events(STORE_BUFFERING), 1)
    assert monitoring.monitor(reader, MonitorOptions()).verdict is Verdict.VIOLATION
