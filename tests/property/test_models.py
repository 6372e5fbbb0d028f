"""The machines themselves, on programs small enough to know the answer by heart."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from small_programs import MFENCE, SFENCE, cas, fetch_add, ld, lock, program, st, unlock
from teetotal import models
from teetotal.answers.events import MODELS, Commit, EventId, Issue, ModelName, Semantics
from teetotal.programs.expressions import Final
from teetotal.programs.program import Instruction, Program

SB = program([st("x", 1), ld("r", "y")], [st("y", 1), ld("s", "x")])
MP = program([st("x", 1), st("y", 1)], [ld("r", "y"), ld("s", "x")])
LB = program([ld("r", "x"), st("y", 1)], [ld("s", "y"), st("x", 1)])
IRIW = program([st("x", 1)], [st("y", 1)], [ld("a", "x"), ld("b", "y")], [ld("c", "y"), ld("d", "x")])
R = program([st("x", 1), st("y", 1)], [st("y", 2), ld("r", "x")])
TWO_PLUS_TWO_W = program([st("x", 1), st("y", 2)], [st("y", 1), st("x", 2)])
S = program([st("x", 2), st("y", 1)], [ld("r", "y"), st("x", 1)])
WRC = program([st("x", 1)], [ld("r", "x"), st("y", 1)], [ld("s", "y"), ld("t", "x")])
COHERENCE = program([st("x", 1), st("x", 2)], [ld("r", "x"), ld("s", "x")])


def with_fence(fence: Instruction, *threads: list[Instruction]) -> Program:
    """The fence between the first and the second instruction of each thread."""
    return program(*([thread[0], fence, *thread[1:]] for thread in threads))


@pytest.mark.parametrize(
    ("test", "robust_under"),
    [
        pytest.param(SB, "sc", id="SB"),
        pytest.param(MP, "sc tso", id="MP"),
        pytest.param(LB, "sc tso pso", id="LB"),
        pytest.param(IRIW, "sc tso pso", id="IRIW"),
        pytest.param(R, "sc", id="R"),
        pytest.param(TWO_PLUS_TWO_W, "sc tso", id="2+2W"),
        pytest.param(S, "sc tso", id="S"),
        pytest.param(WRC, "sc tso pso", id="WRC"),
        pytest.param(COHERENCE, "sc tso pso", id="CoRR"),
        pytest.param(
            with_fence(MFENCE, [st("x", 1), ld("r", "y")], [st("y", 1), ld("s", "x")]), "sc tso pso", id="SB+mfences"
        ),
        pytest.param(with_fence(SFENCE, [st("x", 1), ld("r", "y")], [st("y", 1), ld("s", "x")]), "sc", id="SB+sfences"),
        pytest.param(
            program([st("x", 1), SFENCE, st("y", 1)], [ld("r", "y"), ld("s", "x")]), "sc tso pso", id="MP+sfence"
        ),
        pytest.param(
            program([st("x", 1), fetch_add("y")], [ld("r", "y"), ld("s", "x")]), "sc tso pso", id="MP+rmw, rmw=all"
        ),
        pytest.param(
            program([lock("m"), st("x", 1), st("y", 1), unlock("m")], [lock("m"), ld("r", "y"), ld("s", "x"), unlock("m")]),
            "sc tso pso",
            id="MP+mutex",
        ),
    ],
)  # fmt: skip
def test_textbook_robustness(test: Program, robust_under: str) -> None:
    assert [model for model in MODELS if models.robust(test, model)] == robust_under.split()


def outcomes(test: Program, model: ModelName, what: Iterable[Final], semantics: Semantics = Semantics()) -> set[object]:
    asked = msgspec.structs.replace(test, observed=tuple(what))
    finals = models.final_states(asked, model, semantics)
    return {asked.outcome(states, dict(memory)) for states, memory in finals}  # type: ignore[arg-type]


def test_outcomes_of_store_buffering() -> None:
    registers = (Final(0, "r"), Final(1, "s"))
    assert outcomes(SB, "sc", registers) == {(0, 1), (1, 0), (1, 1)}
    assert outcomes(SB, "tso", registers) == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_thread_sees_its_own_stores_at_once() -> None:
    own = program([st("x", 1), ld("r", "x")], [st("x", 2)])
    for model in MODELS:
        assert outcomes(own, model, [Final(0, "r")]) == {(1,), (2,)}


@pytest.mark.parametrize("model", MODELS)
def test_a_load_sees_the_youngest_of_its_own_stores(model: ModelName) -> None:
    twice = program([st("x", 1), st("x", 2), SFENCE, ld("r", "x")])
    assert outcomes(twice, model, [Final(0, "r")]) == {(2,)}


def test_a_fence_flushes_everything() -> None:
    fenced = program([st("x", 1), st("y", 1), MFENCE, ld("r", "z")], [st("z", 1), MFENCE, ld("s", "x"), ld("t", "y")])
    for model in MODELS:
        stale = {
            (r, s, t) for r, s, t in outcomes(fenced, model, [Final(0, "r"), Final(1, "s"), Final(1, "t")]) if not r
        }
        assert stale == {(0, 1, 1)}


def test_an_rmw_is_a_fence_under_tso() -> None:
    """MP+rmw under PSO is told by what an rmw flushes; under TSO it always flushes everything."""
    for semantics in (Semantics(rmw="all"), Semantics(rmw="address")):
        fenced = program([st("x", 1), fetch_add("z"), ld("r", "y")], [st("y", 1), fetch_add("z"), ld("s", "x")])
        assert models.robust(fenced, "tso", semantics)


def test_an_rmw_waits_for_stores_before_an_sfence() -> None:
    published = program([st("x", 1), SFENCE, fetch_add("y")], [ld("r", "y"), ld("s", "x")])
    assert (1, 0) not in outcomes(published, "pso", [Final(1, "r"), Final(1, "s")], Semantics(rmw="address"))


def test_an_rmw_follows_its_own_thread_s_store() -> None:
    own = program([st("x", 5), fetch_add("x")])
    for model in MODELS:
        assert outcomes(own, model, [Final(0, "old")], Semantics(rmw="address")) == {(5,)}


def test_what_an_rmw_flushes_is_a_choice() -> None:
    published = program([st("x", 1), fetch_add("y")], [ld("r", "y"), ld("s", "x")])
    registers = (Final(1, "r"), Final(1, "s"))
    assert (1, 0) not in outcomes(published, "pso", registers, Semantics(rmw="all"))
    assert (1, 0) in outcomes(published, "pso", registers, Semantics(rmw="address"))


def test_an_unlock_is_a_fence_or_a_bare_rmw() -> None:
    published = program([lock("m"), st("x", 1), unlock("m")], [ld("r", "x"), lock("m"), ld("s", "x"), unlock("m")])
    for semantics, stale in (
        (Semantics(rmw="address", mutex="fence"), False),
        (Semantics(rmw="address", mutex="rmw"), True),
    ):
        found = models.executions(published, "pso", semantics)
        # Thread 1 enters after thread 0 has left, and misses what thread 0 wrote inside.
        missed = any(
            run.finished() and run.events[1][2].value == 0 and dict(run.src)[run.events[1][1].id] == run.events[0][2].id
            for run in found
        )
        assert missed == stale


def test_mutual_exclusion_and_deadlock() -> None:
    exclusive = program(*([lock("m"), ld("r", "n"), fetch_add("n"), unlock("m")] for _ in range(2)))
    for model in MODELS:
        assert outcomes(exclusive, model, [Final(0, "r"), Final(1, "r")]) == {(0, 1), (1, 0)}
    embrace = program(
        [lock("a"), lock("b"), unlock("b"), unlock("a")], [lock("b"), lock("a"), unlock("a"), unlock("b")]
    )
    for model in MODELS:
        assert {run.finished() for run in models.executions(embrace, model)} == {True, False}


def test_a_deadlock_has_no_outcome() -> None:
    stuck = program([lock("m"), lock("m"), ld("r", "x")], [st("x", 1)])
    assert models.final_states(stuck, "sc") == set()


def test_executions_with_one_state_and_two_traces_are_two() -> None:
    """Three stores to one address: memory tells which was the last, not the order of the others."""
    assert len(models.traces(program([st("x", 1)], [st("x", 1)], [st("x", 1)]), "sc")) == 6


def test_a_failed_compare_and_swap_writes_nothing_or_the_old_value() -> None:
    failing = program([cas("x", 1, 2)])
    (read_only,) = models.traces(failing, "sc")
    assert read_only.co == ()
    (written_back,) = models.traces(failing, "sc", Semantics(failed_cas="write"))
    assert written_back.co == (("x", (EventId(0, 0),)),)


def test_replay_refuses_what_cannot_happen() -> None:
    run = models.replay(SB, "tso", (Issue(0), Issue(0), Commit(0)), Semantics())
    assert run.final_memory()["x"] == 1
    with pytest.raises(ValueError, match="step 0"):
        models.replay(SB, "tso", (Commit(0),), Semantics())
    with pytest.raises(ValueError, match="step 2"):
        models.replay(SB, "sc", (Issue(0), Issue(0), Issue(0)), Semantics())


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_a_copy_of_a_run_has_buffers_of_its_own(model: ModelName) -> None:
    run = models.replay(SB, model, (Issue(0),), Semantics())
    (commit,) = run.memory.commits()
    run.copy().take(commit)
    assert run.memory.commits() == [commit]


def test_an_sfence_holds_back_only_later_stores() -> None:
    """x=1; sfence; y=1; x=2: y and the second x wait for the first x, and then go in any order."""
    fenced = program([st("x", 1), SFENCE, st("y", 1), st("x", 2)])
    run = models.replay(fenced, "pso", (Issue(0),) * 4, Semantics())
    assert run.memory.commits() == [Commit(0, "x")]
    run.take(Commit(0, "x"))
    assert run.memory.commits() == [Commit(0, "x"), Commit(0, "y")]
