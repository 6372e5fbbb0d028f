"""Monitors over a recorded trace, in one pass and in memory that does not grow with its length.

Kept are the monitors' own states, the names of addresses and places, one entry per distinct violation, and a window of
the latest events, from which the happens-before path of a new violation is told. Where the delayed store has left the
window, the path is left out and the violation says so; the three events themselves are looked up in a second pass where
the trace is a file, and are known by number and place only where it is a pipe.

Distinct violations: by the places of the delayed and of the deciding event (``pair``: Burnim, Sen, Stergiou, TACAS 2011)
or of all three (``triple``: the technical report). The place of an event is its source location; an event recorded
without one has its thread, kind and address for a place.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from teetotal.answers.because import UNKNOWN, because, overtaking, whose
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Event, Kind, ModelName, Semantics
from teetotal.answers.monitor import MonitorAnswer, MonitorModel, MonitorViolation
from teetotal.answers.options import MonitorOptions
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Edge
from teetotal.engines.executions.monitors import EXACT_C11, MONITORS, Columns, MonitorInfo, Report, Stream, monitor_info
from teetotal.traces import Batch, Tables, TraceReader, event_of, open_trace, to_trace
from teetotal.traces.batch import UNSAID
from teetotal.traces.trace import MAX_THREADS, Trace

THREADS = 1024
"""Monitors compare clocks with an entry per thread, for each thread and address: more threads than this are refused."""

LONGEST_ORDERED = 1_000_000
"""exact-c11 keeps what it has seen: longer traces are refused there."""

UNPLACED = 1 << 31
"""Places from this number on stand for events without a source location."""


def monitor(
    reader: TraceReader, options: MonitorOptions, tick: Callable[[], None] = lambda: None, again: str | None = None
) -> MonitorAnswer:
    """Everything up to the end, to the damage (then the result has an ``error``), to an interrupt or as far as memory goes
    (then it has a note). ``tick`` is called between batches. ``again``: the path under which the trace can be opened once
    more."""
    start = time.perf_counter()
    watch = Watch(options, reader.tables)
    error: str | None = None
    notes: list[str] = []
    try:
        for batch in reader.batches():
            try:
                watch.feed(_with_failed_cas(batch, options.semantics))
            except TeetotalError as unsupported:
                raise TeetotalError(f"{reader.source.name}: {unsupported}") from None
            tick()
    except TeetotalError as damage:
        error = str(damage)
    except KeyboardInterrupt:
        notes.append(f"interrupted after {watch.events:,} events")
    except MemoryError:
        sizes = f"{len(watch.threads)} threads and {len(reader.tables.addresses)} addresses"
        notes.append(f"not enough memory to monitor {sizes}, after {watch.events:,} events")
    watch.collect()
    violations = watch.violations(again)
    complete = error is None and not notes
    models = watch.models(complete)
    return MonitorAnswer(
        input=reader.source.name,
        command="monitor",
        models=models,
        verdict=sum((model.verdict for model in models.values()), Verdict.SAFE),
        complete=complete,
        seconds=time.perf_counter() - start,
        events=watch.events,
        threads=len(watch.threads),
        group=options.group,
        violations=violations,
        error=error,
        notes=notes,
    )


class Watch:
    """All monitors over one trace, batch by batch."""

    def __init__(self, options: MonitorOptions, tables: Tables) -> None:
        self.options = options
        self.tables = tables
        self.threads = Numbering()
        self.places = Places(tables)
        self.window = Window(options.window, tables)
        self.watchers = [Watcher(name, options) for name in dict.fromkeys(options.monitors)]
        self.ordered = any(watcher.info is EXACT_C11 for watcher in self.watchers)

    def feed(self, batch: Batch) -> None:
        self.window.add(batch)
        columns = Columns(
            thread=self.threads.numbers(batch.thread),
            kind=batch.kind,
            writes=batch.wrote.view(np.uint8),
            address=np.maximum(batch.address, 0).view(np.uint32),
            location=self.places.numbers(batch),
            order=self._orders(batch) if self.ordered else None,
        )
        if len(self.threads) > THREADS:
            raise TeetotalError(f"event {batch.first} or soon after: more than {THREADS} threads cannot be monitored")
        for watcher in self.watchers:
            if watcher.stream.summarise(columns):
                watcher.collect(self.window)

    def _orders(self, batch: Batch) -> NDArray[np.uint8]:
        """C11's, which every event has to say but for mutexes and the fences of processors."""
        if batch.first + batch.size > LONGEST_ORDERED:
            raise TeetotalError(
                f"event {LONGEST_ORDERED}: {EXACT_C11.name} keeps all that it has seen, and takes no longer traces"
            )
        order = np.full(batch.size, UNSAID, np.uint8) if batch.order is None else batch.order
        asked = np.isin(batch.kind, [Kind.LD, Kind.ST, Kind.RMW, Kind.FENCE])
        if (unsaid := np.flatnonzero(asked & (order == UNSAID))).size:
            event = event_of(batch, int(unsaid[0]), self.tables)
            raise TeetotalError(
                f"event {event.index}: {event} does not say which order of C11 it has, as {EXACT_C11.name} has to know; "
                'JSON lines can say it, with the key "order"'
            )
        return np.where(order == UNSAID, 0, order).astype(np.uint8)

    @property
    def events(self) -> int:
        """How many all monitors have seen."""
        return min(watcher.stream.events for watcher in self.watchers)

    def collect(self) -> None:
        """What monitors found before they were interrupted in the middle of a batch."""
        for watcher in self.watchers:
            watcher.collect(self.window)

    def models(self, complete: bool) -> dict[ModelName, MonitorModel]:
        result: dict[ModelName, MonitorModel] = {}
        for model in dict.fromkeys(watcher.info.model for watcher in self.watchers):
            reports = {w.info.name: w.counts().total() for w in self.watchers if w.info.model == model}
            found = any(reports.values())
            verdict = Verdict.VIOLATION if found else Verdict.SAFE if complete else Verdict.INCONCLUSIVE
            result[model] = MonitorModel(verdict=verdict, robust=False if found else None, reports=reports)
        return result

    def violations(self, again: str | None) -> list[MonitorViolation]:
        found = [(watcher, watcher.counts()) for watcher in self.watchers]
        lost = {number for watcher, _ in found for seen in watcher.first_seen.values() for number in seen.lost}
        recalled = recall(again, lost, self.options.semantics) if again is not None else {}
        return [
            seen.violation(watcher.info, counts[key], [self.places.text(place) for place in key], recalled)
            for watcher, counts in found
            for key, seen in watcher.first_seen.items()
        ]


