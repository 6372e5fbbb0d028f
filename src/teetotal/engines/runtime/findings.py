"""What the runtime tells about a C program, one message after the other, as violations in the words of its source.

A violation of robustness is an execution of the relaxed machine, which ``models/`` must accept (see ``events``); one of
safety is an execution that the program itself went through.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import CHECKED, MODELS, Event, Kind, Location, ModelName
from teetotal.answers.numbers import Verb
from teetotal.answers.options import CheckOptions
from teetotal.answers.schedules import to_token
from teetotal.answers.surroundings import unloadable
from teetotal.answers.violation import Violation, ViolationKind
from teetotal.budget import Budget
from teetotal.engines import relations, story
from teetotal.engines.executions.monitors import Report, monitor_info, witness
from teetotal.engines.executions.overtakings import Kept
from teetotal.engines.runtime import driver, events, replaying, shortening, words
from teetotal.engines.runtime.messages import (
    AnyMessage,
    End,
    Failed,
    Found,
    Loaded,
    Overtakings,
    Progress,
    Restart,
    StepRow,
    Stopped,
    Trouble,
    Unseen,
)
from teetotal.engines.runtime.orders import Orders
from teetotal.engines.runtime.recorded import Recorded
from teetotal.programs.c.build import Source
from teetotal.programs.c.symbols import Symbols
from teetotal.programs.c.undefined import undefined

STEPS = 100_000
"""The longest execution: what goes on after so many steps is cut."""

NAMED = 8
"""So many of the things that no hook sees are named, and the rest counted."""

_UNDECIDED = {
    "unsupported": "the program uses {message}{where}, which cannot be explored",
    "hang": "T{thread} {message}{where} for five seconds",
    "waits": "T{thread} {message}{where}",
    "memory": "T{thread} {message}{where}; see --memory",
    "corruption": "T{thread} {message}, as far as can be seen{where}",
}

_STOPPED = {
    "budget": "the time is over",
    "memory": "the memory is used up",
    "interrupted": "somebody ended the search",
}
"""Why the runtime ended a search that did not end by itself."""


class Findings:
    """What the runtime told so far about the executions of one model; ``verdicts`` says what follows."""

    def __init__(
        self, source: Source, options: CheckOptions, symbols: Symbols, model: ModelName, marks: str = ""
    ) -> None:
        self.source, self.marks = source, marks
        self.options = options
        self.symbols = symbols
        self.model = model
        self.relaxed = [m for m in CHECKED if m != "sc" and m in options.models and self._watches(m)]
        chosen = options.monitors or tuple(f"exact-{model}" for model in self.relaxed)
        self.monitors = [info for info in map(monitor_info, chosen) if info.model in self.relaxed]
        self.names: events.Names | None = None
        self.violations: dict[ModelName, list[Violation]] = {model: [] for model in MODELS}
        self.orders = Orders(source, options, marks)
        self.failures: list[tuple[Failed, str]] = []  # with their tokens, in the order of their violations
        self.reports: list[tuple[Found, Violation]] = []
        self.notes: list[str] = []
        self.undecided = False
        self.end: End | None = None
        self.met: list[Unseen] = []  # that no hook follows, where there is no end
        self.executions = 0
        self.ended_early = ""
        self.isolated = True
        self.kept: Kept | None = None
        self.overtakings: list[Overtakings] = []
        self.most_kept = 0
        self.fences: Mapping[int, Kind] = {}  # marks that are fences where violations are told, by their addresses

    def keep(self, kept: Kept, most: int, fences: Mapping[int, Kind]) -> None:
        """The overtakings that are told, so many bytes at most."""
        self.kept, self.most_kept, self.fences = kept, most, fences

    def end_keeping(self) -> None:
        if self.kept is None:
            return
        left = self.most_kept
        for told in self.overtakings:
            left -= len(told.piece)
            if left < 0:
                break
            self.kept.pieces.append(told.piece)
        self.kept.whole = left >= 0 and bool(self.overtakings) and all(told.whole for told in self.overtakings)

    def _watches(self, model: ModelName) -> bool:
        """Whether SC executions tell about the model: all that ask for robustness, and C11 in any case."""
        return self.options.goal != "safe" or (model == "c11" and self.model == "sc")

    def request(self) -> list[str]:
        options, explore = self.options, self.options.explore
        request = [
            f"model={self.model}", f"strategy={explore.name}", f"count={explore.count}", f"depth={explore.depth}",
            f"seed={options.seed}",
            *driver.semantics_options(options.semantics),
            f"steps={STEPS}",
            *driver.loop_options(options.loop_bound, options.waiting),
            f"nondet-low={options.nondet[0]}", f"nondet-high={options.nondet[1]}", f"spurious={options.spurious}",
        ]  # fmt: skip
        request += [f"monitor={monitor.name}" for monitor in self.monitors]
        if all(monitor.over_classes for monitor in self.monitors):
            request.append(f"symmetry={options.symmetry}")
        request.append(f"memory={options.max_megabytes}")
        if options.executions is not None:
            request.append(f"executions={options.executions}")
        if options.release_sequence != "c20":
            request.append(f"release-sequence={options.release_sequence}")
        return request

    def seconds(self) -> list[str]:
        return [] if self.options.seconds == math.inf else [f"seconds={self.options.seconds}"]

    def take(self, told: AnyMessage, counting: Callable[[int, float], None] | None) -> None:
        match told:
            case Loaded():
                self.names = events.Names(self.symbols, told.base)
                self.isolated = told.isolated
            case Restart():
                self.violations = {model: [] for model in MODELS}
                self.failures, self.reports, self.notes, self.undecided = [], [], [], False
                self.orders = Orders(self.source, self.options, self.marks)
                self.overtakings = []
                if self.kept is not None:
                    self.kept.told.clear()
            case Overtakings():
                assert told.number <= len(self.overtakings)
                self.overtakings[told.number :] = [told]
            case Progress():
                self.executions = told.executions
                if counting is not None:
                    counting(told.executions, told.explored)
            case Found(monitor="exact-c11"):
                assert self.names is not None
                self.orders.take(told, self.names)
            case Found():
                found = self._robustness(told)
                self.violations[found.model].append(found)
                self.reports.append((told, found))
                if self.kept is not None:
                    self.kept.told[found.model, told.at] = found
            case Failed():
                self._failure(told)
            case Trouble(what="load"):
                raise ProgramError(f"{self.source.name} cannot be loaded: {self._unloadable(told.message)}")
            case Trouble():
                assert self.names is not None
                self.undecided = True
                self.met = told.unseen
                astray = "what was possible in one execution was not in another that is the same until then"
                what = astray if told.what == "astray" else events.divergence(told, self.names)
                self.notes.append(f"{what}: the program depends on something that cannot be controlled")
            case Stopped():
                self.ended_early = _STOPPED[told.reason]
            case End():
                self.end = told
                if told.stopped == "interrupted":
                    self.ended_early = _STOPPED["interrupted"]

    def _unloadable(self, message: str) -> str:
        if (why := unloadable(message, tempfile.gettempdir())) is not None:
            return why
        if "undefined symbol" not in message:
            resolvers = " and ".join(self.symbols.resolvers)
            why = "a resolver runs before the program is linked; it may choose, but neither store nor call others"
            return f"{message}; {resolvers} may be at fault: {why}" if resolvers else message
        missing = undefined(self.source, driver.executable())
        if not missing:  # only the program as it is built here uses it, where a header asks for the race detector
            return message
        return "\n".join(["nobody defines", *(f"  {name}, used by {', '.join(at)}" for name, at in missing.items())])

    # -- violations -----------------------------------------------------------------------------------------------------

    def _robustness(self, told: Found) -> Violation:
        assert self.names is not None
        monitor = monitor_info(told.monitor)
        execution = events.execution(self._with_fences(told), told.cells, self.names)
        delayed_at, previous_at, deciding_at = told.report
        report = Report(monitor.name, monitor.model, delayed_at, previous_at, deciding_at, 0, 0, 0)
        steps = witness.schedule(execution.events, report, self.options.semantics)
        recorded = Recorded(execution, steps)
        listed = execution.events
        found, _ = story.confirmed(
            recorded,
            monitor.model,
            steps,
            self.options.semantics,
            kind="robustness",
            monitor=monitor.name,
            sequential=story.beside(listed, story.one_by_one(listed, execution), delayed_at, deciding_at),
            telling=execution,
        )
        token = to_token(monitor.model, steps, recorded.locations, self.options.semantics)
        return replace(
            found,
            message=f"{_at(listed[deciding_at])} overtakes {_at(listed[delayed_at])}",
            replay=replaying.command(self.source, token, told.context, self.options.spurious),
        )

    def _with_fences(self, told: Found) -> list[StepRow]:
        """Its steps, with fences for the marks that are some."""
        if not self.fences:
            return told.steps
        assert self.names is not None
        kinds = {cell: self.fences.get(of.address - self.names.base) for cell, of in told.cells.items()}
        return [
            row if (kind := kinds.get(row.cell)) is None else replace(row, kind=int(kind), tag=0, cell=-1)
            for row in told.steps
        ]

    def _failure(self, failed: Failed) -> None:
        assert self.names is not None
        place = self.names.place(failed.place)
        where = f" at {place}" if place is not None else ""
        who, what, message = f"T{failed.thread}", failed.what, failed.message
        if what in _UNDECIDED:
            self.undecided = True
            self.notes.append(_UNDECIDED[what].format(message=message, where=where, thread=failed.thread))
            return
        assert what in get_args(ViolationKind)
        kind: ViolationKind = what  # type: ignore[assignment]
        told = {
            "assertion": f"{who}'s assertion {message} fails{where}",
            "crash": f"{who}: {message}{where}",
            "use after free": f"{who} uses memory that was freed{where}" + (f": {message}" if message else ""),
            "heap overflow": f"{who} accesses memory of the heap that nobody allocated{where}",
            "use after return": f"{who} {message}{where}",
            "misuse": f"{who} {message}{where}",
            "abort": f"{who} aborts{where}" + (f": {message}" if message else ""),
        }.get(what)
        if told is None:
            told = {
                "deadlock": "every thread that has not ended waits for ever: ",
                "livelock": "threads spin or wait for what will never come: ",
            }[what] + ", ".join(self._waiting(failed))
        told += self.names.cause(*failed.cause)
        execution = events.execution(failed.steps, failed.cells, self.names, self.model)
        violation, token = self._told(execution, kind, told, [] if place is None else [str(place)], failed.context)
        self.violations[self.model].append(violation)
        self.failures.append((failed, token))

    def shorten(self, program: Path, budget: Budget) -> None:
        """Those failures that are told step by step, while there is time."""
        for number, (failed, token) in enumerate(self.failures[: shortening.MOST]):
            if budget.over:
                return
            options, model = self.options, self.model
            shorter = shortening.shortened(program, self.source, failed, token, model, options, budget.left)
            if shorter is not None:
                known, failures = self.violations[model], self.failures
                self.violations[model], self.failures = [], []
                with suppress(ValueError):  # not accepted by the machines of models/
                    self._failure(shorter)
                    known[number] = self.violations[model][0]
                self.violations[model], self.failures = known, failures

    def tell_shortest(self, answer: CheckAnswer, program: Path, budget: Budget) -> CheckAnswer:
        """Where nothing fails a cycle is told step by step: the shortest, and shorter still if that can be."""
        models = dict(answer.models)
        for model in self.relaxed:
            ours = [(told, found) for told, found in self.reports if found.model == model]
            if not ours or budget.over:
                continue
            told, first = min(ours, key=lambda report: len(report[1].steps))
            others = [violation for violation in models[model].violations if violation is not first]
            options = self.options
            again = shortening.shorter(program, self.source, told, options, budget.left)
            if again is not None:
                with suppress(ValueError):  # not accepted by the machines of models/
                    first = min(first, self._robustness(again), key=lambda violation: len(violation.steps))
            models[model] = replace(models[model], violations=[first, *others])
        every = [violation for found in models.values() for violation in found.violations]
        return replace(answer, models=models, violations=every)

    def _waiting(self, failed: Failed) -> Iterator[str]:
        """What each thread that does not go on waits for."""
        assert self.names is not None
        called = self.names.cells(failed.cells).called
        for thread, looks in groupby(failed.waiting, key=lambda told: told[0]):
            told: dict[str, None] = {}
            for _, place, _, cell, verb in looks:
                at = self.names.place(place)
                where = "" if at is None else f" ({at})"
                told[words.waiting(Verb(verb), called.get(cell, "a fence")) + where] = None
            yield f"T{thread} {' and '.join(told)}"

    def _told(
        self, execution: events.Execution, kind: ViolationKind, message: str, places: list[str], context: str
    ) -> tuple[Violation, str]:
        """An execution of the program itself, which under TSO and PSO the machine of ``models/`` must accept, and its
        token."""
        recorded, semantics = Recorded(execution, execution.schedule), self.options.semantics
        if self.model == "sc":
            listed = execution.events
            found = Violation(
                model=self.model,
                kind=kind,
                events=listed,
                steps=story.one_by_one(listed, execution),
                initial=story.initial(recorded.initial_memory, listed, telling=execution),
                relations=relations.of_sc(listed),
            )
        else:
            found, _ = story.confirmed(
                recorded, self.model, execution.schedule, semantics, kind=kind, telling=execution
            )
        token = to_token(self.model, execution.schedule, recorded.locations, semantics)
        again = replaying.command(self.source, token, context, self.options.spurious)
        return replace(found, locations=places, message=message, replay=again), token

    def count_unseen(self, compiled: list[str]) -> None:
        """No proof stands on what no hook follows: ``compiled`` into the program, or met in an execution."""
        named = list(compiled)
        for what, at in self.met if self.end is None else self.end.unseen:
            place = self.names.place(at) if self.names is not None else None
            named.append(what if place is None else f"{what} at {place}")
        named = list(dict.fromkeys(named))
        if named:
            self.undecided = True
            more = f"; and {len(named) - NAMED} more" if len(named) > NAMED else ""
            self.notes.append(f"what cannot be seen: {'; '.join(named[:NAMED])}{more}")

    def passes(self) -> list[Fraction]:
        """Of each mark, for each execution."""
        end = self.end or End()
        return [Fraction(count, max(end.executions, 1)) for count in end.passes]

    @property
    def settled(self) -> bool:
        """Whether a search with a larger bound on preemptions would be in vain, or is not wanted."""
        stopped = self.end is None or self.end.stopped or not self.end.bounded or self.ended_early
        return bool(stopped) or bool(self.orders.violations) or any(self.violations.values())

    def ends_at(self, rounds: int) -> bool:
        """Whether nothing but the end of loops that were cut after so many rounds keeps it from going on."""
        if self.end is None or self.end.stopped or self.ended_early:
            return False
        found = self.orders.violations or any(self.violations.values())
        return not found and any(loop.rounds == rounds for loop in self.end.loops)

    def place(self, place: int) -> Location | None:
        return self.names.place(place) if self.names is not None else None


def _at(event: Event) -> str:
    return f"{event.text}" + (f" ({event.location})" if event.location is not None else "")
