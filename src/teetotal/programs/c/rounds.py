"""Where in a function a waiting loop could be: on ways round in it on which nothing is stored for sure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from teetotal.programs.c.assembly import Item
from teetotal.programs.c.control_flow import Flow
from teetotal.programs.c.machine import RBP, RDI

_STORES = re.compile(
    r"__tsan_(unaligned_)?(volatile_)?write|__tsan_atomic\d+_store$|pthread_(mutex|spin)_(un)?lock$|sem_post$"
    r"|pthread_(create|join)$"
)
_PLAIN = re.compile(r"__tsan_(unaligned_)?write")
_CALLED = re.compile(r"\s*call\w*\s+([\w.$]+)(?:@PLT)?\s*$")


def surely_storing(flows: Mapping[str, Flow]) -> set[str]:
    """The functions that have stored something whenever they come back, perhaps in one that they call."""
    changing: set[str] = set()
    more = True
    while more:
        fresh = {name for name, flow in flows.items() if name not in changing and _always_stores(flow, changing)}
        changing |= fresh
        more = bool(fresh)
    return changing


def called(item: Item) -> str:
    """Of what is called. Where the assembler knows the distance, only the text has it."""
    told = _CALLED.match(item.statement.text)
    return item.calls or (told.group(1) if told is not None else "")


def _stores(block: Sequence[Item], changing: set[str]) -> bool:
    """Whether whoever comes through it has stored something that others may see. A plain store by a pointer need not be
    one: the pointer may be to a variable of whoever calls the function."""
    own = known = False  # the address in rdi is one of the frame, or of a variable of all functions
    for item in block:
        instruction = item.instruction
        if instruction.is_call:
            name = called(item)
            told = _STORES.match(name) is not None and not own
            if name in changing or (told and (known or _PLAIN.match(name) is None)):
                return True
            own = known = False
        elif instruction.name == "lea" and instruction.address is not None:
            own, known = instruction.address.base == RBP, instruction.address.relative
        elif instruction.name == "mov":
            stays = not (instruction.accesses and instruction.operands[0][0] == "r")
            own, known = own and stays, (known and stays) or "@GOTPCREL" in item.statement.text
        elif RDI in instruction.writes:
            own = known = False
    return False


def _clean(flow: Flow, changing: set[str]) -> list[bool]:
    return [not _stores(block, changing) for block in flow.blocks]


def _onward(flow: Flow, number: int) -> int:
    """The blocks that can come next, a bit each."""
    return sum(1 << one for one in set(flow.successors(number))) | (_named(flow) if flow.strays(number) else 0)


def _named(flow: Flow) -> int:
    return sum(1 << number for number, anywhere in enumerate(flow.anywhere) if anywhere and number)


def _always_stores(flow: Flow, changing: set[str]) -> bool:
    clean = _clean(flow, changing)
    reached, waiting = 1, [0]
    while waiting:
        number = waiting.pop()
        if not clean[number]:
            continue
        onward = _onward(flow, number)
        if onward == 0 or flow.strays(number):
            return False
        for following in range(len(clean)):
            if onward >> following & 1 and not reached >> following & 1:
                reached |= 1 << following
                waiting.append(following)
    return True


def rounds(flow: Flow, changing: set[str]) -> list[bool]:
    """Of each block: whether a way leads from it back to it on which nothing is stored for sure."""
    clean = _clean(flow, changing)
    onward = [_onward(flow, number) if one else 0 for number, one in enumerate(clean)]
    reached = list(onward)
    more = True
    while more:
        more = False
        for number in reversed(range(len(clean))):
            farther, rest = reached[number], reached[number]
            while rest:
                low = rest & -rest
                farther |= reached[low.bit_length() - 1]
                rest ^= low
            if farther != reached[number]:
                reached[number], more = farther, True
    return [bool(one >> number & 1) for number, one in enumerate(reached)]
