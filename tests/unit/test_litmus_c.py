"""herd's C: what each operation becomes, and what the machines then let happen."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litmus_tools import finals, outcomes
from teetotal.answers.errors import ParseError
from teetotal.answers.events import Kind
from teetotal.programs import litmus
from teetotal.programs.expressions import wrap
from teetotal.programs.observation import observation
from teetotal.programs.program import Fence, Instruction, Load, Lock, Program, Rmw, Store, Unlock

PARAMETERS = "atomic_int* x, atomic_int* y, volatile int* z, int *p"


def c(*bodies: str, init: str = "", condition: str = "") -> Program:
    functions = "\n".join(f"P{i} ({PARAMETERS}) {{ {body} }}" for i, body in enumerate(bodies))
    return litmus.read(f"C test\n{{ {init} }}\n{functions}\n{condition}\n", "test.litmus")


def shape(code: tuple[Instruction, ...]) -> str:
    """The memory instructions: L, S, R, s (sfence), m (mfence), lock and unlock as < and >."""
    letters = ""
    for instruction in code:
        match instruction:
            case Load():
                letters += "L"
            case Store():
                letters += "S"
            case Rmw():
                letters += "R"
            case Fence(kind=kind):
                letters += {Kind.MFENCE: "m", Kind.SFENCE: "s", Kind.FENCE: "f"}[kind]
            case Lock():
                letters += "<"
            case Unlock():
                letters += ">"
    return letters


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("int r = *x;", "L"),
        ("int r = atomic_load(x);", "L"),
        ("int r = atomic_load_explicit(x, memory_order_acquire);", "L"),
        ("int r = READ_ONCE(*x);", "L"),
        ("int r = smp_load_acquire(x);", "L"),
        ("int r = rcu_dereference(*x);", "L"),
        ("*x = 1;", "S"),
        ("WRITE_ONCE(*x, 1);", "S"),
        ("atomic_store_explicit(x, 1, memory_order_relaxed);", "S"),
        ("atomic_store_explicit(x, 1, memory_order_release);", "sS"),
        ("smp_store_release(x, 1);", "sS"),
        ("rcu_assign_pointer(*x, 1);", "sS"),
        ("atomic_store_explicit(x, 1, memory_order_seq_cst);", "sSm"),
        ("atomic_store(x, 1);", "sSm"),
        ("smp_store_mb(*x, 1);", "sSm"),
        ("atomic_exchange_explicit(x, 1, memory_order_relaxed);", "R"),
        ("atomic_exchange_explicit(x, 1, memory_order_acquire);", "R"),
        ("atomic_exchange_explicit(x, 1, memory_order_release);", "sR"),
        ("atomic_exchange(x, 1);", "sR"),
        ("int r = xchg(x, 1);", "sR"),
        ("int r = xchg_relaxed(x, 1);", "R"),
        ("int r = cmpxchg(x, 0, 1);", "sR"),
        ("atomic_fetch_add_explicit(x, 1, memory_order_acq_rel);", "sR"),
        ("atomic_fetch_xor(x, 1);", "sR"),
        ("int e = 0; int r = atomic_compare_exchange_strong(x, &e, 1);", "sR"),
        ("atomic_compare_exchange_weak_explicit(x, y, 1, memory_order_relaxed, memory_order_relaxed);", "LRS"),
        ("atomic_thread_fence(memory_order_relaxed);", ""),
        ("atomic_thread_fence(memory_order_acquire);", "f"),
        ("atomic_thread_fence(memory_order_release);", "s"),
        ("atomic_thread_fence(memory_order_acq_rel);", "s"),
        ("atomic_thread_fence(memory_order_seq_cst);", "m"),
        ("atomic_signal_fence(memory_order_seq_cst);", ""),
        ("smp_mb();", "m"),
        ("smp_wmb();", "s"),
        ("smp_rmb();", "f"),
        ("barrier();", ""),
        ("spin_lock(x); spin_unlock(x);", "<>"),
        ("mtx_lock(x); mtx_unlock(x);", "<>"),
        ("int r = *x + *y * *z;", "LLL"),
        ("*x = *y;", "LS"),
    ],
)
def test_what_operations_become(statement: str, expected: str) -> None:
    assert shape(c(statement).threads[0].code) == expected


def test_a_value_is_read_into_its_variable_at_once() -> None:
    program = c("int r = *x; int s = atomic_fetch_add(y, 1); atomic_fetch_add(y, 1);")
    load, _, rmw, _, nobody = program.threads[0].code
    assert isinstance(load, Load)
    assert load.register == "r"
    assert isinstance(rmw, Rmw)
    assert rmw.register == "s"
    assert isinstance(nobody, Rmw)
    assert nobody.register is None
    assert list(program.threads[0].registers) == ["r", "s"]


SEQUENTIAL = [
    # (body, initial state, what is asked, the only final state)
    ("int r = 1 + 2 * 3;", "", "0:r", "0:r=7"),
    ("int r = (1 + 2) * 3;", "", "0:r", "0:r=9"),
    ("int r = 7 - 2 - 1;", "", "0:r", "0:r=4"),
    (
        "int r = -7 / 2; int s = -7 % 2; int t = 7 / -2; int u = 7 % -2;",
        "",
        "0:r;0:s;0:t;0:u",
        "0:r=-3; 0:s=-1; 0:t=-3; 0:u=1",
    ),
    ("int r = 0x10; int s = 5UL;", "", "0:r; 0:s", "0:r=16; 0:s=5"),
    ("int r = 1 << 4 >> 2;", "", "0:r", "0:r=4"),
    ("int r = 6 & 3 | 8 ^ 1;", "", "0:r", "0:r=11"),
    ("int r = !5; int s = !0; int t = ~0;", "", "0:r; 0:s; 0:t", "0:r=0; 0:s=1; 0:t=-1"),
    ("int r = 1 < 2 == 1;", "", "0:r", "0:r=1"),
    ("int r = 0 || 5; int s = 2 && 0;", "", "0:r; 0:s", "0:r=1; 0:s=0"),
    ("int r; r = 3; r += 2; r++; r--; r *= 2;", "", "0:r", "0:r=10"),
    ("int r = 1, s = 2;", "", "0:r; 0:s", "0:r=1; 0:s=2"),
    ("int r = *x; if (r == 1) { r = 10; } else r = 20;", "x=1", "0:r", "0:r=10"),
    ("int r = *x; if (r == 1) { r = 10; } else r = 20;", "x=2", "0:r", "0:r=20"),
    ("int r = 0; if (*x) if (*y) r = 1; else r = 2;", "x=1", "0:r", "0:r=2"),
    ("int r = 0; while (r < 5) r++;", "", "0:r", "0:r=5"),
    ("int r = 0; do { r++; } while (r < 5);", "", "0:r", "0:r=5"),
    ("int r = 0; while (1) { r++; if (r == 3) break; if (r == 1) continue; r = r + 0; }", "", "0:r", "0:r=3"),
    ("int r = 0; do { r++; if (1) continue; } while (r < 3);", "", "0:r", "0:r=3"),
    ("int r = 0; L: r++; if (r < 3) goto L; return; r = 9;", "", "0:r", "0:r=3"),
    ("int r = *x && *y;", "x=1; y=1", "0:r", "0:r=1"),
    ("int *q = *p; *q = 5; int r = *(q);", "p=x", "x; 0:r", "0:r=5; x=5"),
    ("int *q = READ_ONCE(*p); int r = READ_ONCE(*q);", "int* p = &x; x=3", "0:r", "0:r=3"),
    ("int r = atomic_exchange(x, 4);", "x=3", "0:r; x", "0:r=3; x=4"),
    ("int r = atomic_fetch_sub(x, 4);", "x=3", "0:r; x", "0:r=3; x=-1"),
    ("int r = atomic_fetch_or(x, 6);", "x=3", "0:r; x", "0:r=3; x=7"),
    ("int r = atomic_fetch_or(x, 4) + atomic_fetch_and(x, 5);", "x=3", "0:r; x", "0:r=10; x=5"),
    ("int r = cmpxchg(x, 3, 4); int s = cmpxchg(x, 3, 5);", "x=3", "0:r; 0:s; x", "0:r=3; 0:s=4; x=4"),
    ("int e = 3; int r = atomic_compare_exchange_strong(x, &e, 4);", "x=3", "0:e; 0:r; x", "0:e=3; 0:r=1; x=4"),
    ("int e = 2; int r = atomic_compare_exchange_strong(x, &e, 4);", "x=3", "0:e; 0:r; x", "0:e=3; 0:r=0; x=3"),
    ("int r = atomic_compare_exchange_strong(x, y, 4);", "x=3; y=3", "0:r; x; y", "0:r=1; x=4; y=3"),
    ("int r = atomic_compare_exchange_strong(x, y, 4);", "x=3; y=2", "0:r; x; y", "0:r=0; x=3; y=3"),
    ("int tmp0 = 5; int r = *x + *y;", "x=1; y=2", "0:r; 0:tmp0", "0:r=3; 0:tmp0=5"),
    ("int r; *x = r;", "0:r=7", "x", "x=7"),
    ("int r = 1; { int r = 2; } ", "", "0:r", "0:r=2"),  # one register for the whole function, as in herd
    ("*x; int r = 1;", "", "0:r", "0:r=1"),
    ("/* comment } */ int r = 1; // exists\n r = 2;", "", "0:r", "0:r=2"),
]


@pytest.mark.parametrize(("body", "init", "asked", "final"), SEQUENTIAL)
def test_one_thread(body: str, init: str, asked: str, final: str) -> None:
    program = c(body, init=init, condition=f"locations [{asked};]")
    for model in ("sc", "tso", "pso"):
        assert finals(program, model) == {final}


@pytest.mark.parametrize(
    ("operator", "x", "result", "loads"), [("&&", 0, 0, "L"), ("&&", 2, 1, "LL"), ("||", 0, 1, "LL"), ("||", 2, 1, "L")]
)
def test_the_right_side_is_read_only_when_the_left_does_not_decide(
    operator: str, x: int, result: int, loads: str
) -> None:
    program = c(f"int r = *x {operator} atomic_fetch_add(y, 1);", init=f"x={x}; y=5", condition="locations [0:r; y;]")
    assert outcomes(program, "sc") == {(result, 5 + len(loads) - 1)}


SB = "{store} int r = {load};"


@pytest.mark.parametrize(("order", "counts"), [("relaxed", [3, 4, 4]), ("release", [3, 4, 4]), ("seq_cst", [3, 3, 3])])
def test_store_buffering(order: str, counts: list[int]) -> None:
    bodies = [
        f"atomic_store_explicit({mine}, 1, memory_order_{order});"
        f"int r = atomic_load_explicit({other}, memory_order_acquire);"
        for mine, other in ("xy", "yx")
    ]
    program = c(*bodies, condition="exists (0:r=0 /\\ 1:r=0)")
    assert [len(outcomes(program, model)) for model in ("sc", "tso", "pso")] == counts


@pytest.mark.parametrize(
    ("between", "flag", "pso"),
    [
        ("", "WRITE_ONCE(*y, 1);", "Sometimes"),
        ("smp_wmb();", "WRITE_ONCE(*y, 1);", "Never"),
        ("", "smp_store_release(y, 1);", "Never"),
        ("", "int s = xchg(y, 1);", "Never"),
        ("atomic_thread_fence(memory_order_release);", "*y = 1;", "Never"),
    ],
)
def test_message_passing(between: str, flag: str, pso: str) -> None:
    program = c(
        f"WRITE_ONCE(*x, 1); {between} {flag}",
        "int r0 = READ_ONCE(*y); smp_rmb(); int r1 = READ_ONCE(*x);",
        condition="exists (1:r0=1 /\\ 1:r1=0)",
    )
    words = [observation(program, outcomes(program, model))[0] for model in ("sc", "tso", "pso")]
    assert words == ["Never", "Never", pso]


def test_mutual_exclusion() -> None:
    body = "spin_lock(p); int r = *x; *x = r + 1; spin_unlock(p);"
    program = c(body, body, init="spinlock_t p; x=0", condition="locations [x;]")
    assert finals(program, "tso") == {"x=2"}
    unlocked = c(*["int r = *x; *x = r + 1;"] * 2, condition="locations [x;]")
    assert finals(unlocked, "sc") == {"x=1", "x=2"}


KERNEL = """C MP+poonceonces

