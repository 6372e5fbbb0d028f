"""Which processes of a program are interchangeable: exchanging two of them maps runs to runs, and bad states to bad states.

Two processes are, if

- their instructions, registers with initial values, and beginnings are equal. Instructions have their place in the text, so
  both run the same proctype; a ``_pid``, an argument or a fence that tells them apart makes an instruction or a register
  differ. Then an exchange renames nothing but the two processes: what memory holds stays as it is;
- exchanging them in every case of what is forbidden gives the same cases. Conditions over ghost variables stay as they are.

Both are transitive: with (p q) and (q r), (p q)(q r)(p q) = (p r) is an exchange too. So there are classes, and every
permutation inside them is a product of such exchanges.
"""

from __future__ import annotations

from teetotal.programs.expressions import Expr
from teetotal.programs.promela.instructions import Process
from teetotal.programs.promela.program import PromelaProgram

Case = tuple[frozenset[tuple[int, str, bool]], frozenset[Expr]]


def interchangeable(program: PromelaProgram) -> list[int]:
    """For each process the first one that it is interchangeable with, perhaps itself."""
    first: list[int] = []
    for p, process in enumerate(program.processes):
        fits = (
            q
            for q in range(p)
            if first[q] == q and _runs(program.processes[q]) == _runs(process) and exchangeable(program, p, q)
        )
        first.append(next(fits, p))
    return first


def exchangeable(program: PromelaProgram, p: int, q: int) -> bool:
    """Whether exchanging the two in every case of what is forbidden gives the same cases."""
    cases = [case for forbidden in program.properties for case in forbidden.cases]
    known = {(frozenset(case.labels), frozenset(case.ghosts)) for case in cases}
    return {_exchanged(case, p, q) for case in known} == known


def _runs(process: Process) -> tuple[object, ...]:
    """All that decides what a process does. The order of its registers is that of the values in its control states."""
    return process.code, list(process.registers.items()), process.start


def _exchanged(case: Case, p: int, q: int) -> Case:
    labels, ghosts = case
    other = {p: q, q: p}
    return frozenset((other.get(process, process), label, stands) for process, label, stands in labels), ghosts
