"""Where a fence can stand in a text of C, what counts as one, and what a patch makes of it; no compiler is asked."""

from __future__ import annotations

import pytest

from teetotal.answers.events import Kind
from teetotal.answers.remedies import Order
from teetotal.fences import c_atomics
from teetotal.fences.c_gaps import Gaps
from teetotal.fences.c_macros import Macros, parse
from teetotal.fences.c_orders import strongest
from teetotal.fences.c_syntax import Expression
from teetotal.fences.edits import Edit, apply


def gaps_of(body: str) -> list[tuple[str, bool, bool]]:
    """The statement of each gap, whether it is before it, and whether a loop runs it again."""
    gaps = Gaps(f"void f(void) {{ {body} }}", cpp=False)
    return [(gaps.words(gap.statement), gap.before, gap.in_loop) for gap in gaps.gaps]


def test_no_gap_where_nothing_can_come() -> None:
    assert gaps_of("x = 1; return;") == [("x = 1;", True, False), ("x = 1;", False, False)]
    assert ("goto end;", False, False) not in gaps_of("goto end; end: x = 1;")
    assert ("break;", False, True) not in gaps_of("for (;;) { x = 1; break; }")


@pytest.mark.parametrize(
    "text",
    [
        "static _Atomic(struct node *) top;",
        "typedef struct node { _Atomic (int) busy; _Atomic(struct node *) next; } node_t;",
        "static _Atomic(node_t *) tail = &first;",
        "static _Atomic\n(int) line;",
    ],
)
def test_atomic_types_are_understood(text: str) -> None:
    """They were told as lines that macros hide."""
    assert Gaps(text, cpp=False).unread == []
    body = "_Atomic(int) mine = 0, *other = &mine; é(); x = (_Atomic(long) *)p; y = 1;"
    gaps = Gaps(f"{text}\nvoid f(void) {{ {body} }}", cpp=False)
    assert ("y = 1;", False) in [(gaps.words(gap.statement), gap.before) for gap in gaps.gaps]


def test_a_gap_knows_whether_it_is_in_a_loop() -> None:
    loops = {words: looping for words, before, looping in gaps_of("x = 1; while (1) { y = 1; } z = 1;") if not before}
    assert loops == {"x = 1;": False, "y = 1;": True, "z = 1;": False, "while (1) { y = 1; }": False}


def test_one_fence_in_the_place_of_another() -> None:
    text = "void f(void) {\n    x = 1;\n    smp_wmb();\n    y = 1;\n}\n"
    gaps = Gaps(text, cpp=False)
    (existing,) = gaps.fences
    assert existing.kind is Kind.SFENCE
    (at,) = (gap for gap in gaps.gaps if gap.statement.start == existing.statement.start and not gap.before)
    patched = apply(text, gaps.patch([(at, "smp_mb();", 0)], [existing.statement])).text
    assert patched == text.replace("smp_wmb", "smp_mb")


FENCES = {
    "atomic_thread_fence(memory_order_seq_cst);": Kind.MFENCE,
    "std::atomic_thread_fence(std::memory_order::seq_cst);": Kind.MFENCE,
    "atomic_thread_fence(memory_order_acq_rel);": Kind.SFENCE,
    "atomic_thread_fence(memory_order_release);": Kind.SFENCE,
    "atomic_thread_fence(memory_order_acquire);": None,
    "atomic_thread_fence(memory_order_relaxed);": None,
    "__atomic_thread_fence(5);": Kind.MFENCE,
    "__atomic_thread_fence(3);": Kind.SFENCE,
    "__atomic_thread_fence(2);": None,
    '__asm__ volatile("mfence" ::: "memory");': Kind.MFENCE,
    '__asm__ volatile("sfence" ::: "memory");': Kind.SFENCE,
    '__asm__ volatile("lfence" ::: "memory");': None,
    "smp_mb();": Kind.MFENCE,
    "smp_wmb();": Kind.SFENCE,
    "smp_rmb();": None,
    "smp_mb()": None,  # no statement
}