(*
 * Result: Sometimes
 *
 * Can the counter-intuitive message-passing outcome be { prevented }?
 *)

{}

P0(int *buf, int *flag) // Producer
{
	WRITE_ONCE(*buf, 1);
	WRITE_ONCE(*flag, 1);
}

(* between *)
P1(int *buf, int *flag) /* Consumer */
{
	int r0;
	int r1;

	r0 = READ_ONCE(*flag);
	r1 = READ_ONCE((*buf));
}

exists (1:r0=1 /\\ 1:r1=0) (* Bad outcome. *)
"""


def test_a_test_of_the_linux_kernel() -> None:
    program = litmus.read(KERNEL, "kernel.litmus")
    assert program.name == "MP+poonceonces"
    assert [observation(program, outcomes(program, model))[0] for model in ("sc", "tso", "pso")] == [
        "Never",
        "Never",
        "Sometimes",
    ]
    assert [i.location.line for i in program.threads[1].code if i.location] == [23, 24]


BAD = [
    ("int r = foo(x);", "foo is not supported"),
    ("r = 1;", "r is not declared"),
    ("int r = s;", "s is not declared"),
    ("x = 1;", "x is a pointer"),
    ("int r = ;", "expected an expression"),
    ("int r = 1", "expected `;`"),
    ("int r = 010;", "cannot read the number"),
    ("int r = 99999999999999999999;", "cannot read the number"),
    ("int r = *x / *y;", "constant divisor"),
    ("int r = *x % 0;", "constant divisor"),
    ("int r = x[0];", "`[` is not supported"),
    ("int r = *x ? 1 : 2;", "`?` is not supported"),
    ("for (;;) { }", "`for` is not supported"),
    ("switch (1) { }", "`switch` is not supported"),
    ("break;", "outside of a loop"),
    ("goto L;", "no label of this function"),
    ("L: ; L: ;", "stands twice"),
    ("int r = 1; int r = 2;", "r is declared twice"),
    ("int x = 1;", "x is declared twice"),
    ("char r = 1;", "char is not supported"),
    ("atomic_store_explicit(x, 1);", "expected `,`"),
    ("atomic_store_explicit(x, 1, relaxed);", "needs a memory order"),
    ("int r = atomic_load(x, 1);", "expected `)`"),
    ("int r = atomic_store(x, 1);", "has no value"),
    ("READ_ONCE(x);", "expected `*`"),
    ("atomic_compare_exchange_strong(x, &q, 1);", "only a local variable"),
    ("if (1 { }", "expected `)`"),
    ("{ int r = 1;", "`}` is missing"),
    ("int r = " + "(" * 5000 + "1", "nested more than"),
    ("int r = " + "- " * 5000 + "1;", "nested more than"),
    ("{" * 5000, "nested more than"),
    ("if (1) " * 5000 + ";", "nested more than"),
    ("int r = " + "*" * 5000 + "x;", "nested more than"),
]


@pytest.mark.parametrize(("body", "words"), BAD, ids=[body[:40] for body, _ in BAD])
def test_errors(body: str, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        litmus.read(f"C bad\n{{ }}\nP0 (int* x, int* y)\n{{ {body}\n}}\n", "bad.litmus")
    assert words in caught.value.message
    assert caught.value.location is not None
    assert 4 <= caught.value.location.line <= 5


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("C t\n{ }\n", 2, "no code"),
        ("C t\n{ }\nexists (x=1)\n", 2, "no code"),
        ("C t\n{ }\nint main() { }\n", 3, "expected a function P0"),
        ("C t\n{ }\nP0 (int x) { }\n", 3, "a parameter is a pointer"),
        ("C t\n{ }\nP0 (char* x) { }\n", 3, "char is not supported"),
        ("C t\n{ }\nP0 (int* x, int* x) { }\n", 3, "two parameters are called x"),
        ("C t\n{ }\nP0 (int* x) { }\nP0 (int* x) { }\n", 4, "two threads are called P0"),
        ("C t\n{ }\nP1 (int* x) { }\n", 2, "without a gap"),
        ("C t\n{ }\nP0 (int* x { }\n", 3, "a parameter is a pointer"),
        ("C t\n{ }\nP0 (int* x) {\n /* open }\n", 4, "never closed"),
        ("C t\n{ int8_t x; }\nP0 (int* x) { }\n", 2, "less than 32"),
        ("C t\n{ 0:r=1; }\nP0 (int* x) { }\n", 2, "P0 does not declare"),
        ("C t\n{ 1:r=1; }\nP0 (int* x) { }\n", 2, "there are 1 threads"),
        ("C t\n{ }\nP0 (int* x) { int r = *x; }\nexists (0:s=1)\n", 4, "0:s is asked about"),
        ("C t\n{ }\nP0 (int* x) { int r = *x + *x; }\nexists (0:tmp0=1)\n", 4, "0:tmp0 is asked about"),
        ("C t\n{ }\nP0 (int* x) { int r = *x; }\nexists (1:r=1)\n", 4, "there are 1 threads"),
        ("C t\n{ }\nP0 (int* x) { int r = *x; }\nexists (y=1)\n", 4, "asks about y"),
    ],
)
def test_errors_outside_of_bodies(text: str, line: int, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        litmus.read(text, "bad.litmus")
    assert words in caught.value.message
    assert str(caught.value.location) == f"bad.litmus:{line}"


def test_a_long_expression_is_cut_into_pieces() -> None:
    program = c("int r = *x" + " + 1" * 5000 + ";", condition="exists 0:r=5000")
    assert finals(program) == {"0:r=5000"}


def read_or_refuse(text: str) -> None:
    try:
        litmus.read(text, "fuzz.litmus")
    except ParseError as refusal:
        problem = refusal
    else:
        return
    assert problem.location is not None
    assert 1 <= problem.location.line <= text.count("\n") + 1


WORDS = """int r0 r1 x *x y = == + - * / % && || ! ~ ( ) { } ; , if else while do break goto L : return READ_ONCE
    WRITE_ONCE 1 0 atomic_load atomic_store_explicit memory_order_release atomic_compare_exchange_strong & spin_lock P0
    exists (* *) /* //"""
PIECES = st.sampled_from([*WORDS.split(), "\n", " "])


@given(st.lists(PIECES, max_size=60))
def test_random_pieces(pieces: list[str]) -> None:
    read_or_refuse("C t\n{}\n" + " ".join(pieces))
    read_or_refuse("C t\n{}\nP0 (int* x, int* y) { int r0; " + " ".join(pieces) + "}\nexists (0:r0=1)")


def test_every_truncation() -> None:
    for end in range(len(KERNEL)):
        read_or_refuse(KERNEL[:end])


@given(st.integers(0, len(KERNEL) - 1), st.integers(0, 12), st.text(max_size=3) | PIECES)
def test_mutations(start: int, length: int, new: str) -> None:
    read_or_refuse(KERNEL[:start] + new + KERNEL[start + length :])


BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "&&": lambda a, b: bool(a) and bool(b), "||": lambda a, b: bool(a) or bool(b),
}  # fmt: skip
UNARY: dict[str, Callable[[int], int]] = {"-": operator.neg, "~": operator.invert, "!": operator.not_}

texts_and_values = st.recursive(
    st.integers(-9, 9).map(lambda n: (str(n), n)) | st.sampled_from([("a", 3), ("b", -2)]),
    lambda inner: (
        st.tuples(inner, st.sampled_from(sorted(BINARY)), inner).map(
            lambda parts: (
                f"({parts[0][0]} {parts[1]} {parts[2][0]})",
                int(BINARY[parts[1]](parts[0][1], parts[2][1])),
            )
        )
        | st.tuples(st.sampled_from(sorted(UNARY)), inner).map(
            lambda parts: (f"{parts[0]}({parts[1][0]})", int(UNARY[parts[0]](parts[1][1])))
        )
    ),
    max_leaves=12,
)


@given(texts_and_values)
def test_random_expressions(expression: tuple[str, int]) -> None:
    text, value = expression
    program = c(f"int a = 3; int b = -2; int r = {text};", condition="locations [0:r;]")
    assert outcomes(program, "sc") == {(wrap(value),)}
