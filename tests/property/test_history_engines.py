"""Every engine against the machines of teetotal.models, on thousands of small histories, and with each other on more."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from amounts import some
from histories import random_small
from history_specification import consistent
from teetotal import _core
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import MODELS, Kind, Semantics
from teetotal.answers.history import ENGINES
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.histories import hard, witness
from teetotal.histories.check import check
from teetotal.histories.generate import corrupted_history, random_history, weak_history
from teetotal.histories.history import History, Operation, to_text
from teetotal.histories.problem import MODEL_NUMBERS, Problem, Unwritten
from teetotal.histories.readers import read_text

SEMANTICS = (Semantics(rmw="all"), Semantics(rmw="address"))


def agree(history: History, engines: tuple[str, ...] = ENGINES) -> list[bool]:
    """Every engine gives the specification's answer under every model, and every witness holds."""
    answers = []
    for model, semantics in itertools.product(MODELS, SEMANTICS):
        expected = consistent(history, model, semantics)
        answers.append(expected)
        for engine in engines:
            if engine == "ccm+enum" and model != "sc":
                continue
            where = f"{model} {semantics.rmw} {engine}\n{to_text(history)}"
            try:
                outcome = check(history, model, engine=engine, semantics=semantics, use_order=False)
            except Unwritten:
                assert not expected, where
                continue
            assert (outcome.verdict is Verdict.SAFE) == expected, where
            if expected:
                assert witness.refute(history, outcome.witness, model, semantics) == "", where
    return answers


@pytest.mark.parametrize("seed", range(8))
def test_auto_agrees_with_the_machines(seed: int) -> None:
    rng = random.Random(seed)
    seen = []
    for _ in range(some(300)):
        shape = {
            "threads": rng.choice([2, 3, 4]),
            "operations": rng.choice([4, 6, 8, 9]),
            "addresses": rng.choice([1, 2, 3]),
        }
        seen += agree(random_small(rng, **shape), engines=("auto",))
    assert 0.2 < sum(seen) / len(seen) < 0.8


def test_every_engine_agrees_with_the_machines() -> None:
    rng = random.Random(100)
    for _ in range(some(200)):
        agree(
            random_small(rng, threads=rng.choice([2, 3]), operations=rng.choice([5, 8]), addresses=rng.choice([1, 2]))
        )


def test_every_engine_agrees_where_values_repeat_or_are_unknown() -> None:
    rng = random.Random(200)
    for _ in range(some(150)):
        history = random_small(rng, operations=rng.choice([5, 8]), values=rng.choice([2, 3]), unknown=0.1)
        final = {"x": rng.choice([0, 1, 2])} if "x" in history.addresses and rng.random() < 0.4 else None
        agree(History.of(history, final=final))


def test_every_engine_agrees_about_rmws_that_write_nothing() -> None:
    text = "T2: rmw x: 0 -> 1\nT1: rmw x: 1, unchanged\nT1: ld x -> 1\nT0: st x = 1\nT2: ld x -> 1\nT0: st x = 0\n"
    agree(read_text(text)[0])
    rng = random.Random(300)
    for _ in range(some(60)):
        agree(random_small(rng, operations=6, addresses=rng.choice([1, 2]), rmws=0.4, values=2, failing=0.6))


def repeated(seed: int, *, values: int, **shape: int) -> History:
    """An SC run whose values are taken modulo ``values``, and whose file tells no order."""
    history = random_history(seed=seed, by_thread=True, **shape)  # type: ignore[arg-type]
    history.columns.value[:] %= values
    return history


def test_a_write_of_the_value_in_memory_is_not_executed_early() -> None:
    """Kept because the search by values once did so, and called this valid history inconsistent."""
    history = repeated(0, values=4, threads=4, operations=200, addresses=4)
    outcome = check(history, use_order=False)
    assert outcome.verdict is Verdict.SAFE
    assert witness.refute(history, outcome.witness, "sc") == ""


