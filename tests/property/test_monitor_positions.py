"""Monitors whose events can be taken back count writes by location as long as there are few
(``core/monitors/positions.hpp``), those of endless executions count events by thread. They say the same of every
execution, however it was come to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from amounts import some
from teetotal._core import Monitor
from teetotal.answers.events import Kind

NAMES = ("exact-tso", "exact-pso", "exact-tso+exact-pso")
WITHOUT_MUTEXES = (
    (Kind.LD, Kind.ST),
    (Kind.LD, Kind.ST, Kind.RMW),
    (Kind.LD, Kind.ST, Kind.RMW, Kind.MFENCE, Kind.SFENCE),
)
ALL = tuple(Kind)


class Step(NamedTuple):
    thread: int
    kind: int
    writes: bool
    address: int
    location: int


def step(rng: random.Random, kind: Kind, threads: int, address: int) -> Step:
    writes = kind is Kind.ST or (kind.is_atomic and rng.random() < 0.8)
    return Step(rng.randrange(threads), int(kind), writes, address, rng.randrange(6))


def answer(question: str, thread: int, index: int, before: int) -> bool:
    """What an older value would lead to: anything, but always the same."""
    return random.Random(f"{question} {thread} {index} {before}").random() < 0.6


def agree(name: str, steps: Sequence[Step], told: Any, waiting: Step, arrived: Any, **options: Any) -> None:
    """What it was told of the last step, whatever came before and was taken back, is what a fresh monitor tells; and so is
    what it was told of a step that waits behind it."""
    fresh = Monitor(name, **options)
    expected = None
    for each in steps:
        expected = fresh.step(*each)
    assert told == expected, (name, options, steps)
    assert arrived == fresh.arrive(*waiting), (name, options, steps, waiting)


def walk(seed: int) -> None:
    rng = random.Random(seed)
    threads, locations, length = (
        rng.choice((2, 3, 4, 6)),
        rng.choice((1, 2, 3, 5, 8, 9, 12, 20, 40)),
        rng.choice((10, 80)),
    )
    kinds = rng.choice((*WITHOUT_MUTEXES, ALL, (Kind.LD, Kind.ST, Kind.LOCK, Kind.UNLOCK)))
    options: dict[str, Any] = {"rmw_flushes_all": rng.random() < 0.5, "unlock_is_fence": rng.random() < 0.5}
    options["older"] = answer if rng.random() < 0.5 else None
    mutexes = set(rng.sample(range(locations), rng.randint(0, locations)))
    accessed_from = rng.randint(0, length)  # from then on mutexes are also loaded and stored
    for name in NAMES:
        monitor, steps = Monitor(name, undo=True, **options), list[Step]()
        while len(steps) < length:
            if steps and rng.random() < 0.1:
                back = rng.randint(1, min(len(steps), 20))
                monitor.undo(back)
                del steps[-back:]
            kind, address = rng.choice(kinds), rng.randrange(locations)
            if address in mutexes and len(steps) < accessed_from and kind in (Kind.LD, Kind.ST, Kind.RMW):
                kind = rng.choice((Kind.LOCK, Kind.UNLOCK))
            elif address not in mutexes and kind in (Kind.LOCK, Kind.UNLOCK):
                kind = rng.choice((Kind.LD, Kind.ST))
            steps.append(step(rng, kind, threads, address))
            told = monitor.step(*steps[-1])
            if rng.random() < 0.1 or len(steps) == length:
                waiting = step(rng, rng.choice((Kind.LD, Kind.RMW)), threads, rng.randrange(locations))
                agree(name, steps, told, waiting, monitor.arrive(*waiting), **options)


def test_as_those_that_count_by_thread() -> None:
    for seed in range(some(400)):
        walk(seed)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("threads", "locations", "writes"),
    [(2, 2, 1500), (70, 3, 100), (3, 300, 400), (2, 9, 40), (2, 17, 60), (2, 33, 120), (3, 3, 3000)],
    ids=["writes", "threads", "addresses", "nine", "seventeen", "thirty-three", "long"],
)
def test_where_there_is_more_than_it_has_room_for(name: str, threads: int, locations: int, writes: int) -> None:
    """It starts again with more room, in the middle of an execution; what is taken back afterwards stays taken back."""
    rng = random.Random(f"{threads} {locations} {writes}")
    kinds = (Kind.LD, Kind.ST, Kind.ST, Kind.RMW, Kind.SFENCE)
    steps = [step(rng, rng.choice(kinds), threads, rng.randrange(locations)) for _ in range(writes)]
    monitor = Monitor(name, undo=True)
    expected = Monitor(name)
    assert [monitor.step(*each) for each in steps] == [expected.step(*each) for each in steps]
    monitor.undo(writes // 2)
    kept = steps[: writes - writes // 2]
    for _ in range(5):
        kept.append(step(rng, rng.choice(kinds), threads, rng.randrange(locations)))
        told = monitor.step(*kept[-1])
        agree(name, kept, told, kept[0], monitor.arrive(*kept[0]))


def test_a_mutex_that_is_loaded_after_more_locks_than_can_be_counted() -> None:
    steps = [Step(n % 2, int(Kind.LOCK if n % 4 < 2 else Kind.UNLOCK), True, 0, 0) for n in range(600)]
    steps += [Step(0, int(Kind.ST), True, 1, 1), Step(1, int(Kind.LD), False, 0, 2), Step(1, int(Kind.LD), False, 1, 3)]
    monitor, expected = Monitor("exact-pso", undo=True), Monitor("exact-pso")
    assert [monitor.step(*each) for each in steps] == [expected.step(*each) for each in steps]


def test_no_more_is_taken_back_than_was_seen_and_no_thread_appears_that_was_not_announced() -> None:
    monitor = Monitor("exact-tso", undo=True, threads=2)
    monitor.step(0, int(Kind.ST), True, 0, 0)
    with pytest.raises(RuntimeError, match="no event is left"):
        monitor.undo(2)
    with pytest.raises(ValueError, match="only 2 threads were announced"):
        monitor.step(2, int(Kind.LD), False, 0, 0)
