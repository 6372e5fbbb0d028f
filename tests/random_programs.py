"""Random small programs: the generator of the package, for Hypothesis, which shrinks what it finds, and seeded."""

from __future__ import annotations

from hypothesis import strategies as st

from teetotal.answers.events import Semantics
from teetotal.generate.programs import (
    ATOMIC,
    FENCED,
    LOCKED,
    MIXED,
    PLAIN,
    SHAPES,
    WILD,
    Shape,
    build,
    random_program,
    seeded,
)
from teetotal.programs.program import Program

__all__ = [
    "ALL_SEMANTICS",
    "ATOMIC",
    "FENCED",
    "LOCKED",
    "MIXED",
    "PLAIN",
    "SHAPES",
    "WILD",
    "Shape",
    "build",
    "programs",
    "random_program",
    "seeded",
]

ALL_SEMANTICS = tuple(
    Semantics(rmw=rmw, mutex=mutex, failed_cas=failed)
    for rmw in ("all", "address")
    for mutex in ("fence", "rmw")
    for failed in ("read", "write")
)


@st.composite
def programs(draw: st.DrawFn, shape: Shape = MIXED) -> Program:
    return build(lambda n: draw(st.integers(0, n - 1)), shape)
