"""A Program as a litmus test: X86_64 where its instructions can be said so, otherwise C.

What is read back behaves as the program does. Names stay where the format has them: locations always, unless they are
no names at all; registers in C always, in X86_64 only those of the machine, so that a program whose observed registers
have other names is written in C unless X86_64 is asked for.

What no litmus test can say is refused: assertions and assumptions, a condition that computes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from teetotal.answers.errors import TeetotalError
from teetotal.programs.expressions import Addr, Const, Expr, Final, Op, leaves, wrap
from teetotal.programs.litmus.conditions import KEYWORDS
from teetotal.programs.program import Program

Dialect = Literal["X86_64", "C"]
LOW_HALF = Const(0xFFFF_FFFF)

_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_NOT_IN_NAMES = re.compile(r"\W", re.ASCII)
_NOT_IN_HEADERS = re.compile(r"[^\w./+\[\]-]", re.ASCII)
_RESERVED = KEYWORDS | {"true", "false", "cases"}
_THREAD = re.compile(r"P[0-9]+\Z")


class InexpressibleError(TeetotalError):
    """A program that a litmus test of this kind cannot say."""


def write(program: Program, dialect: Dialect | None = None) -> str:
    """The text of a litmus test; InexpressibleError with the reason where there is none."""
    from teetotal.programs.litmus.writer_c import CWriter
    from teetotal.programs.litmus.writer_x86 import X86Writer

    if program.final_assertion is not None:
        raise InexpressibleError("a litmus test has no assertion about the end: ask with a condition")
    if not program.threads:
        raise InexpressibleError("a litmus test has at least one thread")
    if dialect == "C":
        return CWriter(program).text()
    if dialect == "X86_64":
        return X86Writer(program, rename=True).text()
    try:
        return X86Writer(program, rename=False).text()
    except InexpressibleError:
        return CWriter(program).text()


class Writer:
    """What both kinds share: header, initial state, condition, names."""

    architecture: Dialect
    type_of_locations = ""

    def __init__(self, program: Program, reserved: Iterable[str]) -> None:
        self.program = program
        self.reserved = frozenset(reserved) | _RESERVED
        self.locations = unique_names(program.memory, self.reserved)
        self.registers: list[dict[str, str]] = []

    def text(self) -> str:
        code = self.code()
        bound = self.program.loop_bound
        parts = [
            f"{self.architecture} {_NOT_IN_HEADERS.sub('_', self.program.name) or 'test'}",
            *([f"LoopBound={bound}"] if bound is not None else []),
            "{",
            *self.initial(),
            "}",
            code,
            *self.question(),
        ]
        return "\n".join(parts) + "\n"

    def code(self) -> str:
        raise NotImplementedError

    def initial(self) -> list[str]:
        return [
            f"{self.type_of_location(name)} {self.locations[name]}={value};"
            for name, value in self.program.memory.items()
        ]

    def type_of_location(self, name: str) -> str:
        return self.type_of_locations

    # -- the condition --------------------------------------------------------------------------------------------

    def question(self) -> list[str]:
        lines: list[str] = []
        asked = self.program.condition
        said = {leaf for leaf in leaves(asked.proposition) if isinstance(leaf, Final)} if asked else set()
        more = [what for what in self.program.observed if what not in said]
        if more:
            lines.append(f"locations [{' '.join(self.final(what) + ';' for what in more)}]")
        if self.program.filter is not None:
            lines.append(f"filter ({self.proposition(self.program.filter)})")
        if asked is not None:
            lines.append(f"{asked.quantifier} ({self.proposition(asked.proposition)})")
        return lines

    def proposition(self, expression: Expr, depth: int = 0) -> str:
        if depth > 50:
            raise InexpressibleError("the condition is nested too deeply")
        match expression:
            case Const(value):
                return "true" if value else "false"
            case Op("and" | "or" as name, _):
                said = [self.proposition(term, depth + 1) for term in _terms(expression, name)]
                chain = (" /\\ " if name == "and" else " \\/ ").join(said)
                return f"({chain})" if depth else chain
            case Op("not", (inner,)):
                return f"not ({self.proposition(inner, depth + 1)})"
            case Op("==" | "!=" as name, (left, right)):
                if isinstance(left, Const | Addr):
                    left, right = right, left
                return f"{self.side(left)}{'=' if name == '==' else '!='}{self.side(right, right=True)}"
            case Final():
                return f"not ({self.side(expression)}=0)"
        raise InexpressibleError("a litmus condition compares registers and locations for equality, nothing more")

    def side(self, expression: Expr, right: bool = False) -> str:
        match expression:
            case Const(value) if right:
                return str(wrap(value))
            case Addr(name) if right:
                return self.locations[name]
            case Final(None, name) if right:
                return f"[{self.locations[name]}]"
            case Final():
                return self.final(expression)
        raise InexpressibleError("a litmus condition compares a register or a location with a number or another one")

    def final(self, what: Final) -> str:
        if what.thread is None:
            return self.locations[what.name]
        return f"{what.thread}:{self.registers[what.thread][what.name]}"


def _terms(expression: Expr, operator: str) -> list[Expr]:
    """What a chain of one connective connects, however it is nested."""
    terms: list[Expr] = []
    waiting = [expression]
    while waiting:
        term = waiting.pop()
        if isinstance(term, Op) and term.operator == operator:
            waiting += reversed(term.operands)
        else:
            terms.append(term)
    return terms


def unique_names(names: Iterable[str], reserved: frozenset[str]) -> dict[str, str]:
    """Each name itself if it can be one, else something like it that is nobody else's."""
    names = list(names)
    chosen = {name: name for name in names if _NAME.match(name) and name not in reserved and not _THREAD.match(name)}
    taken = set(chosen) | reserved
    for name in names:
        if name not in chosen:
            base = "v_" + _NOT_IN_NAMES.sub("_", name)
            number = 0
            while (candidate := base if not number else f"{base}_{number}") in taken:
                number += 1
            chosen[name] = candidate
            taken.add(candidate)
    return chosen
