"""From the records of a window to an execution: what is shared, of which life, with which values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from teetotal.answers.events import Event, Kind
from teetotal.record.lifetimes import Lives
from teetotal.record.modules import Modules
from teetotal.record.native_runs import Known, converted
from teetotal.record.programs import RecordedExecution
from teetotal.record.sharing import Extent, Touch, shared_parts, shared_regions
from teetotal.record.windows import BLOCK, RECORD, SYNCHRONISES, VALUED, WROTE, Window

Row = tuple[int, int, int, int, int, int, int, int, int]


@pytest.fixture
def modules() -> Iterator[Modules]:
    found = Modules(Path(sys.executable))
    yield found
    found.close()


def ld(thread: int, address: int, value: int, size: int = 4) -> Row:
    return address, value, 0, 0, size, thread, Kind.LD, VALUED if size <= 8 else 0, 0


def st(thread: int, address: int, value: int, size: int = 4) -> Row:
    return address, 0, value, 0, size, thread, Kind.ST, WROTE | (VALUED if size <= 8 else 0), 0


def rmw(thread: int, address: int, old: int, new: int) -> Row:
    return address, old, new, 0, 4, thread, Kind.RMW, WROTE | VALUED, 0


def mutex(thread: int, kind: Kind, address: int) -> Row:
    return address, 0, 0, 0, 1, thread, kind, WROTE | SYNCHRONISES, 0


def block(thread: int, address: int, size: int) -> Row:
    return address, size, 0, 0, 1, thread, BLOCK, 0, 0


def execution(modules: Modules, *rows: Row, known: Known | None = None) -> RecordedExecution:
    window = Window(np.array(list(rows), RECORD), "", 0)
    return RecordedExecution("w", converted(window, modules, known or Known()))


def told(one: RecordedExecution) -> list[tuple[int, str, int | None]]:
    return [(event.thread, str(event.kind), event.value) for event in one.execution.events]


def addresses(events: list[Event]) -> int:
    return len({event.address for event in events})


def test_what_one_thread_alone_uses_is_left_out(modules: Modules) -> None:
    known = Known()
    one = execution(modules, st(1, 0x1000, 1), st(1, 0x2000, 5), ld(2, 0x1000, 1), ld(2, 0x3000, 7), known=known)
    assert told(one) == [(1, "st", 1), (2, "ld", 1)]
    assert (known.left_out, known.accesses) == (2, 4)


def test_what_nobody_writes_is_left_out(modules: Modules) -> None:
    assert told(execution(modules, ld(1, 0x1000, 1), ld(2, 0x1000, 1))) == []


def test_an_rmw_of_ones_own_memory_is_still_a_fence(modules: Modules) -> None:
    """Its value is not followed: stores to that memory are left out."""
    one = execution(modules, rmw(1, 0x1000, 0, 1), st(1, 0x1000, 7), rmw(1, 0x1000, 7, 8))
    assert [(event.kind, event.writes, event.value) for event in one.execution.events] == [(Kind.RMW, True, None)] * 2


def test_accesses_that_overlap_are_of_one_cell_without_values(modules: Modules) -> None:
    one = execution(modules, st(1, 0x1000, 1, 8), ld(2, 0x1004, 0, 4), st(1, 0x1004, 2, 4))
    assert addresses(one.execution.events) == 1
    assert told(one) == [(1, "st", None), (2, "ld", None), (1, "st", None)]
    assert len(one.history) == 0
    assert len(one.trace) == 3


def test_a_part_of_an_access_that_others_do_not_reach_belongs_to_its_cell(modules: Modules) -> None:
    known = Known()
    rows = [ld(1, 0x1000, 0, 8), st(1, 0x1004, 3, 4), st(2, 0x1000, 1, 4), ld(1, 0x1000, 3 << 32 | 1, 8)]
    assert len(told(execution(modules, *rows, known=known))) == 4
    assert not known.notes


def test_long_copies_are_cut_where_others_access(modules: Modules) -> None:
    one = execution(modules, st(1, 0x1000, 0, 4096), ld(2, 0x1800, 0), ld(3, 0x1900, 0, 256))
    assert addresses(one.execution.events) == 2
    assert [event.thread for event in one.execution.events] == [1, 1, 2, 3]


def test_words_beside_each_other_are_two_cells(modules: Modules) -> None:
    one = execution(modules, st(1, 0x1000, 1), ld(2, 0x1000, 1), st(2, 0x1004, 5), ld(1, 0x1004, 5))
    assert addresses(one.execution.events) == 2
    assert told(one) == [(1, "st", 1), (2, "ld", 1), (2, "st", 5), (1, "ld", 5)]


def test_what_several_copy_is_cut_where_somebody_accesses_a_word(modules: Modules) -> None:
    one = execution(modules, st(1, 0x1000, 0, 4096), ld(2, 0x1000, 0, 4096), st(3, 0x1800, 7))
    assert addresses(one.execution.events) == 3
    assert [event.thread for event in one.execution.events] == [1, 1, 1, 2, 2, 2, 3]


def test_memory_that_is_handed_out_again_is_another(modules: Modules) -> None:
    first = [block(1, 0x1000, 64), st(1, 0x1010, 1)]
    assert told(execution(modules, *first, block(2, 0x1000, 64), st(2, 0x1010, 2))) == []
    assert len(told(execution(modules, *first, block(2, 0x2000, 64), st(2, 0x1010, 2)))) == 2


def test_a_write_that_was_not_seen(modules: Modules) -> None:
    known = Known()
    one = execution(modules, st(1, 0x1000, 1), ld(2, 0x1000, 5), st(2, 0x2000, 1), ld(1, 0x2000, 1), known=known)
    assert told(one) == [(1, "st", None), (2, "ld", None), (2, "st", 1), (1, "ld", 1)]
    assert any("not built to be recorded" in note for note in known.notes)


def test_an_unlock_of_what_was_locked_before_is_an_rmw(modules: Modules) -> None:
    lock, unlock = Kind.LOCK, Kind.UNLOCK
    clean = execution(modules, mutex(1, lock, 0x1000), mutex(1, unlock, 0x1000), mutex(2, lock, 0x1000))
    assert told(clean) == [(1, "lock", 1), (1, "unlock", 0), (2, "lock", 1)]
    begun = execution(modules, mutex(1, unlock, 0x1000), mutex(2, lock, 0x1000))
    assert [event.kind for event in begun.trace] == [Kind.RMW, Kind.RMW]


def test_loads_that_repeat_are_one_and_no_others(modules: Modules) -> None:
    rows = [st(2, 0x1000, 1), ld(1, 0x1000, 1), ld(1, 0x2000, 9), ld(1, 0x1000, 1), st(2, 0x1000, 2), ld(1, 0x1000, 2)]
    assert told(execution(modules, *rows)) == [(2, "st", 1), (1, "ld", 1), (2, "st", 2), (1, "ld", 2)]


def test_numbers_are_signed_as_wide_as_they_are(modules: Modules) -> None:
    one = execution(modules, st(1, 0x1000, 0xFFFFFFFF), ld(2, 0x1000, 0xFFFFFFFF))
    assert [event.value for event in one.execution.events] == [-1, -1]


def test_where_several_threads_access() -> None:
    touches = [Touch(0, 10, 1), Touch(5, 20, 2), Touch(15, 16, 2), Touch(18, 30, 3), Touch(40, 44, 1), Touch(44, 48, 2)]
    assert shared_regions(touches) == [Extent(5, 10), Extent(18, 20)]
    assert list(shared_parts(touches).parts(0, 48)) == [Extent(0, 30)]  # what short accesses reach into is one


def test_the_latest_life_of_an_address_counts() -> None:
    lives = Lives()
    lives.begin(100, 100, 0, 1)
    lives.begin(120, 10, 0, 2)
    found = [lives.life_of(lives.in_its_life(address)) for address in (99, 100, 120, 130, 199, 200)]
    assert [None if life is None else life.place for life in found] == [
        None, 1, 2, 1, 1, None,
    ]  # fmt: skip
    lives.begin(90, 200, 0, 3)
    assert {lives.life_of(lives.in_its_life(address)).place for address in range(90, 290)} == {3}  # type: ignore[union-attr]
