"""Random threads, written as Python source: the compiled program does what Python does, step by step."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from python_reference import agree, execute
from teetotal.answers.errors import ProgramError

NAMES = ("a", "b", "c")
ADDRESSES = ('"x0"', '"x1"', 'f"x{k}"', "cells[{index} & 1]", "cells[{index} & 3]", "cells[k]")
OPERATORS = ("+", "-", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or")
SIMPLE = ("//2", "%3", "% -3", "// -2", ">>1", "<<2 & 31", "*3 % 5")


class Writer:
    """Draws source text. ``k`` is an argument, a constant of its thread; ``a b c`` are locals, assigned at the top."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.counters = 0
        self.loops = 0
        self.helper = False

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def expression(self, depth: int, pure: bool = False) -> str:
        if depth == 0:
            return self.draw(st.sampled_from((*NAMES, "k", "0", "1", "2", "7", "-1", "True")))
        kind = self.pick(
            "binary", "binary", "simple", "not", "chain", "if", "yield", "yield", "in", "call", "leaf", "walrus"
        )
        if pure and kind in ("yield", "walrus"):
            kind = "binary"
        inner = [self.expression(depth - 1, pure) for _ in range(3)]
        match kind:
            case "binary":
                return f"({inner[0]} {self.pick(*OPERATORS)} {inner[1]})"
            case "simple":
                return f"(({inner[0]}){self.pick(*SIMPLE)})"
            case "not":
                return f"({self.pick('not ', '-', '~', '+')}{inner[0]})"
            case "chain":
                return f"({inner[0]} {self.pick('<', '<=', '==')} {inner[1]} {self.pick('<', '!=')} {inner[2]})"
            case "if":
                return f"({inner[0]} if {inner[1]} else {inner[2]})"
            case "in":
                return f"({inner[0]} {self.pick('in', 'not in')} (0, {inner[1]}, k))"
            case "call":
                return f"{self.pick('max', 'min', 'clamp')}({inner[0]}, {inner[1]})"
            case "yield":
                return f"({self.reading(depth - 1)})"
            case "walrus":
                self.counters += 1
                return f"((w{self.counters} := {inner[0]}) + w{self.counters})"
        return inner[0]

    def address(self, depth: int) -> str:
        text = self.pick(*ADDRESSES)
        return text.replace("{index}", self.expression(min(depth, 1)))

    def reading(self, depth: int) -> str:
        place = self.address(depth)
        kind = self.pick("ld", "ld", "ld", "cas", "add", "xchg", "rmw", "rmw if", "helper", "if")
        if kind == "helper" and self.helper:
            kind = "ld"
        match kind:
            case "cas":
                return f"yield cas({place}, {self.expression(depth)}, {self.expression(depth)})"
            case "add":
                return f"yield fetch_add({place}, amount={self.expression(depth)})"
            case "xchg":
                return f"yield xchg({place}, {self.expression(depth)})"
            case "rmw":
                return f"yield rmw({place}, lambda old: clamp(old, {self.expression(1, pure=True)}))"
            case "rmw if":
                return f"yield rmw({place}, lambda old: old + 1 if old < {self.expression(1, pure=True)} else None)"
            case "helper":
                return f"yield from helper({self.expression(depth)}, {place})"
            case "if":
                return f'yield ld("x0" if {self.expression(depth)} else "x1")'
        return f"yield ld({place})"

    def block(self, depth: int) -> str:
        return "\n".join(self.statement(depth) for _ in range(self.draw(st.integers(1, 3))))

    def statement(self, depth: int) -> str:
        simple = ["assign", "assign", "load", "load", "store", "store", "augment", "swap", "fence", "assert", "assume"]
        simple += ["discard", "return", "cell"] + ["break", "continue"] * (self.loops > 0)
        kind = self.pick(*simple, *(["if", "if", "while", "spin", "for", "range", "each", "else"] if depth else []))
        name, other = self.pick(*NAMES), self.pick(*NAMES)
        if kind in ("while", "spin", "for", "range", "each", "else"):
            return self.loop(kind, depth)
        match kind:
            case "assign":
                return f"{name} = {self.expression(2)}"
            case "load":
                return f"{name} = {self.reading(1)}"
            case "cell":
                return f"cell = cells[{self.expression(1)} & 1]\nyield st(cell, {self.expression(1)})"
            case "store":
                return f"yield st({self.address(1)}, {self.expression(2)})"
            case "augment":
                return f"{name} {self.pick('+', '-', '|', '^', '&')}= {self.expression(2)}"
            case "swap":
                return f"{name}, {other} = {self.expression(1)}, {self.expression(1)}"
            case "fence":
                return f"yield {self.pick('mfence', 'sfence()', 'mfence()')}"
            case "assert":
                return f"assert {self.expression(2)} != {self.pick('0', '1', '3')}, 'too bad'"
            case "assume":
                return f"assume({self.expression(2)} != {self.pick('0', '1', '3')})"
            case "discard":
                return self.reading(1)
            case "return":
                value = f"return {self.expression(1)}"
                return f"if {self.expression(1)} == 5:\n    {value}"
            case "break" | "continue":
                return f"if {self.expression(1)}:\n    {kind}"
        lines = f"if {self.expression(2)}:\n{_in(self.block(depth - 1))}"
        if self.draw(st.booleans()):
            lines += f"\nelif {self.expression(1)}:\n{_in(self.block(depth - 1))}"
        return lines + (f"\nelse:\n{_in(self.block(depth - 1))}" if self.draw(st.booleans()) else "")

    def loop(self, kind: str, depth: int) -> str:
        self.counters += 1
        counter = f"n{self.counters}"
        test = self.expression(1)
        self.loops += 1
        body = self.block(depth - 1)
        self.loops -= 1
        match kind:
            case "while" | "else":
                text = f"{counter} = 0\nwhile {counter} < 3 and {test}:\n{_in(f'{counter} += 1')}\n{_in(body)}"
                return text + (f"\nelse:\n{_in(self.block(depth - 1))}" if kind == "else" else "")
            case "spin":
                return f"while ({self.reading(1)}) != 1:\n{_in(body)}"
            case "for":
                return f"for {counter} in range(2):\n{_in(body)}\n{_in(f'a = {counter}')}"
            case "range":
                start = self.pick("", "k, ", "b & 1, ")
                return f"for {counter} in range({start}{test} & 3):\n{_in(body)}\n{_in(f'b = {counter}')}"
        return (
            f'for {counter}, spot in ((0, "x0"), (1, cells[0])):\n{_in(f"yield st(spot, {counter} + a)")}\n{_in(body)}'
        )


