"""What a piece of Promela means: small programs whose assertions hold on every machine, or fail on those named."""

from __future__ import annotations

import pytest

from teetotal.answers.errors import ParseError
from teetotal.answers.events import MODELS, Kind, ModelName, Semantics
from teetotal.answers.verdict import Verdict
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.verify import robust, verify
from teetotal.programs.promela import compile_text
from teetotal.programs.promela.program import PromelaProgram

ALONE = {
    # one process, whose assertions hold
    "byte wraps": "byte x; active proctype P() { byte a; a = 255; a = a + 2; assert(a == 1) }",
    "shared byte wraps": "byte x; active proctype P() { int a; x = 255; x = x + 2; a = x; assert(a == 1) }",
    "short is signed": "active proctype P() { short a; a = 32767; a = a + 1; assert(a == -32768) }",
    "bit": "active proctype P() { bit a; a = 3; assert(a == 1) }",
    "division towards zero": "active proctype P() { int a; a = -7; assert(a / 2 == -3 && a % 2 == -1) }",
    "conditional expression": "active proctype P() { byte a; a = 3; assert((a == 3 -> 5 : 7) == 5) }",
    "other arm": "active proctype P() { byte a; a = 4; assert((a == 3 -> 5 : 7) == 7) }",
    "cas succeeds": "byte x = 3; active proctype P() { byte a, b; cas(a, x, 3, 4); b = x; assert(a == 1 && b == 4) }",
    "cas fails": "byte x = 3; active proctype P() { byte a, b; cas(a, x, 2, 4); b = x; assert(a == 0 && b == 3) }",
    "xchg": "byte x = 3; active proctype P() { byte a, b; xchg(a, x, 4); b = x; assert(a == 3 && b == 4) }",
    "fetch_add": "byte x = 3; active proctype P() { byte a, b; fetch_add(a, x, 4); b = x; assert(a == 3 && b == 7) }",
    "rmw wraps": "byte x = 255; active proctype P() { int a, b; fetch_add(a, x, 2); b = x; assert(b == 1) }",
    "local array": "byte x; active proctype P() { byte v[3], i; i = x; v[i + 1] = 5; assert(v[1] == 5 && v[0] == 0) }",
    "shared array": "byte x, v[3]; active proctype P() { byte i, a; i = x + 1; v[i] = 5; a = v[1]; assert(a == 5) }",
    "an index that does not matter": """byte v[2], x = 2; active proctype P() { byte w[2], i = 2;
        assert(!(x < 2 && (v[x] == 0 && (i < 2 && w[i] == v[x])))); assert(x >= 2 || v[x] == 5); assert(i == 2 || w[i]);
        assert((x < 2 -> v[x] : 7) == 7 && (i >= 2 -> 7 : w[i]) == 7); i = 1; assert(i == 1 && w[i] == 0) }""",
    "an element needed twice": """byte v[2], x = 1; active proctype P() { v[1] = 7;
        assert((x == 0 && v[x] == 0) || (x == 1 && v[x] == 7)); assert((x < 2 -> v[x] : 0) == 7);
        assert(((x == 0 && v[x] == 0) | (x == 1 && v[x] == 7)) == 1);
        assert((x == 0 && v[x] == 0) || v[x] == 7) }""",
    "guards of several lines see one value": """byte v[2]; active proctype P() { byte i, a;
        if :: v[i] == 0 -> skip
           :: v[i] == 1 -> skip
           :: else -> a = 1 fi; assert(a == 0) } active proctype Q() { v[0] = 1; v[0] = 0 }""",
    "break": "active proctype P() { byte a; do :: a < 3 -> a = a + 1 :: else -> break od; assert(a == 3) }",
    "else": "byte x; active proctype P() { byte a; if :: x == 1 -> a = 1 :: else -> a = 2 fi; assert(a == 2) }",
    "goto": "active proctype P() { byte a; again: a = a + 1; if :: a < 3 -> goto again :: else fi; assert(a == 3) }",
    "pid": "active proctype P() { assert(_pid == 0) }",
    "parameter": "proctype P(byte v) { assert(v == 7) } init { run P(7) }",
    "a parameter may be assigned": "proctype P(byte v) { v = v + 1; assert(v == 8) } init { run P(7) }",
    "a parameter is truncated": "proctype P(byte v) { assert(v == 1) } init { run P(257) }",
    "init stores before it runs": "byte x; proctype P() { byte a; a = x; assert(a == 5) } init { x = 5; run P() }",
    "own atomic block": "byte x; active proctype P() { byte a; atomic { x = 1; x = x + 1; a = x }; assert(a == 2) }",
    "own store is seen": "byte x; active proctype P() { byte a; x = 1; a = x; assert(a == 1) }",
    "a sum of 300": f"byte x = 1; active proctype P() {{ int a; a = x; assert({' + '.join(['a'] * 300)} == 300) }}",
    "300 negations": f"byte x = 1; active proctype P() {{ byte a; a = x; assert(a == 1 && {'!' * 300}a == 1) }}",
}


