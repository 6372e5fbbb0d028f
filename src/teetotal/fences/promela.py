"""The problem of fences for a Promela program, with unbounded buffers: what the symbolic engines find violated.

An engine's violation has been replayed by the model's machine (``Replay``), so it is one execution with finitely many
steps, however long buffers could become: ``killers`` says which fences would prevent it, and why that is exact. Two kinds
of steps are no events, and count there as what they are to a buffer: choices, labels and ghost variables as a load
would, an atomic block as an atomic access. Places that a process passed after its last step are no killers: with a fence
there, everything would happen in the same way before it.

A fence costs as much as it costs each process that has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from teetotal.answers.check import CheckAnswer, ModelAnswer
from teetotal.answers.costs import PREFERRED, Costs
from teetotal.answers.events import Event, EventId, Kind, ModelName, Semantics
from teetotal.answers.options import TRIAGE_SECONDS, FenceOptions
from teetotal.answers.verdict import Goal, Verdict
from teetotal.answers.violation import StoryStep
from teetotal.budget import Budget
from teetotal.engines.symbolic import checking as symbolic
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.results import violation
from teetotal.engines.symbolic.schedules import Line, Replay
from teetotal.engines.symbolic.verify import Outcome, robust, verify
from teetotal.fences.edits import Edit, Patched, apply
from teetotal.fences.insertion import Finding, Site, Undecided
from teetotal.fences.jobs import Job, Patch
from teetotal.fences.killers import killers
from teetotal.programs.promela.compile import compile_text
from teetotal.programs.promela.control_flow import comes_again
from teetotal.programs.promela.instructions import Slot
from teetotal.programs.promela.program import PromelaProgram


def loops(program: PromelaProgram) -> list[list[bool]]:
    """By site, and for each process that has the fence: whether a loop runs it again."""
    found: list[list[bool]] = [[] for _ in program.sites]
    for process in program.processes:
        mine: dict[int, bool] = {}
        for pc, instruction in enumerate(process.code):
            if isinstance(instruction, Slot):
                mine[instruction.fence] = mine.get(instruction.fence, False) or comes_again(process.code, pc)
        for fence, in_loop in mine.items():
            found[fence].append(in_loop)
    return found


def sites(program: PromelaProgram, costs: Costs, looped: list[list[bool]]) -> list[Site]:
    """The program's own sites, in its order."""
    found = []
    for number, site in enumerate(program.sites):
        lines = program.text[site.span.start : site.span.end].splitlines()
        words = lines[-1 if site.after else 0].strip()
        cost = sum((costs.of(site.kind, in_loop) for in_loop in looped[number]), Fraction(0))
        found.append(
            Site(
                kind=site.kind,
                place=(site.span.start, site.after, site.existing),
                cost=cost * PREFERRED if site.existing else cost,
                in_loop=any(looped[number]),
                location=site.location,
                after=words if site.after and not site.existing else "",
                before="" if site.after else words,
            )
        )
    return found


class PromelaProblem:
    """Each answer about a model is remembered, and all share one control graph. ``last``: the latest answer."""

    def __init__(
        self,
        program: PromelaProgram,
        models: Sequence[ModelName] = ("tso", "pso"),
        goal: Goal = "robust",
        semantics: Semantics = Semantics(),
        costs: Costs = Costs(),
        *,
        always: frozenset[int] = frozenset(),
        engine: str = "saturate",
        budget: Budget | None = None,
    ) -> None:
        self.program, self.models, self.goal, self.always = program, tuple(models), goal, always
        self.engine, self.budget = engine, budget or Budget()
        self.weighed = True
        self.graph = ControlGraph(program, semantics)
        self.costs = costs
        self.existing = program.written_fences
        self.last: Outcome | None = None
        self._known: dict[tuple[frozenset[int], ModelName], Outcome] = {}

    @cached_property
    def looped(self) -> list[list[bool]]:
        return loops(self.program)

    @cached_property
    def sites(self) -> Sequence[Site]:
        return sites(self.program, self.costs, self.looped)

    def processes(self, site: int) -> int:
        """How many have it."""
        return len(self.looped[site])

    @property
    def verifications(self) -> int:
        return len(self._known)

    def outcome(self, on: frozenset[int], model: ModelName) -> Outcome:
        """What the engine says with just these fences; ``Undecided`` where it ran out of its budget."""
        key = (self.existing if model == "sc" else on, model)  # no fence matters under SC: those that the text has
        if key not in self._known:
            outcome = self.ask(*key)
            if outcome.verdict is Verdict.INCONCLUSIVE:
                raise Undecided(f"{self.goal} or not under {model.upper()} is not known: {outcome.why}")
            self._known[key] = outcome
        self.last = self._known[key]
        return self.last

    def ask(self, on: frozenset[int], model: ModelName, certify: bool = False) -> Outcome:
        if self.goal == "robust":
            return robust(self.graph, model, fences=on, budget=self.budget)
        return verify(self.graph, model, engine=self.engine, fences=on, budget=self.budget, certify=certify)

    def known(self, fences: frozenset[int]) -> list[Finding] | None:
        return None

    def findings(self, fences: frozenset[int]) -> list[Finding]:
        """SC first: what is unsafe there stays so with any fences."""
        on = fences | self.always
        if self.goal == "safe" and self.outcome(on, "sc").verdict is Verdict.VIOLATION:
            return [self.finding(self.outcome(on, "sc"))]
        outcomes = [self.outcome(on, model) for model in self.models]
        return [self.finding(outcome) for outcome in outcomes if outcome.verdict is Verdict.VIOLATION]

    def finding(self, outcome: Outcome) -> Finding:
        assert outcome.replay is not None
        return Finding(violation(self.program, self.goal, outcome), killers_of(outcome.replay))


