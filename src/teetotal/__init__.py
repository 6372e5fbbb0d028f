"""teetotal keeps lock-free code sober: is a program sequentially consistent on relaxed memory?"""

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

__all__ = [
    "Program",
    "address",
    "array",
    "assume",
    "cas",
    "fetch_add",
    "ld",
    "load",
    "lock",
    "mfence",
    "program",
    "rmw",
    "sfence",
    "st",
    "unlock",
    "xchg",
]
