"""One exploration of a C program answers for all sets of fences: against explorations of copies that have them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from fencing_tools import NEEDS_COMPILER, TWO_THREADS
from fencing_tools import PROGRAMS as BENCHMARKS
from teetotal.answers.costs import Costs
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.options import FenceOptions
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.executions import overtakings
from teetotal.engines.executions.overtakings import Kept
from teetotal.fences.c import CProblem
from teetotal.fences.c_files import CFiles
from teetotal.fences.fencing import fence
from teetotal.fences.overtaken import TOO_MUCH
from teetotal.programs.c import Source
from teetotal.scale.scale import Scale, Slice

pytestmark = NEEDS_COMPILER
HEAD = """#include <pthread.h>
#include <stdatomic.h>
#define LOAD(x) atomic_load_explicit(&(x), memory_order_relaxed)
#define STORE(x, v) atomic_store_explicit(&(x), v, memory_order_relaxed)
static atomic_int x, y, z;
"""
PROGRAMS = {
    "waits": """
static void *left(void *none) {
    STORE(x, 1);
    STORE(y, 1);
    while (!LOAD(z)) {
    }
    return LOAD(x) ? none : 0;
}
static void *right(void *none) {
    while (LOAD(y) != 1) {
    }
    STORE(z, LOAD(x));
    STORE(x, 2);
    return LOAD(y) ? none : 0;
}
""",
    "atomic": """
static void *left(void *none) {
    STORE(x, 1);
    int seen = 0;
    if (atomic_compare_exchange_strong(&y, &seen, 2))
        STORE(z, 1);
    return LOAD(z) ? none : 0;
}
static void *right(void *none) {
    STORE(z, 2);
    atomic_thread_fence(memory_order_seq_cst);
    while (atomic_exchange(&y, 1) == 1) {
    }
    STORE(y, 0);
    return LOAD(x) ? none : 0;
}
""",
    "locked": """
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *left(void *none) {
    STORE(x, 1);
    pthread_mutex_lock(&mutex);
    STORE(y, LOAD(y) + 1);
    pthread_mutex_unlock(&mutex);
    return LOAD(z) ? none : 0;
}
static void *right(void *none) {
    STORE(z, 1);
    atomic_thread_fence(memory_order_release);
    pthread_mutex_lock(&mutex);
    STORE(y, LOAD(y) + 1);
    pthread_mutex_unlock(&mutex);
    return LOAD(x) ? none : 0;
}
""",
}
SETTINGS = {
    "waits": FenceOptions(strengthen=True, costs=Costs(rmw=Costs().seq_cst)),  # so that both are tried
    "atomic": FenceOptions(strengthen=True, costs=Costs(rmw=Costs().seq_cst), semantics=Semantics(rmw="address")),
    "locked": FenceOptions(semantics=Semantics(rmw="address", mutex="rmw")),
}


def problem_of(text: str, folder: Path, options: FenceOptions, budget: Budget | None = None) -> CProblem:
    path = folder / "program.c"
    path.write_text(HEAD + text + TWO_THREADS)
    files = CFiles(Source((str(path),), ()), options.costs, options.strengthen)
    return CProblem(files, options, always=files.existing, budget=budget)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_if_the_fences_were_there(name: str, tmp_path: Path) -> None:
    options = SETTINGS[name]
    problem = problem_of(PROGRAMS[name], tmp_path, options)
    problem.findings(frozenset())
    chance = random.Random(name)
    sites = range(len(problem.sites))
    asked = [frozenset(site for site in sites if chance.random() < share) for share in (0.1, 0.2, 0.3, 0.5, 0.9)]
    seen = set()
    for on in (problem.always, *(fences | problem.always for fences in asked), *asked[1:4]):
        problem.always = frozenset()
        known = problem.known(on)
        assert known is not None
        really = problem.explored(problem.files.explored(on))
        expected: set[ModelName] = {model for model in options.models if not really.models[model].robust}
        assert {finding.violation.model for finding in known} == expected, [problem.sites[site] for site in on]
        seen.add(bool(expected))
    assert seen == {True, False}


def test_fences_that_are_there_are_fences_where_violations_are_told(tmp_path: Path) -> None:
    """A cycle that they prevent is none of the program's; and without them it is found all the same."""
    fenced = """
static void *left(void *none) {
    STORE(x, 1);
    atomic_thread_fence(memory_order_seq_cst);
    return LOAD(y) ? none : 0;
}
static void *right(void *none) {
    STORE(y, 1);
    atomic_thread_fence(memory_order_seq_cst);
    return LOAD(x) ? none : 0;
}
"""
    problem = problem_of(fenced, tmp_path, FenceOptions())
    assert problem.findings(frozenset()) == []
    assert problem._explored is not None
    assert problem._explored.kept.told == {}
    one, other = sorted(problem.always)
    for site in (one, other):
        problem.always = frozenset({site})
        assert problem.known(frozenset())
    answer = fence(str(tmp_path / "program.c")).answer
    assert (answer.verdict, answer.fences, answer.unnecessary, answer.checks) == (Verdict.SAFE, [], [], 1)


def test_many_processes_keep_what_one_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    options = FenceOptions(flags=("-DROUNDS=2",))
    kept: list[int] = []
    handed_over = Kept.handed_over

    def counted(self: Kept, *asked: Any, **more: Any) -> Any:
        kept.append(len(self.pieces))
        return handed_over(self, *asked, **more)

    monkeypatch.setattr(Kept, "handed_over", counted)
    source = Source((str(BENCHMARKS / "peterson.c"),), options.flags)
    alone, together = (
        CProblem(CFiles(source, options.costs, options.strengthen), options, budget=Budget(scale=scale))
        for scale in (Scale(), Scale(workers=2, slice=Slice(10.0, 20)))
    )
    for problem in (alone, together):
        problem.findings(frozenset())
    assert kept[0] == 1 < kept[1]
    chance = random.Random(3)
    for share in (0.1, 0.2, 0.3, 0.5):
        fences = frozenset(site for site in range(len(alone.sites)) if chance.random() < share)
        here, there = alone.known(fences), together.known(fences)
        assert here is not None
        assert there is not None
        assert {one.violation.model for one in here} == {one.violation.model for one in there}


def test_what_is_too_much_to_keep_is_explored_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "program.c"
    problem_of(PROGRAMS["waits"], tmp_path, FenceOptions())
    expected = fence(str(path)).answer
    monkeypatch.setattr(overtakings, "SHARE", 4096 << 20)
    found = fence(str(path)).answer
    assert (found.diff, found.verdict) == (expected.diff, expected.verdict)
    assert TOO_MUCH in found.notes
    assert found.checks > expected.checks == 1
