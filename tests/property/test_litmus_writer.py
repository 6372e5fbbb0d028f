"""A program that is written and read back behaves as before: by the specification's outcomes, on random programs."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litmus_tools import outcomes, x86
from shared import data
from teetotal.answers.events import MODELS, Kind, ModelName
from teetotal.programs import litmus
from teetotal.programs.expressions import Addr, Const, Expr, Final, Old, Op, Reg
from teetotal.programs.litmus import Dialect, InexpressibleError
from teetotal.programs.program import (
    Assert,
    Assign,
    Assume,
    Branch,
    Condition,
    Fence,
    Instruction,
    Load,
    Lock,
    Program,
    Rmw,
    Store,
    Thread,
    Unlock,
)

LOCATIONS = ("x", "y")


def at_least(examples: int) -> int:
    """The profile's number of examples where that is more: ``make fuzz`` keeps searching."""
    return max(examples, settings().max_examples)


def behaviours(program: Program, model: ModelName) -> set[frozenset[tuple[str, int]]]:
    """Outcomes by name, whatever the order of ``observed``."""
    return {frozenset(zip(map(str, program.observed), outcome, strict=True)) for outcome in outcomes(program, model)}


def check_round_trip(program: Program, dialect: Dialect | None = None, models: tuple[ModelName, ...] = MODELS) -> str:
    text = litmus.write(program, dialect)
    again = litmus.read(text, "again.litmus")
    assert set(map(str, again.observed)) == set(map(str, program.observed)), text
    assert list(again.memory.items()) == list(program.memory.items()), text
    assert len(again.threads) == len(program.threads)
    for model in models:
        assert behaviours(again, model) == behaviours(program, model), text
    if program.condition is not None:
        assert again.condition is not None
        assert again.condition.quantifier == program.condition.quantifier
        expected = litmus.observation(program, outcomes(program, "tso"))
        assert litmus.observation(again, outcomes(again, "tso")) == expected, text
    return text


# -- random programs ---------------------------------------------------------------------------------------------------

constants = st.sampled_from([0, 1, 2, 3, -1, 1 << 40]).map(Const)
shared = st.sampled_from(LOCATIONS).map(Addr)


def simple(registers: tuple[str, ...]) -> st.SearchStrategy[Expr]:
    return constants | st.sampled_from(registers).map(Reg) | shared


@st.composite
def one_operation(draw: st.DrawFn, registers: tuple[str, ...], operators: str = "+-&|^") -> Expr:
    return Op(draw(st.sampled_from(operators)), (draw(simple(registers)), draw(simple(registers))))


