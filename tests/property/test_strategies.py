"""Ways to explore that leave executions out: iterative context bounding, and the promise of ``pct``."""

from __future__ import annotations

from collections import Counter

import pytest

from c_programs import compiled, explore
from notation import program
from random_programs import FENCED, seeded
from sc_executions import executions
from teetotal import models
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Issue, Kind, Semantics
from teetotal.answers.strategies import Strategy, parse
from teetotal.engines.executions.robustness import robustness
from teetotal.programs.program import Program


def schedules(subject: Program, strategy: Strategy) -> list[tuple[int, ...]]:
    return [tuple(schedule) for schedule in executions(subject, strategy, keep=100_000).schedules]


# -- preemptions:0..K -----------------------------------------------------------------------------------------------------

THREE = program("T0: x=1; r0=y; z=1 || T1: y=1; r1=z || T2: r2=x; x=2")


def test_each_bound_has_new_executions_only() -> None:
    for subject in (THREE, *seeded(11, 10, FENCED)):
        seen: set[tuple[int, ...]] = set()
        for number, searched in enumerate(parse("preemptions:0..3").rounds()):
            new = schedules(subject, searched)
            assert len(new) == len(set(new))
            assert not seen & set(new)
            seen |= set(new)
            assert seen == set(schedules(subject, Strategy("preemptions", number)))
    everything = [schedule for bound in range(12) for schedule in schedules(THREE, Strategy("exactly", bound, 11))]
    assert sorted(everything) == sorted(schedules(THREE, Strategy("interleavings")))


def test_the_first_violations_bound_is_the_last() -> None:
    """T1 sees f=1 only where T0 is interrupted, and does its half of store buffering only then."""
    subject = program("T0: f=1; f=2; x=1; r0=y || T1: r1=f; if r1==1 then y=1; if r1==1 then r2=x")
    found = {}
    for most in range(4):
        searched = robustness(subject, ["tso"], strategy=parse(f"preemptions:0..{most}"))
        found[most] = (bool(searched.violations["tso"]), searched.executions)
        assert searched.notes[0].startswith("the first" if found[most][0] else "got as far as")
    first = next(most for most, (violated, _) in found.items() if violated)
    assert first == 1
    assert all(found[most] == found[first] for most in range(first, 4))
    bounded = robustness(subject, ["tso"], strategy=Strategy("preemptions", first))
    assert found[first][1] == bounded.executions


def test_bounds_end_where_there_is_nothing_more() -> None:
    searched = robustness(program("T0: x=1; mfence || T1: r=x"), ["tso"], strategy=parse("preemptions:0..999999999"))
    assert searched.executions == 3
    assert searched.notes[0] == "got as far as executions with 1 preemption"
    assert not searched.complete


def test_only_bounds_from_0_on() -> None:
    assert str(parse("preemptions:0..7")) == "preemptions:0..7"
    with pytest.raises(TeetotalError, match="no way to explore"):
        parse("preemptions:1..7")


# -- pct -------------------------------------------------------------------------------------------------------------------

RUNS = 2000
MARGIN = 0.8
"""Of the bound: what a fixed number of runs may fall short of it, and more than the seeds at hand do."""


def reads(subject: Program, schedule: tuple[int, ...]) -> tuple[int, ...]:
    run = models.replay(subject, "sc", tuple(map(Issue, schedule)), Semantics())
    return tuple(event.value or 0 for thread in run.events for event in thread if event.kind is Kind.LD)


BUGS = {
    "depth 1: used before it is made": (1, "T0: x=1 || T1: r0=x", {(0,)}),
    "depth 1, of three": (1, "T0: x=1; y=1 || T1: z=1; z=2 || T2: r0=x", {(0,)}),
    "depth 2: interrupted": (2, "T0: r0=x; r1=x || T1: x=1", {(0, 1)}),
    "depth 2, of three": (2, "T0: r0=x; r1=x || T1: y=1; x=1 || T2: z=1; z=2", {(0, 1)}),
    "depth 3: interrupted twice": (3, "T0: x=1; x=2 || T1: r0=x; r1=x", {(1, 2)}),
}


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_pct_finds_bugs_as_often_as_it_promises(bug: str, seed: int) -> None:
    depth, text, bad = BUGS[bug]
    subject = program(text)
    found = Counter(map(tuple, executions(subject, Strategy("pct", RUNS, depth), keep=RUNS, seed=seed).schedules))
    assert found.total() == RUNS
    hits = sum(count for schedule, count in found.items() if reads(subject, schedule) in bad)
    threads, steps = len(subject.threads), max(map(len, found))
    assert hits >= MARGIN * RUNS / (threads * steps ** (depth - 1))


def c_bug(*threads: str) -> str:
    """Threads that main creates one after the other; the first assertion to fail stops its thread."""
    functions = "".join(f"void *t{i}(void *p) {{ {body} return 0; }}\n" for i, body in enumerate(threads))
    creates = "".join(f"pthread_create(&t[{i}], 0, t{i}, 0); " for i in range(len(threads)))
    joins = "".join(f"pthread_join(t[{i}], 0); " for i in range(len(threads)))
    return (
        "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\natomic_int x, y, z;\n"
        f"{functions}int main(void) {{ pthread_t t[8]; {creates}{joins}}}\n"
    )


C_BUGS = {
    "depth 1: the last thread first": (1, c_bug("x = 1;", "y = 1;", "assert(x == 1);")),
    "depth 1: the first thread last": (1, c_bug("assert(x == 0);", "y = 1;", "x = 1;")),
    "depth 2: interrupted": (2, c_bug("x = 1;", "int r = x; assert(r == x);")),
    "depth 3: interrupted twice": (3, c_bug("x = 1; x = 2;", "int r = x, s = x; assert(!(r == 1 && s == 2));")),
}


@pytest.mark.parametrize("bug", C_BUGS)
def test_threads_that_are_created_later_have_any_place(bug: str) -> None:
    """Each failing run ends blocked, since main waits for the thread that failed."""
    depth, text = C_BUGS[bug]
    with compiled(text) as object_file:
        end, _ = explore(object_file, "strategy=pct", f"count={RUNS}", f"depth={depth}", "seed=0")
    threads = text.count("pthread_create") + 1
    assert end["executions"] == RUNS
    assert end["blocked"] >= MARGIN * RUNS / (threads * end["longest"] ** (depth - 1))
    assert end["complete"] is False