@pytest.mark.parametrize("candidates", ["init x = 2\nT2: st x = 1\n", "init x = 2\nT0: st x = 1\n"])
def test_a_load_may_have_seen_an_own_store_that_is_certainly_visible_later(candidates: str) -> None:
    """T0's load of x is before its store becomes visible, as T1 still reads 2; so it has read its buffer."""
    threads = "T0: st x = 1\nT0: ld x -> 1\nT0: ld y -> 0\nT1: st y = 1\nT1: mfence\nT1: ld x -> 2\n"
    (history,) = read_text(candidates + threads)
    agree(history)
    assert check(history, "tso").verdict is Verdict.SAFE


def test_sc_runs_with_repeated_values_are_consistent() -> None:
    for seed in range(20):
        history = repeated(seed, values=3, threads=4, operations=60, addresses=3)
        for engine in ("auto", "sat"):
            outcome = check(history, engine=engine, use_order=False)  # type: ignore[arg-type]
            assert outcome.verdict is Verdict.SAFE
            assert witness.refute(history, outcome.witness, "sc") == ""


def test_no_time_to_strike_out_candidates_is_no_contradiction() -> None:
    history = repeated(1, values=3, threads=3, operations=6000, addresses=3)
    with pytest.raises(TimeoutError):
        Problem(history, "sc", Semantics()).narrow(Budget(0.0))


def test_final_values() -> None:
    rng = random.Random(300)
    for _ in range(some(200)):
        history = random_small(rng, operations=6)
        final = {a: rng.choice([0, 1, 2]) for a in history.addresses if rng.random() < 0.7}
        agree(History.of(history, final=final), engines=("auto", "dbcop", "sat"))


def test_initial_values() -> None:
    text = "init x = 7\nT0: ld x -> 7\nT0: st x = 1\nT1: ld x -> 1\nT1: ld x -> 7\n"
    history = read_text(text)[0]
    assert agree(history) == [False] * 6
    assert agree(read_text(text.replace("T1: ld x -> 7\n", ""))[0]) == [True] * 6


@pytest.mark.parametrize("model", MODELS)
def test_a_load_of_an_own_later_store_is_rejected(model: str) -> None:
    history = read_text("T0: ld x -> 1\nT0: st x = 1\n")[0]
    for engine in ENGINES:
        if engine != "ccm+enum" or model == "sc":
            assert check(history, model, engine=engine).verdict is Verdict.VIOLATION  # type: ignore[arg-type]


@pytest.mark.parametrize("model", MODELS)
def test_runs_of_a_machine_are_consistent(model: str) -> None:
    for seed, (threads, addresses, rmws, fences) in enumerate([(4, 3, 0, 0), (8, 8, 0.05, 0.05), (16, 4, 0.02, 0)]):
        history = random_history(
            model,
            threads=threads,
            addresses=addresses,
            operations=3000,
            rmws=rmws,
            fences=fences,
            seed=seed,
            by_thread=True,
        )  # type: ignore[arg-type]
        outcome = check(history, model, use_order=False)  # type: ignore[arg-type]
        assert outcome.verdict is Verdict.SAFE
        assert witness.refute(history, outcome.witness, model) == ""  # type: ignore[arg-type]


def test_weak_histories_are_weak() -> None:
    tso = weak_history("tso", threads=3, operations=40, addresses=2, by_thread=True)
    assert [check(tso, m).verdict for m in MODELS] == [Verdict.VIOLATION, Verdict.SAFE, Verdict.SAFE]
    pso = weak_history("pso", threads=3, operations=40, addresses=3)
    assert [check(pso, m).verdict for m in MODELS] == [Verdict.VIOLATION, Verdict.VIOLATION, Verdict.SAFE]


def test_engines_agree_on_larger_histories() -> None:
    for seed in range(12):
        history = corrupted_history(threads=4, operations=120, addresses=3, seed=seed, by_thread=True)
        for model in MODELS:
            engines = [e for e in ENGINES if e != "ccm+enum" or model == "sc"]
            assert len({check(history, model, engine=e, use_order=False).verdict for e in engines}) == 1