def any_expression(registers: tuple[str, ...]) -> st.SearchStrategy[Expr]:
    binary = ["+", "-", "*", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or", "<<", ">>"]
    return st.recursive(
        simple(registers),
        lambda inner: (
            st.tuples(st.sampled_from(binary), inner, inner).map(lambda p: Op(p[0], (p[1], p[2])))
            | st.tuples(st.sampled_from(["not", "~"]), inner).map(lambda p: Op(p[0], (p[1],)))
            | st.tuples(st.sampled_from(["//", "%"]), inner, st.sampled_from([1, 2, 3, -1, -2, -3])).map(
                lambda p: Op(p[0], (p[1], Const(p[2])))
            )
        ),
        max_leaves=6,
    )


def comparisons(registers: tuple[str, ...]) -> list[Expr]:
    """What a jump may look at."""
    a, b = Reg(registers[0]), Reg(registers[1])
    less, zero = Op("<", (a, b)), Op("==", (Const(0), a))
    both, one = Op("and", (less, b)), Op("or", (less, zero))
    return [a, Op("not", (a,)), less, zero, both, one, Op("not", (both,)), Op("not", (one,)), Op("not", (Const(0),))]


@st.composite
def instructions(draw: st.DrawFn, registers: tuple[str, ...], position: int, length: int, rich: bool) -> Instruction:
    register = draw(st.sampled_from(registers))
    address = draw(shared)
    value = draw(any_expression(registers) if rich else simple(registers))
    kind = draw(st.sampled_from(["load", "store", "store", "rmw", "cas", "fence", "assign", "branch", "lock"]))
    wanted = draw(st.booleans())
    match kind:
        case "load":
            return Load(register=register, address=address)
        case "store":
            return Store(address=address, value=value)
        case "rmw":
            operator = draw(st.sampled_from("+-&|^"))
            new = draw(
                st.sampled_from(
                    [value, Op(operator, (Old(), value)), Op("+", (value, Old())), Op("~", (Old(),)), Old()]
                )
            )
            return Rmw(address=address, value=new, register=register if wanted else None)
        case "cas":
            when = Op("==", (Old(), draw(simple(registers))))
            new = draw(st.sampled_from([value, Old(), Op("+", (Old(), Const(1)))])) if rich else value
            return Rmw(address=address, value=new, when=when, register=register if wanted else None)
        case "fence":
            return Fence(kind=draw(st.sampled_from([Kind.MFENCE, Kind.SFENCE])))
        case "assign":
            tests = st.sampled_from([*comparisons(registers)])
            computed = draw(any_expression(registers) if rich else one_operation(registers) | tests)
            return Assign(register=register, value=computed)
        case "lock" if rich:
            return draw(st.sampled_from([Lock(address=Addr("m")), Unlock(address=Addr("m"))]))
    comparison = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
    test = Op(comparison, (Reg(register), draw(simple(registers))))
    condition = draw(st.sampled_from([test, Op("not", (test,)), Const(1), *comparisons(registers)]))
    return Branch(target=draw(st.integers(position + 1, length)), when=value if rich else condition)


propositions = st.recursive(
    st.sampled_from(
        [
            Op("==", (Final(0, "rax"), Const(1))),
            Op("!=", (Final(0, "rbx"), Const(-1))),
            Op("==", (Const(0), Final(None, "x"))),
            Op("==", (Final(None, "x"), Final(None, "y"))),
            Op("==", (Final(0, "rax"), Addr("y"))),
            Final(None, "y"),
            Const(1),
        ]
    ),
    lambda inner: (
        st.tuples(st.sampled_from(["and", "or"]), inner, inner).map(lambda p: Op(p[0], (p[1], p[2])))
        | inner.map(lambda p: Op("not", (p,)))
    ),
    max_leaves=5,
)


@st.composite
def programs(draw: st.DrawFn, rich: bool, registers: tuple[str, ...] = ("rax", "rbx", "rcx")) -> Program:
    threads = []
    for number in range(2):
        length = draw(st.integers(1, 4))
        code = tuple(draw(instructions(registers, i, length, rich)) for i in range(length))
        start = draw(st.sampled_from([0, 0, 1, -1]))
        threads.append(Thread(f"P{number}", code, {registers[0]: start, registers[1]: 0, registers[2]: 5}))
    observed = [Final(n, name) for n in range(2) for name in registers[:2]] + [Final(None, name) for name in LOCATIONS]
    condition = None
    if registers[0] == "rax":
        quantifier = draw(st.sampled_from(["exists", "~exists", "forall"]))
        condition = Condition(quantifier, draw(propositions))  # type: ignore[arg-type]
    return Program(
        name=draw(st.sampled_from(["SB", "a b", "", "é", "x+y[1]"])),
        threads=tuple(threads),
        memory={"x": draw(st.sampled_from([0, 2])), "y": 0, "m": 0},
        observed=tuple(observed),
        condition=condition,
    )


@settings(max_examples=at_least(300))
@given(programs(rich=False))
def test_simple_programs_by_themselves(program: Program) -> None:
    try:
        text = check_round_trip(program)
    except InexpressibleError as problem:
        assert "no such atomic operation" in str(problem)  # noqa: PT017
    else:
        assert text.startswith(("X86_64", "C"))


@settings(max_examples=at_least(300))
@given(programs(rich=False) | programs(rich=False, registers=("rbx", "rcx", "r8")))
def test_simple_programs_in_x86(program: Program) -> None:
    try:
        text = litmus.write(program, "X86_64")
    except InexpressibleError:
        return
    assert text.startswith("X86_64")
    check_round_trip(program, "X86_64")


@settings(max_examples=at_least(200))
@given(programs(rich=True))
def test_rich_programs_in_c(program: Program) -> None:
    try:
        check_round_trip(program, "C")
    except InexpressibleError as problem:
        assert "no such atomic operation" in str(problem)  # noqa: PT017


@settings(max_examples=at_least(100))
@given(programs(rich=True, registers=("x", "int", "r.1")))
def test_names_that_clash_or_are_no_names_in_c(program: Program) -> None:
    """A register called like a location or like a word of C gets another name; its values stay where they were."""
    try:
        text = litmus.write(program, "C")
    except InexpressibleError:
        return
    again = litmus.read(text, "again.litmus")
    for model in MODELS:
        values = {tuple(sorted(outcome)) for outcome in outcomes(program, model)}
        assert {tuple(sorted(outcome)) for outcome in outcomes(again, model)} == values, text


def test_most_simple_programs_are_said_in_x86() -> None:
    """The tests above would also pass if everything were refused."""
    said = {"X86_64": 0, "C": 0}

    @settings(max_examples=200, database=None, derandomize=True)
    @given(programs(rich=False))
    def count(program: Program) -> None:
        for dialect in said:
            try:
                litmus.write(program, dialect)  # type: ignore[arg-type]
                said[dialect] += 1
            except InexpressibleError:
                pass

    count()
    assert said["X86_64"] > 100, said
    assert said["C"] > 150, said


# -- by hand -----------------------------------------------------------------------------------------------------------


def program(*code: Instruction, registers: dict[str, int] | None = None, **more: object) -> Program:
    registers = {"rax": 0, "rbx": 0} if registers is None else registers
    observed = (*(Final(0, name) for name in registers), Final(None, "x"), Final(None, "y"))
    fields = {"name": "test", "memory": {"x": 0, "y": 0}, "observed": observed} | more
    return Program(threads=(Thread("P0", code, registers),), **fields)  # type: ignore[arg-type]


def test_the_text_in_x86() -> None:
    sb = x86("movq $1,(x) | movq $1,(y)\nmovq (y),%rax | movq (x),%rax", "exists (0:rax=0 /\\ 1:rax=0)")
    assert (
        litmus.write(sb)
        == """X86_64 test
{
uint64_t x=0;
uint64_t y=0;
}
 P0            | P1            ;
 movq $1,(x)   | movq $1,(y)   ;
 movq (y),%rax | movq (x),%rax ;
exists (0:rax=0 /\\ 1:rax=0)
"""
    )


def test_the_text_in_c() -> None:
    code = (
        Load(register="r1", address=Addr("x")),
        Branch(target=3, when=Op("==", (Reg("r1"), Const(0)))),
        Store(address=Addr("y"), value=Op("*", (Reg("r1"), Const(2)))),
    )
    assert (
        litmus.write(program(*code, registers={"r1": 0}))
        == """C test
{
atomic_int x=0;
atomic_int y=0;
}
P0 (atomic_int* x, atomic_int* y) {
  int r1 = 0;
  r1 = atomic_load_explicit(x, memory_order_relaxed);
  if (!(r1 == 0)) {
    atomic_store_explicit(y, (r1 * 2), memory_order_relaxed);
  }
}
locations [0:r1; x; y;]
"""
    )


def test_if_and_else() -> None:
    code = (
        Branch(target=3, when=Reg("a")),
        Assign(register="b", value=Const(1)),
        Branch(target=4),
        Assign(register="b", value=Const(2)),
    )
    for start in (0, 1):
        text = check_round_trip(program(*code, registers={"a": start, "b": 0}))
        assert "} else {" in text
        assert "goto" not in text


def test_jumps_that_cross() -> None:
    code = (
        Branch(target=2, when=Reg("a")),
        Branch(target=3, when=Reg("b")),
        Assign(register="c", value=Op("+", (Reg("c"), Const(1)))),
        Assign(register="c", value=Op("+", (Reg("c"), Const(2)))),
    )
    for a in (0, 1):
        for b in (0, 1):
            assert "goto" in check_round_trip(program(*code, registers={"a": a, "b": b, "c": 0}))


@pytest.mark.parametrize("dialect", ["X86_64", "C"])
def test_loops_and_their_bound(dialect: Dialect) -> None:
    code = (
        Load(register="rax", address=Addr("x")),
        Assign(register="rbx", value=Op("+", (Reg("rbx"), Const(1)))),
        Branch(target=0, when=Op("<", (Reg("rbx"), Const(4)))),
        Store(address=Addr("y"), value=Const(1)),
    )
    for bound in (None, 2, 3):
        looping = program(*code, loop_bound=bound)
        text = check_round_trip(looping, dialect)
        assert litmus.read(text, "again").loop_bound == bound
        assert bool(outcomes(looping, "sc")) == (bound != 2)


def test_a_pointer_survives() -> None:
    code = (Store(address=Reg("rax"), value=Const(7)), Load(register="rbx", address=Reg("rax")))
    text = check_round_trip(program(*code, registers={"rax": 2, "rbx": 0}))
    assert "0:rax=y;" in text


def test_registers_can_be_renamed() -> None:
    named = program(Load(register="r", address=Addr("x")), registers={"r": 3})
    assert litmus.write(named).startswith("C ")
    text = litmus.write(named, "X86_64")
    assert "movq (x),%rbx" in text
    assert outcomes(litmus.read(text, "again"), "sc") == {(0, 0, 0)}


def test_registers_that_nobody_observes_may_take_other_names() -> None:
    counted = x86("incq (x)", "locations [x;]", "x=3")
    assert "tmp" in counted.threads[0].registers
    text = litmus.write(counted)
    assert text.startswith("X86_64")
    assert outcomes(litmus.read(text, "again"), "tso") == {(4,)}


def test_locations_that_are_no_names() -> None:
    odd = Program(
        name="odd",
        threads=(Thread("P0", (Store(address=Addr("a[0]"), value=Const(1)),), {}),),
        memory={"a[0]": 0, "a.0.": 5, "exists": 6, "P0": 7},
        observed=(Final(None, "a[0]"), Final(None, "exists"), Final(None, "P0")),
    )
    for dialect in ("X86_64", "C"):
        again = litmus.read(litmus.write(odd, dialect), "again")  # type: ignore[arg-type]
        assert {tuple(sorted(outcome)) for outcome in outcomes(again, "sc")} == {(1, 6, 7)}
        assert list(again.memory.values()) == [0, 5, 6, 7]


REFUSED = [
    (program(Assert(condition=Const(1))), "no assert"),
    (program(Assume(condition=Const(1))), "no assume"),
    (program(final_assertion=Const(1)), "no assertion about the end"),
    (program(Rmw(address=Addr("x"), value=Op("*", (Old(), Const(2))))), "no such atomic operation"),
    (program(Rmw(address=Addr("x"), value=Const(1), when=Op("<", (Old(), Const(2))))), "for equality only"),
    (program(condition=Condition("exists", Op("<", (Final(0, "rax"), Const(2))))), "nothing more"),
    (program(condition=Condition("exists", Op("==", (Op("+", (Final(0, "rax"), Const(1))), Const(2))))), "compares a"),
    (Program(name="none", threads=(), memory={}), "at least one thread"),
]


@pytest.mark.parametrize(("refused", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_what_cannot_be_said(refused: Program, reason: str) -> None:
    with pytest.raises(InexpressibleError, match=reason):
        litmus.write(refused)


def test_an_expression_of_any_depth() -> None:
    deep: Expr = Reg("a")
    for i in range(200):
        deep = Op("+", (Op("not", (deep,)), Const(i)))
    sum_of = program(Assign(register="b", value=deep), registers={"a": 1, "b": 0})
    check_round_trip(sum_of, "C", ("sc",))


def test_flags_stay_in_x86() -> None:
    code = "L: movq (x),%rax | movq $1,(y)\ncmpq $2,%rax | movq $3,(x)\njle M\nlock decq (x)\njne M\nmovq $5,(y)\nM:"
    code = "\n".join(row if "|" in row else f"{row} |" for row in code.split("\n"))
    flags = x86(code, "locations [0:rax; x; y;]", "x=1")
    assert check_round_trip(flags).startswith("X86_64")


def test_the_shared_corpus_survives() -> None:
    for path in sorted(data("litmus-x86").glob("*.litmus")):
        before = litmus.read_file(path)
        after = litmus.read(litmus.write(before), str(path))
        assert after.name == before.name
        assert after.observed == before.observed
        assert after.condition is not None
        assert before.condition is not None
        assert after.condition.quantifier == before.condition.quantifier
        assert [_plain(thread.code) for thread in after.threads] == [_plain(thread.code) for thread in before.threads]


def _plain(code: tuple[Instruction, ...]) -> list[Instruction]:
    return [msgspec.structs.replace(instruction, location=None) for instruction in code]
