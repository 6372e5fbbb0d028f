"""Whether a certificate has the form that ``certificates.py`` describes, for this program: every number names something.

Asked before anything else, so that the checker can follow numbers without fear: automata are deterministic, no word has
two markers in a row, begins with one, or has any without PSO, and there is one automaton for each process in each state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from teetotal.answers.events import ModelName
from teetotal.engines.symbolic.certificates import VERSION, Certificate, Malformed
from teetotal.programs.promela.instructions import STOPS, Choose, Status
from teetotal.programs.promela.program import PromelaProgram

MARKER = 0
LEAST, GREATEST = -(2**31), 2**31 - 1  # Promela's int
STATUSES: tuple[Status, ...] = get_args(Status)


def check_form(certificate: Certificate, program: PromelaProgram, model: ModelName) -> None:
    """``Malformed`` where something is amiss."""
    if certificate.version != VERSION:
        raise Malformed(f"a certificate of version {certificate.version}; this teetotal reads version {VERSION}")
    _letters(certificate, program)
    _controls(certificate, program)
    for number, nodes in enumerate(certificate.automata):
        _automaton(f"automaton {number}", nodes, len(certificate.letters), markers=model == "pso")
    for number, memory in enumerate(certificate.memories):
        _need(len(memory) == len(program.memory), f"memory {number} has the wrong number of values")
        _values(memory, f"memory {number}")
    for number, (memory_number, parts) in enumerate(certificate.states):
        what = f"state {number}"
        _names(memory_number, certificate.memories, f"{what}: memory")
        _need(len(parts) == len(program.processes), f"{what} has the wrong number of automata")
        for automaton in parts:
            _names(automaton, certificate.automata, f"{what}: automaton")
    for p, k in {(p, k) for _, parts in certificate.states for p, k in enumerate(parts)}:
        for _, finals in certificate.automata[k]:
            for control in finals:
                _names(control, certificate.controls[p], f"automaton {k}: control state")


def _letters(certificate: Certificate, program: PromelaProgram) -> None:
    for location, value in certificate.letters:
        _need(0 <= location < program.buffered, f"a store to location {location}, which no buffer holds")
        _values([value], "a store")
    _distinct(certificate.letters, "letter")


def _controls(certificate: Certificate, program: PromelaProgram) -> None:
    _need(len(certificate.controls) == len(program.processes), "the wrong number of processes")
    for process, controls in zip(program.processes, certificate.controls, strict=True):
        what = f"a control state of {process.name}"
        for pc, registers, status in controls:
            _need(status in STATUSES, f"{what} with status {status!r}")
            _need(0 <= pc <= len(process.code), f"{what} at instruction {pc}")
            if status == "running":
                stops = pc < len(process.code) and isinstance(process.code[pc], (*STOPS, Choose))
                _need(stops, f"{what} where no process stops, at instruction {pc}")
            _need(len(registers) == len(process.registers), f"{what} with the wrong number of registers")
            _values(registers, what)
        _distinct(controls, f"control state of {process.name}")


def _automaton(
    what: str, nodes: Sequence[tuple[list[tuple[int, int]], list[int]]], letters: int, *, markers: bool
) -> None:
    _need(bool(nodes), f"{what} has no node")
    marked = [any(letter == MARKER for letter, _ in edges) for edges, _ in nodes]
    _need(markers or not any(marked), f"{what} has markers, which there are under PSO only")
    _need(not marked[0], f"{what} begins with a marker")
    for edges, finals in nodes:
        _distinct([letter for letter, _ in edges], f"{what}: edge of one node with the same letter")
        _distinct(finals, f"{what}: control state of one node")
        for letter, to in edges:
            _need(0 <= letter <= letters, f"{what}: letter {letter} is none")
            _names(to, nodes, f"{what}: node")
            _need(not (letter == MARKER and marked[to]), f"{what} has two markers in a row")


def _names(number: int, things: Sequence[Any], what: str) -> None:
    _need(0 <= number < len(things), f"{what} {number} is none")


def _values(values: Iterable[int], what: str) -> None:
    for value in values:
        _need(LEAST <= value <= GREATEST, f"{what} with a number that no variable holds")


def _distinct(things: Sequence[Any], what: str) -> None:
    _need(len(set(things)) == len(things), f"a second {what}")


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Malformed(f"not a certificate: {otherwise}")
