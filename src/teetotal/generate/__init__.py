"""Litmus tests from critical cycles, with the verdict that theory predicts, and random programs.

``edges`` and ``cycles`` are the language, ``names`` the classical names, ``candidate`` turns a cycle into an execution
and that into a program, ``prediction`` is the axiomatic side; ``programs`` and ``histories`` are random ones. Nothing
here knows an engine.
"""

from __future__ import annotations

from typing import Any

from teetotal.generate import programs
from teetotal.generate.candidate import Litmus, litmus
from teetotal.generate.cycles import Cycle
from teetotal.generate.prediction import Prediction, predict

__all__ = ["Cycle", "Litmus", "Prediction", "histories", "history", "litmus", "predict", "programs"]


def __getattr__(name: str) -> Any:
    if name in ("histories", "history"):  # loaded when they are wanted: what they are made of is large
        from teetotal.histories import generate

        return generate if name == "histories" else generate.history
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
