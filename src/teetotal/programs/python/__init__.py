"""Programs written as Python generator functions, each ``yield`` one operation on shared memory.

=================  =====================================================================================
``operations.py``  what a thread can yield
``build.py``       ``program(…)``
``compiler.py``    statements, on top of ``evaluation.py`` (expressions that touch memory)
``conditions.py``  questions about the final states
``loader.py``      all programs of a ``.py`` file
=================  =====================================================================================
"""

from teetotal.programs.python.build import program
from teetotal.programs.python.loader import load
from teetotal.programs.python.operations import (
    Array,
    acq_rel,
    acquire,
    address,
    array,
    assume,
    cas,
    fetch_add,
    ld,
    lock,
    mfence,
    relaxed,
    release,
    rmw,
    seq_cst,
    sfence,
    st,
    thread_fence,
    unlock,
    xchg,
)

__all__ = [
    "Array", "acq_rel", "acquire", "address", "array", "assume", "cas", "fetch_add", "ld", "load", "lock", "mfence",
    "program", "relaxed", "release", "rmw", "seq_cst", "sfence", "st", "thread_fence", "unlock", "xchg",
]  # fmt: skip
