"""What the tables about programs are made of."""

from __future__ import annotations

import pytest

from teetotal.answers.strategies import Strategy
from teetotal.reproduce import programs


@pytest.mark.parametrize(("name", "lines"), [("dekker", 30), ("sb", 14), ("msn", 40), ("takequeue", 47)])
def test_lines_of_code_are_without_the_harness(name: str, lines: int) -> None:
    assert programs.lines_of_code(name) == lines


def test_the_first_report_comes_before_all_are_explored() -> None:
    strategy = Strategy("preemptions", 1)
    assert programs.first_report("dekker", strategy, "sober") is not None
    assert programs.first_report("dekker", strategy, "sober", flags=("-DFENCED",)) is None


def test_overhead() -> None:
    assert programs.overhead(1.2, 1.0) == "20 %"
    assert programs.overhead(0.01, 0.01) == "too short"
