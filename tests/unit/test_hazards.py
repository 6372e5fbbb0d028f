"""Load buffering that RC11 leaves out (``programs/hazards``): what keeps a store behind a load, and what does not."""

from __future__ import annotations

import pytest

from small_programs import lock, program, unlock
from teetotal.programs.expressions import Addr, Const, Expr, Reg
from teetotal.programs.hazards import hazards
from teetotal.programs.program import Branch, Instruction, Load, Store


def ld(register: str, address: str) -> Load:
    return Load(register=register, address=Addr(address), order="relaxed")


def st(address: str, value: Expr) -> Store:
    return Store(address=Addr(address), value=value, order="relaxed")


IN_ORDER: list[Instruction] = [ld("r", "y"), st("x", Reg("r"))]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ([ld("r", "x"), st("y", Const(1))], True),
        ([ld("r", "x"), st("y", Reg("r"))], False),
        ([ld("r", "x"), lock("m"), unlock("m"), st("y", Const(1))], False),
        ([ld("r", "x"), ld("r", "z"), st("y", Reg("r"))], True),  # what it stores is another value by then
        ([ld("r", "x"), Branch(when=Const(1), target=3), st("y", Const(1))], False),  # which is never done
        ([ld("r", "x"), Branch(when=Reg("r"), target=3), st("y", Const(1))], True),
    ],
    ids=["open", "carried", "a mutex between", "loaded anew", "behind a jump", "behind a branch"],
)
def test_what_keeps_a_store_behind_a_load(code: list[Instruction], found: bool) -> None:
    assert bool(hazards(program(code, IN_ORDER))) == found


def test_a_thread_is_no_cycle_by_itself() -> None:
    assert not hazards(program([ld("r", "x"), st("x", Const(1))], [ld("r", "y")]))
