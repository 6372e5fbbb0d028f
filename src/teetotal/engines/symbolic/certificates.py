"""Certificates: what makes a safe verdict checkable without trusting the engine that gave it.

A certificate is the set of states that the engine ended with: an inductive invariant. Each state is what memory holds,
and for each process a finite automaton for its local configurations, words ``buffer · control state``. ``checker.py``
confirms it. As JSON:

- ``version``, ``program`` (the file), ``digest`` (of its text), ``model``, ``semantics``, ``fences``: what it was made for.
  Nobody believes that: the checker is told what to confirm, and these only let it say at once that this is not it;
- ``letters``: the stores ``[location, value]`` in buffers, numbered from 1; letter 0 is an sfence's marker;
- ``controls``: for each process its control states ``[pc, registers, status]``, numbered from 0;
- ``automata``: each a list of nodes ``[edges, finals]``: pairs of letter and node, and control states. Node 0 begins;
- ``memories``, and ``states``: pairs of a memory and one automaton for each process, by number.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from teetotal import writing
from teetotal.answers.errors import ParseError
from teetotal.answers.events import ModelName, Semantics

if TYPE_CHECKING:
    from teetotal.engines.symbolic.graph import ControlGraph

VERSION = 1


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class Malformed(ParseError):
    """Something that has not even the form of a certificate."""


def read(path: Path) -> Certificate:
    try:
        if path.exists() and not path.is_file():
            raise ParseError(f"{path}: not a regular file")
        text = path.read_bytes()
        certificate = msgspec.json.decode(text, type=Certificate)
        json.loads(text, object_pairs_hook=_without_doubles)  # msgspec takes the last of several equal keys
        return certificate
    except OSError as error:
        raise ParseError(f"{path}: {error.strerror}") from error
    except RecursionError as error:
        raise Malformed(f"{path}: not a certificate: nested too deeply") from error
    except (msgspec.DecodeError, ValueError) as error:  # a ValueError: no UTF-8, or a number of thousands of digits
        raise Malformed(f"{path}: not a certificate: {error}") from error


def _without_doubles(pairs: list[tuple[str, Any]]) -> None:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"`{key}` twice")