def test_formulas() -> None:
    """A formula's history is SC if and only if the formula can be satisfied: the search meets real conflicts here."""
    seen = set()
    for seed in range(12):
        clauses = hard.random_formula(5, 22, seed)
        satisfiable = any(
            all(any((literal > 0) == truth[abs(literal) - 1] for literal in clause) for clause in clauses)
            for truth in itertools.product((False, True), repeat=5)
        )
        seen.add(satisfiable)
        history = hard.formula(clauses)
        for engine in ("auto", "sat"):
            outcome = check(history, engine=engine, use_order=False)  # type: ignore[arg-type]
            assert (outcome.verdict is Verdict.SAFE) == satisfiable
            if satisfiable:
                assert witness.refute(history, outcome.witness, "sc") == ""
    assert seen == {True, False}


def test_small_gadgets_by_search_alone() -> None:
    """The search must be right also without the SAT solver's help, where it has to go back."""
    rng = random.Random(7)
    seen = []
    for _ in range(60):
        clauses = [[rng.choice((n, -n)) for n in rng.sample((1, 2, 3), 2)] for _ in range(rng.choice([3, 6, 9]))]
        expected = any(
            all(any((literal > 0) == truth[abs(literal) - 1] for literal in clause) for clause in clauses)
            for truth in itertools.product((False, True), repeat=3)
        )
        checker = Problem(hard.formula(clauses), "sc", Semantics()).checker()
        assert checker.saturate(None) == "consistent"
        status, _ = checker.decide("decide", None)
        assert (status == "consistent") == expected
        seen.append(expected)
    assert 5 < sum(seen) < 55


def test_what_failed_behind_a_write_is_tried_without_it() -> None:
    """The first write to ``u`` cannot come before the second one, and nothing but a search tells: in either order of
    those to ``x``, both of those to ``y`` contradict it. All wait for ``g``, so that where the search has gone back to is
    where it failed, but for that first write alone."""
    operations = [_st("first", "u", 1), _st("gate", "g", 1)]
    for address, value in (("u", 2), ("x", 1), ("x", 2), ("y", 1), ("y", 2)):
        operations += [_ld(f"{address}{value}", "g", 1), _st(f"{address}{value}", address, value)]
    for x, y in itertools.product((1, 2), repeat=2):
        operations += [_ld(f"a{x}{y}", "u", 2), _ld(f"a{x}{y}", "x", x)]
        operations += [_ld(f"b{x}{y}", "x", 3 - x), _ld(f"b{x}{y}", "y", y)]
        operations += [_ld(f"c{x}{y}", "y", 3 - y), _ld(f"c{x}{y}", "u", 1)]
    operations += [_ld("late", "x", 1), _ld("late", "u", 2), _ld("later", "x", 1), _ld("later", "g", 1)]
    history = History.of(operations)
    checker = Problem(history, "sc", Semantics()).checker()
    assert checker.saturate(None) == "consistent"
    status, order = checker.decide("decide", None)
    assert status == "consistent"
    assert witness.refute(history, 2 * order.astype(np.uint64), "sc") == ""


def _st(thread: str, address: str, value: int) -> Operation:
    return Operation(thread, Kind.ST, address, written=value)


def _ld(thread: str, address: str, value: int) -> Operation:
    return Operation(thread, Kind.LD, address, read=value)


def fenced(history: History) -> History:
    """With a fence after every operation: then TSO and PSO are SC."""
    return History.of(one for op in history for one in (op, Operation(op.thread, Kind.MFENCE)))


