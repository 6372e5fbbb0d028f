"""What processes tell of parts of one search of a C program, put together; and what must not be put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from teetotal.engines.executions.parts import Refused
from teetotal.engines.runtime.exploring import Agreement, Told, _Slice, end_of
from teetotal.engines.runtime.messages import CutLoop, End, Found, Restart

ONE = End(executions=3, blocked=1, redundant=1, steps=40, fresh=30, longest=9, threads=2, complete=True)
OTHER = End(
    executions=4,
    blocked=2,
    cut=1,
    steps=50,
    fresh=20,
    longest=7,
    threads=5,
    loops=[CutLoop(8, 3, 1, 0, 0, 0, 0, 0)],
    races=[(1, 2, 3)],
    hazards=[(0, 1, 2, 3, 4)],
    evaluated=[77],
    mixed=[64],
    assembly=True,
    symmetric=True,
)


def told(end: End, **values: Any) -> End:
    """Lists of texts are read by their message; here they are set."""
    end = msgspec.structs.replace(end)
    for name, value in values.items():
        msgspec.structs.force_setattr(end, name, value)
    return end


@pytest.mark.parametrize("swapped", [False, True])
def test_nothing_that_one_part_tells_is_lost(swapped: bool) -> None:
    """Whichever comes first."""
    other = told(OTHER, oddities=["it is odd"], unseen=[("gets()", 12)])
    both = end_of([other, ONE] if swapped else [ONE, other], True, "")
    counted = (both.executions, both.blocked, both.cut, both.redundant, both.steps, both.fresh)
    assert counted == (7, 3, 1, 1, 90, 50)
    assert (both.longest, both.threads) == (9, 5)
    assert (both.loops, both.races, both.hazards) == (OTHER.loops, OTHER.races, OTHER.hazards)
    assert (both.evaluated, both.mixed, both.assembly, both.symmetric) == ([77], [64], True, True)
    assert (both.oddities, both.unseen) == (["it is odd"], [("gets()", 12)])


def test_what_one_part_has_cut_is_not_proved() -> None:
    assert end_of([ONE, ONE], True, "").complete
    assert not end_of([ONE, ONE], False, "").complete
    assert not end_of([ONE, OTHER], True, "").complete
    assert not end_of([OTHER, ONE], True, "").complete


def seen(layout: Sequence[tuple[int, int, int]], pasts: Sequence[tuple[int, int]] = ()) -> Told:
    return Told(1, [], "", "", [*layout], [*pasts], 0, False)


@pytest.mark.parametrize("cell", [(96, 8, 0), (104, 8, 0), (100, 4, 0), (96, 16, 0)])
def test_cells_that_overlap_are_refused(cell: tuple[int, int, int]) -> None:
    """The first process knows of eight bytes at 100."""
    agreement = Agreement()
    agreement.take(seen([(100, 8, 0), (200, 8, 0)]))
    with pytest.raises(Refused, match="different sizes"):
        agreement.take(seen([cell]))


def test_cells_side_by_side_are_not() -> None:
    agreement = Agreement()
    agreement.take(seen([(100, 8, 0), (200, 8, 0)]))
    agreement.take(seen([(92, 8, 0), (108, 8, 0), (100, 8, 0)]))
    assert agreement.begins == [92, 100, 108, 200]


def test_one_past_has_one_future() -> None:
    agreement = Agreement()
    agreement.take(seen([], [(5, 1), (6, 2)]))
    agreement.take(seen([], [(5, 1)]))
    with pytest.raises(Refused, match="remains of calls"):
        agreement.take(seen([], [(6, 1)]))


def test_memory_that_only_a_later_process_knows_little_of() -> None:
    agreement = Agreement()
    agreement.take(seen([(100, 8, 1)]))
    agreement.take(seen([(100, 8, 1)]))
    with pytest.raises(Refused, match="knows little of"):
        agreement.take(seen([(200, 8, 1)]))


def test_what_was_found_before_a_restart_is_found_again() -> None:
    slice = _Slice()
    found = Found("exact-tso", (1, 2, 3), (7, 8, 9), "", [], {})
    for number, message in enumerate((found, Restart(), found)):
        slice.take(str(number).encode(), message)
    assert slice.found == ["2"]


@pytest.mark.parametrize(("stopped", "over"), [("", False), ("budget", False), ("memory", True)])
def test_only_want_of_memory_ends_all_parts(stopped: str, over: bool) -> None:
    slice = _Slice()
    slice.take(b"{}", End(stopped=stopped))
    assert slice.over is over
