"""A schedule told as a story: the violation that it leads to, with every step, the buffers, and the cycle."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from teetotal.answers.events import Commit, Event, EventId, Kind, ModelName, Semantics, Step
from teetotal.answers.schedules import TokenError, from_token, replay_command, to_token
from teetotal.answers.violation import Sequential, StoryStep, Violation, ViolationKind
from teetotal.engines.happened import happened
from teetotal.engines.relations import relations
from teetotal.engines.telling import PLAINLY, Telling
from teetotal.models import ProgramLike, Run, Write
from teetotal.programs.expressions import Outcome, render
from teetotal.programs.program import Assert, Instruction, LocalState, Program


def violation(
    program: Program,
    model: ModelName,
    schedule: Sequence[Step],
    semantics: Semantics,
    *,
    kind: ViolationKind,
    message: str = "",
    monitor: str | None = None,
    sequential: Sequential | None = None,
) -> Violation:
    """Of a program that teetotal interprets: with what is wrong with its end, and the command that shows it again."""
    found, run = confirmed(program, model, schedule, semantics, kind=kind, monitor=monitor, sequential=sequential)
    if kind == "replay":
        message = ending(program, run)
    if kind == "livelock":
        message = livelock(program, run)
        if not message:
            raise AssertionError(f"a schedule reported as a livelock goes on: {schedule}")
    token = to_token(model, schedule, list(program.memory), semantics)
    return msgspec.structs.replace(found, message=message, replay=replay_of(program, token))


def confirmed(
    program: ProgramLike,
    model: ModelName,
    schedule: Sequence[Step],
    semantics: Semantics,
    *,
    kind: ViolationKind,
    monitor: str | None = None,
    sequential: Sequential | None = None,
    telling: Telling = PLAINLY,
) -> tuple[Violation, Run]:
    """Replays the schedule on the specification's machine, which refuses what cannot happen, and tells what it sees; with
    the run, all of whose stores have reached memory."""
    run, steps = told(program, model, schedule, semantics, telling)
    while run.memory.commits():  # only a run whose stores are all visible has a trace
        run.take(run.memory.commits()[0])
    events, cycle = happened(run, telling)
    if kind == "robustness" and not cycle:
        raise AssertionError(f"a schedule reported as a violation of robustness has an SC trace: {schedule}")
    named = {edge.source for edge in cycle}
    places = [events[i].location for i in sorted(named)] if named else [event.location for event in events]
    found = Violation(
        model=model,
        kind=kind,
        events=events,
        cycle=cycle,
        steps=steps,
        locations=list(dict.fromkeys(str(place) for place in places if place is not None)),
        monitor=monitor,
        initial=initial(program.initial_memory, events, sequential, telling),
        relations=relations(run, events),
        sequential=sequential,
    )
    return found, run


def initial(
    memory: Mapping[str, int],
    events: Sequence[Event],
    beside: Sequential | None = None,
    telling: Telling = PLAINLY,
) -> dict[str, str]:
    """What the locations of an execution, and of the one beside it, hold before it begins."""
    touched = {event.address for event in (*events, *(beside.events if beside is not None else ()))}
    return {address: telling.value(value) for address, value in memory.items() if address in touched}


def replayed(program: Program, token: str) -> Violation:
    """The execution that a token describes, told, whether or not it violates anything."""
    model, schedule, semantics = from_token(token, list(program.memory))
    try:
        return violation(program, model, schedule, semantics, kind="replay")
    except ValueError as error:
        raise TokenError(f"{program.source or program.name}: {error}; the token belongs to another program") from None


def told(
    program: ProgramLike,
    model: ModelName,
    schedule: Sequence[Step],
    semantics: Semantics,
    telling: Telling = PLAINLY,
) -> tuple[Run, list[StoryStep]]:
    """The run of a schedule, and its steps. What a fence or an rmw flushes is told as commits before it."""
    run = Run(program, model, semantics)
    number: dict[EventId, int] = {}
    steps: list[StoryStep] = []

    def buffers() -> list[list[str]]:
        return [[entry(write) for write in run.memory.buffered(p)] for p in range(program.thread_count)]

    def entry(write: Write | None) -> str:
        return "sfence" if write is None else f"{write.address}={telling.value(write.value)}"

    for position, step in enumerate(schedule):
        if step not in run.steps():
            raise ValueError(f"step {position + 1} of the schedule is not possible there under {model.upper()}")
        visible = len(run.memory.visible)
        pending = {w.event for p in range(program.thread_count) for w in run.memory.buffered(p) if w is not None}
        run.take(step)
        published = run.memory.visible[visible:]
        steps += [
            StoryStep(event.thread, "commit", number[event], buffers() if isinstance(step, Commit) else [],
                      memory={address: telling.value(value)})
            for address, value, event in published
            if event is not None and event in pending
        ]  # fmt: skip
        if not isinstance(step, Commit):
            event = run.events[step.thread][-1].id
            number[event] = len(number)
            written = {address: telling.value(value) for address, value, who in published if who == event}
            steps.append(StoryStep(step.thread, "event", number[event], buffers(), memory=written))
    return run, steps


def one_by_one(events: Sequence[Event], telling: Telling = PLAINLY) -> list[StoryStep]:
    """The steps of an SC execution: what an event writes is in memory at once."""

    def written(event: Event) -> dict[str, str]:
        if not event.writes or event.address is None or event.value is None:
            return {}
        return {event.address: telling.value(event.value)}

    return [StoryStep(event.thread, "event", number, memory=written(event)) for number, event in enumerate(events)]


def beside(events: Sequence[Event], steps: Sequence[StoryStep], delayed: int, deciding: int) -> Sequential:
    """An SC execution, an event a step, up to the one that overtakes a store."""
    without = [msgspec.structs.replace(step, buffers=[]) for step in steps[: deciding + 1]]
    return Sequential(events=list(events[: deciding + 1]), steps=without, delayed=delayed, deciding=deciding)


MOST_STEPS = 30_000
"""Of a thread that runs on alone: more than core/rounds.hpp needs to see that it goes round."""
DEADLOCK = "every thread that has not ended waits for a mutex"


def ending(program: Program, run: Run) -> str:
    """What is wrong with how a run has ended; empty if nothing is, or if it has not ended."""
    for number, state in enumerate(run.locals):
        if state.status in ("failed", "wild"):
            return failure(program, number, program.threads[number].code[state.pc])
    if run.steps():
        return livelock(program, run)
    if run.finished():
        values = program.outcome(tuple(run.locals), run.final_memory())
        return "" if final_assertion_holds(program, values) else broken_final_assertion(program, values)
    waiting = [state.status for state in run.locals if state.status != "ended"]
    return DEADLOCK if set(waiting) == {"running"} else ""


def livelock(program: Program, run: Run) -> str:
    """Where every thread that has not ended goes round a loop for ever, or waits for a mutex: what each waits for. Empty
    where one would go on."""
    told = []
    if any(run.memory.buffered(thread) for thread in range(program.thread_count)):
        return ""
    for thread, state in enumerate(run.locals):
        if state.status == "ended":
            continue
        waits = _waits_for_ever(program, thread, state, run.final_memory())
        if not waits:
            return ""
        told.append(f"T{thread} {waits}")
    return f"livelock: {'; '.join(told)}" if told else ""


def _waits_for_ever(program: Program, thread: int, state: LocalState, memory: dict[str, int]) -> str:
    """What a thread does that runs on alone and changes nothing; empty if it would come to something else."""
    passed: dict[LocalState, int] = {}
    while state not in passed:
        passed[state] = len(passed)
        request = program.next(thread, state)
        if request is None or len(passed) > MOST_STEPS:
            return ""
        if request.kind is Kind.LOCK:
            return f"waits for the mutex {request.address}" if memory[request.address or ""] != 0 else ""
        old = 0 if request.address is None else memory[request.address]
        if request.kind in (Kind.ST, Kind.UNLOCK):
            return ""
        if request.function is not None and request.function(old) not in (None, old):
            return ""
        response = old if request.kind in (Kind.LD, Kind.RMW) else None
        state = program.update(thread, state, response)._replace(jumps=0)
    loop = list(passed)[passed[state] :]
    seen = {request.address: memory[request.address] for at in loop if (request := program.next(thread, at)) is not None
            and request.address is not None}  # fmt: skip
    found = ", ".join(f"{address} is {value}" for address, value in seen.items())
    return f"goes round {lines(program, thread, [at.pc for at in loop])} for ever: {found or 'it only fences'}"


def lines(program: Program, thread: int, instructions: Sequence[int]) -> str:
    """``spin.litmus:4–6``: where instructions of a thread stand, from the first line to the last."""
    code = program.threads[thread].code
    places = sorted(place for pc in instructions if (place := code[pc].location) is not None)
    if not places:
        return f"instructions {min(instructions)}–{max(instructions)}"
    return str(places[0]) if places[0] == places[-1] else f"{places[0]}–{places[-1].line}"


def failure(program: Program, thread: int, instruction: Instruction) -> str:
    """An assertion that does not hold, or an access that goes astray, in words."""
    who, place = f"T{thread} ({program.threads[thread].name})", instruction.location
    where = "" if place is None else f" at {place}"
    if not isinstance(instruction, Assert):
        return f"{who} follows an address that is nobody's{where}"
    text = "" if place is None else linecache.getline(place.file, place.line).strip()
    return f"an assertion of {who} fails{where}: {text or render(instruction.condition)}"


def final_assertion_holds(program: Program, values: Outcome) -> bool:
    return program.final_assertion is None or bool(program.predicate(program.final_assertion)(values))


def broken_final_assertion(program: Program, values: Outcome) -> str:
    assert program.final_assertion is not None
    shown = ", ".join(f"{name}={value}" for name, value in named(program, values).items())
    return f"{render(program.final_assertion)} does not hold in the end: {shown}"


def named(program: Program, values: Outcome) -> dict[str, int]:
    return all_named(program, [values])[0]


def all_named(program: Program, outcomes: Iterable[Outcome]) -> list[dict[str, int]]:
    names = [str(what) for what in program.observed]  # once: there may be half a million outcomes
    return [dict(zip(names, values, strict=True)) for values in outcomes]


def replay_of(program: Program, token: str) -> str:
    source = program.source or program.name
    chosen = ("--program", program.name) if source.endswith(".py") else ()  # a module may hold several
    return replay_command(token, [source], chosen)
