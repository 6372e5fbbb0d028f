"""SC, TSO and PSO as small operational machines: the executable specification of teetotal.

Depends on nothing but the vocabulary in ``teetotal.answers.events``. Small and plain before fast.
"""

from teetotal.models.executions import (
    ProgramLike,
    Run,
    Trace,
    conflict_order,
    executions,
    final_states,
    happens_before,
    is_sc,
    replay,
    robust,
    traces,
)
from teetotal.models.memory import Memory, Write
from teetotal.models.pso import PSO
from teetotal.models.sc import SC
from teetotal.models.tso import TSO

__all__ = [
    "PSO", "SC", "TSO", "Memory", "ProgramLike", "Run", "Trace", "Write", "conflict_order", "executions",
    "final_states", "happens_before", "is_sc", "replay", "robust", "traces",
]  # fmt: skip