def _in(text: str) -> str:
    return textwrap.indent(text, "    ")


@st.composite
def modules(draw: st.DrawFn) -> str:
    writer = Writer(draw)
    writer.helper = True
    helper = f"a = n\nb = c = k = 0\n{writer.block(1)}\nreturn {writer.expression(1)}"
    writer.helper = False
    threads = [f"a, b, c = 0, k, 2\n{writer.block(2)}" for _ in range(2)]
    return f"""
from teetotal import *
cells = array("cells", 3)
def clamp(value, limit):
    "At most the limit."
    return limit if value > limit else value
def helper(n, place):
    yield st(place, n)
{_in(helper)}
def left(k):
    yield mfence
{_in(threads[0])}
def right(k, more=1):
    yield st("x1", more)
{_in(threads[1])}
test = program(left(0), right(1), memory={{"x0": 0, "x1": 1}}, cells=[0, 1, 2])
"""


REFUSED = ("the array has 3 elements", "may be read before it is assigned")
"""What Python would raise at run time, seen already when the program is compiled."""


@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")  # of a bool, from Python 3.12 on
@given(modules(), st.integers(0, 2**32))
def test_the_compiled_program_does_what_python_does(text: str, seed: int) -> None:
    try:
        module = execute(text)
    except ProgramError as error:
        assume(not any(reason in error.message for reason in REFUSED))
        raise
    for turn in range(3):
        agree(lambda: [module["left"](0), module["right"](1)], module["test"], seed + turn)