class Watcher:
    """One monitor: how often each distinct violation was seen, and how its first occurrence is told."""

    def __init__(self, name: str, options: MonitorOptions) -> None:
        self.info = monitor_info(name)
        self.stream = Stream(name, options.semantics)
        self.group = options.group
        self.first_seen: dict[tuple[int, ...], FirstSeen] = {}
        self._triples = 0

    def collect(self, window: Window) -> None:
        """Tells what is new."""
        for distinct in self.stream.distinct(self._triples):
            self._triples += 1
            key = self._key(distinct.first)
            if key not in self.first_seen:
                self.first_seen[key] = FirstSeen(distinct.first, window)

    def counts(self) -> Counter[tuple[int, ...]]:
        """How often each was seen."""
        counts: Counter[tuple[int, ...]] = Counter()
        for distinct in self.stream.distinct():
            counts[self._key(distinct.first)] += distinct.count
        return counts

    def _key(self, report: Report) -> tuple[int, ...]:
        return report.pair if self.group == "pair" else report.triple


class FirstSeen:
    """A report as it is told: made while the events are still in the window."""

    def __init__(self, report: Report, window: Window) -> None:
        self.report = report
        between = () if report.race else (report.previous,)
        self.report_numbers = (report.delayed, *between, report.deciding)
        self.known = {number: window.event(number) for number in self.report_numbers if number in window}
        self.lost = [number for number in self.report_numbers if number not in window]
        self.path: list[Edge] | None = None
        self.window = window.size
        if report.delayed in window and not report.race:
            trace = to_trace(window.batches(report.delayed, report.deciding), window.tables, compact=True)
            path = trace.path(0, report.previous - report.delayed)
            self.path = [self._in_trace(trace, edge) for edge in path]
            for edge in self.path:
                self.known[edge.target] = window.event(edge.target)

    def _in_trace(self, trace: Trace, edge: Edge) -> Edge:
        """An edge of the window's part of the trace, between positions in the whole. What a read saw before that part
        began need not be the initial value."""
        first, why = self.report.delayed, edge.because
        if edge.reason == "fr" and trace.src[edge.source] < 0 and first > 0:
            read, write = trace.event(edge.source), trace.event(edge.target)
            why = because("fr", read, write, UNKNOWN)
        return Edge(edge.source + first, edge.target + first, edge.reason, why)

    def violation(
        self, info: MonitorInfo, count: int, locations: list[str], recalled: dict[int, Event]
    ) -> MonitorViolation:
        report = self.report
        locations = [locations[0], locations[-1]] if report.race else locations
        events = self.known | {number: recalled[number] for number in self.report_numbers if number in recalled}
        cycle: list[Edge] = []
        if self.path is not None:
            before = [*self.path, self._last_step(events)]
            numbers = list(dict.fromkeys([report.delayed, *(edge.target for edge in before)]))
            position = {number: i for i, number in enumerate(numbers)}
            cycle = [Edge(position[e.source], position[e.target], e.reason, e.because) for e in before]
            cycle.append(self._overtaking(events, position))
        else:
            numbers = [number for number in self.report_numbers if number in events]
        return MonitorViolation(
            model=info.model,
            kind="race" if report.race else "robustness",
            monitor=info.name,
            locations=locations,
            count=count,
            delayed=report.delayed,
            previous=report.previous,
            deciding=report.deciding,
            events=[events[number] for number in numbers],
            cycle=cycle,
            message=self._message(info, events, locations),
        )

    def _last_step(self, events: dict[int, Event]) -> Edge:
        previous, deciding = events[self.report.previous], events[self.report.deciding]
        return Edge(self.report.previous, self.report.deciding, "po", because("po", previous, deciding))

    def _overtaking(self, events: dict[int, Event], position: dict[int, int]) -> Edge:
        delayed, deciding = events[self.report.delayed], events[self.report.deciding]
        ends = position[self.report.deciding], position[self.report.delayed]
        return overtaking(self.report.model, deciding, delayed, ends)

    def _message(self, info: MonitorInfo, events: dict[int, Event], locations: list[str]) -> str:
        report = self.report

        def event(number: int, place: str) -> str:
            known = events.get(number)
            return f"event {number}, at {place}" if known is None else f"{_with_place(known)} (event {number})"

        if report.race:
            first, second = event(report.delayed, locations[0]), event(report.deciding, locations[-1])
            return f"a data race: in C11 nothing orders {first} and {second}"
        message = (
            f"under {info.model.upper()}, {event(report.deciding, locations[-1])} may take effect before "
            f"{event(report.delayed, locations[0])}, which happens before it in this trace"
        )
        if self.path is None:
            apart = report.deciding - report.delayed
            message += (
                f"; the events lie {apart:,} apart, more than the window of {self.window:,} events keeps, so the "
            )
            message += "path between them is left out"
        return message