@pytest.mark.parametrize("model", MODELS)
def test_every_search_goes_back_under_every_model(model: str) -> None:
    """Fences make a formula's history mean the same under TSO and PSO, whose chains are others; rmws in place of some
    stores do not change it either. Each way to search alone, without the SAT solver's help."""
    rng = random.Random(23)
    seen = []
    for _ in range(40):
        clauses = [
            [rng.choice((n, -n)) for n in rng.sample((1, 2, 3), rng.choice([1, 2]))]
            for _ in range(rng.choice([2, 5, 8]))
        ]
        expected = any(
            all(any((literal > 0) == truth[abs(literal) - 1] for literal in clause) for clause in clauses)
            for truth in itertools.product((False, True), repeat=3)
        )
        seen.append(expected)
        history = hard.formula(clauses)
        if model != "sc":
            history = fenced(history)
        problem = Problem(history, model, Semantics())  # type: ignore[arg-type]
        kinds = ("decide", "frontier") if len(clauses) <= 3 else ("decide",)  # frontiers are exponential in threads
        for kind, prior in itertools.product(kinds, ("", "six", "guess")):
            checker = problem.checker()
            assert checker.saturate(None) == "consistent"
            status = checker.extend(prior, None) if prior else "consistent"
            order = None
            if status == "consistent":
                status, order = checker.decide(kind, None)
            assert (status == "consistent") == expected, to_text(history)
            if order is not None:
                steps = _core.schedule_of_order(history.columns, order, MODEL_NUMBERS[model])  # type: ignore[index]
                assert witness.refute(history, steps, model) == ""  # type: ignore[arg-type]
    assert 5 < sum(seen) < 35


def test_gadgets_among_reads_that_wait() -> None:
    """Formulas whose writes have more readers, in the gadget's threads and in others: choices stay open for long, and
    frontiers are met again by other ways."""
    rng = random.Random(31)
    seen = []
    for _ in range(40):
        clauses = [[rng.choice((n, -n)) for n in rng.sample((1, 2, 3), 2)] for _ in range(rng.choice([4, 6, 8]))]
        history = with_readers(rng, hard.formula(clauses))
        answers = set()
        checker = Problem(history, "sc", Semantics()).checker()
        status = checker.saturate(None)
        if status == "consistent":
            status, order = checker.decide("decide", None)
            if order is not None:
                assert witness.refute(history, 2 * order.astype(np.uint64), "sc") == ""
        answers.add(status)
        answers.add(
            str(check(history, engine="enum").verdict)
            .replace("safe", "consistent")
            .replace("violation", "inconsistent")
        )
        assert len(answers) == 1, to_text(history)
        seen.append("consistent" in answers)
    assert 5 < sum(seen) < 35


@pytest.mark.parametrize("model", MODELS)
def test_an_rmw_that_is_still_to_be_read_does_not_follow_at_once(model: str) -> None:
    """T0's store and T1's rmw could be executed together, without choice; but T2 cannot read yet, and T3 would come
    between. Found by planting that fault."""
    history = read_text(
        "T3: st x = 9\nT2: ld y -> 1\nT2: ld x -> 2\nT4: ld z -> 1\nT4: st y = 1\nT6: ld q -> 1\nT6: ld z -> 1\n"
        "T7: ld z -> 1\nT7: st q = 1\nT5: st z = 1\nT1: rmw x: 1 -> 2\nT0: st x = 1\n"
    )[0]
    for engine in ("auto", "wsc+dbcop", "dbcop"):
        outcome = check(history, model, engine=engine, use_order=False)  # type: ignore[arg-type]
        assert outcome.verdict is Verdict.SAFE
        assert witness.refute(history, outcome.witness, model) == ""  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [124, 435])
def test_a_final_choice_keeps_what_an_open_one_below_takes_back(seed: int) -> None:
    """Consistent, and called inconsistent if a choice that becomes final forgets the rows that were saved for the one
    below it. Found by planting that fault."""
    history = gadget_with_readers(seed)
    checker = Problem(history, "sc", Semantics()).checker()
    assert checker.saturate(None) == "consistent"
    status, _ = checker.decide("decide", None)
    assert checker.conflicts > 0
    assert status == "consistent"


@pytest.mark.parametrize(("seed", "answer"), [(76, "inconsistent"), (124, "consistent")])
def test_reads_that_are_taken_back_are_to_be_done_again(seed: int, answer: str) -> None:
    """If a write that was chosen and given up counts as read, another write comes between it and its reads."""
    history = gadget_with_readers(seed)
    checker = Problem(history, "sc", Semantics()).checker()
    assert checker.saturate(None) == "consistent"
    status, order = checker.decide("decide", None)
    assert checker.conflicts > 0
    assert status == answer
    assert order is None or witness.refute(history, 2 * order.astype(np.uint64), "sc") == ""


