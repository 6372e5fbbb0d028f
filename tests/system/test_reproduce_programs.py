"""What the tables about programs are made of."""

from __future__ import annotations

import pytest

from teetotal.answers.strategies import Strategy
from teetotal.reproduce import causes, programs


@pytest.mark.parametrize(("name", "lines"), [("dekker", 27), ("sb", 14), ("msn", 40), ("takequeue", 47)])
def test_lines_of_code_are_without_the_harness(name: str, lines: int) -> None:
    assert programs.lines_of_code(name) == lines


def test_the_first_report_comes_before_all_are_explored() -> None:
    strategy = Strategy("preemptions", 1)
    assert programs.first_report("dekker", strategy, "sober") is not None
    assert programs.first_report("dekker", strategy, "sober", flags=("-DFENCED",)) is None


def test_where_threads_are_preempted_explains_some_numbers_of_the_papers() -> None:
    """Fig. 1(b) of SOBER has 10 interleavings, 4 of them borderline; Dekker's algorithm 79 with one preemption."""
    loads = programs.count("sb", Strategy("interleavings"), ["sober"], preempted=causes.LOADS)
    assert (loads.executions, loads.reporting["sober"]) == (10, 4)
    assert programs.count("sb", Strategy("interleavings"), ["sober"]).executions == 6427
    once, flags = Strategy("preemptions", 1), ("-DROUNDS=3",)
    assert programs.count("dekker", once, ["burnim-tso"], flags=flags, preempted=causes.DATA).executions == 79


def test_violations_are_told_apart_by_instruction_or_by_line() -> None:
    counts = programs.Counts(
        1, 0.0, 1.0, {"m": 1}, {"m": {(1, 2, 3), (1, 2, 4), (5, 2, 3)}}, dict.fromkeys(range(6), "x")
    )
    assert (counts.pairs("m"), counts.distinct("m")) == (3, 3)
    assert (counts.pairs("m", by_line=True), counts.distinct("m", by_line=True)) == (1, 1)


def test_differences_are_explained_by_what_was_tested_alone() -> None:
    ours, paper = {"a": 5, "b": 7, "c": 1}, {"a": 4, "b": 9, "c": 1}

    def wrong() -> dict[str, int]:
        return {"a": 9, "b": 8}

    def right() -> dict[str, int]:
        return {"a": 4, "b": 3}

    told = causes.differences(ours, paper, [("one thing", wrong), ("another", right)])
    assert told == "a: 4 with another. b: not explained; 8 with one thing"
    assert causes.differences(paper, paper, []) == "none"
    assert causes.differences(ours, {"a": 4}, []) == "a: not explained"


def test_overhead() -> None:
    assert programs.overhead(1.2, 1.0) == "20 %"
    assert programs.overhead(0.01, 0.01) == "too short"
