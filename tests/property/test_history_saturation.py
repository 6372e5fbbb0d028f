"""wSC and CCM against their definitions, the SC-kernel against its own, and the paper's figures."""

from __future__ import annotations

import itertools
import random

import pytest

from amounts import some
from histories import random_small
from history_specification import ccm_store_order, consistent, wsc_store_order
from teetotal.answers.events import Semantics
from teetotal.answers.verdict import Verdict
from teetotal.histories import hard
from teetotal.histories.check import check
from teetotal.histories.examining import kernel_of
from teetotal.histories.history import History, to_text
from teetotal.histories.problem import Problem
from teetotal.histories.readers import read_text
from teetotal.histories.sat import kernel

SC = Semantics()


def pairs(columns: tuple[object, object]) -> set[tuple[int, int]]:
    return set(zip(*(column.tolist() for column in columns), strict=True))  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(4))
def test_wsc_and_ccm_are_as_defined(seed: int) -> None:
    rng = random.Random(seed)
    verdicts = []
    for _ in range(some(150)):
        history = random_small(rng, threads=rng.choice([2, 3]), operations=rng.choice([6, 8]), fences=0)
        wsc, ccm = wsc_store_order(history), ccm_store_order(history)
        checker = Problem(history, "sc", SC).checker()
        assert (checker.saturate(None) == "consistent") == (wsc is not None), to_text(history)
        if wsc is not None:
            assert pairs(checker.pairs(True)) == wsc, to_text(history)
        status, first, second = Problem(history, "sc", SC).checker(rules="base").ccm(True, None)
        assert (status == "consistent") == (ccm is not None), to_text(history)
        if ccm is not None:
            assert pairs((first, second)) == ccm, to_text(history)
        verdicts.append((consistent(history, "sc"), wsc is not None, ccm is not None))
    for sc, weak, causal in verdicts:  # SC ⊆ wSC ⊆ CCM
        assert sc <= weak <= causal
    assert {True, False} == {weak for _, weak, _ in verdicts}


def brute_kernel(history: History) -> set[tuple[int, int]]:
    """What every total store order that works has in common."""
    writes = [i for i, op in enumerate(history) if op.written is not None]
    kernel: set[tuple[int, int]] | None = None
    for order in itertools.permutations(writes):
        per_address = {(a, b) for a, b in itertools.combinations(order, 2) if history[a].address == history[b].address}
        problem = Problem(history, "sc", SC)
        if problem.checker().saturate_assuming(sorted(per_address), None) == "consistent":
            kernel = per_address if kernel is None else kernel & per_address
    assert kernel is not None
    return kernel


def test_the_kernel_is_what_all_store_orders_share() -> None:
    rng = random.Random(11)
    checked = 0
    while checked < 25:
        history = random_small(rng, operations=9, addresses=2, fences=0, rmws=0.1)
        if check(history).verdict is Verdict.SAFE and sum(op.written is not None for op in history) <= 6:
            found = kernel(Problem(history, "sc", SC))
            assert found is not None
            assert set(found) == brute_kernel(history), to_text(history)
            checked += 1


def test_the_kernel_of_an_inconsistent_history_is_none() -> None:
    assert kernel(Problem(hard.unorderable(), "sc", SC)) is None


# ---- figures


def figure_1a() -> History:
    return read_text("T0: st x = 1\nT0: ld y -> 0\nT1: st y = 1\nT1: ld x -> 1\n")[0]


def figure_1b() -> History:
    return read_text(
        "T0: st x = 1\nT0: ld y -> 0\nT0: st y = 1\nT0: ld x -> 1\n"
        "T1: st x = 2\nT1: ld y -> 0\nT1: st y = 2\nT1: ld x -> 2\n"
    )[0]


def verdicts(history: History) -> dict[str, bool]:
    return {m: check(history, m).verdict is Verdict.SAFE for m in ("sc", "wsc", "ccm")}  # type: ignore[arg-type]


def test_figure_1a_is_sc() -> None:
    assert verdicts(figure_1a()) == {"sc": True, "wsc": True, "ccm": True}


def test_final_values_are_ordered_too() -> None:
    """Whoever has read 2 read it before the final 1 came, and so before y = 1 and y = 2; but T1 wrote y = 2 before."""
    threads = "T0: st x = 1\nT0: st y = 1\nT1: st y = 2\nT1: ld x -> 2\nT2: st x = 2\n"
    for final, holds in ((1, False), (2, True)):
        (history,) = read_text(f"{threads}final x = {final}\nfinal y = 2\n")
        assert verdicts(history) == {"sc": holds, "wsc": holds, "ccm": holds}


def test_figure_1b_is_ccm_and_not_wsc() -> None:
    assert verdicts(figure_1b()) == {"sc": False, "wsc": False, "ccm": True}


def test_figure_1c_is_wsc_and_not_sc() -> None:
    assert verdicts(hard.unorderable()) == {"sc": False, "wsc": True, "ccm": True}


def named_kernel(history: History) -> set[tuple[str, str]]:
    found = kernel(Problem(history, "sc", SC))
    assert found is not None
    return {(history[a].text, history[b].text) for a, b in found}


