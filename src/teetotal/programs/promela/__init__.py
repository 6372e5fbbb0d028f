"""Promela: the part of SPIN's language that the classical algorithms need, with fences and ghost variables."""

from teetotal.programs.promela.compile import compile_text, load
from teetotal.programs.promela.program import PromelaProgram

__all__ = ["PromelaProgram", "compile_text", "load"]
