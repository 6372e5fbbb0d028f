"""What ``unwritten`` and ``frames`` have put into an object file that somebody built with ``teetotal cflags``, found by
its shape.

It touches the own frame alone, before anybody can know of that or only to compare, keeps registers and flags, and calls
what is ours. So ``audit`` reads the function without it, as it was when the compiler's hooks were matched.
"""

from __future__ import annotations

from collections.abc import Sequence

from teetotal.programs.c.assembly import Item
from teetotal.programs.c.machine import RBP, RDI, REGISTERS, RSP

Placed = tuple[int, Item]
"""An instruction, and where it lies in its section."""

_R11, _RAX = REGISTERS.index("r11"), REGISTERS.index("rax")
_LOOK = ("cmp", "je", "cmp", "jne", "lea", "push", "lea", "call", "pop", "lea")
_CALL = _LOOK.index("call")
_DROPPED = "lea rsp, [rsp + 8]"
_LOOP = ("mov", "mov", "mov", "add", "jne", "mov", "mov")


def without_fill(items: Sequence[Placed]) -> list[Placed]:
    """The code of one function, in order."""
    items = _without_sizes(items)
    gone: set[int] = set()
    for number, (_, item) in enumerate(items):
        if any(one.symbol.name == "teetotal_fill" for one in item.relocations):
            gone.update(_fill(items, number))
        elif item.calls == "teetotal_look":
            gone.update(_look(items, number))
    return [one for number, one in enumerate(items) if number not in gone]


def _without_sizes(items: Sequence[Placed]) -> list[Placed]:
    """Where a function tells how much it was given on the stack."""
    gone: set[int] = set()
    for call in range(1, len(items) - 1):
        if items[call][1].calls.startswith("teetotal_parameters_"):
            pushed, dropped = items[call - 1][1].instruction, items[call + 1][1].instruction
            if pushed.operands[0][0] == "i" and (pushed.name, dropped.text) == ("push", _DROPPED):
                gone.update(range(call - 1, call + 2))
    return [one for number, one in enumerate(items) if number not in gone]


def _fill(items: Sequence[Placed], begin: int) -> range:
    """Where a function begins, and knows no address of its frame yet."""
    if any(item.instruction.is_call or item.instruction.address is not None for _, item in items[:begin]):
        return range(0)
    second = items[begin + 1][1].instruction if begin + 1 < len(items) else None
    if second is None or second.operands != (("r", _R11), ("m", 0)) or second.accesses[0].base != _R11:
        return range(0)
    end = begin + 2
    while end < len(items) and _stores(items[end][1], _R11):
        end += 1
    if end > begin + 2:
        return range(begin, end)
    loop = items[end : end + len(_LOOP)]
    if tuple(item.instruction.name for _, item in loop) != _LOOP:
        return range(0)
    kept, counted, stored, added, again, back, last = (item for _, item in loop)
    whole = (
        _stores(kept, _RAX)
        and counted.instruction.operands[0] == ("r", _RAX)
        and _stores(stored, _R11, scaled=_RAX)
        and added.instruction.operands[0] == ("r", _RAX)
        and [item for _, item in items if _target(item) == loop[2][0]] == [again]
        and back.instruction.operands[0] == ("r", _RAX)
        and back.instruction.accesses[0].base == RBP
        and _stores(last, _R11)
    )
    return range(begin, end + len(_LOOP)) if whole else range(0)


def _look(items: Sequence[Placed], call: int) -> range:
    begin, end = call - _CALL, call - _CALL + len(_LOOK)
    if begin < 0 or tuple(item.instruction.name for _, item in items[begin:end]) != _LOOK or end >= len(items):
        return range(0)
    first, found, second, passed, below, kept, *_ = (item for _, item in items[begin:end])
    whole = (
        all(one.instruction.accesses[0].base == RBP for one in (first, second) if one.instruction.accesses)
        and _target(found) == items[begin + 4][0]
        and _target(passed) == items[end][0]
        and below.instruction.operands[0] == ("r", RSP)
        and kept.instruction.operands[0] == ("r", RDI)
    )
    if not whole:
        return range(0)
    flags = items[begin - 1][1].instruction.name == "pushfq" and items[end][1].instruction.name == "popfq"
    return range(begin - 2, end + 2) if flags and begin > 1 else range(begin, end)


def _stores(item: Item, register: int, scaled: int = -1) -> bool:
    """A register to the own frame."""
    instruction = item.instruction
    return instruction.operands == (("m", 0), ("r", register)) and any(
        access.base == RBP and access.scaled == scaled for access in instruction.accesses
    )


def _target(item: Item) -> int | None:
    return item.instruction.operands[0][1] if item.instruction.branches and not item.relocations else None