@pytest.mark.parametrize("what", ALONE)
def test_holds_on_every_machine(what: str) -> None:
    for model in MODELS:
        assert verify(compile_text(ALONE[what]), model).verdict is Verdict.SAFE, model


def test_what_is_nested_too_deeply_is_refused_by_its_name() -> None:
    text = f"byte x; active proctype P() {{ x = {'(' * 3000}1{')' * 3000} }}"
    with pytest.raises(ParseError, match="nested too deeply") as refused:
        compile_text(text, "deep.pml")
    assert str(refused.value) == "deep.pml:1: nested too deeply"


@pytest.mark.parametrize(
    "condition",
    ["i > 1 && v[i] == 0", "i < 2 || v[i] == 0", "(i < 2 -> 0 : v[i])", "(i < 2 && v[i]) || v[i]", "v[i] && i < 2"],
)
@pytest.mark.parametrize("own", [True, False])
def test_an_index_that_matters_is_inside(condition: str, own: bool) -> None:
    declared = ("", "byte v[2], i = 2;") if own else ("byte v[2], i = 2;", "")
    program = f"byte x; {declared[0]} active proctype P() {{ {declared[1]} if :: {condition} -> skip :: else fi }}"
    for model in MODELS:
        assert verify(compile_text(program), model).verdict is Verdict.VIOLATION, model


def test_conditions_of_many_elements_do_not_explode() -> None:
    many = " && ".join(["v[i] == 0"] * 60)
    text = f"byte x; active proctype P() {{ byte v[2], i; assert({many}) }}"
    assert verify(compile_text(text), "sc").verdict is Verdict.SAFE


def test_and_its_opposite_on_none() -> None:
    """A table of assertions that hold shows nothing where assertions are not looked at."""
    for what, text in ALONE.items():
        start = text.rindex("assert(") + len("assert(")
        end = text.rindex(")", 0, text.index("}", start))
        opposite = f"{text[:start]}!({text[start:end]}){text[end:]}"
        for model in MODELS:
            assert verify(compile_text(opposite), model).verdict is Verdict.VIOLATION, (what, model)


