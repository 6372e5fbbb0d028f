"""teetotal keeps lock-free code sober: is a program sequentially consistent on relaxed memory?

Each name is imported when it is first used, so that the command line starts fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from teetotal.checking import Options, check
    from teetotal.engines.states.outcomes import outcomes
    from teetotal.fences.fencing import fence
    from teetotal.histories.check import check_history
    from teetotal.histories.readers import read_histories
    from teetotal.programs.files import read
    from teetotal.programs.program import Program
    from teetotal.programs.python import (
        address,
        array,
        assume,
        cas,
        fetch_add,
        ld,
        load,
        lock,
        mfence,
        program,
        rmw,
        sfence,
        st,
        unlock,
        xchg,
    )

_HOMES = {
    "teetotal.checking": ("check", "Options"),
    "teetotal.engines.states.outcomes": ("outcomes",),
    "teetotal.fences.fencing": ("fence",),
    "teetotal.programs.files": ("read",),
    "teetotal.histories.check": ("check_history",),
    "teetotal.histories.readers": ("read_histories",),
    "teetotal.programs.program": ("Program",),
    "teetotal.programs.python": (
        *("program", "load", "array", "address", "assume"),
        *("ld", "st", "rmw", "cas", "fetch_add", "xchg", "mfence", "sfence", "lock", "unlock"),
    ),
}

__all__ = [
    "Options",
    "Program",
    "address",
    "array",
    "assume",
    "cas",
    "check",
    "check_history",
    "fence",
    "fetch_add",
    "ld",
    "load",
    "lock",
    "mfence",
    "outcomes",
    "program",
    "read",
    "read_histories",
    "rmw",
    "sfence",
    "st",
    "unlock",
    "xchg",
]


def __getattr__(name: str) -> Any:
    import importlib

    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = found = getattr(importlib.import_module(home), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
