"""What must hold of every monitor on one small program, against ``models/`` by brute force.

``check`` raises AssertionError with the program and the execution; it returns what it counted, so that a long run can
print a table. Used by test_monitors.py on thousands of programs, and by fuzz_monitors.py on as many as one likes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import monitor_paths
import monitored_events
from executions import Remembered, classes, shuffled, watch_interleavings
from monitor_reference import exact
from teetotal import _core, models
from teetotal.answers.events import Event, ModelName, Semantics
from teetotal.engines.executions.monitors import MONITORS, Report, witness
from teetotal.models import ProgramLike
from teetotal.programs.program import Program

RELAXED: tuple[ModelName, ...] = ("tso", "pso")
Key = tuple[object, ...]


class BurnimEverywhere:
    """Burnim's monitors over all interleavings; they share prefixes by taking events back."""

    def __init__(self, program: Program, semantics: Semantics) -> None:
        self.addresses = {address: number for number, address in enumerate(program.memory)}
        self.streams = {
            name: _core.Monitor(
                name,
                rmw_flushes_all=semantics.rmw == "all",
                unlock_is_fence=semantics.mutex == "fence",
                undo=True,
            )
            for model in RELAXED
            for name in others(model)
            if name.startswith("burnim")
        }
        self.reports: list[set[str]] = []
        self.flagged: Counter[str] = Counter()
        self.executions = 0

    def event(self, event: Event) -> None:
        address = 0 if event.address is None else self.addresses[event.address]
        row = (event.thread, event.kind, event.writes, address, 0)
        self.reports.append({name for name, monitor in self.streams.items() if monitor.step(*row) is not None})

    def end(self) -> None:
        self.executions += 1
        self.flagged.update(set().union(*self.reports))

    def back(self) -> None:
        self.reports.pop()
        for monitor in self.streams.values():
            monitor.undo()


def check(
    program: Program, semantics: Semantics, rng: random.Random, complete: Sequence[ModelName] = RELAXED
) -> Counter[str]:
    """``rng`` chooses the other representatives. ``complete``: the models under which no monitor may miss a program."""
    subject = Remembered(program)
    representatives = classes(subject, semantics)
    burnim = BurnimEverywhere(program, semantics)
    watch_interleavings(subject, semantics, burnim)
    counts: Counter[str] = Counter(programs=1, classes=len(representatives), interleavings=burnim.executions)
    for model in RELAXED:
        try:
            counts += check_model(subject, model, semantics, representatives, burnim.flagged, rng, model in complete)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{semantics} {model}\n{describe(program)}") from error
    return counts


def check_model(
    program: ProgramLike,
    model: ModelName,
    semantics: Semantics,
    representatives: Sequence[list[Event]],
    burnim: Counter[str],
    rng: random.Random,
    complete: bool,
) -> Counter[str]:
    robust = models.robust(program, model, semantics)
    found: Counter[str] = Counter(burnim)
    replayed = 0
    for events in representatives:
        reports = monitored_events.run(f"exact-{model}", events, semantics)
        by_definition = exact(events, model, semantics)
        assert [(r.delayed, r.previous, r.deciding) for r in reports] == by_definition, tell(events)
        other = shuffled(events, rng)
        again = monitored_events.run(f"exact-{model}", other, semantics)
        assert identities(other, again) == identities(events, reports), f"{tell(events)}\n{tell(other)}"
        for report in reports:
            check_witness(program, events, report, semantics)
        replayed += len(reports)
        found["exact"] += bool(reports)
        allowed = identities(events, reports)
        for name in others(model):
            weaker = monitored_events.run(name, events, semantics)
            assert identities(events, weaker) <= allowed, f"{name} {tell(events)}"
            found[f"{name} on classes"] += bool(weaker)
    for name in ("exact", *(name for name in found if model in name)):
        assert not (robust and found[name]), f"{name} flags a robust program"
    must_find = ["exact", f"burnim-{model}"]
    if model == "tso":
        must_find += ["burnim-tso-report", "sober-corrected on classes"]
    for name in must_find if complete else ():
        assert robust or found[name], f"{name} misses a program"
    counts: Counter[str] = Counter()
    if not robust:
        counts[f"{model}: not robust"] += 1
        counts[f"{model}: reports replayed"] += replayed
        for name in others(model):
            counts[f"{model}: missed by {name} on classes"] += not found[f"{name} on classes"]
        counts[f"{model}: missed by exact"] += not found["exact"]
        for everywhere in (f"burnim-{model}", f"burnim-{model}-report"):
            counts[f"{model}: missed by {everywhere} on interleavings"] += not found[everywhere]
        counts[f"{model}: classes of programs not robust"] += len(representatives)
        for name in ("exact", *(f"{name} on classes" for name in others(model))):
            counts[f"{model}: such classes flagged by {name.removesuffix(' on classes')}"] += found[name]
    return counts


def others(model: ModelName) -> list[str]:
    """The monitors beside the exact one."""
    return [name for name, info in MONITORS.items() if info.model == model and not name.startswith("exact")]


def check_witness(program: ProgramLike, events: Sequence[Event], report: Report, semantics: Semantics) -> None:
    """The machine accepts the schedule and ends with empty buffers; the trace is not SC and has the claimed cycle."""
    steps = witness.schedule(events, report, semantics)
    run = models.replay(program, report.model, steps, semantics)
    assert not any(run.memory.buffered(p) for p in range(program.thread_count))
    trace = run.trace()
    assert not models.is_sc(trace), tell(events)
    happens_before = models.happens_before(trace)
    for edge in monitor_paths.cycle(events, report):
        a, b = events[edge.source].id, events[edge.target].id
        same_thread = a.thread == b.thread and a.index < b.index
        assert same_thread if edge.reason == "po" else (a, b) in happens_before, (edge, tell(events))


def identities(events: Sequence[Event], reports: Sequence[Report]) -> set[Key]:
    """Reports without the numbers that depend on the order in which independent events were observed."""
    return {(events[r.delayed].id, events[r.previous].id, events[r.deciding].id) for r in reports}


def tell(events: Sequence[Event]) -> str:
    return "; ".join(map(str, events))


def describe(program: Program) -> str:
    return "\n".join(f"{thread.name}: {thread.code}" for thread in program.threads)
