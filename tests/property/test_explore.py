"""The core's exploration against the machines in models/, and counts that others have measured."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from amounts import some
from program_strategies import describe, programs
from random_programs import SHAPES, seeded
from sc_executions import count_classes, executions
from small_programs import SFENCE, cas, fetch_add, ld, load_store_pairs, lock, philosophers, program, ring, st, unlock
from teetotal import models
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import MODELS, Issue, ModelName, Semantics
from teetotal.answers.strategies import Strategy
from teetotal.engines.states import outcomes
from teetotal.programs.expressions import Addr, Const, Final, Op, Reg
from teetotal.programs.program import Assert, Branch, Instruction, Load, Program, Rmw, Thread

ADDRESS_ONLY = Semantics(rmw="address", mutex="rmw", failed_cas="write")


def test_a_thread_that_goes_round_by_itself_hides_nobody() -> None:
    """T0 waits for a location that only it uses: its steps commute with everything, but lead nowhere new."""
    spin = (Load(register="r", address=Addr("own")), Branch(target=0, when=Op("==", (Reg("r"), Const(0)))))
    fails = (Load(register="r", address=Addr("x")), Assert(condition=Reg("r")))
    subject = Program(
        name="spin",
        threads=(Thread("T0", spin, {"r": 0}), Thread("T1", fails, {"r": 0})),
        memory={"own": 0, "x": 0},
    )
    for model in MODELS:
        assert [failure.thread for failure in outcomes(subject, model).failures] == [1]


def test_an_address_in_a_register_can_be_anybodys() -> None:
    """x is T0's alone as far as constant addresses go, and T1 reads it through a pointer."""
    reads = (Load(register="p", address=Addr("pointer")), Load(register="r", address=Reg("p")))
    subject = Program(
        name="pointer",
        threads=(program([st("x", 1), st("x", 2)]).threads[0], Thread("T1", reads, {"p": 0, "r": 0})),
        memory={"x": 0, "pointer": 1},
        observed=(Final(1, "r"),),
    )
    assert outcomes(subject, "sc").values == {(0,), (1,), (2,)} == specified_outcomes(subject, "sc", Semantics())


# -- reachable outcomes ------------------------------------------------------------------------------------------------


def specified_outcomes(program: Program, model: ModelName, semantics: Semantics) -> set[tuple[int, ...]]:
    finals = models.final_states(program, model, semantics)
    return {program.outcome(states, dict(memory)) for states, memory in finals}  # type: ignore[arg-type]


def check_outcomes(program: Program, semantics: Semantics) -> None:
    for model in MODELS:
        found = outcomes(program, model, semantics)
        assert found.values == specified_outcomes(program, model, semantics), model
        for values in found.values:
            run = models.replay(program, model, found.schedule(values), semantics)
            assert not run.steps()
            assert program.outcome(tuple(run.locals), run.final_memory()) == values


@settings(max_examples=1200)
@given(programs(total=7))
def test_outcomes_agree_with_the_machines(program: Program) -> None:
    check_outcomes(program, Semantics())


@settings(max_examples=600)
@given(programs(total=6))
def test_outcomes_agree_when_an_rmw_flushes_its_own_address_only(program: Program) -> None:
    check_outcomes(program, ADDRESS_ONLY)


@settings(max_examples=150)
@given(programs(threads=(4, 4), pieces=2, total=8, addresses="xy"))
def test_outcomes_agree_for_four_threads(program: Program) -> None:
    check_outcomes(program, Semantics())


@settings(max_examples=300)
@given(programs(total=5, loops=True, assertions=True, locks=False))
def test_outcomes_and_failures_agree_with_loops_and_assertions(program: Program) -> None:
    for model in MODELS:
        found = outcomes(program, model)
        assert found.values == specified_outcomes(program, model, Semantics())
        failing = {
            (p, state.pc)
            for run in models.executions(program, model)
            for p, state in enumerate(run.locals)
            if state.status == "failed"
        }
        assert {(f.thread, program.threads[f.thread].code.index(f.instruction)) for f in found.failures} == failing
        for failure in found.failures:
            run = models.replay(program, model, failure.schedule, Semantics())
            assert run.locals[failure.thread].status == "failed"


@settings(max_examples=300)
@given(programs(total=6, addresses="xy"))
def test_deadlocks_agree_with_the_machines(program: Program) -> None:
    for model in MODELS:
        stuck = any(not run.finished() for run in models.executions(program, model))
        found = outcomes(program, model)
        assert (found.deadlock is not None) == stuck
        if found.deadlock is not None:
            run = models.replay(program, model, found.deadlock, Semantics())
            assert not run.steps()
            assert not run.finished()


