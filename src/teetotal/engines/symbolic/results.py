"""What ``teetotal verify`` answers, as plain values with the contract's JSON keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from teetotal.answers.check import ModelAnswer
from teetotal.answers.events import Event, EventId, ModelName
from teetotal.answers.schedules import ScheduleStep, TokenError, replay_command, to_token, with_choices
from teetotal.answers.verdict import Verdict
from teetotal.answers.verify import FenceRow, VerifyAnswer
from teetotal.answers.violation import Edge, StoryStep, Violation, ViolationKind
from teetotal.engines.happened import happened
from teetotal.engines.relations import Relation, relations
from teetotal.engines.symbolic.locality import events_only
from teetotal.engines.symbolic.schedules import Replay, replay_schedule
from teetotal.engines.symbolic.verify import Outcome
from teetotal.programs.promela.instructions import FenceSite, InBounds
from teetotal.programs.promela.program import PromelaProgram


def answer(
    program: PromelaProgram,
    goal: str,
    engine: str,
    outcomes: list[Outcome],
    witness: dict[ModelName, str],
) -> VerifyAnswer:
    models: dict[ModelName, ModelAnswer] = {}
    verdict = Verdict.SAFE
    violations: list[Violation] = []
    notes: list[str] = []
    for outcome in outcomes:
        holds = outcome.verdict.holds
        found = [violation(program, goal, outcome)] if outcome.verdict is Verdict.VIOLATION else []
        models[outcome.model] = ModelAnswer(
            verdict=outcome.verdict,
            robust=holds if goal == "robust" else None,
            safe=holds if goal == "safe" else None,
            violations=found,
            states=outcome.states,
            seconds=outcome.seconds,
            reason=outcome.why,
        )
        violations += found
        verdict = verdict + outcome.verdict
        if outcome.verdict is Verdict.INCONCLUSIVE:
            notes.append(f"{outcome.model}: {outcome.why}")
    return VerifyAnswer(
        input=program.source,
        command="verify",
        goal=goal,
        engine=engine,
        models=models,
        verdict=verdict,
        complete=all(outcome.verdict is not Verdict.INCONCLUSIVE for outcome in outcomes),
        seconds=sum(outcome.seconds for outcome in outcomes),
        states=sum(outcome.states for outcome in outcomes),
        violations=violations,
        witness=witness,
        notes=notes,
    )


def violation(program: PromelaProgram, goal: str, outcome: Outcome) -> Violation:
    replay = outcome.replay
    assert replay is not None
    kind: ViolationKind = "robustness" if goal == "robust" else "assertion"
    for p in range(len(program.processes)):
        state = replay.control(p)
        if state.status == "failed" and isinstance(program.instruction(p, state), InBounds):
            kind = "wild access"
    return told(replay, kind, outcome.why, _again(replay, goal, outcome.schedule))


def _again(replay: Replay, goal: str, schedule: Sequence[ScheduleStep]) -> str:
    """The command that shows it again; none where the run is of a program with other fences than the text has. A run
    that shows that a program is not robust is one without its ghost variables."""
    program = replay.program
    if program.fences != program.written_fences:
        return ""
    token = to_token(replay.model, schedule, program.addresses, replay.run.memory.semantics)
    return replay_command(token, [program.source], ["--goal", "robust"] if goal == "robust" else [])


def replayed(program: PromelaProgram, token: str, *, without_ghosts: bool) -> tuple[Violation, bool]:
    """The run that a token describes, told, and whether it can be judged: one with atomic blocks cannot."""
    program = events_only(program) if without_ghosts else program
    model, schedule, semantics = with_choices(token, program.addresses)
    try:
        run = replay_schedule(program, model, schedule, semantics)
    except TokenError as error:
        raise TokenError(f"{program.source}: {error}") from None
    return told(run, "replay", run.bad() or ""), not any(line.locked for line in run.lines)


def told(replay: Replay, kind: ViolationKind, message: str, again: str = "") -> Violation:
    """A run as a story. What no machine knows (choices, labels, ghosts, atomic blocks) is told as steps without events."""
    events = [line.event for line in replay.lines if line.event is not None]
    numbers = {event.id: number for number, event in enumerate(events)}
    steps: list[StoryStep] = []
    for line in replay.lines:
        name = replay.program.processes[line.step.thread].name
        steps += (
            StoryStep(store.thread, "commit", numbers[store.id], text=f"{name}: {store.text} reaches memory")
            for store in line.flushed
        )
        buffers = [list(buffer) for buffer in line.buffers]
        memory = {name: str(value) for name, value in line.memory}
        event = line.event or line.committed
        if event is None:
            steps.append(StoryStep(line.step.thread, "step", -1, buffers, line.text, line.location, memory))
        else:
            action: Literal["event", "commit"] = "event" if line.event is not None else "commit"
            steps.append(StoryStep(event.thread, action, numbers[event.id], buffers, line.text, memory=memory))
    cycle, related = _order(replay, events, numbers)
    places = [events[edge.source].location for edge in cycle] if cycle else [line.location for line in replay.lines]
    return Violation(
        model=replay.model,
        kind=kind,
        events=events,
        cycle=cycle,
        steps=steps,
        locations=list(dict.fromkeys(str(place) for place in places if place is not None)),
        message=message,
        replay=again,
        initial={name: str(value) for name, value in replay.program.memory.items()},
        relations=related,
    )


def _order(replay: Replay, events: list[Event], numbers: dict[EventId, int]) -> tuple[list[Edge], list[Relation]]:
    """Why the run is not sequentially consistent, if it is not, and what comes before what. Atomic blocks make events that
    the story does not tell: nothing is said of a run that has some."""
    run = replay.run.copy()
    while commits := run.memory.commits():  # only a run whose stores are all visible has a trace
        run.take(commits[0])
    if any(event.id not in numbers for own in run.events for event in own):
        return [], []
    issued, cycle = happened(run)
    edges = [Edge(numbers[issued[e.source].id], numbers[issued[e.target].id], e.reason, e.because) for e in cycle]
    return edges, relations(run, events)


def fence_row(site: FenceSite, processes: int) -> FenceRow:
    return FenceRow(
        kind=str(site.kind),
        file=site.location.file,
        line=site.location.line,
        after=site.after,
        processes=processes,
    )