SEVERAL = [
    # text, and the machines on which it goes wrong
    ("choice", "active proctype P() { byte a; if :: a = 1 :: a = 2 fi; assert(a != 2) }", "sc tso pso"),
    ("select", "active proctype P() { byte a; select(a : 1 .. 3); assert(a != 3) }", "sc tso pso"),
    ("select, low", "active proctype P() { byte a; select(a : 1 .. 3); assert(a != 1) }", "sc tso pso"),
    ("select, bounds", "active proctype P() { byte a; select(a : 1 .. 3); assert(a >= 1 && a <= 3) }", ""),
    (
        "mutex",
        "bit m; byte n; active [2] proctype P() { byte a; lock(m); a = n; n = a + 1; a = n; assert(a <= 2); unlock(m);"
        " lock(m); a = n; assert(a >= 1); unlock(m) }",
        "",
    ),
    (
        "mutual exclusion",
        "bit m; byte n, done; active [2] proctype P() { byte a, d; lock(m); a = n; n = a + 1; unlock(m);"
        " fetch_add(d, done, 1); (done == 2); a = n; assert(a == 2) }",
        "",
    ),
    (
        "an unlock lets others in",
        "bit m; byte x; active proctype P() { lock(m); x = 1; unlock(m) }"
        " active proctype Q() { byte a; lock(m); a = x; unlock(m); assert(a == 0) }",
        "sc tso pso",
    ),
    (
        "increments interleave",
        "byte n, done; active [2] proctype P() { byte a, d; a = n; n = a + 1; fetch_add(d, done, 1);"
        " (done == 2); a = n; assert(a == 2) }",
        "sc tso pso",
    ),
    (
        "a condition is waited for",
        "byte x; active proctype P() { byte a; x == 1; a = x; assert(a == 1) } active proctype Q() { x = 1 }",
        "",
    ),
    (
        "atomic is one step",
        "byte x, y; active proctype P() { atomic { x = 1; y = 1 } }"
        " active proctype Q() { byte a, b; atomic { a = x; b = y }; assert(a == b) }",
        "",
    ),
    (
        "store buffering",
        "byte x, y; active proctype P() { x = 1; (y == 0); in: skip } active proctype Q() { y = 1; (x == 0); in: skip }"
        " forbidden(both, P@in && Q@in)",
        "tso pso",
    ),
    (
        "mfence",
        "byte x, y; active proctype P() { x = 1; mfence; (y == 0); in: skip }"
        " active proctype Q() { y = 1; mfence; (x == 0); in: skip } forbidden(both, P@in && Q@in)",
        "",
    ),
    (
        "message passing",
        "byte x, y; active proctype P() { x = 1; y = 1 } active proctype Q() { byte a; (y == 1); a = x; assert(a == 1) }",
        "pso",
    ),
    (
        "sfence",
        "byte x, y; active proctype P() { x = 1; sfence; y = 1 }"
        " active proctype Q() { byte a; (y == 1); a = x; assert(a == 1) }",
        "",
    ),
    (
        "forbidden or",
        "byte x; active proctype P() { byte a; a = x; if :: a == 1 -> one: skip :: else -> skip fi }"
        " active proctype Q() { x = 1; two: skip } forbidden(any, P@one || (Q@two && P@one))",
        "sc tso pso",
    ),
    (
        "forbidden not",
        "active proctype P() { one: skip; two: skip } forbidden(away, !P@one && !P@two)",
        "sc tso pso",
    ),
    (
        "forbidden ghost",
        "ghost byte g; active proctype P() { g = 1; g = 2 } forbidden(two, g == 2)",
        "sc tso pso",
    ),
    ("forbidden contradiction", "active proctype P() { one: skip } forbidden(nothing, P@one && !P@one)", ""),
    ("forbidden ghost, never", "ghost byte g; active proctype P() { g = 1; g = 2 } forbidden(three, g == 3)", ""),
]


@pytest.mark.parametrize(("text", "wrong"), [case[1:] for case in SEVERAL], ids=[case[0] for case in SEVERAL])
def test_goes_wrong_there_and_nowhere_else(text: str, wrong: str) -> None:
    found = [model for model in MODELS if verify(compile_text(text), model).verdict is Verdict.VIOLATION]
    assert found == wrong.split()


def verdict(text: str, model: ModelName = "tso") -> Verdict:
    return verify(compile_text(text), model).verdict


def test_an_atomic_block_of_ghosts_flushes_nothing() -> None:
    """Store buffering with a note between the store and the load."""
    text = """byte x, y; ghost byte g;
    active proctype P() { x = 1; atomic { g = 1; g = 2 }; (y == 0); in: skip }
    active proctype Q() { y = 1; atomic { g = 3; g = 4 }; (x == 0); in: skip }
    forbidden(both, P@in && Q@in)"""
    assert verdict(text) is Verdict.VIOLATION


def test_storing_an_element_leaves_the_others() -> None:
    text = "byte x; active proctype P() { byte v[3], i; i = x; v[2] = 7; v[i] = 5; assert(v[0] == 5 && v[2] == 7) }"
    assert verdict(text) is Verdict.SAFE