@pytest.mark.parametrize("statement", FENCES)
def test_which_statements_are_fences(statement: str) -> None:
    assert Macros().fence(statement) is FENCES[statement]


def test_a_macro_is_what_it_stands_for() -> None:
    told = (
        "#define FULL() do { smp_mb(); } while (0)\n#define smp_wmb() smp_mb()\n#define NONE()\n#define F(x) smp_mb()\n"
    )
    macros = Macros(parse(told))
    found = [macros.fence(f"{words};") for words in ("FULL()", "smp_wmb()", "NONE()", "F(1)", "smp_mb()")]
    assert found == [Kind.MFENCE, Kind.MFENCE, None, None, Kind.MFENCE]


MACROS = {
    "ONE": ("1", False),
    "SUM": ("(ONE + 2)", False),
    "CALL": ("f(1)", True),
    "COUNT": ("n++", True),
    "DOWN": ("--n", True),
    "STORE": ("(n = 1)", True),
    "INSIDE": ("(1 + COUNT)", True),
}


@pytest.mark.parametrize("name", MACROS)
def test_which_macros_only_compute(name: str) -> None:
    macros = Macros({name: body for name, (body, _) in MACROS.items()})
    assert macros.does_more(name) is MACROS[name][1]


def test_of_two_orders_for_one_store_the_stronger_is_written() -> None:
    assert strongest([Order.RELEASE, Order.SEQ_CST]) is Order.SEQ_CST
    assert strongest([Order.SEQ_CST, Order.RMW, Order.RELEASE]) is Order.RMW


@pytest.mark.parametrize(
    ("call", "cpp", "written"),
    [
        ("atomic_load(&x)", False, "atomic_load_explicit(&x, memory_order_acquire)"),
        ("x.load()", True, "x.load(std::memory_order_acquire)"),
        ("__atomic_load_n(&x, __ATOMIC_RELAXED)", False, "__atomic_load_n(&x, __ATOMIC_ACQUIRE)"),
        (
            "atomic_compare_exchange_weak(&x, &e, 1)",
            False,
            "atomic_compare_exchange_weak_explicit(&x, &e, 1, memory_order_acquire, memory_order_seq_cst)",
        ),
        ("x.compare_exchange_weak(e, 1)", True, "x.compare_exchange_weak(e, 1, std::memory_order_acquire)"),
        ("GET(x)", False, "atomic_load_explicit(&x, memory_order_acquire)"),
        ("GET(at(x))", False, None),
        ("__atomic_load_n(&x, order)", False, None),
        ("x.clear()", True, None),
        ("x.clear(std::memory_order_relaxed)", True, "x.clear(std::memory_order_acquire)"),
    ],
)
def test_the_order_of_a_call_is_written_where_it_belongs(call: str, cpp: bool, written: str | None) -> None:
    """And where what it is cannot be told, it is left alone: many classes have a member ``clear``."""
    expression = Expression(call, cpp)
    assert expression.root is not None
    found = c_atomics.read(expression.root, expression.at, cpp, False, Macros({"GET(v)": "atomic_load(&v)"}))
    assert (found is None) == (written is None)
    if found is not None:
        assert expression.words(apply(expression.source, found.edits({0: "acquire"}, None)).text) == written


def test_a_line_that_an_edit_ends_in_is_the_old_one_there() -> None:
    """From there on lines are counted as they were: errors of a patched text are told as of the user's own."""
    joined = apply("a\nb\nc\n", [Edit(0, 3, "X")])
    assert (joined.text, joined.was) == ("X\nc\n", [0, 2, 3, 4])
    more = apply("a\nb\n", [Edit(2, 2, "f;\n", key="f")])
    assert (more.text, more.was, more.lines) == ("a\nf;\nb\n", [0, 1, 2, 2, 3], {"f": 2})
