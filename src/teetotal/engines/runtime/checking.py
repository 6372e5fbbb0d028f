"""``check`` for C programs: SC executions under the runtime, watched by monitors inside it, told as verdicts.

A violation of robustness is an execution of the relaxed machine, which ``models/`` must accept (see ``events``); one of
safety is an SC execution that the program itself went through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import get_args

import msgspec
from msgspec.structs import replace

from teetotal.answers import strategies
from teetotal.answers.answer import Interrupted
from teetotal.answers.check import CheckAnswer, ModelAnswer
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import CHECKED, MODELS, Event, Location, ModelName
from teetotal.answers.numbers import Verb
from teetotal.answers.options import CheckOptions
from teetotal.answers.schedules import to_token
from teetotal.answers.verdict import Verdict, both
from teetotal.answers.violation import Hazard, StoryStep, Violation, ViolationKind
from teetotal.budget import Budget
from teetotal.engines import relations, story
from teetotal.engines.executions.monitors import Report, monitor_info, witness
from teetotal.engines.runtime import driver, events, exploring, replaying, shortening, triage, vacuous, words
from teetotal.engines.runtime.messages import (
    AnyMessage,
    End,
    Failed,
    Found,
    Loaded,
    Progress,
    Restart,
    Stopped,
    Trouble,
    Unseen,
)
from teetotal.engines.runtime.orders import NO_MEANING, Orders
from teetotal.programs.c.build import Source, built, unseen
from teetotal.programs.c.symbols import Symbols
from teetotal.programs.c.undefined import undefined

STEPS = 100_000
"""The longest execution: what goes on after so many steps is cut."""

_NAMED = 8
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


class Marks(msgspec.Struct):
    """An array of bytes of the program, by its name, and how often an SC execution reads each of them on average."""

    array: str
    passes: list[Fraction] = []


def check(
    source: Source,
    options: CheckOptions,
    budget: Budget,
    *,
    command: str = "check",
    marks: Marks | None = None,
) -> CheckAnswer:
    """``marks`` are counted, where they are given."""
    with built(source) as program:
        budget.begin()
        symbols = Symbols(program, source.files)
        try:
            return _explored(source, program, symbols, options, budget, command, marks)
        finally:
            symbols.close()


def _explored(
    source: Source,
    program: Path,
    symbols: Symbols,
    options: CheckOptions,
    budget: Budget,
    command: str,
    marks: Marks | None,
) -> CheckAnswer:
    """SC and, where that is the goal, each relaxed model; each by the rounds of the strategy. Then, where the program is
    not robust, the relaxed models once more, to see what that means."""
    if options.fitting and options.goal != "safe" and not options.monitors and symbols.uses_atomics:
        options = replace(options, models=(*options.models, "c11"))
    models = [m for m in MODELS if m == "sc" or (options.goal == "safe" and m in options.models)]
    answer: CheckAnswer | None = None
    interrupted = False
    evaluated: set[int] = set()
    watched: _Findings | None = None

    def search(
        model: ModelName, asked: CheckOptions, marks: Marks | None = None, *, to_first_failure: bool = False
    ) -> _Findings:
        nonlocal interrupted
        findings = _Findings(source, asked, symbols, model, "" if marks is None else marks.array)
        request = findings.request()
        if marks is not None:
            address, size = symbols.extent(marks.array)
            request += [f"marks={address}", f"mark-count={size}"]
        counting = budget.counting(f"{model.upper()} executions")
        if budget.scale.alone or not findings.in_parts:
            given = [*request, *findings.seconds()]
            answers = driver.answers(program, given, source.arguments, trust=source.trust)
        else:
            answers = exploring.answers(program, request, source, budget)
        try:
            with closing(answers) as messages:
                for told in messages:
                    findings.take(told, counting)
                    if to_first_failure and findings.violations[model]:
                        break
        except driver.RuntimeDied as death:
            findings.ended_early = str(death)
        except KeyboardInterrupt:
            findings.ended_early = "interrupted"
            interrupted = True
        if marks is not None:
            marks.passes = findings.passes()
        findings.count_unseen(unseen(program))
        evaluated.update(findings.end.evaluated if findings.end is not None else ())
        if options.shorten and not interrupted:
            try:
                findings.shorten(program, budget)
            except KeyboardInterrupt:  # what was found is as good
                interrupted = True
        return findings

    plain = options.executions is None and not options.monitors and "c11" not in options.models and marks is None
    if len(models) > 1 and options.explore.is_exhaustive and plain:
        # What is robust is safe where SC is: buffers are explored for the rest alone.
        findings = search("sc", replace(options, goal="robust", seconds=budget.left))
        answer = _as_safe(findings.result(command))
        models = [model for model in models if model not in answer.models]
    for model in () if interrupted else models:
        executions = options.executions
        for searched in options.explore.rounds():
            asked = replace(options, explore=searched, seconds=budget.left, executions=executions)
            findings = search(model, asked, marks if model == "sc" else None)
            watched = findings if model == "sc" else watched
            result = findings.result(command)
            answer = result if answer is None else answer + result
            if executions is not None:
                executions -= result.executions or 0
            if findings.settled:
                break
        if interrupted:
            break
    assert answer is not None
    for name, found in answer.models.items():
        if found.robust is False and name != "c11":
            relaxed: CheckAnswer | None = None
            for searched in options.explore.rounds():
                if found.safe is not None or options.triage <= 0 or interrupted or budget.over:
                    break
                seconds = min(budget.left, options.triage)
                asked = replace(options, goal="safe", explore=searched, seconds=seconds)
                findings = search(name, asked, to_first_failure=True)
                relaxed = findings.result(command)
                if findings.settled:
                    break
            answer = triage.told(answer, name, relaxed, asserts=symbols.uses("__assert_fail"))
    cycles = bool(answer.violations) and all(violation.kind == "robustness" for violation in answer.violations)
    if cycles and watched is not None and options.shorten and not interrupted:
        answer = watched.tell_shortest(answer, program, budget)
    if answer.complete and all(found.safe for found in answer.models.values()):
        answer = replace(answer, notes=[*answer.notes, *vacuous.asserted(source, program, symbols, evaluated)])
    answer = replace(answer, seconds=budget.passed)
    if interrupted:
        raise Interrupted(answer)
    return answer


def _as_safe(watched: CheckAnswer) -> CheckAnswer:
    """What SC executions and monitors say where safety is the goal: all about SC, and about models under which the
    program is robust, and safe like SC. What they found against robustness is not asked for."""
    sc = watched.models["sc"]
    models = {name: found for name, found in watched.models.items() if found is sc or (found.robust and found.safe)}
    return replace(
        watched,
        models=models,
        verdict=sum((found.verdict for found in models.values()), Verdict.SAFE),
        violations=[violation for found in models.values() for violation in found.violations],
        goal="safe",
    )


class _Findings:
    """What the runtime told so far about the executions of one model, and the verdict that follows."""

    def __init__(
        self, source: Source, options: CheckOptions, symbols: Symbols, model: ModelName, marks: str = ""
    ) -> None:
        self.source, self.marks = source, marks
        self.options = options
        self.symbols = symbols
        self.model = model
        self.relaxed = [m for m in CHECKED if m != "sc" and m in options.models and self._watches(m)]
        kind = "exact" if options.explore.is_reduced else "burnim"
        chosen = options.monitors or tuple(
            "exact-c11" if model == "c11" else f"{kind}-{model}" for model in self.relaxed
        )
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

    @property
    def in_parts(self) -> bool:
        """Whether it is a search that many can explore (core/search/part.hpp): one, over SC executions, that leaves out
        what waits."""
        options = self.options
        whole = options.executions is not None or options.spurious > 0 or options.waiting != "skip"
        return self.model == "sc" and options.explore.name == "all" and not whole

    def take(self, told: AnyMessage, counting: Callable[[int, float], None] | None) -> None:
        match told:
            case Loaded():
                self.names = events.Names(self.symbols, told.base)
                self.isolated = told.isolated
            case Restart():
                self.violations = {model: [] for model in MODELS}
                self.failures, self.reports, self.notes, self.undecided = [], [], [], False
                self.orders = Orders(self.source, self.options, self.marks)
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
            case Failed():
                self._failure(told)
            case Trouble(what="load"):
                raise ProgramError(f"{self.source.name} cannot be loaded: {self._unloadable(told.message)}")
            case Trouble():
                assert self.names is not None
                self.undecided = True
                self.met = told.unseen
                what = events.divergence(told, self.names)
                self.notes.append(f"{what}: the program depends on something that cannot be controlled")
            case Stopped():
                self.ended_early = _STOPPED[told.reason]
            case End():
                self.end = told
                if told.stopped == "interrupted":
                    self.ended_early = _STOPPED["interrupted"]

    def _unloadable(self, message: str) -> str:
        if "undefined symbol" not in message:
            return message
        missing = undefined(self.source, driver.executable())
        return "\n".join(["nobody defines", *(f"  {name}, used by {', '.join(at)}" for name, at in missing.items())])

    # -- violations -----------------------------------------------------------------------------------------------------

    def _robustness(self, told: Found) -> Violation:
        assert self.names is not None
        monitor = monitor_info(told.monitor)
        execution = events.execution(told.steps, told.cells, self.names)
        delayed_at, previous_at, deciding_at = told.report
        report = Report(monitor.name, monitor.model, delayed_at, previous_at, deciding_at, 0, 0, 0)
        steps = witness.schedule(execution.events, report, self.options.semantics)
        program = events.straight_line(self.source.name, execution, steps, self.source.name)
        found = story.violation(
            program,
            monitor.model,
            steps,
            self.options.semantics,
            kind="robustness",
            monitor=monitor.name,
            sequential=story.beside(execution.events, _one_by_one(execution.events), delayed_at, deciding_at),
        )
        token = to_token(monitor.model, steps, list(program.memory), self.options.semantics)
        delayed, deciding = execution.events[report.delayed], execution.events[report.deciding]
        return replace(
            words.worded(found, execution.told, execution.pointers),
            message=f"{_at(deciding)} overtakes {_at(delayed)}",
            replay=replaying.command(self.source, token, told.context, self.options.spurious),
        )

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
            "abort": f"{who} aborts{where}",
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
            shorter = shortening.shortened(
                program, self.source, failed, token, model, options.semantics, options.spurious, budget.left
            )
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
            again = shortening.shorter(program, self.source, told, options.semantics, options.spurious, budget.left)
            if again is not None:
                with suppress(ValueError):  # not accepted by the machines of models/
                    first = min(first, self._robustness(again), key=lambda violation: len(violation.steps))
            models[model] = replace(models[model], violations=[first, *others])
        every = [violation for found in models.values() for violation in found.violations]
        return replace(answer, models=models, violations=every)

    def _cuts(self, end: End) -> Iterator[str]:
        """Loops that were not run to their end, those together that were cut alike."""
        for rounds in sorted({rounds for _, rounds in end.loops}):
            alike = {self._place(place) for place, often in end.loops if often == rounds} - {None}
            where = f" at {', '.join(sorted(map(str, alike))[:_NAMED])}" if alike else ""
            yield f"loop{where} cut after {rounds:,} rounds; see --loop-bound"

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
        program = events.straight_line(self.source.name, execution, execution.schedule, self.source.name)
        if self.model == "sc":
            listed = execution.events
            found = Violation(
                model=self.model,
                kind=kind,
                events=listed,
                steps=words.with_pointers(_one_by_one(listed), listed),
                initial=words.pointed(story.initial(program.memory, listed), execution.pointers),
                relations=relations.of_sc(listed),
            )
        else:
            semantics = self.options.semantics
            found = story.violation(program, self.model, execution.schedule, semantics, kind=kind, message=message)
            found = words.worded(found, execution.told, execution.pointers)
        token = to_token(self.model, execution.schedule, list(program.memory), self.options.semantics)
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
            more = f"; and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
            self.notes.append(f"what cannot be seen: {'; '.join(named[:_NAMED])}{more}")

    def passes(self) -> list[Fraction]:
        """Of each mark, for each execution."""
        end = self.end or End()
        return [Fraction(count, max(end.executions, 1)) for count in end.passes]

    @property
    def settled(self) -> bool:
        """Whether a search with a larger bound on preemptions would be in vain, or is not wanted."""
        stopped = self.end is None or self.end.stopped or not self.end.bounded or self.ended_early
        return bool(stopped) or bool(self.orders.violations) or any(self.violations.values())

    # -- the verdict ------------------------------------------------------------------------------------------------------

    def result(self, command: str) -> CheckAnswer:
        end = self.end or End(executions=self.executions)
        notes = list(dict.fromkeys([*self.notes, *end.oddities]))
        if self.ended_early:
            notes.append(f"{self.ended_early}; what was found until then is told")
        if end.cut and end.longest >= STEPS:
            notes.append(f"an execution was cut after {STEPS:,} steps")
        elif end.cut:
            notes += self._cuts(end)
        elif end.stopped == "memory":
            notes.append(f"what is yet to be explored needs more than {self.options.max_megabytes:,} MB; see --memory")
        elif end.stopped == "hangs":
            notes.append("the search was stopped after three executions that hang, or wait, or need too much memory")
        elif end.stopped and not self.ended_early:
            notes.append("the budget ran out; see --time and --executions")
        elif not end.complete and not self.undecided and not self.ended_early:
            notes.append(f"{self.options.explore} leaves executions out")
        if end.mixed and self.names is not None:
            named = sorted(
                {self.symbols.variable(address - self.names.base) or f"{address:#x}" for address in end.mixed}
            )
            notes.append(
                f"accessed in different sizes, which the monitors take for one location: {', '.join(named[:8])}"
            )
        if self.options.explore.name == "exactly" and (self.settled or self.options.explore.is_last):
            notes.append(strategies.how_far(self.options.explore, any(self.violations.values())))
        notes += self._data_races(end.races)
        if (
            self.options.fitting
            and "c11" not in self.relaxed
            and (end.races or any(map(self.violations.get, self.relaxed)))
        ):
            notes.append(NO_MEANING)
        if end.complete and not end.executions:
            notes.append("no execution was explored: nothing is known")
        complete = bool(end.complete and end.executions) and not self.undecided and not self.ended_early
        if complete and not self.orders.violations and not any(self.violations.values()):
            notes += vacuous.proof(end)
        models = {self.model: self._model(self.model, complete, True)}
        hazards: list[Hazard] = []
        if self.options.fitting and end.assembly and "c11" in self.relaxed:  # nobody asked for what cannot be known
            notes += self.orders.notes(end.assembly)
            self.relaxed, self.orders = [m for m in self.relaxed if m != "c11"], Orders(self.source, self.options)
        for model in self.relaxed:
            watching = [monitor for monitor in self.monitors if monitor.model == model]
            sure = any(monitor.misses_nothing(self.options.explore) for monitor in watching)
            if complete and not sure:
                notes.append(
                    f"{', '.join(monitor.name for monitor in watching)} can miss violations "
                    f"among the executions of {self.options.explore}"
                )
            proved = complete and sure and not end.mixed
            if model == "c11":
                by_x86 = models["tso"].robust is False if "tso" in models else None
                hazards = self.orders.hazards(end, self.names)
                sure = proved and not end.assembly
                models[model] = self.orders.answer(sure, bool(self.violations["sc"]), by_x86, bool(hazards))
                notes += self.orders.notes(end.assembly)
            else:
                models[model] = self._model(model, complete, proved)
        return CheckAnswer(
            input=self.source.name,
            command=command,
            name=self.source.name,
            models=models,
            verdict=sum((result.verdict for result in models.values()), Verdict.SAFE),
            complete=complete,
            seconds=0.0,
            executions=end.executions,
            blocked=end.blocked,
            violations=[violation for result in models.values() for violation in result.violations],
            notes=notes,
            cpu=end.cpu,
            goal=self.options.goal,
            symmetric=end.symmetric,
            races=self.orders.races,
            hazards=hazards,
            isolated=None if self.isolated or self.source.trust else False,
        )

    def _place(self, place: int) -> Location | None:
        return self.names.place(place) if self.names is not None else None

    def _data_races(self, told: list[tuple[int, int, int]]) -> list[str]:
        """As information: where threads touch the same location without atomic operations. At most a few."""
        if self.names is None:
            return []
        races: dict[str, None] = {}
        for first, second, address in told:
            name = self.symbols.variable(address - self.names.base) or "memory"
            places = sorted({str(self.names.place(first)), str(self.names.place(second))})
            races[f"data race on {name}: {' and '.join(places)}"] = None
        shown = list(races)[:8]
        return shown + ([f"{len(races) - len(shown)} more data races"] if len(races) > len(shown) else [])

    def _model(self, model: ModelName, complete: bool, proved: bool) -> ModelAnswer:
        found = self.violations[model]
        safe: bool | None = False if self.violations[self.model] else True if complete else None
        robust: bool | None = True
        if self.options.goal == "safe":
            robust = True if model == "sc" else None
            verdict = Verdict.of(safe)
            return ModelAnswer(verdict=verdict, robust=robust, safe=safe, violations=found)
        if model != "sc":
            robust = False if found else True if proved else None
            if robust is not True and safe:  # what it does beyond SC was not looked at
                safe = None
        verdict = Verdict.of(both(robust, safe))
        return ModelAnswer(verdict=verdict, robust=robust, safe=safe, violations=found)


def _one_by_one(events: Sequence[Event]) -> list[StoryStep]:
    """The steps of an SC execution: what an event writes is in memory at once."""
    return [
        StoryStep(event.thread, "event", number, memory={} if not written else {event.address or "": str(event.value)})
        for number, event in enumerate(events)
        for written in [event.writes and event.value is not None]
    ]


def _at(event: Event) -> str:
    return f"{event.text}" + (f" ({event.location})" if event.location is not None else "")