def test_figure_3_hides_a_pair_of_the_kernel() -> None:
    history = hard.ring(2)
    assert named_kernel(history) == {("st x = 4", "st x = 2")}
    result = kernel_of(history)
    assert (result.kernel, result.wsc, result.ccm) == (1, 0, 0)


def test_figure_3_the_other_order_is_a_cycle() -> None:
    history = hard.ring(2)
    names = [op.text for op in history]
    two, four = names.index("st x = 2"), names.index("st x = 4")
    checker = Problem(history, "sc", SC).checker()
    assert checker.saturate(None) == "consistent"
    assert checker.saturate_assuming([(two, four)], None) == "inconsistent"
    checker.take_back()
    assert checker.saturate_assuming([(four, two)], None) == "consistent"


def extended(history: History, rule: str) -> tuple[str, int]:
    """What a stronger saturation says, and how many pairs it orders."""
    checker = Problem(history, "sc", SC).checker()
    assert checker.saturate(None) == "consistent"
    return checker.extend(rule, None), len(checker.pairs(True)[0])


def test_the_six_write_rule_finds_figure_3_and_not_figure_4() -> None:
    assert extended(hard.ring(2), "six") == ("consistent", 1)
    for length in (3, 4, 7):
        assert extended(hard.ring(length), "six") == ("consistent", 0)


FIGURE_3_APART = """a: st y0 = 1
a: st g0 = 1
b: st y1 = 1
b: st g1 = 1
x2: ld g0 -> 1
x2: ld g1 -> 1
x2: st x = 2
x4: st x = 4
x4: st f0 = 1
x4: st f1 = 1
ring0: ld y1 -> 1
ring0: ld f0 -> 1
ring0: st y0 = 2
ring0: ld y1 -> 1
ring1: ld f1 -> 1
ring1: st y1 = 2
ring1: ld y0 -> 1
"""


def test_of_a_threads_reads_the_six_write_rule_looks_at_the_last() -> None:
    """ring0 reads y1 before it knows of x = 4 as well: that read is behind nothing, and shows nothing."""
    (history,) = read_text(FIGURE_3_APART)
    assert extended(history, "six") == ("consistent", 1)


def test_one_guessed_pair_finds_figure_4_and_not_figure_5() -> None:
    for length in (2, 3, 4, 7):
        assert extended(hard.ring(length), "guess") == ("consistent", 1)
    assert extended(hard.two_pairs(), "guess") == ("consistent", 0)


@pytest.mark.parametrize("rule", ["six", "guess"])
def test_the_stronger_saturations_reject_figure_1c(rule: str) -> None:
    assert extended(hard.unorderable(), rule)[0] == "inconsistent"
    for engine in (f"{rule}+enum", f"{rule}+dbcop"):
        outcome = check(hard.unorderable(), engine=engine)  # type: ignore[arg-type]
        assert (outcome.verdict, outcome.decided_by) == (Verdict.VIOLATION, "saturation")


def test_the_stronger_saturations_stay_within_the_kernel() -> None:
    rng = random.Random(41)
    grew = 0
    for _ in range(60):
        clauses = [[rng.choice((n, -n)) for n in rng.choices((1, 2), k=rng.choice([1, 2]))] for _ in range(3)]
        history = hard.formula(clauses)
        found = kernel(Problem(history, "sc", SC))
        sizes = {}
        for rule in ("six", "guess"):
            checker = Problem(history, "sc", SC).checker()
            assert checker.saturate(None) == "consistent"
            before = pairs(checker.pairs(True))
            status = checker.extend(rule, None)
            if found is None:
                continue
            assert status == "consistent"
            assert before <= pairs(checker.pairs(True)) <= set(found), to_text(history)
            sizes[rule] = len(checker.pairs(True)[0])
            grew += len(before) < sizes[rule]
        if sizes:
            assert sizes["six"] <= sizes["guess"]  # what a pattern excludes, a guess does
    assert grew > 10


@pytest.mark.parametrize("length", [3, 4, 7])
def test_figure_4_with_cycles_of_any_length(length: int) -> None:
    assert named_kernel(hard.ring(length)) == {("st x = 4", "st x = 2")}
    assert kernel_of(hard.ring(length)).wsc == 0


def test_figure_5_needs_two_guesses_at_once() -> None:
    history = hard.two_pairs()
    assert {("st x = 1", "st x = 2"), ("st t = 2", "st t = 1")} <= named_kernel(history)
    checker = Problem(history, "sc", SC).checker()
    assert checker.saturate(None) == "consistent"
    x1, x2, t1, t2 = ([op.text for op in history].index(f"st {w}") for w in ("x = 1", "x = 2", "t = 1", "t = 2"))
    assert not any(checker.before(*pair) for pair in ((x1, x2), (x2, x1), (t1, t2), (t2, t1)))
    for guess in ((x1, x2), (x2, x1), (t1, t2), (t2, t1)):  # one guess alone shows nothing
        assert checker.saturate_assuming([guess], None) == "consistent"
        checker.take_back()
    expected = {((x1, x2), (t2, t1)): "consistent"}
    for x, t in itertools.product(((x1, x2), (x2, x1)), ((t1, t2), (t2, t1))):
        assert checker.saturate_assuming([x, t], None) == expected.get((x, t), "inconsistent")
        checker.take_back()