def test_an_atomic_stays_behind_an_sfence_when_it_flushes_its_own_address_only() -> None:
    publish = program([st("x", 1), SFENCE, fetch_add("y")], [fetch_add("y"), ld("r", "x")])
    asked = msgspec.structs.replace(publish, observed=(Final(1, "old"), Final(1, "r")))
    assert (1, 0) not in outcomes(asked, "pso", ADDRESS_ONLY).values
    check_outcomes(asked, ADDRESS_ONLY)


def test_a_spin_loop_needs_no_bound() -> None:
    spin: list[Instruction] = [ld("r", "flag"), Branch(target=0, when=Op("==", (Reg("r"), Const(0)))), ld("d", "data")]
    waiting = program(spin, [st("data", 1), st("flag", 1)])
    for model in MODELS:
        assert outcomes(waiting, model).complete


def test_stores_in_an_endless_loop_end_at_the_given_number_of_states() -> None:
    endless = program([st("x", 1), Branch(target=0)])
    assert outcomes(endless, "sc").complete
    for model in ("tso", "pso"):
        found = outcomes(endless, model, max_states=1000)  # type: ignore[arg-type]
        assert not found.complete
        assert found.states == 1000


# -- executions --------------------------------------------------------------------------------------------------------


def classes(program: Program, schedules: list[list[int]]) -> list[models.Trace]:
    return [models.replay(program, "sc", tuple(map(Issue, schedule)), Semantics()).trace() for schedule in schedules]


@settings(max_examples=1000)
@given(programs(threads=(2, 4), total=7))
def test_one_execution_per_class(program: Program) -> None:
    """Optimal: every trace of the specification, each exactly once, and nothing begun in vain."""
    found = executions(program, keep=1_000_000)
    traces = classes(program, found.schedules)
    assert len(set(traces)) == len(traces) == found.executions
    assert set(traces) == models.traces(program, "sc")
    assert found.redundant == 0
    assert found.complete


@settings(max_examples=300)
@given(programs(threads=(2, 3), pieces=4, total=6, addresses="x", fences=False))
def test_one_execution_per_class_on_one_address(program: Program) -> None:
    found = executions(program, keep=1_000_000)
    traces = classes(program, found.schedules)
    assert len(set(traces)) == len(traces)
    assert set(traces) == models.traces(program, "sc")
    assert found.redundant == 0


@pytest.mark.parametrize("shape", ["plain", "atomic", "locked", "mixed"])
def test_as_many_executions_as_all_interleavings_have_classes(shape: str) -> None:
    """Larger programs than the machines can walk, against brute force in the core."""
    larger = SHAPES[shape]._replace(operations=(7, 4, 3))
    for candidate in seeded(1, some(600), larger):
        counted = count_classes(candidate, most=20_000)
        if counted is not None:
            found = executions(candidate)
            assert (found.executions, found.redundant) == (counted[0], 0), describe(candidate)


def skip_if(register: str, operator: str, value: int, target: int) -> Branch:
    return Branch(target=target, when=Op(operator, (Reg(register), Const(value))))


@pytest.mark.parametrize(
    ("threads", "classes"),
    [
        (
            [
                [ld("r0", "x"), st("x", 2), ld("r1", "x")],
                [st("x", 1)],
                [ld("r0", "y"), st("y", 1), st("y", 2)],
                [st("y", 2), ld("r0", "y"), st("y", 1), skip_if("r0", "==", 2, 5), ld("r1", "x")],
            ],
            100,
        ),
        (
            [
                [ld("r0", "y"), skip_if("r0", "!=", 0, 3), st("x", 1)],
                [ld("r0", "z"), ld("r1", "x")],
                [ld("r0", "z"), skip_if("r0", "!=", 0, 3), st("z", 2), skip_if("r0", "!=", 0, 5), st("x", 2)],
                [st("z", 2), ld("r0", "y")],
            ],
            40,
        ),
        (
            [
                [ld("r0", "y"), st("x", 1)],
                [ld("r0", "y")],
                [ld("r0", "x")],
                [ld("r0", "z"), st("y", 1), ld("r1", "x")],
                [ld("r0", "x"), st("x", 2), st("z", 1)],
            ],
            144,
        ),
    ],
)
def test_a_race_covered_by_a_later_sleeper_is_asked_again(threads: list[list[Instruction]], classes: int) -> None:
    """Forgetting such races lost 27 classes of the first program and 1 of each other."""
    assert count_classes(program(*threads)) is not None
    assert executions(program(*threads)).executions == classes == count_classes(program(*threads))[0]  # type: ignore[index]


