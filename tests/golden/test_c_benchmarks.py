"""The benchmark programs: the shape of the papers' tables, and none of it left where there are fences."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from teetotal.answers.events import Semantics
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source
from teetotal.reproduce import tacas11

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "programs"
NAMES = sorted(file.stem for file in PROGRAMS.glob("*.c"))
PAPERS = Semantics(rmw="address", mutex="rmw")

NOT_ROBUST_ON_TSO = {"bakery", "chaselev", "dekker", "peterson", "sb", "spsc", "takequeue"}
EARLY = {"dcl", "lazylist", "rcu"}
"""On PSO these publish memory before it is filled: what others read there is no value of the program's."""
UNKNOWN = {("pso", "lazylist")}
"""Where no assertion looks at it."""
UNSAFE = {
    "tso": {"chaselev", "dekker", "peterson", "bakery", "sb", "takequeue"},
    "pso": {
        "chaselev",
        "dekker",
        "peterson",
        "bakery",
        "takequeue",
        "dcl",
        "rcu",
        "sb",
        "seqlock",
        "spsc",
        "ticket",
        "mcs",
        "lazylist",
    },
}


def source(name: str, *flags: str) -> Source:
    return Source((str(PROGRAMS / f"{name}.c"),), flags)


@pytest.mark.parametrize("name", NAMES)
def test_robust_where_the_papers_say_so(name: str) -> None:
    result = check(source(name), CheckOptions(semantics=PAPERS))
    assert result.complete
    assert result.models["sc"].safe
    assert result.models["tso"].robust is (name not in NOT_ROBUST_ON_TSO)
    assert result.models["pso"].robust is False


@pytest.mark.parametrize("name", NAMES)
def test_fenced_variants_are_robust(name: str) -> None:
    result = check(source(name, "-DFENCED"), CheckOptions(semantics=PAPERS))
    assert result.verdict is Verdict.SAFE
    assert result.complete


@pytest.mark.parametrize("name", NAMES)
def test_what_breaks_on_each_machine(name: str) -> None:
    """The assertions of the programs, on the executions of each model itself."""
    result = check(source(name), CheckOptions(goal="safe"))
    early = any("memory that nobody has written" in note for note in result.notes)
    assert early is (name in EARLY)
    assert result.complete is not early
    assert result.models["sc"].safe
    for model, unsafe in UNSAFE.items():
        known = (model, name) not in UNKNOWN
        assert result.models[model].safe is (name not in unsafe if known else None), model  # type: ignore[index]
    assert check(source(name, "-DFENCED"), CheckOptions(goal="safe")).verdict is Verdict.SAFE


def test_the_papers_table_has_its_shape() -> None:
    """With one preemption; with two it takes longer."""
    for row in islice(tacas11.rows(), 7):
        name, tso, pso = row[0], row[7], row[8]
        assert row[1] == 1
        assert row[-1] == "none" or all(part.count(": ") >= 1 for part in str(row[-1]).split(". "))
        assert (tso == 0) == (name not in ("dekker", "bakery"))
        assert isinstance(pso, int)
        assert pso > 0
