"""Litmus tests from critical cycles, with the verdict that theory predicts, and random programs.

``edges`` and ``cycles`` are the language, ``names`` the classical names, ``candidate`` turns a cycle into an execution
and that into a program, ``prediction`` is the axiomatic side. Nothing here knows an engine.
"""

from teetotal.generate.candidate import Litmus, litmus
from teetotal.generate.cycles import Cycle
from teetotal.generate.prediction import Prediction, predict

__all__ = ["Cycle", "Litmus", "Prediction", "litmus", "predict"]