def killers_of(replay: Replay) -> frozenset[int]:
    """The places whose fence would not let the run happen."""
    events: list[Event] = []
    steps: list[StoryStep] = []
    passed: dict[EventId, Sequence[tuple[int, Kind]]] = {}
    numbers: dict[EventId, int] = {}
    for line in replay.lines:
        if line.committed is not None:
            event = line.committed
            steps.append(StoryStep(event.thread, "commit", numbers[event.id], [list(b) for b in line.buffers]))
            continue
        event = line.event or _like_event(line, len(events))
        steps += (StoryStep(store.thread, "commit", numbers[store.id]) for store in line.flushed)
        steps.append(StoryStep(event.thread, "event", len(events)))
        numbers[event.id] = len(events)
        passed[event.id] = [(site, replay.program.sites[site].kind) for site in line.passed]
        events.append(event)
    return killers(replay.model, events, steps, passed)


def _like_event(line: Line, number: int) -> Event:
    """What a step that is no event is to the process's buffer. Its identity is nobody else's."""
    return Event(line.step[0], -1 - number, Kind.RMW if line.locked else Kind.LD)


# -- the text ---------------------------------------------------------------------------------------------------------


def patched(program: PromelaProgram, added: frozenset[int], removed: frozenset[int] = frozenset()) -> Patched:
    """The program's text with some fences more and some less. One beside a fence that goes is written in its place."""
    edits: list[Edit] = []
    gone = {program.sites[number].span.start: number for number in removed}
    for number in sorted(added, key=lambda number: (not program.sites[number].after, number)):
        site = program.sites[number]
        word, span = str(site.kind), site.span
        if span.start in gone:
            gone.pop(span.start)
            edits.append(Edit(span.start, span.end, word, number))
        elif site.after:
            edits.append(Edit(span.end, span.end, f"; {word}{';' * (span.follows is None)}", number))
        else:
            edits.append(Edit(span.start, span.start, f"{word}; ", number))
    edits += (_removal(program, number) for number in gone.values())
    return apply(program.text, edits)


def _removal(program: PromelaProgram, number: int) -> Edit:
    """The statement goes with its separator, and with its line if that has nothing else."""
    text, span, instead = program.text, program.sites[number].span, program.sites[number].instead
    if instead:
        return Edit(span.start, span.end, instead, number)
    assert span.follows is not None
    start, end = span.start, span.follows
    while text[start - 1 : start] in (" ", "\t"):
        start -= 1
    rest = text[end:].partition("\n")[0]
    alone = text[start - 1 : start] == "\n" and not rest.strip()
    return Edit(start, end + len(rest) + 1 if alone else end, "", number)


def job(path: str, text: str, options: FenceOptions, budget: Budget) -> Job:
    program = compile_text(text, path, "gaps")
    existing = frozenset(number for number, site in enumerate(program.sites) if site.existing)
    problem = PromelaProblem(
        program,
        options.models,
        options.goal,
        options.semantics,
        options.costs,
        always=frozenset() if options.remove else existing,
        budget=budget,
    )

    def write(added: frozenset[int], removed: frozenset[int]) -> Patch:
        done = patched(program, added, removed)
        return Patch({path: done.text}, {number: done.lines[number] for number in added})

    def check(new: Mapping[str, str]) -> list[CheckAnswer]:
        return [_proof(path, compile_text(new[path], path), options, budget)]

    def as_it_is() -> list[CheckAnswer]:
        asked = options.as_check()
        return [symbolic.check(compile_text(text, path), asked, Budget(min(budget.left, TRIAGE_SECONDS)))]

    return Job(problem=problem, existing=existing, originals={path: text}, write=write, check=check, as_it_is=as_it_is)


def _proof(path: str, program: PromelaProgram, options: FenceOptions, budget: Budget) -> CheckAnswer:
    """What the engine says of the patched text: of the goal, and whether it fails under SC, where no fence matters."""
    problem = PromelaProblem(program, options.models, options.goal, options.semantics, budget=budget)
    outcomes = [problem.ask(frozenset(), model) for model in options.models]
    models: dict[ModelName, ModelAnswer] = {}
    if options.goal == "robust":
        under_sc = verify(problem.graph, "sc", budget=budget)
        models["sc"] = ModelAnswer(
            verdict=under_sc.verdict,
            robust=True,
            safe=under_sc.verdict.holds,
            violations=[violation(program, "safe", under_sc)] if under_sc.verdict is Verdict.VIOLATION else [],
            states=under_sc.states,
        )
    for outcome in outcomes:
        holds = outcome.verdict.holds
        models[outcome.model] = ModelAnswer(
            verdict=outcome.verdict,
            robust=holds if options.goal == "robust" else None,
            safe=holds if options.goal == "safe" else None,
            states=outcome.states,
        )
    verdict = sum((found.verdict for found in models.values()), Verdict.SAFE)
    return CheckAnswer(
        input=path,
        command="fence",
        name=program.name,
        models=models,
        verdict=verdict,
        complete=verdict is not Verdict.INCONCLUSIVE,
        seconds=sum(outcome.seconds for outcome in outcomes),
        violations=[failure for found in models.values() for failure in found.violations],
    )
