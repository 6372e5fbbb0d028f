"""Certificates: what makes a safe verdict checkable without trusting the engine that gave it.

A certificate is the set of states that the engine ended with: an inductive invariant. Each state is what memory holds,
and for each process a finite automaton for its local configurations, words ``buffer · control state``. ``checker.py``
confirms it. As JSON:

- ``letters``: the stores ``[location, value]`` in buffers, numbered from 1; letter 0 is an sfence's marker;
- ``controls``: for each process its control states ``[pc, registers, status]``, numbered from 0;
- ``automata``: each a list of nodes ``[edges, finals]``: pairs of letter and node, and control states. Node 0 begins;
- ``memories``, and ``states``: pairs of a memory and one automaton for each process, by number.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from teetotal import writing
from teetotal.errors import ParseError
from teetotal.events import ModelName, Semantics
from teetotal.symbolic.graph import ControlGraph

VERSION = 1


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    program: str
    digest: str
    model: ModelName
    semantics: Semantics
    fences: list[int]
    locations: list[str]
    letters: list[tuple[int, int]]
    controls: list[list[tuple[int, tuple[int, ...], str]]]
    automata: list[list[tuple[list[tuple[int, int]], list[int]]]]
    memories: list[list[int]]
    states: list[tuple[int, list[int]]]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write(graph: ControlGraph, model: ModelName, fences: frozenset[int], found: dict[str, Any]) -> Certificate:
    """From what the core found."""
    program = graph.program
    return Certificate(
        version=VERSION,
        program=program.source,
        digest=digest(program.text),
        model=model,
        semantics=graph.semantics,
        fences=sorted(fences),
        locations=list(program.memory),
        letters=found["letters"],
        controls=[[(c.pc, c.registers, c.status) for c in controls] for controls in graph.controls],
        automata=found["languages"],
        memories=found["memories"],
        states=found["reached"],
    )


def save(certificate: Certificate, path: Path) -> None:
    writing.write(path, msgspec.json.encode(certificate))


def read(path: Path) -> Certificate:
    try:
        if path.exists() and not path.is_file():
            raise ParseError(f"{path}: not a regular file")
        return msgspec.json.decode(path.read_bytes(), type=Certificate)
    except OSError as error:
        raise ParseError(f"{path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParseError(f"{path}: not a certificate: {error}") from error
