"""What a violation says of buffers, memory and what comes before what is what the specification's machine did."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from amounts import some
from pages import machine
from program_strategies import programs
from teetotal.answers.events import Semantics
from teetotal.answers.options import CheckOptions
from teetotal.answers.schedules import with_choices
from teetotal.answers.violation import Violation
from teetotal.checking import check
from teetotal.engines import relations
from teetotal.models import replay
from teetotal.programs import litmus
from teetotal.programs.program import Program
from teetotal.traces.trace import Trace
from trace_of_columns import conflict_edges, of_run

CORPUS = sorted((Path(__file__).parents[1] / "corpus").glob("*.litmus"))
States = list[tuple[list[list[str]], dict[str, str]]]


def told(violation: Violation, threads: int) -> States:
    """Before the first step and after each of the machine's. What a fence flushes is one step with it."""
    memory = dict(violation.initial)
    states: States = [([[] for _ in range(threads)], dict(memory))]
    for step in violation.steps:
        memory |= step.memory
        if step.action != "commit" or step.buffers:
            states.append((step.buffers or [[] for _ in range(threads)], dict(memory)))
    return states


def compared(subject: Program, options: CheckOptions) -> int:
    answer = check(subject, options)
    for violation in answer.violations:
        assert told(violation, subject.thread_count) == machine(subject, violation)
        model, schedule, semantics = with_choices(violation.replay.split()[2], list(subject.memory))
        run = replay(subject, model, tuple(schedule), semantics)  # type: ignore[arg-type]
        while commits := run.memory.commits():
            run.take(commits[0])
        assert sorted(conflict_edges(of_run(run))) == violation.relations
        beside = violation.sequential
        if beside is not None:
            assert sorted(conflict_edges(Trace.from_events(beside.events))) == relations.of_sc(beside.events)
            assert beside.deciding == len(beside.events) - 1
            assert beside.delayed < beside.deciding
    return len(answer.violations)


def test_of_the_corpus() -> None:
    found = sum(compared(litmus.read_file(str(path)), CheckOptions()) for path in CORPUS[:: 100 // some(100, least=20)])
    assert found > 20


@pytest.mark.parametrize("rmw", ["all", "address"])
def test_of_random_programs(rmw: str) -> None:
    @given(programs())
    @settings(max_examples=100)
    def each(subject: Program) -> None:
        compared(subject, CheckOptions(semantics=Semantics(rmw=rmw), goal="robust"))  # type: ignore[arg-type]

    each()
