"""The searches, a small program with a known answer for each thing that could go wrong."""

from __future__ import annotations

import pytest

from sc_executions import count_classes, executions
from small_programs import cas, ld, lock, program, st, unless, unlock
from teetotal.answers.events import ModelName
from teetotal.answers.strategies import Strategy
from teetotal.engines.executions.robustness import robustness
from teetotal.programs.expressions import Addr, Const, Op, Reg
from teetotal.programs.program import Branch, Instruction, Program, Rmw

RELAXED: tuple[ModelName, ...] = ("tso", "pso")
EVERY_SAMPLE = 2000  # of a program with 30 interleavings


def skip_if(register: str, operator: str, value: int, target: int) -> Branch:
    return Branch(target=target, when=Op(operator, (Reg(register), Const(value))))


@pytest.mark.parametrize(
    ("test", "classes"),
    [
        pytest.param(program(*([ld("r", "x")] for _ in range(2)), [st("x", 1)]), 4, id="two-reads-one-write"),
        pytest.param(program([st("x", 1), st("y", 1)], [ld("r", "y"), ld("s", "x")], [st("x", 2)]), 0, id="MP+W"),
        pytest.param(program([cas("x", 0, 1)], [cas("x", 1, 2)], [cas("x", 2, 3), ld("s", "x")]), 0, id="cas-chain"),
        pytest.param(
            program([lock("m"), st("x", 1), unlock("m")], [lock("m"), ld("r", "x"), unlock("m")]), 2, id="lock"
        ),
        pytest.param(
            program([st("x", 1), st("y", 1)], [ld("r", "x"), st("z", 1)], [ld("r", "y"), ld("s", "z")], [st("z", 2)]),
            0,
            id="chain",
        ),
        pytest.param(
            program([ld("r", "x"), skip_if("r", "==", 0, 3), st("y", 1)], [st("x", 1), ld("r", "y")], [st("y", 2)]),
            0,
            id="branch",
        ),
    ],
)
def test_nothing_is_begun_in_vain(test: Program, classes: int) -> None:
    """As many executions as brute force counts classes (and, where small enough, as one counts by hand)."""
    counted = count_classes(test)
    assert counted is not None
    found = executions(test, seconds=20)  # for a search that would never end
    assert (found.executions, found.redundant) == (counted[0], 0)
    assert classes in (0, counted[0])


def test_what_came_before_a_lock_anyway_is_no_race() -> None:
    """Who has seen x = 1 takes the mutex behind the thread that stored it; without that it takes none."""
    seen = [ld("r", "x"), unless("r", 1, 4), lock("m"), unlock("m")]
    found = executions(program([lock("m"), st("x", 1), unlock("m")], seen))
    assert (found.executions, found.redundant) == (2, 0)


def test_a_write_races_with_each_of_two_reads() -> None:
    """Each read before it or after: four."""
    assert executions(program([ld("r", "x")], [ld("r", "x")], [st("x", 1)])).executions == 4


def test_a_reversed_compare_and_swap_may_write() -> None:
    """It fails behind the store and succeeds before it, where the read of thread 2 sees it."""
    test = program([st("x", 5)], [cas("x", 0, 1)], [ld("r", "x")])
    counted = count_classes(test)
    assert counted is not None
    assert executions(test).executions == counted[0]


def test_a_thread_that_waits_at_the_end_could_have_come_first() -> None:
    """Whoever takes the mutex keeps it."""
    found = executions(program([lock("m"), st("x", 1)], [lock("m"), st("x", 2)]))
    assert (found.executions, found.blocked) == (2, 2)


def test_preemption_bounds_of_a_lock() -> None:
    """With none, each thread runs to its end: 3! orders. A thread that waits for the mutex is left for nothing."""
    threads = [[lock("m"), ld("r", "x"), unlock("m")]] * 3
    none = executions(program(*threads), Strategy("preemptions", 0), keep=100)
    assert (none.executions, none.complete) == (6, False)
    waiting = program([lock("m"), st("x", 1), unlock("m")], [lock("m"), unlock("m")])
    one = executions(waiting, Strategy("preemptions", 1), keep=100)
    assert sorted(map(tuple, one.schedules)) == [(0, 0, 0, 1, 1), (1, 1, 0, 0, 0)]


def test_preemption_bounds_of_two_threads() -> None:
    """Two steps each: 0011 and 1100 have none, 0110 and 1001 one, 0101 and 1010 two."""
    found = [executions(SB, Strategy("preemptions", bound)).executions for bound in (0, 1, 2, 3)]
    assert found == [2, 4, 6, 6]


@pytest.mark.parametrize("strategy", ["random", "pct"])
def test_samples_are_as_many_as_asked_for(strategy: str) -> None:
    test = program([st("x", 1)], [ld("r", "x")])
    assert executions(test, Strategy(strategy, 7, 2), keep=100).executions == 7