def test_waiting_for_ever_is_no_failure() -> None:
    assert verdict("active proctype P() { byte a; a == 1; assert(false) }") is Verdict.SAFE


def test_an_atomic_block_takes_each_of_its_options() -> None:
    text = "byte x; active proctype P() { byte a; atomic { x = 1; if :: a = 1 :: a = 2 fi }; assert(a != %d) }"
    assert [verdict(text % value) for value in (1, 2, 3)] == [Verdict.VIOLATION, Verdict.VIOLATION, Verdict.SAFE]


def test_an_assertion_inside_an_atomic_block() -> None:
    text = "byte x; active proctype P() { byte a; atomic { x = 1; a = x; assert(a == %d) } }"
    assert [verdict(text % value) for value in (1, 2)] == [Verdict.SAFE, Verdict.VIOLATION]


def test_registers_that_are_read_no_more_do_not_count() -> None:
    """What P has read and forgets tells no two states apart."""
    forgets = compile_text("byte x, y; active proctype P() { byte a; a = x; y = 1 }")
    keeps = compile_text("byte x, y; active proctype P() { byte a; a = x; y = a }")
    for program, alike in ((forgets, True), (keeps, False)):
        one, two = (program.after_load(0, program.begin(0), value) for value in (1, 2))
        assert (one == two) is alike


def test_ghosts_are_no_memory_of_a_machine() -> None:
    program = compile_text("byte x; ghost byte g; active proctype P() { x = 1; g = 1 }")
    assert program.initial_memory == {"x": 0}


def test_a_place_for_a_fence_is_no_fence() -> None:
    text = "byte x, y; active proctype P() { x = 1; y = 1 }"
    program = compile_text(text, places="stores")
    assert program.sites
    assert [request_kinds(program.with_fences(fences)) for fences in (frozenset[int](), frozenset({0}))] == [
        {Kind.ST},
        {Kind.ST, program.sites[0].kind},
    ]


def request_kinds(program: PromelaProgram) -> set[Kind]:
    """Of the accesses of the first process, one after the other."""
    state, kinds = program.start(0), set()
    while not program.halted(0, state):
        request = program.next(0, state)
        if request is not None:
            kinds.add(request.kind)
        state = program.update(0, state, 0)
    return kinds


def test_a_label_of_another_process_is_refused() -> None:
    text = "active proctype P() { one: skip } active proctype Q() { two: skip } forbidden(wrong, Q[0]@two)"
    with pytest.raises(ParseError, match="process 0 is no Q"):
        compile_text(text)


def test_a_register_that_is_read_behind_else_only_is_kept() -> None:
    text = "byte x; active proctype P() { byte a; a = 5; if :: x == 1 -> skip :: x == 2 :: else -> assert(a == 5) fi }"
    assert verdict(text) is Verdict.SAFE


def test_a_parameter_may_receive_the_result_of_a_cas() -> None:
    text = "byte x; proctype P(byte v) { cas(v, x, 0, 1); assert(v == 1) } init { run P(7) }"
    assert verdict(text) is Verdict.SAFE


