"""The language of conditions, against Python's own logic, and what herd's words mean."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litmus_tools import finals, outcomes, x86
from teetotal.answers.errors import ParseError
from teetotal.programs.observation import observation
from teetotal.programs.program import Program
from upheld import upheld

CODE = "movq (x),%rax\nmovq (y),%rbx"


def asked(condition: str) -> Program:
    return x86(CODE, condition, "x=0; y=0; z=0")


def holds(condition: str, rax: int, rbx: int, x: int = 0, y: int = 0) -> bool:
    program = asked(f"locations [0:rax; 0:rbx; x; y;] exists {condition}")
    assert program.condition is not None
    return bool(program.predicate(program.condition.proposition)((rax, rbx, x, y)))


ATOMS = {"a": "0:rax=1", "b": "0:rbx=1", "c": "x=1", "d": "y=1"}


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a", "a"),
        ("~a", "not a"),
        ("not a", "not a"),
        ("not (a \\/ b)", "not (a or b)"),
        ("~a /\\ b", "(not a) and b"),
        ("a /\\ b \\/ c /\\ d", "(a and b) or (c and d)"),
        ("a \\/ b /\\ c \\/ d", "a or (b and c) or d"),
        ("(a \\/ b) /\\ (c \\/ d)", "(a or b) and (c or d)"),
        # herd's implication binds tighter than its conjunction, and to the right
        ("a => b", "(not a) or b"),
        ("a => b => c", "(not a) or (not b) or c"),
        ("a /\\ b => c", "a and ((not b) or c)"),
        ("a => b \\/ c", "((not a) or b) or c"),
        ("~a => b", "a or b"),
        ("a /\\ true", "a"),
        ("a /\\ false", "False"),
    ],
)
def test_precedence(text: str, meaning: str) -> None:
    condition = (
        "(" + "".join(ATOMS.get(letter, letter) if _alone(text, i) else letter for i, letter in enumerate(text)) + ")"
    )
    for values in product((0, 1), repeat=4):
        a, b, c, d = map(bool, values)
        assert holds(condition, *values) == eval(meaning, {"a": a, "b": b, "c": c, "d": d}), values


def _alone(text: str, i: int) -> bool:
    return not (text[i - 1 : i].isalpha() or text[i + 1 : i + 2].isalpha())


@pytest.mark.parametrize(
    ("atom", "values", "truth"),
    [
        ("0:rax=1", (1, 0), True),
        ("0:rax==1", (1, 0), True),
        ("0:rax!=1", (1, 0), False),
        ("0:rax<>2", (1, 0), True),
        ("P0:rax=1", (1, 0), True),
        ("0:RAX=0x1", (1, 0), True),
        ("0:rax=-1", (-1, 0), True),
        ("0:rax=0xffffffffffffffff", (-1, 0), True),
        ("0:rax=0:rbx", (5, 5), True),
        ("0:rax=[x]", (5, 0, 5), True),
        ("0:rax=*x", (5, 0, 5), True),
        ("0:rax=x", (1, 0, 5), True),  # the address of x, which is the first location
        ("0:rax=x", (5, 0, 5), False),
        ("0:rax=z", (3, 0), True),
        ("[x]=7", (0, 0, 7), True),
        ("x=7", (0, 0, 7), True),
        ("x=y", (0, 0, 2, 7), True),
        ("[x]=[y]", (0, 0, 7, 7), True),
    ],
)
def test_atoms(atom: str, values: tuple[int, ...], truth: bool) -> None:
    assert holds(atom, *values) is truth


propositions = st.recursive(
    st.sampled_from(list(ATOMS)),
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner), st.tuples(st.sampled_from(["and", "or", "=>"]), inner, inner)
    ),
    max_leaves=12,
)


def litmus_text(proposition: object) -> str:
    match proposition:
        case str():
            return ATOMS[proposition]
        case ("not", inner):
            return f"~({litmus_text(inner)})"
        case (operator, left, right):
            sign = {"and": "/\\", "or": "\\/", "=>": "=>"}[operator]
            return f"({litmus_text(left)}) {sign} ({litmus_text(right)})"
    raise AssertionError(proposition)


def truth(proposition: object, values: dict[str, bool]) -> bool:
    match proposition:
        case str():
            return values[proposition]
        case ("not", inner):
            return not truth(inner, values)
        case ("and", left, right):
            return truth(left, values) and truth(right, values)
        case ("or", left, right):
            return truth(left, values) or truth(right, values)
        case (_, left, right):
            return not truth(left, values) or truth(right, values)
    raise AssertionError(proposition)


@given(propositions)
def test_random_propositions(proposition: object) -> None:
    text = litmus_text(proposition)
    for values in product((0, 1), repeat=4):
        assert holds(text, *values) == truth(proposition, dict(zip("abcd", map(bool, values), strict=True)))


def test_what_is_observed() -> None:
    program = asked("locations [y; 0:rbx; x uint64_t;]\nexists (0:rax=1 /\\ 0:rbx=z)")
    assert [str(what) for what in program.observed] == ["0:rax", "0:rbx", "x", "y"]
    assert asked("locations []").observed == ()
    assert finals(asked("")) == {""}


def test_a_test_without_condition_asks_nothing() -> None:
    program = asked("locations [0:rax;]")
    assert program.condition is None
    assert observation(program, {(0,), (1,)}) == ("Always", 2, 0)
    assert upheld(program, {(0,)})


@pytest.mark.parametrize(
    "quantifier", ["exists", "final", "locations []", "~exists", "~ exists", "not exists", "forall"]
)
def test_the_word_does_not_depend_on_the_quantifier(quantifier: str) -> None:
    program = asked(f"{quantifier} (0:rax=1)")
    assert observation(program, {(0,), (1,), (2,)}) == ("Sometimes", 1, 2)
    assert observation(program, {(1,)}) == ("Always", 1, 0)
    assert observation(program, {(0,)}) == ("Never", 0, 1)
    assert observation(program, set()) == ("Never", 0, 0)


@pytest.mark.parametrize(
    ("quantifier", "answers"),
    [("exists", (True, True, False)), ("~exists", (False, False, True)), ("forall", (False, True, False))],
)
def test_whether_the_claim_is_upheld(quantifier: str, answers: tuple[bool, ...]) -> None:
    program = asked(f"{quantifier} (0:rax=1)")
    assert tuple(upheld(program, outcomes) for outcomes in ({(0,), (1,)}, {(1,)}, {(0,)})) == answers


def test_a_filter_drops_states_first() -> None:
    code = "movq $1,(x) | movq (x),%rax\n | movq (x),%rbx"
    program = x86(code, "filter (1:rax=0) exists (1:rbx=1)")
    assert [str(what) for what in program.observed] == ["1:rax", "1:rbx"]
    found = outcomes(program, "sc")
    assert len(found) == 3
    assert observation(program, found) == ("Sometimes", 1, 1)


def test_a_long_condition_is_a_shallow_tree() -> None:
    condition = "exists (" + " /\\ ".join(["0:rax=0"] * 5000) + ")"
    program = asked(condition)
    assert observation(program, {(0,)}) == ("Always", 1, 0)


# -- what Dat3M puts behind a condition ---------------------------------------------------------------------------------

DAT3M = "final (0:rax=1 /\\ 0:rbx=1){}\nwith\ntso: ~exists;\ncc: exists;\n<<\n anything = ( 5\n>>\n"


@pytest.mark.parametrize("semicolon", ["", ";"])
def test_expectations_of_other_models_mean_nothing(semicolon: str) -> None:
    assert asked(DAT3M.format(semicolon)).condition == asked("exists (0:rax=1 /\\ 0:rbx=1)").condition


@pytest.mark.parametrize(
    ("tail", "line", "words"),
    [
        ("with", 2, "expected the name of a model after `with`"),
        ("with tso exists;", 2, "expected `:` after the name of a model"),
        ("with tso: forall;", 2, "expected `exists` as what is expected"),
        ("with tso: exists", 2, "expected `;` after what is expected"),
        ("<<\n>>\nwith 5: exists;", 4, "expected the name of a model"),
        ("<< never closed", 2, "expected the end of the condition, found `<`"),
    ],
)
def test_tails_that_are_none(tail: str, line: int, words: str) -> None:
    with pytest.raises(ParseError, match=re.escape(words)) as caught:
        asked(f"exists (0:rax=1)\n{tail}")
    assert caught.value.location is not None
    assert caught.value.location.line == line + 5


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_numbers_of_more_than_64_bits(number: int) -> None:
    with pytest.raises(ParseError, match=f"`{number}` is not a number of at most 64 bits"):
        asked(f"exists (0:rax={number})")
    with pytest.raises(ParseError, match="a number of at most 64 bits"):
        x86(CODE, "", f"x={number}; y=0")
