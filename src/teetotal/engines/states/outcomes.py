"""Every reachable outcome of a program under a model, with a schedule that reaches it (core/outcomes.hpp)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from teetotal import _core
from teetotal.answers.arguments import checked
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import MODELS, Commit, Issue, ModelName, Semantics, Step
from teetotal.answers.options import MAX_MEGABYTES, MAX_STATES, Count
from teetotal.budget import Budget
from teetotal.engines.encoding import encode, encode_observed, encode_semantics
from teetotal.programs.expressions import Outcome
from teetotal.programs.program import Instruction, Program


class Failure(NamedTuple):
    """An assertion that can fail, or an access that can go astray, and how to get there."""

    thread: int
    instruction: Instruction
    wild: bool
    schedule: tuple[Step, ...]


class Outcomes(NamedTuple):
    """``values`` are the outcomes over ``program.observed``; ``schedule`` tells how to reach one. ``complete`` is True
    where every reachable state was visited and no loop's bound cut a thread. ``full``: memory ended before that, and this
    is what was found by then. ``evaluated`` are the assertions that were, by thread and instruction."""

    values: set[Outcome]
    schedule: Callable[[Outcome], tuple[Step, ...]]
    failures: list[Failure]
    deadlock: tuple[Step, ...] | None
    livelock: tuple[Step, ...] | None
    states: int
    complete: bool
    full: bool
    cut: bool
    interrupted: bool
    evaluated: set[tuple[int, int]]


@checked
def outcomes(
    program: Program,
    model: ModelName,
    semantics: Semantics = Semantics(),
    *,
    max_states: Count = MAX_STATES,
    budget: Budget | None = None,
) -> Outcomes:
    budget = budget or Budget()
    megabytes = int(MAX_MEGABYTES if budget.megabytes is None else budget.megabytes)
    counting = budget.counting(f"{model.upper()} states")
    with translated_errors(program):
        found = _core.Outcomes(
            encode(program), MODELS.index(model), encode_semantics(semantics), encode_observed(program)
        )
        interrupted = found.explore(max_states, megabytes << 20, budget.left, counting)
    try:
        return _told(program, found, interrupted)
    except MemoryError:  # there are more than can be told
        return _nothing(found.states, interrupted)


def _told(program: Program, found: _core.Outcomes, interrupted: bool) -> Outcomes:
    names = list(program.memory)
    states = {tuple(values): state for values, state in found.outcomes}

    def schedule(state: int) -> tuple[Step, ...]:
        return tuple(_step(thread, address, names) for thread, address in found.schedule(state))

    return Outcomes(
        values=set(states),
        schedule=lambda outcome: schedule(states[outcome]),
        failures=[
            Failure(thread, program.threads[thread].code[instruction], wild, schedule(state))
            for thread, instruction, wild, state in found.failures
        ],
        deadlock=None if found.deadlock is None else schedule(found.deadlock),
        livelock=None if found.livelock is None else schedule(found.livelock),
        states=found.states,
        complete=found.complete and not found.cut,
        full=found.full,
        cut=bool(found.cut),
        interrupted=interrupted,
        evaluated=found.evaluated,
    )


def _nothing(states: int, interrupted: bool) -> Outcomes:
    """What is known where not even that can be told."""
    return Outcomes(
        values=set(),
        schedule=lambda outcome: (),
        failures=[],
        deadlock=None,
        livelock=None,
        states=states,
        complete=False,
        full=True,
        cut=False,
        interrupted=interrupted,
        evaluated=set(),
    )


class translated_errors:  # noqa: N801 - reads as a statement
    """What the core refuses about a program, said in the program's words."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, _core.EndlessLoop | _core.MixedMutex):
            source = f"{self.program.source}: " if self.program.source else ""
            raise ProgramError(f"{source}{self.program.name}: {error}") from None


def _step(thread: int, address: int, names: list[str]) -> Step:
    if address == -1:
        return Issue(thread)
    return Commit(thread, None if address == -2 else names[address])
