"""Unsigned numbers in herd's C: C's own answers, from a small reference with exact types, which a compiler confirms."""

from __future__ import annotations

import ctypes
import operator
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from litmus_tools import outcomes
from teetotal.answers.errors import ParseError
from teetotal.answers.events import ModelName
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.engines.states.outcomes import outcomes as explored
from teetotal.fences.fencing import fence
from teetotal.programs import litmus
from teetotal.programs.expressions import wrap
from teetotal.programs.program import Program
from upheld import upheld

# -- a reference ----------------------------------------------------------------------------------------------------------

TYPES = {"int": ctypes.c_int32, "unsigned": ctypes.c_uint32, "long": ctypes.c_int64, "uint64_t": ctypes.c_uint64}
RANKS = list(TYPES)  # of two, the later one is the common type: int and long are narrower than what follows them
VARIABLES = {
    "i": ("int", -7), "j": ("int", 2147483647), "u": ("unsigned", 5), "v": ("unsigned", 4294967290),
    "l": ("long", -9), "m": ("long", 1 << 40), "w": ("uint64_t", 11), "z": ("uint64_t", (1 << 64) - 3),
}  # fmt: skip
LITERALS = {"0": "int", "3": "int", "3u": "unsigned", "4294967295": "long", "0xfffffffe": "unsigned", "7ul": "uint64_t",
            "2l": "long", "0xfffffffffffffff0": "uint64_t"}  # fmt: skip
ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
DIVISORS = {
    "3": ("int", 3),
    "-2": ("int", -2),
    "10u": ("unsigned", 10),
    "0xffffffffffffff00": ("uint64_t", (1 << 64) - 256),
}


class Undefined(Exception):
    """A signed number overflows, or a shift goes too far."""


class Value(NamedTuple):
    type: str
    value: int


def cast(value: int, to: str) -> Value:
    return Value(to, TYPES[to](value).value)


def exact(value: int, kind: str) -> Value:
    """The result of an operation in that type."""
    found = cast(value, kind)
    if found.value != value and kind in ("int", "long"):
        raise Undefined
    return found


def binary(sign: str, a: Value, b: Value) -> Value:
    if sign in ("<<", ">>"):
        if b.value not in range(64 if a.type in ("long", "uint64_t") else 32) or (sign == "<<" and a.value < 0):
            raise Undefined
        return exact(a.value << b.value if sign == "<<" else a.value >> b.value, a.type)
    kind = max(a.type, b.type, key=RANKS.index)
    x, y = cast(a.value, kind).value, cast(b.value, kind).value
    if sign in COMPARISONS:
        return Value("int", int(COMPARISONS[sign](x, y)))
    if sign in ("/", "%"):
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return exact(quotient if sign == "/" else x - quotient * y, kind)
    return exact(ARITHMETIC[sign](x, y), kind)


def random_expression(r: Random, depth: int) -> tuple[str, Value]:
    """A text, and what C makes of it."""
    if depth == 0 or r.random() < 0.15:
        if r.random() < 0.6:
            name = r.choice(list(VARIABLES))
            return name, Value(*VARIABLES[name])
        text = r.choice(list(LITERALS))
        return text, Value(LITERALS[text], int(re.sub("[ul]+$", "", text), 0))
    text, value = random_expression(r, depth - 1)
    kind = r.choice(["unary", "divide", "shift", "compare", "arithmetic", "arithmetic"])
    if kind == "unary":
        sign = r.choice("-~!")
        if sign == "!":
            return f"!({text})", Value("int", int(not value.value))
        return f"{sign}({text})", exact(-value.value, value.type) if sign == "-" else cast(~value.value, value.type)
    if kind == "divide":
        divisor, number = r.choice(list(DIVISORS.items()))
        sign = r.choice("/%")
        return f"(({text}) {sign} {divisor})", binary(sign, value, Value(*number))
    if kind == "shift":
        by, sign = r.choice([0, 1, 31, 63]), r.choice(["<<", ">>"])
        return f"(({text}) {sign} {by})", binary(sign, value, Value("int", by))
    other, right = random_expression(r, depth - 1)
    sign = r.choice(list(COMPARISONS if kind == "compare" else ARITHMETIC))
    return f"({text} {sign} {other})", binary(sign, value, right)


