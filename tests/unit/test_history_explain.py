"""Proofs: over a minimal part, without gaps, and about the model that was asked."""

from __future__ import annotations

import random

import pytest

from histories import random_small
from history_specification import consistent
from teetotal.answers.events import MODELS, Semantics
from teetotal.answers.options import HistoryOptions
from teetotal.answers.verdict import Verdict
from teetotal.histories import hard, parts
from teetotal.histories.check import check, models_of
from teetotal.histories.examining import examine
from teetotal.histories.explain import explain
from teetotal.histories.generate import corrupted_history
from teetotal.histories.history import History, to_text
from teetotal.histories.problem import Problem, Unwritten
from teetotal.histories.readers import read_text
from teetotal.histories.shrink import closed, minimise, needs_of, part
from teetotal.histories.witness import from_json, narrate
from teetotal.report.history import explanation as shown


def check_explanation(history: History, model: str) -> None:
    explanation = explain(history, model)  # type: ignore[arg-type]
    items = {*explanation.operations, *explanation.finals}
    assert not consistent(part(history, items), model)  # type: ignore[arg-type]
    for op in explanation.operations:  # a part with fewer writes to choose from would say nothing about the whole
        seen = history[op].address, history[op].read
        assert {i for i, o in enumerate(history) if (o.address, o.written) == seen and history[op].reads} <= items
    needs = needs_of(Problem(history, model, Semantics()))  # type: ignore[arg-type]
    for item in items:  # minimal: whichever is removed, with what has to go with it, the rest is consistent
        assert consistent(part(history, closed(needs, items - {item})), model), to_text(history)  # type: ignore[arg-type]
    for edge, following in zip(explanation.cycle, [*explanation.cycle[1:], *explanation.cycle[:1]], strict=True):
        assert edge.target == following.source
    for edge in explanation.cycle:
        first, second = (history[explanation.operations[i]] for i in (edge.source, edge.target))
        if edge.reason == "po" and model == "sc":
            assert first.thread == second.thread
            assert edge.source < edge.target
        if edge.reason == "src":
            assert (first.address, first.written) == (second.address, second.read)
        if edge.reason in ("co", "fr"):
            assert first.address == second.address
            assert second.written is not None


@pytest.mark.parametrize("model", MODELS)
def test_proofs_of_random_violations(model: str) -> None:
    rng = random.Random(17)
    proved = 0
    while proved < 60:
        history = random_small(rng, operations=rng.choice([7, 9]), values=rng.choice([None, None, 3]))
        try:
            if check(history, model).verdict is not Verdict.VIOLATION:  # type: ignore[arg-type]
                continue
        except Unwritten:
            continue
        check_explanation(history, model)
        proved += 1


SB = "T0: st x = 1\nT0: ld y -> 0\nT1: st y = 1\nT1: ld x -> 0\nT1: ld x -> 1\n"


def test_store_buffering() -> None:
    (history,) = read_text(SB)
    explanation = explain(history, "sc")
    assert explanation.operations == [0, 1, 2, 3]
    assert shown(examine(history, "sb.txt", HistoryOptions())) == [
        "  (1) T0: st x = 1    sb.txt:1",
        "  (2) T0: ld y -> 0   sb.txt:2",
        "  (3) T1: st y = 1    sb.txt:3",
        "  (4) T1: ld x -> 0   sb.txt:4",
        "  But there is a cycle:",
        "    (1) is before (2) in program order",
        "    (2) is before (3) as it reads the initial value, which the other overwrites",
        "    (3) is before (4) in program order",
        "    (4) is before (1) as it reads the initial value, which the other overwrites",
    ]
    satisfied = [model for model, verdict in models_of(history).items() if verdict is Verdict.SAFE]
    assert satisfied == ["tso", "pso"]


def test_a_part_is_told_by_its_place_in_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts that have nothing to do with each other, taken apart though they are small; the second is wrong."""
    monkeypatch.setattr(parts, "FEWEST", 1)
    (history,) = read_text("T9: st a = 1\nT8: ld a -> 1\n" + SB)
    assert parts.divided(history) is not None
    assert explain(history, "sc").operations == [2, 3, 4, 5]


def test_cases_where_no_saturation_rule_helps() -> None:
    proof = explain(hard.unorderable(), "sc").proof
    assert proof[0].startswith("Suppose that")
    assert proof[-1].endswith("can be first: a contradiction.")
    assert sum("cycle" in line for line in proof) == 2
    assert sum(line.startswith("  Fact 1.") for line in proof) == 2  # what one case has shown the other cannot use


def test_cases_of_a_repeated_value() -> None:
    """Both writes stay: without one of them the part would be forbidden for what the whole need not have done."""
    (history,) = read_text("T0: st x = 1\nT1: st x = 1\nT2: ld x -> 1\nT2: ld x -> 0\n")
    explanation = explain(history, "sc")
    assert explanation.operations == [0, 1, 2, 3]
    assert explanation.cycle == []  # there is one for each case
    assert [line for line in explanation.proof if not line.startswith("  ")] == [
        "Suppose that (3) reads what (1) wrote.",
        "Suppose that (3) reads what (2) wrote.",
        "So whichever write it was, there is a contradiction.",
    ]


def test_a_large_history_shrinks_to_a_few_operations() -> None:
    history = corrupted_history(threads=8, operations=20_000, addresses=8, seed=4)
    assert check(history).verdict is Verdict.VIOLATION
    explanation = explain(history, "sc")
    assert explanation.minimal
    assert len(explanation.operations) < 40
    rest = part(history, explanation.operations)
    assert check(rest).verdict is Verdict.VIOLATION


def test_what_can_go_once_something_else_has_gone_goes() -> None:
    enough = [{1, 2, 3}, {1, 2}, {2}]
    assert minimise({1, 2, 3}, lambda rest: rest, lambda rest: rest in enough) == {2}


def test_a_value_from_nowhere_is_its_own_proof() -> None:
    (history,) = read_text("T0: st x = 1\nT1: ld x -> 9\n")
    explanation = explain(history, "pso", Semantics())
    assert (explanation.operations, explanation.proof) == ([1], ["(1) reads 9, which nobody wrote."])


def test_a_witness_is_told_step_by_step() -> None:
    (history,) = read_text("T0: st x = 1\nT0: ld y -> 0\nT1: st y = 1\nT1: ld x -> 0\n")
    steps = from_json([0, 1, 2, 3, ~0, ~2])
    told = narrate(history, steps)
    assert [line.strip() for line in told[4:]] == [f"{history[0]} becomes visible", f"{history[2]} becomes visible"]
    assert told[:4] == [str(history[number]) for number in range(4)]
    assert narrate(history, steps, limit=4)[4:] == ["… and 2 more steps"]
