"""Calls of ``std::lock`` for several mutexes go to a function of ours, which knows them all at once.

The library's is a template, compiled into the program, and tries each mutex: runtime/hooks/hooks_together.cpp says what
is done instead, and why. What is not of these types, and what calls through a pointer, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from teetotal.programs.c.assembly import Function, Text

_LOCK = re.compile(
    r"_ZSt4lockI(?:St5mutexS0_J(?P<mutexes>(?:S0_){0,2})"
    r"|St11unique_lockISt5mutexES2_J(?P<owners>(?:S2_){0,2}))EEvRT_RT0_DpRT1_"
)


def lock_together(program: Text, functions: Sequence[Function]) -> None:
    """A pass over the assembly."""
    for function in functions:
        for block in function.blocks:
            for item in block:
                if item.calls and (found := _LOCK.fullmatch(item.calls)) is not None:
                    item.statement.text = item.statement.text.replace(item.calls, _ours(found))


def _ours(found: re.Match[str]) -> str:
    further = found["mutexes"] if found["owners"] is None else found["owners"]
    return f"__teetotal_lock_{'' if found['owners'] is None else 'owners_'}{2 + len(further) // 3}"
