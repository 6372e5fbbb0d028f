"""C11 for C programs: what exact-c11 told about their SC executions, confirmed by the specification, and the answer."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from teetotal.answers.check import ModelAnswer
from teetotal.answers.events import Event, Kind
from teetotal.answers.numbers import Tag
from teetotal.answers.options import CheckOptions
from teetotal.answers.schedules import to_token, to_weak_token
from teetotal.answers.verdict import Verdict, both
from teetotal.answers.violation import Hazard, Race, Violation
from teetotal.engines import weak
from teetotal.engines.runtime import events, replaying
from teetotal.engines.runtime.messages import End, Found
from teetotal.programs.c.build import Source

_HAZARDS = 20
"""Told at most."""
NO_MEANING = (
    "C11 gives plain and volatile variables that threads share without synchronisation no meaning: _Atomic or std::atomic, "
    "with an order, says what is meant"
)


class Orders:
    """``marks``: an array whose loads are no accesses of the program (``checking.Marks``), and no events of C11."""

    def __init__(self, source: Source, options: CheckOptions, marks: str = "") -> None:
        self.source, self.marks = source, marks
        self.options = options
        self.violations: list[Violation] = []
        self.races: list[Race] = []
        self.uses_atomics = False

    def take(self, told: Found, names: events.Names) -> None:
        execution = events.execution(told.steps, told.cells, names)
        if self.marks:
            execution = dataclasses.replace(execution, events=[self._marked(event) for event in execution.events])
        self.uses_atomics |= any(row.order and row.tag < Tag.MUTEX and not row.verb for row in told.steps)
        if told.race:
            self._race(told, execution)
        else:
            self._weak(told, execution)

    def _marked(self, event: Event) -> Event:
        is_mark = (event.address or "").startswith(f"{self.marks}[")
        return replace(event, kind=Kind.FENCE, value=None) if is_mark else event

    def _weak(self, told: Found, execution: events.Execution) -> None:
        *_, at = told.report
        deciding = execution.events[at]
        found = weak.confirmed(
            execution.initial,
            execution.events[:at],
            told.report,
            lambda seen: execution.having_seen(deciding, seen),
            self.options.release_sequence,
            execution,
        )
        before = execution.events[:at]
        known = weak.known_writes(before, before[told.report[0]])
        token = to_weak_token(execution.schedule[:at], deciding.thread, known, self.options.semantics)
        replay = replaying.command(self.source, token, told.context, self.options.spurious)
        self.violations.append(replace(found, replay=replay))

    def _race(self, told: Found, execution: events.Execution) -> None:
        """Each pair of places once."""
        first, after, second = told.report
        before, deciding, last = execution.events[:second], execution.events[second], second + 1
        if after != second:
            numbers = weak.while_waiting(before, deciding.thread, after)
            before, first, last = [before[number] for number in numbers], numbers.index(first), len(numbers)
            seen = [event.value for event in before if event.address == deciding.address and event.writes]
            deciding = execution.having_seen(
                deciding, seen[-1] or 0 if seen else execution.initial[deciding.address or ""]
            )[-1]
            execution = dataclasses.replace(
                execution, events=before, schedule=[execution.schedule[number] for number in numbers]
            )
        replay = self._command(execution, last, told.context)
        found = weak.race_between([*before, deciding], first, replay, self.options.whole_races)
        if all((set(found.locations), found.address) != (set(race.locations), race.address) for race in self.races):
            self.races.append(found)
            self.violations.append(weak.as_violation(found))

    def _command(self, execution: events.Execution, steps: int, context: str) -> str:
        token = to_token("sc", execution.schedule[:steps], (), self.options.semantics)
        return replaying.command(self.source, token, context, self.options.spurious)

    def hazards(self, end: End, names: events.Names | None) -> list[Hazard]:
        """Load buffering, as far as the text tells of it: no dependency is known to be kept. The first of them; those of
        several instructions of a line are one to a reader."""
        if names is None or self.options.races:
            return []
        found: list[Hazard] = []
        for thread, load, store, write, address in sorted(end.hazards)[:_HAZARDS]:
            name = names.symbols.variable(address - names.base) or "memory"
            at = [names.place(place) for place in (load, store, write)]
            texts = [
                f"T{thread} loads {name} ({at[0]}) and then stores ({at[1]})",
                f"what another thread makes of that store is written to {name} ({at[2]})",
            ]
            hazard = Hazard(segments=texts, locations=list(dict.fromkeys(str(place) for place in at if place)))
            if hazard not in found:
                found.append(hazard)
        return found

    def notes(self, assembly: bool) -> list[str]:
        notes = []
        if assembly:
            notes.append(
                "C11 gives inline assembly no meaning: its locked instructions are taken for seq_cst operations"
            )
        if self.races and not self.uses_atomics:
            notes.append(NO_MEANING)
        return notes

    def answer(self, proved: bool, fails_in_sc: bool, by_x86: bool | None, hazards: bool) -> ModelAnswer:
        races_alone = self.options.races
        only_safe = races_alone or self.options.goal == "safe"
        found = [weak.shown(v, by_x86) for v in self.violations if v.kind == "race" or not races_alone]
        is_weak = any(violation.kind == "robustness" for violation in found)
        race_free = False if self.races else True if proved else None
        robust = False if is_weak else True if proved and race_free and not races_alone else None
        safe = False if fails_in_sc else True if race_free and robust else None
        asked = race_free if only_safe else both(robust, race_free)
        return ModelAnswer(
            verdict=Verdict.of(both(asked, not fails_in_sc if races_alone else safe)),
            robust=robust,
            safe=safe,
            violations=found,
            race_free=race_free,
            portable=None if races_alone and race_free is not False else both(both(robust, race_free), not hazards),
            by_default=self.options.fitting,
        )
