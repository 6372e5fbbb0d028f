"""What ``--goal safe`` asks of a program: that no assertion fails, and that what its condition claims is so.

A litmus test's ``~exists P`` and ``forall P`` (Python: ``never=``, ``forall=``) claim something, so under this goal they
are assertions about the end; a ``filter`` exempts the final states that it leaves out. ``exists P`` claims nothing that
must hold: it is a question. Where nothing else can fail either, "safe" would be an empty word, and the goal is refused.
"""

from __future__ import annotations

import msgspec

from teetotal.answers.errors import ProgramError
from teetotal.programs.expressions import Addr, Const, Expr, Op
from teetotal.programs.program import Assert, Condition, Fence, Lock, Program


def demanding(program: Program, *, refuse: bool = True) -> Program:
    """With what its condition claims as an assertion. ``ProgramError`` where nothing can fail, unless that is no reason to
    ``refuse`` it."""
    claim = _claim(program.condition)
    if claim is None:
        if refuse and not can_fail(program):
            asked = "" if program.condition is None else "; `exists` is a question, not a requirement"
            raise ProgramError(
                f"{program.source or 'program'}: {program.name}: nothing here can fail, so there is nothing to be safe "
                f"from{asked}. State what must hold, with `~exists` (in Python `never=`), `forall` or an assertion"
            )
        return program
    if program.filter is not None:
        claim = Op("or", (Op("not", (program.filter,)), claim))
    if program.final_assertion is not None:
        claim = Op("and", (program.final_assertion, claim))
    return msgspec.structs.replace(program, final_assertion=claim)


def claims(program: Program) -> bool:
    """Whether its condition is part of ``--goal safe``."""
    return _claim(program.condition) is not None


def _claim(condition: Condition | None) -> Expr | None:
    match condition:
        case Condition("~exists", proposition):
            return Op("not", (proposition,))
        case Condition("forall", proposition):
            return proposition
    return None


def asserts(program: Program) -> bool:
    """Whether its programmer says what must hold while it runs, or at its end."""
    return program.final_assertion is not None or any(
        _is_open(instruction) and not instruction.implied
        for thread in program.threads
        for instruction in thread.code
        if isinstance(instruction, Assert)
    )


def _is_open(assertion: Assert) -> bool:
    """Not true whatever happens."""
    return assertion.condition != Const(1)


def can_fail(program: Program) -> bool:
    """By an assertion, by waiting for a mutex for ever, or by following an address that is nobody's."""
    if program.final_assertion is not None:
        return True
    code = [instruction for thread in program.threads for instruction in thread.code]
    if any(isinstance(i, Lock) or (isinstance(i, Assert) and _is_open(i)) for i in code):
        return True
    return any(not isinstance(getattr(i, "address", None), Addr | None) for i in code if not isinstance(i, Fence))
