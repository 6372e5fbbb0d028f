"""Promela before it is a program: what the preprocessor leaves, constants, and how operators bind; as SPIN has it."""

from __future__ import annotations

import pytest

from teetotal.answers.errors import ParseError
from teetotal.answers.verdict import Verdict
from teetotal.engines.symbolic.verify import verify
from teetotal.programs.promela.compile import compile_text


def holds(claim: str, before: str = "") -> bool:
    text = f"{before}\nactive proctype P() {{ assert({claim}) }}"
    return verify(compile_text(text), "sc").verdict is Verdict.SAFE


@pytest.mark.parametrize(
    "before",
    [
        "#define A 1\n#undef A\nbyte A = 7;",
        "#define KNOWN\n#ifdef KNOWN\nbyte A = 7;\n#else\nbyte A = 8;\n#endif",
        "#ifdef MISSING\n#ifndef ALSO_MISSING\n#define A 8\n#endif\n#endif\nbyte A = 7;",
        "#define A \\\r\n  7",
        "#define A() 7\n#define A 7",
    ],
    ids=["undef", "else-of-what-is-taken", "within-what-is-skipped", "line-goes-on", "defined-again"],
)
def test_what_the_preprocessor_leaves(before: str) -> None:
    assert holds("A == 7", before)


@pytest.mark.parametrize(
    ("constant", "value"),
    [
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 / -2", 3),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("6 & 2 == 2", 0),
        ("1 | 2 ^ 2", 1),
        ("1 ^ 3 & 1", 0),
        ("1 << 2 + 1", 8),
        ("8 >> 1 < 5", 1),
        ("1 == 2 < 3", 1),
        ("0 && 0 || 1", 1),
        ("2 - 1 - 1", 0),
        ("8 / 4 / 2", 1),
        ("!3 + 1", 1),
        ("-2 + 3", 1),
        ("~0 + 1", 0),
        ("1 << 31 != 0", 1),
    ],
)
def test_operators_bind_as_in_c_and_constants_are_computed_as_there(constant: str, value: int) -> None:
    assert holds(f"({constant}) == {value}")


@pytest.mark.parametrize("constant", ["1 << 32", "1 >> 32", "1 << -1", "1 / 0", "1 % 0"])
def test_constants_that_c_does_not_have_are_refused(constant: str) -> None:
    with pytest.raises(ParseError, match=r"program\.pml:2: (a shift|division)"):
        holds(f"{constant} == 0")


@pytest.mark.parametrize(
    ("declared", "value"),
    [("byte x = 300", 44), ("bit x = 2", 0), ("bool x = 3", 1), ("short x = 40000", -25536), ("byte x = -1", 255)],
)
def test_initial_values_wrap(declared: str, value: int) -> None:
    assert holds(f"x == {value}", f"{declared};")
    assert holds(f"x[1] == {value}", f"{declared.replace(' x ', ' x[2] ')};")
    local = f"active proctype P() {{ {declared}; assert(x == {value}) }}"
    assert verify(compile_text(local), "sc").verdict is Verdict.SAFE


def test_later_mtypes_have_greater_numbers() -> None:
    assert holds("C == 1 && B == 2 && A == 3 && E == 4 && D == 5", "mtype = { A, B, C };\nmtype = { D, E };")


@pytest.mark.parametrize(
    "sets", ["select (i : 3 .. 3)", "i = 3", "i++; i++", "cas(i, x, 1, 2); i = i + 3", "xchg(i, x, 1); i = i + 3"]
)
def test_what_a_process_assigns_to_its_parameter_is_no_constant(sets: str) -> None:
    text = f"byte x; proctype P(byte i) {{ {sets}; assert(i == 3) }} init {{ run P(1) }}"
    assert verify(compile_text(text), "sc").verdict is Verdict.SAFE