def with_readers(rng: random.Random, history: History, readers: int = 3, reads: int = 3) -> History:
    """The same, where a few threads more read what was written, one write of an address after the other."""
    writes = [op for op in history if op.written is not None]
    more = []
    for reader in range(readers):
        for op in rng.sample(writes, reads):
            more.append(Operation(f"reader{reader}", Kind.LD, op.address, read=op.written))
    return History.of([*history, *more])


def gadget_with_readers(seed: int) -> History:
    rng = random.Random(seed)
    clauses = [
        [rng.choice((n, -n)) for n in rng.sample((1, 2, 3, 4), rng.choice([1, 2, 3]))]
        for _ in range(rng.choice([3, 5, 7, 9]))
    ]
    return with_readers(rng, hard.formula(clauses), rng.choice([0, 1, 2, 3, 5]), rng.choice([2, 3, 4]))


def test_a_gadget_inside_a_random_history_is_found() -> None:
    random_part = random_history(threads=8, operations=2000, addresses=8, seed=3, by_thread=True)
    history = History.of([*random_part, *hard.unorderable()])
    assert check(history, "wsc").verdict is Verdict.SAFE
    assert check(history).verdict is Verdict.VIOLATION


def test_time_ends_every_engine() -> None:
    history = hard.formula(hard.random_formula(40, 170, 1))
    for engine in ENGINES:
        outcome = check(history, engine=engine, seconds=0.0, use_order=False)
        assert outcome.verdict is Verdict.INCONCLUSIVE
        assert outcome.learned


def test_values_are_as_long_as_they_are() -> None:
    """Also where writes of one value cannot be told apart: 2^32 + 1 is not 1."""
    (history,) = read_text("A: st x = 1\nB: st x = 1\nC: st x = 4294967297\nD: ld x -> 1\nD: ld x -> 4294967297\n")
    for engine in ("auto", *ENGINES):
        if engine != "ccm+enum":
            assert check(history, "sc", engine=engine).verdict is Verdict.SAFE, engine


def test_ccm_enum_is_about_sc() -> None:
    with pytest.raises(TeetotalError, match="ccm"):
        check(read_text("T0: st x = 1\n")[0], "tso", engine="ccm+enum")


def test_a_value_that_was_there_at_first_and_is_written_is_not_unique() -> None:
    with pytest.raises(TeetotalError, match="1 duplicate values: ccm is defined for values that are written once"):
        check(read_text("T0: st x = 0\nT1: ld x -> 0\n")[0], "ccm")


def test_a_wrong_witness_is_refuted() -> None:
    history = History.of(
        [
            Operation("0", Kind.ST, "x", written=1),
            Operation("0", Kind.LD, "x", read=1),
            Operation("1", Kind.LD, "x", read=0),
        ]
    )
    assert witness.refute(history, witness.from_json([2, 0, 1]), "sc") == ""
    assert "would read 1" in witness.refute(history, witness.from_json([0, 1, 2]), "sc")
    assert "never issues" in witness.refute(history, witness.from_json([2, 0]), "sc")
    assert "not the next" in witness.refute(history, witness.from_json([2, 1, 0]), "sc")
    assert "names no operation" in witness.refute(history, witness.from_json([9]), "sc")
    assert witness.refute(history, witness.from_json([0, 1, 2, ~0]), "tso") == ""
    assert "never becomes visible" in witness.refute(history, witness.from_json([0, 1, 2]), "tso")
    fenced = read_text("T0: st x = 1\nT0: sfence\nT0: st y = 1\nT1: ld y -> 1\nT1: ld x -> 0\n")[0]
    assert "sfence holds it back" in witness.refute(fenced, witness.from_json([0, 1, 2, ~2]), "pso")