@settings(max_examples=200)
@given(programs(total=5, addresses="xy"))
def test_all_interleavings(program: Program) -> None:
    """As many as a plain recursion over the machine counts, no two alike."""

    def count(run: models.Run) -> int:
        steps = run.steps()
        total = 0 if steps else 1
        for step in steps:
            successor = run.copy()
            successor.take(step)
            total += count(successor)
        return total

    found = executions(program, Strategy("interleavings"), keep=1_000_000)
    assert len({tuple(schedule) for schedule in found.schedules}) == found.executions
    assert found.executions == count(models.Run(program, "sc", Semantics()))
    assert set(classes(program, found.schedules)) == models.traces(program, "sc")


@settings(max_examples=150)
@given(programs(total=5, addresses="xy"))
def test_preemption_bounds(program: Program) -> None:
    """The interleavings with at most K preemptions are those of all interleavings that have so few."""

    def preemptions(schedule: list[int]) -> int:
        run = models.Run(program, "sc", Semantics())
        count, last = 0, None
        for thread in schedule:
            if last is not None and thread != last and Issue(last) in run.steps():
                count += 1
            run.take(Issue(thread))
            last = thread
        return count

    everything = executions(program, Strategy("interleavings"), keep=1_000_000).schedules
    for bound in (0, 1, 2):
        found = executions(program, Strategy("preemptions", bound), keep=1_000_000)
        assert sorted(found.schedules) == sorted(s for s in everything if preemptions(s) <= bound)
        assert not found.complete


@pytest.mark.parametrize(
    ("program", "count", "blocked"),
    [
        pytest.param(program([st("x", 1), ld("r", "y")], [st("y", 1), ld("r", "x")]), 3, 0, id="store-buffering"),
        pytest.param(ring(8), 255, 0, id="ring-8"),
        pytest.param(ring(12), 4095, 0, id="ring-12"),
        pytest.param(load_store_pairs(3), 328, 0, id="load-store-3"),
        pytest.param(load_store_pairs(4), 3334, 0, id="load-store-4"),
        pytest.param(load_store_pairs(5), 34904, 0, id="load-store-5"),
        pytest.param(program(*[[fetch_add("x")]] * 5), 120, 0, id="fetch-add-5"),
        pytest.param(program(*[[fetch_add("x")]] * 7), 5040, 0, id="fetch-add-7"),
        pytest.param(philosophers(4), 15, 1, id="philosophers-4"),
    ],
)
def test_counts_measured_before(program: Program, count: int, blocked: int) -> None:
    found = executions(program)
    assert (found.executions, found.blocked, found.redundant) == (count, blocked, 0)


def test_a_failed_compare_and_swap_is_a_read() -> None:
    """Two that fail commute; one that would succeed if it came first does not."""
    assert executions(program([cas("x", 1, 2)], [cas("x", 1, 3)])).executions == 1
    assert executions(program([cas("x", 0, 2)], [cas("x", 0, 3)])).executions == 2
    as_writes = executions(program([cas("x", 1, 2)], [cas("x", 1, 3)]), semantics=Semantics(failed_cas="write"))
    assert as_writes.executions == 2


def test_spinning_ends_when_an_iteration_sees_nothing_new() -> None:
    spin: list[Instruction] = [ld("r", "x"), Branch(target=0, when=Op("==", (Reg("r"), Const(0))))]
    for bound in (None, 5):
        found = executions(program(spin, [st("x", 1)], loop_bound=bound), waiting="count")
        assert (found.executions, found.blocked, found.complete) == (3, 1, True)


def test_a_loop_that_writes_is_cut_at_its_bound() -> None:
    spin: list[Instruction] = [
        Rmw(register="r", address=Addr("x"), value=Const(1)),
        Branch(target=0, when=Op("==", (Reg("r"), Const(1)))),
    ]
    found = executions(program(spin, spin, loop_bound=3), waiting="count")
    assert not found.complete
    assert found.blocked == found.executions > 0


def test_a_mutex_used_as_data_is_refused() -> None:
    with pytest.raises(ProgramError, match="both as a mutex and as data"):
        executions(program([lock("x"), unlock("x")], [st("x", 1)]))
