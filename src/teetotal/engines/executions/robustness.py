"""Is a program robust? Decided from its SC executions alone, by monitors that watch them (core/search/monitoring.hpp).

Each distinct report becomes an execution of the relaxed machine, which the specification in ``models/`` must accept and
whose happens-before must have a cycle: nothing is called a violation on the monitor's word alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from teetotal import _core
from teetotal.answers import strategies
from teetotal.answers.events import Issue, ModelName, Semantics
from teetotal.answers.options import ENDLESS_ROUNDS, LOOP_BOUND, MAX_MEGABYTES, ReleaseSequence
from teetotal.answers.strategies import Strategy
from teetotal.answers.verdict import Symmetry, Waiting
from teetotal.answers.violation import Race, Violation
from teetotal.budget import Budget
from teetotal.engines import story, weak
from teetotal.engines.encoding import encode, encode_semantics, twins
from teetotal.engines.executions import watched
from teetotal.engines.executions.exchanging import exchanged
from teetotal.engines.executions.monitors import MonitorInfo, Report, monitor_info, witness
from teetotal.engines.executions.overtakings import Kept, MarkedProgram, most_bytes
from teetotal.engines.executions.watched import Counts, Placed
from teetotal.engines.states.outcomes import translated_errors
from teetotal.programs.program import Program

_EXCHANGING = frozenset({"exact-tso", "exact-pso"})
"""Monitors that say the same, up to names, of executions in which threads that do the same are exchanged."""
MOST_TOLD = 2000
"""Steps of an execution that has no end: what takes more to go wrong is looked for again with loops cut."""


class Robustness(NamedTuple):
    """``complete``: nothing of the strategy's executions was left out, and the strategy leaves nothing out. ``proved``:
    the models for which that, with the monitors that watched, makes "no violation" a proof. ``waiting``: what was taken for
    an execution."""

    violations: dict[ModelName, list[Violation]]
    executions: int
    blocked: int
    complete: bool
    proved: frozenset[ModelName]
    notes: list[str]
    interrupted: bool
    waiting: Waiting
    races: list[Race]
    symmetric: bool = False
    """Executions are counted up to exchanging threads that do the same."""
    kept: Kept | None = None
    """Where there are marks."""

    def proves(self, model: ModelName) -> bool:
        return model in self.proved


def robustness(
    program: Program,
    relaxed: Sequence[ModelName],
    semantics: Semantics = Semantics(),
    *,
    strategy: Strategy = Strategy("all"),
    monitors: Sequence[str] = (),
    waiting: Waiting = "skip",
    release_sequence: ReleaseSequence = "c20",
    seed: int = 0,
    budget: Budget | None = None,
    whole_races: bool = False,
    symmetry: Symmetry = "off",
    marked: MarkedProgram | None = None,
) -> Robustness:
    """``monitors`` default to the exact ones, which are complete over any strategy that is. The others are of the papers,
    where waiting rounds count. With ``symmetry``, of executions that differ in which of several threads that do the same
    did what, one is watched, and what it shows is told of each of them. ``marked``: the same program with marks, which is
    explored in its place; what is kept of it is with the answer."""
    budget = budget or Budget()
    watching = [monitor_info(name) for name in monitors or [f"exact-{model}" for model in relaxed]]
    watching = [monitor for monitor in watching if monitor.model in relaxed]
    plain = [monitor.name for monitor in watching if not monitor.knows_waiting]
    notes = []
    if waiting == "skip" and plain:
        waiting = "count"
        notes.append(f"{', '.join(plain)}: waiting rounds are counted, as with --waiting count")
    if waiting == "count" and program.loop_bound is None:
        program = bounded(program, LOOP_BOUND)
    if marked is not None:
        marked = msgspec.structs.replace(marked, program=bounded(marked.program, program.loop_bound))
    exchanging = symmetry == "on" and strategy.name == "all" and all(m.name in _EXCHANGING for m in watching)
    search = _Search(
        program, relaxed, semantics, watching, waiting, release_sequence, seed, budget, whole_races,
        twins(program) if exchanging else [], marked,
    )  # fmt: skip
    explored = search.explored
    search.run(strategy)
    if search.result.endless and not search.over:
        endless = search.cuts
        for bound in ENDLESS_ROUNDS:  # what goes wrong, goes wrong in few rounds
            search.program, search.explored = bounded(program, bound), bounded(explored, bound)
            search.run(strategy)
            if search.over:
                break
        notes.append(f"{_loops(explored, endless)} without an end: cut after {bound} backward jumps; see --loop-bound")
        complete = False
    else:
        complete = search.result.complete
        notes += search.notes_on_cuts()
    notes += search.notes(strategy, complete)
    proved: set[ModelName] = set()
    for monitor in watching:
        if not monitor.misses_nothing(strategy):
            notes.append(f"{monitor.name} can miss violations among the executions of --explore {strategy}")
        elif complete:
            proved.add(monitor.model)
    for model in relaxed:
        if all(monitor.model != model for monitor in watching):
            notes.append(f"no monitor for {model.upper()} was chosen with --monitor")
    if search.kept is not None:
        search.kept.proved, search.kept.notes = frozenset(proved), notes
    return Robustness(
        search.violations, search.executions, search.blocked, complete, frozenset(proved), notes, search.interrupted,
        waiting, search.races, any(twin >= 0 for twin in search.twins), search.kept,
    )  # fmt: skip


def bounded(program: Program, loop_bound: int | None) -> Program:
    return msgspec.structs.replace(program, loop_bound=loop_bound)


class _Search:
    """Searches over one program, one after the other: what they found, all together. ``explored`` is the program with its
    marks, where it has some; ``program`` the one that is told of."""

    def __init__(
        self,
        program: Program,
        relaxed: Sequence[ModelName],
        semantics: Semantics,
        watching: Sequence[MonitorInfo],
        waiting: Waiting,
        release_sequence: ReleaseSequence,
        seed: int,
        budget: Budget,
        whole_races: bool,
        twins: list[int],
        marked: MarkedProgram | None,
    ) -> None:
        self.whole_races, self.twins = whole_races, twins
        self.explored = program if marked is None else marked.program
        self.kept = None if marked is None else Kept()
        self.marks: tuple[tuple[int, ...], tuple[int, ...], int] = ((), (), 0)
        if marked is not None:
            self.marks = (marked.at, marked.kinds, most_bytes(budget))
        self.program, self.semantics, self.watching, self.waiting = program, semantics, watching, waiting
        self.release_sequence, self.seed, self.budget = release_sequence, seed, budget
        self.max_megabytes = int(MAX_MEGABYTES if budget.megabytes is None else budget.megabytes)
        self.counting = budget.counting("SC executions")
        self.violations: dict[ModelName, list[Violation]] = {model: [] for model in relaxed}
        self.races: list[Race] = []
        self.executions = self.blocked = self.untold = 0
        self.cuts: list[tuple[int, int, int, int]] = []
        self.interrupted = False
        self.result: Counts
        self.searched: Strategy

    @property
    def over(self) -> bool:
        return self.interrupted or self.budget.over or bool(self.races) or any(self.violations.values())

    def run(self, strategy: Strategy) -> None:
        for self.searched in strategy.rounds():
            self.result = Counts(0, 0, 0, complete=False)
            try:
                self._search()
            except MemoryError:  # what was told by then stays
                self.result = self.result._replace(complete=False, full=True)
            if self.over or self.result.full or self.result.endless or not self.result.bounded:
                break

    def _search(self) -> None:
        divided = self.searched.name in watched.DIVIDED and not self.budget.scale.alone
        findings = self._in_parts() if divided else None
        if findings is None:
            findings = self._alone()
        self.executions += self.result.executions
        self.blocked += self.result.blocked
        for places, (number, triple, schedule, racy) in findings:
            if self.result.endless and len(schedule) > MOST_TOLD:
                continue
            if racy:
                self._add_race(weak.race(self.program, triple, schedule, self.semantics, self.whole_races))
                continue
            if self.budget.over and self.kept is None and self.violations[self.watching[number].model]:
                self.untold += 1  # to replay hundreds takes its time, and one of each model is enough to know
                continue
            for renamed in exchanged(schedule, schedule[triple[0]], schedule[-1], self.twins):
                found = self._violation(self.watching[number], triple, renamed)
                alike = (known for known in self.violations[found.model] if known.shape == found.shape)
                if (known := next(alike, None)) is None:
                    self.violations[found.model].append(found)
                if self.kept is not None:
                    self.kept.told[found.model, places] = known or found

    def _counting(self) -> Watcher | None:
        return None if self.counting is None else partial(_counting_on, self.counting, self.executions)

    def _keep(self, piece: bytes, whole: bool) -> None:
        if self.kept is not None:
            most = self.marks[2] - sum(map(len, self.kept.pieces))
            fits = len(piece) <= most
            self.kept.pieces += [piece] if fits else []
            self.kept.whole = self.kept.whole and whole and fits

    def _alone(self) -> list[Placed]:
        with translated_errors(self.program):
            result, findings, self.cuts, self.interrupted, kept = _core.monitored_search(
                encode(self.explored),
                encode_semantics(self.semantics),
                self.waiting == "skip",
                self.searched.name,
                self.searched.count,
                self.searched.depth,
                self.seed,
                [monitor.name for monitor in self.watching],
                self.budget.left,
                self.max_megabytes,
                self._counting(),
                self.release_sequence == "c11",
                self.twins,
                self.marks,
            )
        self._keep(*kept)
        self.result = Counts(
            result.executions, result.blocked, result.cut, result.complete, result.full, result.endless, result.bounded
        )
        return findings

    def _in_parts(self) -> list[Placed] | None:
        """The same by whoever helps; None where that cannot be."""
        names = tuple(monitor.name for monitor in self.watching)
        question = watched.Question(
            self.explored, self.semantics, self.waiting, names, self.release_sequence, self.max_megabytes,
            tuple(self.twins), self.searched, self.seed, self.marks,
        )  # fmt: skip
        found = watched.explored(question, self.budget, self._counting())
        if found is None:
            return None
        self.result, findings, self.cuts, self.interrupted, kept = found
        for piece in kept:
            self._keep(*piece)
        return findings

    def _add_race(self, found: Race) -> None:
        """A pair of places once, whichever came first."""
        if all({found.first.id, found.second.id} != {race.first.id, race.second.id} for race in self.races):
            self.races.append(found)

    def _violation(self, monitor: MonitorInfo, triple: tuple[int, int, int], schedule: list[int]) -> Violation:
        """The relaxed execution behind a report, told."""
        if monitor.model == "c11":
            return weak.violation(self.program, triple, schedule, self.semantics, self.release_sequence)
        run, told = story.told(self.program, "sc", tuple(map(Issue, schedule)), self.semantics)
        events = run.issued()
        report = Report(monitor.name, monitor.model, *triple, 0, 0, 0)
        steps = witness.schedule(events, report, self.semantics)
        return story.violation(
            self.program,
            monitor.model,
            steps,
            self.semantics,
            kind="robustness",
            monitor=monitor.name,
            sequential=story.beside(events, told, report.delayed, report.deciding),
        )

    def notes_on_cuts(self) -> list[str]:
        if not self.result.cut:
            return []
        loops = _loops(self.explored, self.cuts)
        if self.program.loop_bound is not None:
            return [f"{loops}: cut after {self.program.loop_bound} backward jumps; see --loop-bound"]
        return [f"{loops} while nothing that was read changed, and cut there; see --loop-bound"]

    def notes(self, strategy: Strategy, complete: bool) -> list[str]:
        notes = []
        if self.untold:
            notes.append(f"{self.untold:,} more reports of monitors are not told, for want of time; see --time")
        if self.searched is not strategy:
            notes.append(strategies.how_far(self.searched, any(self.violations.values())))
        if self.result.full:
            notes.append(
                f"robustness: stopped after {self.executions:,} SC executions, which is as far as "
                f"{self.max_megabytes:,} MB go; see --memory"
            )
        elif not complete and not self.result.cut:
            left_out = f"--explore {strategy} leaves executions out"
            stopped = f"stopped after {self.executions:,} SC executions; see --time"
            notes.append(f"robustness: {stopped if strategy.is_exhaustive else left_out}")
        return notes


def _loops(program: Program, cuts: Sequence[tuple[int, int, int, int]]) -> str:
    """``T1 went round spin.litmus:4–6 100 times``: each loop that was cut, with the most rounds that it took."""
    rounds: dict[str, int] = {}
    for thread, first, last, count in cuts:
        loop = f"T{thread} went round {story.lines(program, thread, range(first, last + 1))}"
        rounds[loop] = max(count, rounds.get(loop, 0))
    return ", ".join(f"{loop} {count:,} times" for loop, count in rounds.items())


Watcher = Callable[[int, float], None]


def _counting_on(watcher: Watcher, before: int, count: int, fraction: float) -> None:
    watcher(before + count, fraction)
