"""The engines agree with each other: on the classical programs with random fences, and on random programs.

Every violation that an engine reports has been replayed on the machine of models/ before it comes back, and an engine
whose violation is none fails an assertion there.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic_programs import NAMES, PROGRAMS, random_program
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.checker import check
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.verify import verify
from teetotal.programs.promela import compile_text, load

MODELS: tuple[ModelName, ...] = ("sc", "tso", "pso")


def agree(graph: ControlGraph, model: ModelName, fences: frozenset[int] = frozenset(), capacity: int = 2) -> Verdict:
    """What saturate says, after the others have not contradicted it. Those may give up."""
    ours = verify(graph, model, fences=fences, certify=True, budget=Budget(seconds=20))
    assert ours.verdict is not Verdict.INCONCLUSIVE
    if ours.certificate is not None:
        check(graph.program.with_fences(fences), ours.certificate, model, graph.semantics)
    forgetful = verify(graph, model, fences=fences, budget=Budget(seconds=20))  # without a certificate: see Unread
    assert forgetful.verdict is ours.verdict
    for engine in (f"bounded:{capacity}", "accelerate"):
        other = verify(graph, model, engine=engine, fences=fences, budget=Budget(seconds=0.5))
        assert other.verdict in (ours.verdict, Verdict.INCONCLUSIVE), f"{engine} under {model}, fences {set(fences)}"
    return ours.verdict


@pytest.mark.parametrize("name", NAMES)
def test_engines_agree_on_programs_with_random_fences(name: str) -> None:
    graph = ControlGraph(load(PROGRAMS / f"{name}.pml"))
    random = Random(name)
    sites = range(len(graph.program.sites))
    for share in (0.0, 0.3, 0.6, 1.0):
        fences = frozenset(site for site in sites if random.random() < share)
        verdicts = [agree(graph, model, fences) for model in MODELS]
        assert verdicts == sorted(verdicts, key=lambda v: v is Verdict.VIOLATION), "PSO allows more than TSO, than SC"


@settings(max_examples=120)
@given(st.integers(0, 10**9))
def test_engines_agree_on_random_programs(seed: int) -> None:
    random = Random(seed)
    semantics = Semantics(rmw=random.choice(["all", "address"]), mutex=random.choice(["fence", "rmw"]))
    graph = ControlGraph(compile_text(random_program(seed, loops=seed % 3 == 0)), semantics)
    for model in MODELS:
        agree(graph, model)


def test_random_programs_are_worth_testing() -> None:
    """Some are unsafe only under TSO, some only under PSO, some are safe."""
    kinds = set()
    for seed in range(150):
        graph = ControlGraph(compile_text(random_program(seed, loops=False, atomics=False)))
        kinds.add("".join("v" if verify(graph, m).verdict is Verdict.VIOLATION else "s" for m in MODELS))
    assert kinds >= {"sss", "svv", "vvv"}


def test_a_store_that_changes_nothing_depends_on_memory_under_sc() -> None:
    """Found by the checker: what a process does alone was remembered by what it loads, not by what it stores."""
    agree(ControlGraph(compile_text(random_program(11)), Semantics(rmw="address", mutex="rmw")), "sc")


def test_growth_that_only_changes_of_memory_allow_is_abstracted() -> None:
    """The loop stores between two toggles of a ghost variable: no finite exploration ends, merging nodes does."""
    text = """
    byte x, z; ghost bit g;
    active proctype P() { do :: x = 0; g = 1 - g; z = 1; x = 1 od }
    active proctype Q() { byte a; a = z; (a == 2); here: skip }
    forbidden(never_two, Q@here)
    """
    graph = ControlGraph(compile_text(text))
    for model in ("tso", "pso"):
        outcome = verify(graph, model, certify=True)
        assert outcome.verdict is Verdict.SAFE
        assert outcome.certificate is not None
        check(graph.program, outcome.certificate, model)


def test_stores_beyond_any_small_bound_are_found() -> None:
    """The violation needs seven stores in one buffer."""
    text = """
    byte x, y;
    active proctype P() { byte n, b; do :: n < 7 -> n++; x = n :: else -> break od; b = y; (b == 0); done: skip }
    active proctype Q() { byte a; y = 1; mfence; a = x; (a == 0); here: skip }
    forbidden(late, P@done && Q@here)
    """
    graph = ControlGraph(compile_text(text))
    assert verify(graph, "tso").verdict is Verdict.VIOLATION
    assert verify(graph, "tso", engine="bounded:6").verdict is Verdict.INCONCLUSIVE
    assert verify(graph, "tso", engine="bounded:7").verdict is Verdict.VIOLATION
    assert verify(graph, "sc").verdict is Verdict.SAFE


def test_limits_make_it_inconclusive() -> None:
    graph = ControlGraph(load(PROGRAMS / "ticket.pml"))
    stopped = verify(graph, "tso", budget=Budget(seconds=0.0))
    assert stopped.verdict is Verdict.INCONCLUSIVE
    assert "time" in stopped.why
    endless = compile_text((PROGRAMS / "ticket.pml").read_text().replace("byte", "int"))
    stopped = verify(endless, "tso", budget=Budget(megabytes=5))
    assert stopped.verdict is Verdict.INCONCLUSIVE
    assert "memory: more than 5 MB" in stopped.why


def test_an_endless_counter_is_named() -> None:
    text = (PROGRAMS / "ticket.pml").read_text().replace("byte", "int")
    stopped = verify(compile_text(text), "tso", budget=Budget(seconds=0.5))
    assert stopped.verdict is Verdict.INCONCLUSIVE
    assert stopped.why.startswith("time: more than 0.5 s; ticket has taken ")
    assert stopped.seconds < 1


def test_progress_is_reported() -> None:
    seen: list[tuple[str, int, float]] = []
    verify(ControlGraph(load(PROGRAMS / "ticket.pml")), "tso", budget=Budget(watcher=lambda *row: seen.append(row)))
    assert seen
    assert max(states for _, states, _ in seen) > 100


def test_an_sfence_keeps_stores_before_a_later_atomic() -> None:
    """Found by replaying: with ``rmw=address`` an atomic waits for stores before an sfence, whatever their location."""
    text = """byte x, z;
    active proctype P() { byte a; x = 1; sfence; xchg(a, z, 1) }
    active proctype Q() { byte b; (z == 1); b = x; assert(b == 1) }"""
    semantics = Semantics(rmw="address")
    assert agree(ControlGraph(compile_text(text), semantics), "pso") is Verdict.SAFE
    assert agree(ControlGraph(compile_text(text.replace("sfence;", "")), semantics), "pso") is Verdict.VIOLATION


@pytest.mark.parametrize("model", MODELS)
def test_a_store_to_one_of_several_leaves_the_others_as_they_are(model: ModelName) -> None:
    """Which one is known only when it runs: none of them is about to be written over for sure."""
    text = """byte a[2], k, f;
    active proctype P() { byte i, j, v; (f == 1); i = k; j = 1 - i; a[i] = 1; v = a[j]; assert(v == 0) }
    active proctype Q() { a[1] = 5; f = 1 }"""
    assert agree(ControlGraph(compile_text(text)), model) is Verdict.VIOLATION