DECLARED = " ".join(f"{kind} {name} = *p{name};" for name, (kind, _) in VARIABLES.items())


def computed(text: str, kind: str) -> Program:
    """r is assigned from an expression over variables that come from memory."""
    parameters = ", ".join(f"{kind}* p{name}" for name, (kind, _) in VARIABLES.items())
    initial = " ".join(f"{kind} p{name} = {value};" for name, (kind, value) in VARIABLES.items())
    body = f"{DECLARED} {kind} r = {text}; *q = r;"
    return litmus.read(
        f"C t\n{{ {initial} }}\nP0 ({parameters}, {kind}* q) {{ {body} }}\nlocations [0:r; q;]\n", "t.litmus"
    )


@settings(max_examples=60)
@given(st.integers(0, 10**9), st.sampled_from(RANKS))
def test_expressions_are_what_c_makes_of_them(seed: int, kind: str) -> None:
    try:
        text, value = random_expression(Random(seed), 4)
    except Undefined:
        assume(False)
    expected = wrap(cast(value.value, kind).value)
    program = computed(text, kind)
    assert outcomes(program, "sc") == {(expected, expected)}
    assert explored(program, "tso").values == {(expected, expected)}
    assert explored(litmus.read(litmus.write(program, "C"), "again.litmus"), "tso").values == {(expected, expected)}


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_reference_agrees_with_a_compiler(tmp_path: Path) -> None:
    found: list[tuple[str, Value]] = []
    for seed in range(400):
        try:
            found.append(random_expression(Random(seed), 4))
        except Undefined:
            continue
    variables = "".join(f"volatile {kind} {name} = ({kind}){value}u{'l' * 2};\n" if value >= 0 else
                        f"volatile {kind} {name} = {value};\n" for name, (kind, value) in VARIABLES.items())  # fmt: skip
    lines = "".join(f'    printf("%ld\\n", (long)({text}));\n' for text, _ in found)
    source = tmp_path / "t.c"
    source.write_text(f"#include <stdint.h>\n#include <stdio.h>\n{variables}int main(void) {{\n{lines}}}\n")
    subprocess.run(["cc", "-w", "-O1", "-o", str(tmp_path / "t"), str(source)], check=True)
    said = subprocess.run([str(tmp_path / "t")], check=True, capture_output=True, text=True).stdout.split()
    assert [int(line) for line in said] == [wrap(value.value) for _, value in found]
    assert len(found) > 150


# -- statements, calls, conditions ------------------------------------------------------------------------------------


def one(body: str, condition: str, parameters: str = "atomic_uint* x", initial: str = "") -> Program:
    return litmus.read(f"C t\n{{ {initial} }}\nP0 ({parameters}) {{ {body} }}\n{condition}\n", "t.litmus")