@pytest.mark.parametrize("strategy", ["random", "pct"])
def test_every_interleaving_of_a_small_program_is_sampled(strategy: str) -> None:
    """Three threads, two of them with two steps; at depth 5 pct changes priorities four times, which is enough here."""
    test = program([st("x", 1), ld("r", "y")], [st("y", 1), ld("r", "x")], [st("z", 1)])
    everything = executions(test, Strategy("interleavings"), keep=100).schedules
    sampled = executions(test, Strategy(strategy, EVERY_SAMPLE, 5), keep=EVERY_SAMPLE).schedules
    assert {tuple(schedule) for schedule in sampled} == {tuple(schedule) for schedule in everything}


SB = program([st("x", 1), ld("r", "y")], [st("y", 1), ld("s", "x")])


@pytest.mark.parametrize("strategy", ["random", "pct"])
def test_sampling_finds_store_buffering(strategy: str) -> None:
    """Whatever sample came before: a monitor goes back to what the two share."""
    for seed in range(20):
        found = robustness(SB, RELAXED, strategy=Strategy(strategy, 20, 3), seed=seed)
        assert found.violations["tso"]
        assert found.violations["pso"]


def test_what_each_strategy_proves() -> None:
    """Burnim's monitors miss nothing where all interleavings are seen; what is bounded proves nothing and says so."""
    robust = program([st("x", 1)], [ld("r", "x")])
    burnim = robustness(robust, ["tso"], strategy=Strategy("interleavings"), monitors=["burnim-tso"])
    assert burnim.proves("tso")
    assert not robustness(robust, ["tso"], monitors=["burnim-tso"]).proves("tso")
    bounded = robustness(robust, ["tso"], strategy=Strategy("preemptions", 1))
    assert not bounded.proves("tso")
    assert bounded.notes == ["robustness: --explore preemptions:1 leaves executions out"]


def test_a_violation_that_an_rmw_decides() -> None:
    """The exchange comes last, and before the store that it should have seen."""
    swap = Rmw(register="s", address=Addr("x"), value=Const(2))
    found = robustness(program([st("x", 1), st("y", 1)], [ld("r", "y"), swap]), RELAXED)
    assert {model: len(violations) for model, violations in found.violations.items()} == {"tso": 0, "pso": 1}


def test_a_load_that_ends_an_execution_is_asked_about() -> None:
    """Though somebody else, who waits for the store that it overtakes, has read the location just before."""
    waits: list[Instruction] = [ld("q", "x"), Branch(target=0, when=Op("==", (Reg("q"), Const(0))))]
    found = robustness(program(waits, [st("x", 1), st("y", 1)], [ld("r", "y"), ld("s", "x")]), RELAXED)
    assert {model: len(violations) for model, violations in found.violations.items()} == {"tso": 0, "pso": 1}


def test_each_model_has_its_violations() -> None:
    """Store buffering for both; PSO also has the two stores that it does not keep in order."""
    test = program(
        [st("x", 1), ld("r", "y")], [st("y", 1), ld("s", "x")], [st("a", 1), st("b", 1)], [ld("r", "b"), ld("s", "a")]
    )
    found = robustness(test, RELAXED)
    assert {model: len(violations) for model, violations in found.violations.items()} == {"tso": 1, "pso": 2}


def test_an_iteration_that_sees_a_new_write_of_the_old_value_is_not_left_out() -> None:
    """Reads x until it is 1 while x is set to 0 twice. It may see each of the three zeros or not, 8 ways, and in 7 of
    them the last twice, whereupon it waits for ever."""
    spin: list[Instruction] = [ld("r", "x"), Branch(target=0, when=Op("==", (Reg("r"), Const(0))))]
    zeros = program(spin, [st("x", 0), st("x", 0), st("x", 1)], loop_bound=9)
    found = executions(zeros, waiting="count", keep=1000)
    assert (found.executions, found.blocked, found.complete) == (15, 7, True)


def test_a_loop_that_stores_is_no_waiting() -> None:
    """What it stores others see, each time again."""
    again = Op("==", (Reg("r"), Const(0)))
    loops: list[list[Instruction]] = [
        [st("y", 1), ld("r", "x"), Branch(target=0, when=again)],
        [  # there is a way round without the store, and where it comes to it was before it stored
            ld("q", "z"),
            Branch(target=3, when=Op("==", (Reg("q"), Const(1)))),
            st("y", 1),
            ld("r", "x"),
            Branch(target=0, when=again),
        ],
    ]
    for loop in loops:
        assert not executions(program(loop, [ld("s", "y"), ld("t", "y")], loop_bound=3)).complete


def test_a_spin_over_two_locations_ends_too() -> None:
    spin: list[Instruction] = [
        ld("r", "x"),
        ld("s", "y"),
        Branch(target=0, when=Op("==", (Op("+", (Reg("r"), Reg("s"))), Const(0)))),
    ]
    found = executions(program(spin, [st("y", 1)], loop_bound=9), waiting="count")
    assert found.complete
    assert found.blocked == 1