class Numbering:
    """Threads by order of first appearance, so that a large number costs no more than a small one."""

    def __init__(self) -> None:
        self._number = np.full(MAX_THREADS, -1, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def numbers(self, thread: NDArray[np.int32]) -> NDArray[np.uint32]:
        numbers = self._number[thread]
        if numbers.size and int(numbers.min()) < 0:
            for new in np.unique(thread[numbers < 0]).tolist():
                self._number[new] = self._count
                self._count += 1
            numbers = self._number[thread]
        return numbers.astype(np.uint32)


class Places:
    """What "the same place" means, as numbers."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._unplaced: dict[int, int] = {}
        self._keys: list[int] = []

    def numbers(self, batch: Batch) -> NDArray[np.uint32]:
        places = batch.location.astype(np.int64)
        missing = np.flatnonzero(places < 0)
        if missing.size:
            thread, kind, address = batch.thread[missing], batch.kind[missing], batch.address[missing]
            keys = (thread.astype(np.int64) << 36) | (kind.astype(np.int64) << 33) | (address.astype(np.int64) + 1)
            distinct, inverse = np.unique(keys, return_inverse=True)
            known = [self._number(key) for key in distinct.tolist()]
            places[missing] = np.array(known, np.int64)[inverse] + UNPLACED
        return places.astype(np.uint32)

    def _number(self, key: int) -> int:
        number = self._unplaced.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
        return number

    def text(self, place: int) -> str:
        if place < UNPLACED:
            return str(self._tables.locations[place])
        key = self._keys[place - UNPLACED]
        thread, kind, address = key >> 36, Kind(key >> 33 & 7), (key & (1 << 33) - 1) - 1
        return f"T{thread}: {kind}{f' {self._tables.addresses[address]}' if address >= 0 else ''}"


class Window:
    """The latest events: at least ``size`` of them, in whole batches, with how far each thread was before each batch."""

    def __init__(self, size: int, tables: Tables) -> None:
        self.size = size
        self.tables = tables
        self._batches: deque[tuple[Batch, NDArray[np.int64]]] = deque()
        self._done = np.zeros(0, np.int64)
        self._held = 0

    def add(self, batch: Batch) -> None:
        self._batches.append((batch, self._done))
        self._held += batch.size
        counts = np.bincount(batch.thread, minlength=len(self._done))
        counts[: len(self._done)] += self._done
        self._done = counts
        while self._held - self._batches[0][0].size >= self.size and len(self._batches) > 1:
            self._held -= self._batches.popleft()[0].size

    def __contains__(self, number: int) -> bool:
        return bool(self._batches) and self._batches[0][0].first <= number

    def event(self, number: int) -> Event:
        batch, done = self._batches[self._position(number)]
        i = number - batch.first
        thread = int(batch.thread[i])
        before = int(done[thread]) if thread < len(done) else 0
        index = before + int(np.count_nonzero(batch.thread[:i] == thread))
        return msgspec.structs.replace(event_of(batch, i, self.tables), index=index)

    def batches(self, first: int, last: int) -> list[Batch]:
        """The events from ``first`` to ``last``."""
        parts = []
        for batch, _ in islice(self._batches, self._position(first), self._position(last) + 1):
            start = max(first - batch.first, 0)
            parts.append(batch.part(start, last - batch.first + 1 - start))
        return parts

    def _position(self, number: int) -> int:
        return bisect_right(self._batches, number, key=lambda held: held[0].first) - 1


def recall(path: str, numbers: set[int], semantics: Semantics) -> dict[int, Event]:
    """Events that have left the window, read from the trace once more."""
    found: dict[int, Event] = {}
    if not numbers:
        return found
    waiting = deque(sorted(numbers))
    with open_trace(path) as reader:
        window = Window(0, reader.tables)
        for batch in reader.batches():
            window.add(_with_failed_cas(batch, semantics))
            while waiting and waiting[0] < batch.first + batch.size:
                number = waiting.popleft()
                found[number] = window.event(number)
            if not waiting:
                break
    return found


def _with_failed_cas(batch: Batch, semantics: Semantics) -> Batch:
    """With ``failed_cas="write"``, an rmw that was recorded as a read wrote the old value back."""
    if semantics.failed_cas == "read":
        return batch
    failed = (batch.kind == Kind.RMW) & ~batch.wrote
    return batch._replace(wrote=batch.wrote | failed, written=np.where(failed, batch.read, batch.written))


def _with_place(event: Event) -> str:
    place = f" at {event.location}" if event.location is not None else ""
    return f"{whose(event)}{place}"


__all__ = ["MONITORS", "MonitorOptions", "monitor"]
