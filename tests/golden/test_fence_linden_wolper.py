"""Fence insertion as in the paper: what it gives is proved safe, needs each of its fences, and matches brute force."""

from __future__ import annotations

from itertools import chain, combinations
from pathlib import Path

import pytest

from symbolic_programs import NAMES, PROGRAMS
from teetotal.answers.costs import Costs, parse
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Kind
from teetotal.answers.verdict import Goal, Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.checker import check
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.verify import robust, verify
from teetotal.fences.linden_wolper import insert_fences
from teetotal.programs.promela import compile_text, load

SAFE = {
    "alternating_bit": (0, 0),
    "bakery": (4, 2),
    "burns": (2, 0),
    "cilk": (3, 1),
    "clh": (0, 0),
    "dekker": (4, 0),
    "dijkstra": (2, 0),
    "filter": (3, 3),
    "increasing_sequence": (0, 0),
    "lamport_fast": (4, 2),
    "mcs": (0, 0),
    "peterson": (2, 2),
    "peterson_n": (3, 3),
    "spsc": (0, 1),
    "szymanski": (4, 0),
    "ticket": (0, 0),
    "treiber": (0, 0),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("goal", ["safe", "robust"])
def test_proved_with_them_and_broken_without_any_one(name: str, goal: Goal) -> None:
    program = load(PROGRAMS / f"{name}.pml")
    found = insert_fences(program, goal=goal)
    assert found.verdict is Verdict.SAFE
    if goal == "safe":
        assert (found.count(Kind.MFENCE), found.count(Kind.SFENCE)) == SAFE[name]
        fenced = compile_text(found.text, program.source)
        for proof in found.proofs:
            assert proof.certificate is not None
            check(fenced, proof.certificate, proof.model)
    numbers = [program.sites.index(fence.site) for fence in found.fences]
    graph = ControlGraph(program)
    for fence in numbers:
        rest = frozenset(numbers) - {fence}
        judge = robust if goal == "robust" else verify
        outcomes = [judge(graph, model, fences=rest).verdict for model in ("tso", "pso")]
        assert Verdict.VIOLATION in outcomes, f"{program.sites[fence]} is not needed"


@pytest.mark.parametrize("name", ["peterson", "burns", "spsc"])
def test_all_minimal_sets_are_those_of_brute_force(name: str) -> None:
    program = load(PROGRAMS / f"{name}.pml")
    graph = ControlGraph(program)
    sites = range(len(program.sites))
    working: list[frozenset[int]] = []
    for chosen in chain.from_iterable(combinations(sites, size) for size in range(5)):
        fences = frozenset(chosen)
        if any(smaller <= fences for smaller in working):
            continue
        if all(verify(graph, model, fences=fences).verdict is Verdict.SAFE for model in ("tso", "pso")):
            working.append(fences)
    found = insert_fences(program, every=True)
    sets = {frozenset(program.sites.index(fence.site) for fence in s) for s in found.sets}
    assert {s for s in sets if len(s) < 5} == set(working)


def test_the_cheapest_set_depends_on_the_costs() -> None:
    program = load(PROGRAMS / "lamport_fast.pml")
    dear = insert_fences(program, costs=parse("mfence=10,sfence=1"))
    flat = insert_fences(program, every=True, costs=parse("mfence=1,sfence=10"))
    assert dear.count(Kind.SFENCE) > 0
    assert flat.count(Kind.SFENCE) == 0
    assert len(flat.sets) >= 2


def test_the_sets_that_are_listed_count_their_processes() -> None:
    found = insert_fences(load(PROGRAMS / "peterson_n.pml"), every=True)
    assert found.sets[0] == found.fences
    assert all(fence.processes == 3 for one in found.sets for fence in one)


@pytest.mark.parametrize("costs", [None, Costs()])
def test_unsafe_under_sc_has_no_fences(costs: Costs | None) -> None:
    text = "byte x; active [2] proctype P() { x = 1; cs: skip } forbidden(m, P[0]@cs && P[1]@cs)"
    found = insert_fences(compile_text(text), costs=costs)
    assert found.verdict is Verdict.VIOLATION
    assert found.failure is not None
    assert found.failure.model == "sc"
    assert found.fences == ()


@pytest.mark.parametrize("costs", [None, Costs()])
def test_a_budget_that_runs_out_is_told(costs: Costs | None) -> None:
    found = insert_fences(load(PROGRAMS / "lamport_fast.pml"), budget=Budget(seconds=0.0), costs=costs)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "time" in found.undecided


def test_fences_go_into_inlines_and_past_labels() -> None:
    text = """#define me _pid
bit f[2];
inline enter(i) {
again: f[i] = 1;
  (f[1 - i] == 0)
}
active [2] proctype P() { enter(me); cs: skip }
forbidden(mutex, P[0]@cs && P[1]@cs)
"""
    found = insert_fences(compile_text(text))
    assert "again: f[i] = 1; mfence;" in found.text
    assert found.verdict is Verdict.SAFE


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    path = tmp_path / "windows.pml"
    text = (PROGRAMS / "peterson.pml").read_text() + "#define TWO \\\n  2\n"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    found = insert_fences(load(path))
    assert found.verdict is Verdict.SAFE
    assert found.text.count("\n") == found.text.count("\r\n") > 0


def test_a_store_made_by_a_macro_with_more_is_refused() -> None:
    text = """#define ENTER f[_pid] = 1; (f[1 - _pid] == 0)
bit f[2];
active [2] proctype P() { ENTER; cs: skip }
forbidden(mutex, P[0]@cs && P[1]@cs)
"""
    with pytest.raises(ProgramError, match="macro"):
        insert_fences(compile_text(text))
