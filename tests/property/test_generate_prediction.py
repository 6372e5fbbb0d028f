"""What theory predicts for a cycle's outcome, against the textbooks, herd, the core's exploration, and ``models/``."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amounts import some
from litmus_tools import outcomes as specified_outcomes
from shared import data
from teetotal import models
from teetotal.answers.events import MODELS, Semantics
from teetotal.engines import states as explore
from teetotal.engines.executions.robustness import robustness
from teetotal.generate import Cycle, Litmus, litmus
from teetotal.generate.cycles import enumerate_cycles, of_family, sample, vocabulary
from teetotal.generate.names import FAMILIES
from teetotal.programs.litmus import layout
from teetotal.programs.observation import observation

FENCES = ("mfence", "sfence", "xchg")
RMWS = (Semantics(rmw="all"), Semantics(rmw="address"))

TEXTBOOK = {
    # store buffering: a store is overtaken by a load, on both machines; only a full fence or an rmw helps
    "PodWR Fre PodWR Fre": "tso pso",
    "MFencedWR Fre PodWR Fre": "tso pso",
    "MFencedWR Fre MFencedWR Fre": "",
    "SFencedWR Fre SFencedWR Fre": "tso pso",
    "XchgdWR Fre XchgdWR Fre": "",
    "Rfi PodRR Fre Rfi PodRR Fre": "tso pso",
    "Rfi MFencedRR Fre Rfi MFencedRR Fre": "",
    "PodWR Fre PodWR Fre PodWR Fre": "tso pso",
    "MFencedWR Fre MFencedWR Fre MFencedWR Fre": "",
    # message passing: stores overtake one another on PSO only; an sfence is enough, and loads need nothing
    "PodWW Rfe PodRR Fre": "pso",
    "SFencedWW Rfe PodRR Fre": "",
    "MFencedWW Rfe PodRR Fre": "",
    "PodWW Rfe MFencedRR Fre": "pso",
    "XchgdWW Rfe PodRR Fre": "",
    # S and 2+2W: the same with writes
    "PodWW Rfe PodRW Coe": "pso",
    "SFencedWW Rfe PodRW Coe": "",
    "PodWW Coe PodWW Coe": "pso",
    "SFencedWW Coe PodWW Coe": "pso",
    "SFencedWW Coe SFencedWW Coe": "",
    # R has one of each
    "PodWW Coe PodWR Fre": "tso pso",
    "PodWW Coe MFencedWR Fre": "pso",
    "MFencedWW Coe PodWR Fre": "tso pso",
    "SFencedWW Coe MFencedWR Fre": "",
    # never: loads are in order and stores reach everybody at once
    "PodRW Rfe PodRW Rfe": "",
    "Rfe PodRR Fre Rfe PodRR Fre": "",
    "Rfe PodRW Rfe PodRR Fre": "",
    "Rfe PodRW Rfe PodRW Coe": "",
    "Rfe PosRR Fre": "",
    "Rfe PosRW Coe": "",
    "Coe PosWR Fre": "",
    # three threads
    "Rfe PodRR Fre PodWR Fre": "tso pso",
    "Rfe PodRR Fre MFencedWR Fre": "",
    "PodWW Rfe PodRW Rfe PodRR Fre": "pso",
    "SFencedWW Rfe PodRW Rfe PodRR Fre": "",
    "PodWW Rfe PodRR Fre PodWR Fre": "tso pso",
    "PodWW Rfe PodRR Fre MFencedWR Fre": "pso",
    "SFencedWW Rfe PodRR Fre MFencedWR Fre": "",
    "PodWW Rfe PodRW Coe PodWR Fre": "tso pso",
}


def observed(test: Litmus, semantics: Semantics) -> dict[str, bool]:
    return {
        model: observation(test.program, explore.outcomes(test.program, model, semantics).values)[0] != "Never"
        for model in MODELS
    }


@pytest.mark.parametrize(("edges", "allowed"), TEXTBOOK.items(), ids=[Cycle.parse(edges).name for edges in TEXTBOOK])
def test_textbook(edges: str, allowed: str) -> None:
    test = litmus(Cycle.parse(edges))
    expected = {model: model in allowed.split() for model in MODELS}
    assert test.predict().allowed == expected
    assert observed(test, Semantics()) == expected


@pytest.mark.parametrize(
    ("edges", "flushing_all", "flushing_address"),
    [
        ("XchgdWR Fre XchgdWR Fre", False, True),
        ("XchgdWW Rfe PodRR Fre", False, True),
        # the write of an rmw is a later store of its thread: an sfence holds it back
        ("SFencedWR Rmw Coe SFencedWR PodRW Coe", False, False),
        ("SFencedWW XchgdWR Rmw Rfe PodRR Fre", False, False),
        ("PodWR Rmw Rfe PodRR Fre", False, True),
    ],
)
def test_what_an_rmw_flushes(edges: str, flushing_all: bool, flushing_address: bool) -> None:
    """The third was once allowed by the core: an rmw overtook stores that an sfence had closed off."""
    test = litmus(Cycle.parse(edges))
    for semantics, expected in zip(RMWS, (flushing_all, flushing_address), strict=True):
        assert test.predict(semantics).allowed["pso"] == expected
        assert observed(test, semantics)["pso"] == expected
        found = specified_outcomes(test.program, "pso", semantics)
        assert (observation(test.program, found)[0] != "Never") == expected


def agree(cycles: Iterable[Cycle]) -> Counter[str]:
    """Compare prediction and exploration; how many tests each set of models allows."""
    count: Counter[str] = Counter()
    for cycle in cycles:
        test = litmus(cycle)
        for semantics in RMWS:
            predicted = test.predict(semantics).allowed
            assert predicted == observed(test, semantics), (test.name, str(cycle), semantics)
            assert not predicted["sc"], test.name
            assert predicted["pso"] or not predicted["tso"], test.name
            count[" ".join(model for model in MODELS if predicted[model])] += 1
    return count


def test_all_classical_families_with_all_fences() -> None:
    """Every family of at most three threads with nothing, mfence, sfence or xchg on each program-order edge."""
    cycles = [c for name, shapes in FAMILIES.items() if len(shapes) < 4 for c in of_family(name, FENCES)]
    assert len(cycles) == 770
    assert min(agree(cycles).values()) > 100


def test_all_short_cycles_of_all_edges() -> None:
    found = agree(enumerate_cycles(5, vocabulary(("mfence", "sfence"), every=True), every=True))
    assert found.total() > 3000
    assert min(found.values()) > 50


def test_random_long_cycles() -> None:
    found = agree(sample(some(1000), 8, vocabulary(FENCES, every=True), random.Random(7), every=True))
    assert found.total() == 2 * some(1000)
    assert min(found.values()) > some(50)


def test_random_irreducible_cycles() -> None:
    found = agree(sample(some(500), 8, vocabulary(FENCES), random.Random(8)))
    assert min(found.values()) > some(50)


@given(seed=st.integers(0, 2**64), length=st.integers(4, 11))
def test_any_cycle(seed: int, length: int) -> None:
    """For ``make fuzz``, which keeps searching."""
    agree(sample(1, length, vocabulary(FENCES, every=True), random.Random(seed), every=True))


def small(count: int, seed: int) -> list[Litmus]:
    """Tests that ``models/`` explores in a moment."""
    cycles = sample(count, 5, vocabulary(FENCES, every=True), random.Random(seed), every=True)
    return [litmus(cycle) for cycle in cycles]


def test_the_specification_agrees() -> None:
    for test in small(150, 1):
        for semantics in RMWS:
            predicted = test.predict(semantics).allowed
            for model in MODELS:
                found = specified_outcomes(test.program, model, semantics)
                word, _, _ = observation(test.program, found)
                assert (word != "Never") == predicted[model], (test.name, model, semantics)


def test_an_outcome_that_only_a_relaxed_model_allows_makes_a_program_not_robust() -> None:
    count: Counter[bool] = Counter()
    cycles = sample(200, 7, vocabulary(FENCES, every=True), random.Random(2), every=True)
    for test in map(litmus, cycles):
        for semantics in RMWS:
            allowed = test.predict(semantics).allowed
            found = robustness(test.program, ("tso", "pso"), semantics)
            for model in ("tso", "pso"):
                count[allowed[model]] += 1
                assert not allowed[model] or found.violations[model], (test.name, model)
    assert min(count.values()) > 50


def test_robustness_of_small_tests_by_definition() -> None:
    for test in small(40, 3):
        for model in ("tso", "pso"):
            if test.predict().allowed[model]:
                assert not models.robust(test.program, model), (test.name, model)


def test_herd_agrees() -> None:
    """Predictions for diy's cycles against what herd observed of diy's own tests."""
    folder = data("litmus-x86")
    with (folder / "expected.csv").open() as file:
        rows = list(csv.DictReader(file))
    checked = 0
    for row in rows:
        info = layout.split((folder / row["file"]).read_text(), row["file"]).info
        if "Cycle" not in info:
            continue
        predicted = litmus(Cycle.parse(info["Cycle"])).predict().allowed
        for model in ("sc", "tso"):
            assert predicted[model] == (row[f"{model}_observation"] != "Never"), (row["file"], model)
        checked += 1
    assert checked >= 300