HOLDS = {
    "a counter wraps": ("unsigned r = 0; r--; r -= 1; r++;", "0:r=-1"),
    "and shows it": ("unsigned r = 0; r--;", "0:r=4294967295"),
    "a product wraps": ("unsigned r = 65537; r *= r;", "0:r=131073"),
    "one of 64 bits does too": ("uint64_t r = 4294967296; r *= r; r--;", "0:r=18446744073709551615"),
    "a wide result is cut when stored": ("uint64_t r = 4294967297; *x = r;", "x=1"),
    "a negative number is large": ("int i = -1; unsigned u = 1; int s = i < u;", "0:s=0"),
    "but not beside a long": ("long i = -1; unsigned u = 1; int s = i < u;", "0:s=1"),
    "a hexadecimal number may be unsigned": ("int s = -1 < 0xfffffffe;", "0:s=0"),
    "a decimal one is not": ("unsigned u = 1; int s = -1 < 4294967294;", "0:s=1"),
    "a suffix is enough": ("int s = -1 < 1u;", "0:s=0"),
    "a signed variable gets its sign back": ("int s = 4294967295u;", "0:s=-1"),
    "fetch_sub": ("unsigned r = atomic_fetch_sub(x, 1);", "0:r=0 /\\ x=4294967295"),
    "fetch_add": ("atomic_store(x, 4294967295u); unsigned r = atomic_fetch_add(x, 2);", "0:r=4294967295 /\\ x=1"),
    "an exchange": ("unsigned r = atomic_exchange(x, -1); r = *x;", "0:r=4294967295"),
    "a compare-and-exchange that succeeds": (
        "*x = -1; unsigned e = 4294967295; int s = atomic_compare_exchange_strong(x, &e, 7);", "0:s=1 /\\ x=7"),
    "and one that fails": (
        "*x = -1; unsigned e = 0; int s = atomic_compare_exchange_strong(x, &e, 7);", "0:s=0 /\\ 0:e=4294967295"),
    "cmpxchg": ("*x = -1; unsigned r = cmpxchg(x, -1, 3);", "0:r=4294967295 /\\ x=3"),
    "through a pointer": ("unsigned *p = x; *p = -2; unsigned r = *p >> 1;", "0:r=2147483647"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDS)
def test_what_holds_in_c(name: str) -> None:
    body, condition = HOLDS[name]
    program = one(body, f"forall ({condition})")
    for model in ("sc", "tso", "pso"):
        assert upheld(program, outcomes(program, model))  # type: ignore[arg-type]


def test_initial_values_and_parameters() -> None:
    program = one("unsigned r = *x + 2;", "forall (0:r=1)", initial="uint32_t x=-1;")
    assert program.memory == {"x": 4294967295}
    assert upheld(program, outcomes(program, "sc"))
    program = one(
        "int r = *x;", "forall (0:r=-1 /\\ x=-1)", parameters="atomic_int* x", initial="uint32_t x=4294967295;"
    )
    assert upheld(program, outcomes(program, "sc"))


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_two_threads(model: ModelName) -> None:
    """A reference count that goes below zero is large: everybody who asks for `> 0` goes on."""
    release = "unsigned r = atomic_fetch_sub(x, 1); unsigned s = *x; int goes_on = s > 0;"
    text = f"C t\n{{ atomic_uint x=1; }}\nP0 (atomic_uint* x) {{ {release} }}\nP1 (atomic_uint* x) {{ {release} }}\n"
    program = litmus.read(f"{text}exists (0:goes_on=1 /\\ 1:goes_on=1 /\\ x=4294967295)\n", "t.litmus")
    assert upheld(program, outcomes(program, model))
    assert explored(program, model).values == outcomes(program, model)
    assert check(program, CheckOptions()).verdict is not Verdict.INCONCLUSIVE


def test_fences_of_a_test_with_unsigned_numbers(tmp_path: Path) -> None:
    path = tmp_path / "sb.litmus"
    body = "WRITE_ONCE(*{0}, -1); unsigned r = READ_ONCE(*{1}) + 1;"
    functions = "\n".join(
        f"P{n} (unsigned* x, unsigned* y) {{\n  {body.format(*names)}\n}}" for n, names in enumerate(("xy", "yx"))
    )
    path.write_text(f"C sb\n{{ }}\n{functions}\nexists (0:r=1 /\\ 1:r=1)\n")
    answer = fence(str(path))
    assert answer.answer.verdict is Verdict.SAFE
    assert [placed.kind for placed in answer.answer.fences] == ["mfence", "mfence"]


REFUSED = {
    "uint8_t r = 1;": "the type uint8_t is not supported",
    "unsigned short r = 1;": "the type short is not supported",
    "unsigned r = 1; { int r = 2; }": "r is a uint32_t elsewhere",
    "unsigned r = *x; int s = *r;": "`*` of what is declared as a number",
    "unsigned *p = x; unsigned s = p + 1;": "`+` of a pointer",
    "int *p = x; unsigned r = 1;": "uint32_t* as int32_t* is not supported",
    "int e = 0; int s = atomic_compare_exchange_strong(x, &e, 7);": "e is no uint32_t",
    "unsigned r = 5; unsigned s = r / r;": "`/` is supported with a constant divisor other than 0",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_refused_and_why(body: str) -> None:
    with pytest.raises(ParseError, match=re.escape(REFUSED[body])):
        one(body, "")


def test_a_location_is_of_one_type() -> None:
    text = "C t\n{ }\nP0 (atomic_int* x) { *x = -1; }\nP1 (atomic_uint* x) { unsigned r = *x; }\n"
    with pytest.raises(ParseError, match="x is a int32_t in one thread and a uint32_t in another"):
        litmus.read(text, "t.litmus")
    with pytest.raises(ParseError, match="x has 64 bits in the initial state and is a uint32_t here"):
        one("unsigned r = *x;", "", initial="uint64_t x;")
