"""Witnesses that lie in one thing, told apart from those that are right: what the machine of the checker must notice."""

from __future__ import annotations

import pytest

from history_specification import consistent
from teetotal.answers.events import Kind, ModelName, Semantics
from teetotal.histories import witness
from teetotal.histories.history import History, Operation
from teetotal.histories.readers import read_text

RMW_ADDRESS = Semantics(rmw="address")


def refuted(text: str, steps: list[int], model: ModelName, semantics: Semantics | None = None) -> str:
    """What is wrong with the steps: i issues, ~i commits."""
    return witness.refute(read_text(text)[0], witness.from_json(steps), model, semantics)


STORES = "T0: st x = 1\nT0: st y = 1\nT1: ld y -> 1\nT1: ld x -> 0\n"


def test_a_tso_buffer_is_a_queue() -> None:
    steps = [0, 1, ~1, 2, 3, ~0]
    assert "oldest pending" in refuted(STORES, steps, "tso")
    assert refuted(STORES, steps, "pso") == ""


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_stores_of_one_address_commit_in_order(model: ModelName) -> None:
    text = "T0: st x = 1\nT0: st x = 2\nT1: ld x -> 2\nT1: ld x -> 1\n"
    assert "oldest pending" in refuted(text, [0, 1, ~1, 2, ~0, 3], model)


def rmw(thread: str, address: str, read: int, written: int) -> Operation:
    return Operation(thread, Kind.RMW, address, read, written)


def test_an_rmw_flushes() -> None:
    history = History.of([Operation("0", Kind.ST, "x", written=1), rmw("0", "y", 0, 1)])
    for model in ("tso", "pso"):
        assert "not flushed" in witness.refute(history, witness.from_json([0, 1, ~0]), model)
        assert witness.refute(history, witness.from_json([0, ~0, 1]), model) == ""


def test_an_rmw_may_flush_its_own_address_only() -> None:
    history = History.of([Operation("0", Kind.ST, "x", written=1), rmw("0", "y", 0, 1)])
    steps = witness.from_json([0, 1, ~0])
    assert witness.refute(history, steps, "pso", RMW_ADDRESS) == ""
    assert "not flushed" in witness.refute(history, steps, "tso", RMW_ADDRESS)
    own = History.of([Operation("0", Kind.ST, "y", written=7), rmw("0", "y", 0, 1)])
    assert "not flushed" in witness.refute(own, steps, "pso", RMW_ADDRESS)


def test_an_rmw_stays_behind_an_sfence() -> None:
    history = History.of([Operation("0", Kind.ST, "x", written=1), Operation("0", Kind.SFENCE), rmw("0", "y", 0, 1)])
    assert "sfence" in witness.refute(history, witness.from_json([0, 1, 2, ~0]), "pso", RMW_ADDRESS)
    assert witness.refute(history, witness.from_json([0, 1, ~0, 2]), "pso", RMW_ADDRESS) == ""


def test_a_store_stays_behind_an_sfence() -> None:
    text = "T0: st x = 1\nT0: sfence\nT0: st y = 1\n"
    assert "sfence" in refuted(text, [0, 1, 2, ~2, ~0], "pso")
    assert refuted(text, [0, 1, 2, ~0, ~2], "pso") == ""


def test_an_mfence_flushes() -> None:
    text = "T0: st x = 1\nT0: mfence\n"
    for model in ("tso", "pso"):
        assert "not flushed" in refuted(text, [0, 1, ~0], model)
        assert refuted(text, [0, ~0, 1], model) == ""


def test_what_was_read_is_compared() -> None:
    assert "would read 0" in refuted("T0: ld x -> 1\nT1: st x = 1\n", [0, 1], "sc")


def test_own_stores_are_read() -> None:
    text = "T0: st x = 1\nT0: st x = 2\nT0: ld x -> %d\n"
    assert refuted(text % 2, [0, 1, 2, ~0, ~1], "tso") == ""
    assert "would read 2" in refuted(text % 1, [0, 1, 2, ~0, ~1], "tso")


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_final_values_are_compared(model: ModelName) -> None:
    steps = [0, 1] if model == "sc" else [0, ~0, 1, ~1]
    history = read_text("T0: st x = 1\nT1: st x = 2\n")[0]
    for final, right in ((2, True), (1, False)):
        asked = History.of(history, final={"x": final})
        assert (witness.refute(asked, witness.from_json(steps), model) == "") == right


def test_every_store_becomes_visible() -> None:
    assert "never becomes visible" in refuted("T0: st x = 1\n", [0], "pso")


def test_every_operation_is_there() -> None:
    assert "never issues" in refuted("T0: ld x -> 0\nT0: ld x -> 0\n", [0], "sc")


def test_program_order_is_kept() -> None:
    assert "not the next" in refuted("T0: ld x -> 0\nT0: st x = 1\n", [1, 0], "sc")


def test_final_values_of_the_specification() -> None:
    history = read_text("T0: st x = 1\nT0: st x = 2\n")[0]
    assert [consistent(History.of(history, final={"x": final}), "sc") for final in (1, 2)] == [False, True]
