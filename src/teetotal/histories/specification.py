"""What it means for a history to be SC, TSO or PSO, as plainly as possible: some run of the machine gives every result.

Exponential, and only for small histories: the tests compare every engine with it. The machines are those of
``teetotal.models``; values may repeat.
"""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.events import EventId, Kind, ModelName, Semantics
from teetotal.histories.history import History, Operation
from teetotal.models import PSO, SC, TSO, Memory, Write

MACHINES: dict[ModelName, type[Memory]] = {"sc": SC, "tso": TSO, "pso": PSO}


def consistent(history: History, model: ModelName, semantics: Semantics | None = None) -> bool:
    """Whether some run of the model's machine has this history."""
    programs = [[op for op in history if op.thread == thread] for thread in history.threads]
    initial = {address: history.initial.get(address, 0) for address in history.addresses}
    start = MACHINES[model](initial, len(programs), semantics or Semantics())
    seen = set()
    stack: list[tuple[tuple[int, ...], Memory]] = [((0,) * len(programs), start)]
    while stack:
        positions, memory = stack.pop()
        if (key := (positions, memory.state())) in seen:
            continue
        seen.add(key)
        if all(p == len(program) for p, program in zip(positions, programs, strict=True)) and not memory.commits():
            if all(memory.m[address].value == value for address, value in history.final.items()):
                return True
            continue
        stack.extend(_steps(positions, memory, programs))
    return False


def _steps(
    positions: tuple[int, ...], memory: Memory, programs: list[list[Operation]]
) -> Iterator[tuple[tuple[int, ...], Memory]]:
    for step in memory.commits():
        after = memory.copy()
        after.commit(step)
        yield positions, after
    for thread, program in enumerate(programs):
        if positions[thread] < len(program):
            after = memory.copy()
            if _issue(after, thread, positions[thread], program[positions[thread]]):
                yield (*positions[:thread], positions[thread] + 1, *positions[thread + 1 :]), after


def _issue(memory: Memory, thread: int, index: int, op: Operation) -> bool:
    """Lets the machine do the operation; whether it gives the result that was observed."""
    event = EventId(thread, index)
    match op.kind:
        case Kind.MFENCE:
            memory.mfence(thread)
        case Kind.SFENCE:
            memory.sfence(thread)
        case Kind.ST:
            assert op.address is not None
            assert op.written is not None
            memory.store(thread, Write(op.address, op.written, event))
        case Kind.LD:
            assert op.address is not None
            return op.read in (None, memory.load(thread, op.address).value)
        case _:
            assert op.address is not None
            old, _ = memory.atomic(thread, op.address, lambda _: op.written, event)
            return op.read in (None, old.value)
    return True
