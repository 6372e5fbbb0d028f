"""The table of what is live, beside the code of a program: how it is written, for runtime/schedule/local_state.hpp."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from teetotal.programs.c.assembly import Item
from teetotal.programs.c.machine import REGISTERS
from teetotal.programs.c.objects import Object, Section

SECTION = ".teetotal.live"
"""Of each entry: where the call returns to, counted from here; flags, and behind them a bit for each register that is
live; the registers that the frame saves, four bits each, in the order of their pushes; and how many slots are live, each
with its offset from rbp and its size, which has a bit more where others may have its address."""
_MAY_WAIT, _WHOLE, _VECTORS, _BITS = 1, 2, 4, 3
_OWN, _REMAINS, _NOBODY_WAITS = 1 << 28, 1 << 29, 1 << 30
_GIVEN_AWAY = 1 << 31
_READS_ERRNO = re.compile(r"__errno_location$|perror|v?(err|warn)c?$|error(_at_line)?$|v?syslog|\w*printf|fmtmsg$|psig")


class Entry(NamedTuple):
    """``slots`` are offsets from rbp and sizes, as are ``given_away``, which others may read by an address."""

    item: Item
    hook: str
    """The label behind the hook before it; none: it is a call."""
    registers: frozenset[str]
    slots: tuple[tuple[int, int], ...]
    given_away: tuple[tuple[int, int], ...]
    saved: tuple[str, ...]
    whole: bool
    """All of the frame is live, but where other threads have looked."""
    may_wait: bool
    vectors: bool
    """Registers for vectors or fractions may be live, where a hook keeps them."""
    remains: bool
    """In some of the others may be what a call left, and nobody reads."""
    own: bool = False
    """It is a hook before a volatile load of what nobody else has the address of."""


def entry_lines(entry: Entry, label: str) -> list[str]:
    registers = sum(1 << number for number, name in enumerate((*REGISTERS, "flags")) if name in entry.registers)
    flags = _MAY_WAIT * entry.may_wait | _WHOLE * entry.whole | _VECTORS * entry.vectors | registers << _BITS
    flags |= _REMAINS * entry.remains | _OWN * entry.own
    saved = sum(REGISTERS.index(name) << (4 * at) for at, name in enumerate(entry.saved))
    slots = [*entry.slots, *((offset, size | _GIVEN_AWAY) for offset, size in entry.given_away)]
    return _table_entry(label, flags, saved, len(slots), "".join(f", {offset}, {size}" for offset, size in slots))


def _table_entry(label: str, flags: int, saved: int, count: int, slots: str = "") -> list[str]:
    return [
        f'\t.pushsection {SECTION},"a?",@progbits',
        "\t.balign 4",
        f"\t.long {label} - ., {flags}, {saved}, {count}{slots}",
        "\t.popsection",
    ]


def nobody_waits() -> list[str]:
    """Lines, wherever they stand, that say so of all of the program."""
    return _table_entry(".", _NOBODY_WAITS, 0, 0)


def table(program: Path) -> Section | None:
    """Of a linked program."""
    return next((one for one in Object(program.read_bytes()).sections if one.name == SECTION), None)


def reads_errno(program: Path) -> bool:
    """Whether a linked program can: by its address, or by functions that tell people what it means. Where it cannot, a try
    that fails leaves nothing behind that a later one could tell."""
    return any(_READS_ERRNO.match(symbol.name) for symbol in Object(program.read_bytes()).dynamic_symbols)