ADDRESS, BARE = Semantics(rmw="address"), Semantics(rmw="address", mutex="rmw")
ATOMICS: list[tuple[str, str, Semantics, str]] = [
    (
        "rmw flushes everything",
        "byte x, y; active proctype P() { byte r; x = 1; fetch_add(r, y, 1) }"
        " active proctype Q() { byte a; (y == 1); a = x; assert(a == 1) }",
        Semantics(),
        "",
    ),
    (
        "rmw flushes its own address",
        "byte x, y; active proctype P() { byte r; x = 1; fetch_add(r, y, 1) }"
        " active proctype Q() { byte a; (y == 1); a = x; assert(a == 1) }",
        ADDRESS,
        "pso",
    ),
    (
        "rmw behind an sfence",
        "byte x, y; active proctype P() { byte r; x = 1; sfence; fetch_add(r, y, 1) }"
        " active proctype Q() { byte a; (y == 1); a = x; assert(a == 1) }",
        ADDRESS,
        "",
    ),
    (
        "rmw behind its own store",
        "byte x; active proctype P() { byte r; x = 5; fetch_add(r, x, 1); assert(r == 5) }",
        ADDRESS,
        "",
    ),
    (
        "unlock is a fence",
        "bit m; byte x, y; active proctype P() { lock(m); x = 1; unlock(m); y = 1 }"
        " active proctype Q() { byte a; (y == 1); a = x; assert(a == 1) }",
        ADDRESS,
        "",
    ),
    (
        "unlock is no fence",
        "bit m; byte x, y; active proctype P() { lock(m); x = 1; unlock(m); y = 1 }"
        " active proctype Q() { byte a; (y == 1); a = x; assert(a == 1) }",
        BARE,
        "pso",
    ),
    (
        "stores of one address keep their order",
        "byte x; active proctype P() { x = 1; x = 2 } active proctype Q() { byte a, b; a = x; b = x; assert(a <= b) }",
        Semantics(),
        "",
    ),
    (
        "rmw of nothing",
        "byte x; active proctype P() { byte r; x = 5; fetch_add(r, x, 0); assert(r == 5) }",
        ADDRESS,
        "",
    ),
    (
        "store buffering with rmws",
        "byte x, y, u, v; active proctype P() { byte r; x = 1; fetch_add(r, u, 1); (y == 0); in: skip }"
        " active proctype Q() { byte r; y = 1; fetch_add(r, v, 1); (x == 0); in: skip } forbidden(both, P@in && Q@in)",
        ADDRESS,
        "pso",
    ),
    (
        "store buffering with sfences",
        "byte x, y; active proctype P() { x = 1; sfence; (y == 0); in: skip }"
        " active proctype Q() { y = 1; sfence; (x == 0); in: skip } forbidden(both, P@in && Q@in)",
        Semantics(),
        "tso pso",
    ),
    (
        "an sfence is passed",
        "byte x; active proctype P() { byte a; x = 1; sfence; a = x; assert(a == 0) }",
        Semantics(),
        "sc tso pso",
    ),
    (
        "two sfences",
        "byte x, y, z; active proctype P() { x = 1; sfence; y = 1; sfence; z = 1 }"
        " active proctype Q() { byte a; (z == 1); a = x; assert(a == 1) }",
        Semantics(),
        "",
    ),
]


@pytest.mark.parametrize("engine", ["saturate", "bounded:3", "accelerate"])
@pytest.mark.parametrize("case", [*[(n, t, Semantics(), w) for n, t, w in SEVERAL], *ATOMICS], ids=lambda case: case[0])
def test_every_engine_says_so(case: tuple[str, str, Semantics, str], engine: str) -> None:
    _, text, semantics, wrong = case
    graph = ControlGraph(compile_text(text), semantics)
    found = {model: verify(graph, model, engine=engine).verdict for model in MODELS}
    if engine == "bounded:3":  # what a bound cuts off is not known
        found = {model: Verdict.SAFE if v is Verdict.INCONCLUSIVE else v for model, v in found.items()}
    assert found == {model: Verdict.VIOLATION if model in wrong.split() else Verdict.SAFE for model in MODELS}


@pytest.mark.parametrize("engine", ["saturate", "bounded:3"])
def test_a_loop_that_stores_keeps_nobody_from_failing(engine: str) -> None:
    loop = "byte x, y; active proctype P() { do :: x = 1 od }"
    program = compile_text(loop + " active proctype Q() { byte a; y = 1; a = y; assert(a == 0) }")
    for model in MODELS:
        assert verify(program, model, engine=engine).verdict is Verdict.VIOLATION


