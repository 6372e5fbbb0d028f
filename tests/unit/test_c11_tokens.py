"""Executions of C11 that a token names: what SC does before, and how many writes the last step knows of."""

from __future__ import annotations

import pytest

from small_programs import lock, program, unlock
from teetotal.answers.events import Event, Semantics
from teetotal.answers.schedules import TokenError
from teetotal.answers.violation import Violation
from teetotal.engines import weak
from teetotal.programs.expressions import Addr, Const
from teetotal.programs.program import Instruction, Load, Store

WRITES: list[Instruction] = [Store(address=Addr("x"), value=Const(1), order="relaxed")]
READS: list[Instruction] = [Load(register="r", address=Addr("x"), order="relaxed")]
FIRST: list[Instruction] = [Load(register="q", address=Addr("y"), order="relaxed")]


def told(writer: list[Instruction], reader: list[Instruction], known: int) -> Violation:
    """The writer to its end, the reader to its last step, which knows of so many writes."""
    subject = program(writer, reader)
    schedule = [0] * len(writer) + [1] * len(reader)
    events, request = weak.before(subject, schedule, Semantics())
    index = len(reader) - 1
    return weak.older(
        subject.memory, events, 1, request.address, known, lambda seen: [weak._done(1, index, request, seen)]
    )


def test_what_a_mutex_tells_is_known() -> None:
    with pytest.raises(TokenError, match="C11 does not have that execution"):
        told([lock("m"), *WRITES, unlock("m")], [lock("m"), *READS], 0)


def test_who_knows_all_writes_is_sequentially_consistent() -> None:
    with pytest.raises(TokenError, match="knows of all writes"):
        told(WRITES, [*FIRST, *READS], 1)


def test_an_older_value_is_told() -> None:
    """Store buffering, of which SC has all but the last step."""
    writer = [*WRITES, Load(register="r", address=Addr("y"), order="relaxed")]
    reader = [Store(address=Addr("y"), value=Const(1), order="relaxed"), *READS]
    found = told(writer, reader, 0)
    last: Event = found.events[-1]
    assert (found.kind, last.address, last.value) == ("replay", "x", 0)