ROBUST = [
    ("x = 1; a = y", "y = 1; a = x", Semantics(), "tso pso"),
    ("x = 1; mfence; a = y", "y = 1; mfence; a = x", Semantics(), ""),
    ("x = 1; sfence; a = y", "y = 1; sfence; a = x", Semantics(), "tso pso"),
    ("x = 1; y = 1", "a = y; b = x", Semantics(), "pso"),
    ("x = 1; sfence; y = 1", "a = y; b = x", Semantics(), ""),
    ("x = 1; xchg(a, y, 1)", "a = y; b = x", Semantics(), ""),
    ("x = 1; xchg(a, y, 1)", "a = y; b = x", ADDRESS, "pso"),
    ("x = 1; sfence; xchg(a, y, 1)", "a = y; b = x", ADDRESS, ""),
    ("x = 1; a = x; b = y", "y = 1; mfence; a = x", Semantics(), "tso pso"),
    ("x = 1; x = 2", "a = x; b = x", Semantics(), ""),
    ("x = 1; y = 2", "y = 1; x = 2", Semantics(), "pso"),
    ("x = 1; y = 1", "y = 2; a = x", Semantics(), "tso pso"),
    ("a = x; y = 1", "b = y; x = 1", Semantics(), ""),
]


@pytest.mark.parametrize(("left", "right", "semantics", "broken"), ROBUST)
def test_robust_or_not(left: str, right: str, semantics: Semantics, broken: str) -> None:
    text = f"byte x, y; active proctype P() {{ byte a, b; {left} }} active proctype Q() {{ byte a, b; {right} }}"
    graph = ControlGraph(compile_text(text), semantics)
    assert [model for model in ("tso", "pso") if robust(graph, model).verdict is Verdict.VIOLATION] == broken.split()


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
@pytest.mark.parametrize("engine", ["saturate", "accelerate", "bounded:3"])
def test_an_atomic_block_ends_behind_an_rmw(engine: str, model: ModelName) -> None:
    """What followed the block was run as a part of it, up to the end of the next one: this was proved, with a
    certificate that was accepted. Without a next block it was an internal error."""
    text = """byte x, y, z;
    active proctype P() { byte r; atomic { r = x; r = z; xchg(r, y, 1) }; x = 1; z = 1; atomic { y = 2 } }
    active proctype Q() { byte a, b; a = x; b = z; assert(!(a == 1 && b == 0)) }"""
    assert verify(compile_text(text), model, engine=engine).verdict is Verdict.VIOLATION


@pytest.mark.parametrize(
    ("body", "claim"),
    [
        ("atomic { xchg(r, y, 5) }", "r == 3 && y == 5"),
        ("atomic { cas(r, y, 3, 4); r = r + 1 }", "r == 2 && y == 4"),
        ("atomic { cas(r, y, 2, 4) }", "r == 0 && y == 3"),
        ("d_step { y = 7; fetch_add(r, y, 2); y = y + r }", "r == 7 && y == 16"),
        ("atomic { unlock(y) }", "r == 0 && y == 0"),
        ("atomic { if :: y == 3 -> xchg(r, y, 1) :: else fi }; y = 9", "r == 3 && y == 9"),
    ],
)
def test_rmws_inside_atomic_blocks(body: str, claim: str) -> None:
    text = f"byte y = 3; active proctype P() {{ byte r; {body}; assert({claim}) }}"
    for model in ("sc", "tso", "pso"):
        assert verify(compile_text(text), model).verdict is Verdict.SAFE
        false = compile_text(text.replace(claim, f"!({claim})"))
        assert verify(false, model).verdict is Verdict.VIOLATION


def test_an_rmw_is_kept_in_an_element_that_shared_memory_chooses() -> None:
    text = """byte x = 1, y = 7;
    active proctype P() { byte a[2]; xchg(a[x], y, 2); assert(a[0] == 0 && a[1] == 7 && y == 2) }"""
    assert verify(compile_text(text), "tso").verdict is Verdict.SAFE


def test_an_atomic_block_that_reads_shared_memory_only_as_an_index_waits_for_the_buffer() -> None:
    text = "byte x; active proctype P() { byte r, a[2]; a[1] = 6; x = 1; atomic { r = a[x] }; assert(r == 6) }"
    for model in MODELS:
        assert verify(compile_text(text), model).verdict is Verdict.SAFE
