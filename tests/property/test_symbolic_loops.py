"""The symbolic engines on loops that store, against plain explicit states (``explicit_states.py``): no wrong proof, and
every violation replayed on the machine of models/ before it comes back.

The named programs are those on which an engine was wrong once, or would be if one of its parts were missing.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explicit_states import explored
from symbolic_programs import looping_program
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.verify import verify
from teetotal.programs.promela import compile_text

MODELS: tuple[ModelName, ...] = ("sc", "tso", "pso")
ENGINES = ("saturate", "accelerate", "bounded:1", "bounded:3")
S, V = Verdict.SAFE, Verdict.VIOLATION


@settings(max_examples=15)
@given(st.integers(0, 10**9))
def test_engines_agree_with_explicit_states_on_loops_that_store(seed: int) -> None:
    random = Random(seed)
    semantics = Semantics(rmw=random.choice(["all", "address"]))
    program = compile_text(looping_program(seed))
    graph = ControlGraph(program, semantics)
    for model in MODELS:
        judged = explored(program, model, semantics)
        said = {engine: verify(graph, model, engine=engine, budget=Budget(seconds=0.2)) for engine in ENGINES}
        for engine, outcome in said.items():
            impossible = {"bad": S, "safe": V}.get(judged)
            assert outcome.verdict is not impossible, f"{engine} under {model}"
            if outcome.verdict is Verdict.INCONCLUSIVE:
                assert outcome.why.startswith(("time", "a buffer was full")), outcome.why
        assert len({o.verdict for o in said.values()} - {Verdict.INCONCLUSIVE}) <= 1, f"{model}: {said}"


def processes(*bodies: str, shared: str = "byte x, y, z") -> str:
    return "\n".join(
        [f"{shared};", *(f"active proctype P{i}() {{ byte a, b; {body} }}" for i, body in enumerate(bodies))]
    )


LOOPS: dict[str, tuple[str, dict[ModelName, Verdict]]] = {
    # Where the loop comes back, the fence slept and was not taken: there it does not sleep, and is to be taken.
    "a loop beside a fence that sleeps": (
        processes(
            "mfence; here: skip", "two: if :: x = 1 :: skip fi; a = x; if :: a == 1 -> goto two :: else fi; here: skip"
        )
        + "forbidden(meeting, P0@here && P1@here)",
        {"sc": V, "tso": V, "pso": V},
    ),
    # After the cycle was accelerated its step slept, and the other process never ran.
    "a loop beside a failing assertion": (
        processes("do :: x = 1 od", "assert(x == 1)"),
        {"sc": V, "tso": V, "pso": V},
    ),
    "a loop beside a late failing assertion": (
        processes("do :: x = 1 od", "a = y; b = y; assert(0)"),
        {"sc": V, "tso": V, "pso": V},
    ),
    "two loops beside a failing assertion": (
        processes("do :: x = 1 od", "do :: y = 1 od", "a = x; b = y; assert(!(a == 1 && b == 1))"),
        {"sc": V, "tso": V, "pso": V},
    ),
    "a silent loop beside a failing assertion": (
        processes("do :: skip od", "a = x; assert(0)"),
        {"sc": V, "tso": V, "pso": V},
    ),
    "the order of two stores": (
        processes("x = 1; y = 1", "a = y; b = x; assert(!(a == 1 && b == 0))"),
        {"sc": S, "tso": S, "pso": V},
    ),
    # The cycle's load sees the cycle's own store the next time, and another value.
    "a cycle that its own store ends": (
        processes("do :: (x == 0); y = 1; x = 1 od", "(y == 1); y = 0; mfence; (y == 1); assert(0)"),
        {"sc": S, "tso": S, "pso": S},
    ),
    "a cycle whose load sees its own store": (
        processes("do :: (x != 2); x = 1; y = 2 od", "(y == 2); y = 0; mfence; (y == 2); assert(0)"),
        {"sc": V, "tso": V, "pso": V},
    ),
    # Stores of a loop reach memory in order under TSO, and under PSO only by location.
    "the order of a loop's stores": (
        processes("do :: x = 1; y = 1 od", "(y == 1); a = x; assert(a == 1)"),
        {"sc": S, "tso": S, "pso": V},
    ),
    "the order of a loop's stores to one location": (
        processes("do :: x = 1; x = 2; (x == 3) od", "(x == 2); a = x; assert(a != 1)"),
        {"sc": S, "tso": S, "pso": S},
    ),
    # The number of sfences is the same for all locations.
    "an sfence between the stores of a loop": (
        processes("do :: x = 1; sfence; y = 1 od", "(y == 1); a = x; assert(a == 1)"),
        {"sc": S, "tso": S, "pso": S},
    ),
    "an sfence at the end of a loop": (
        processes("do :: x = 1; y = 1; sfence od", "(y == 1); a = x; assert(a == 1)"),
        {"sc": S, "tso": S, "pso": V},
    ),
    "stores of earlier rounds wait for an sfence": (
        processes(
            "do :: x = 1; sfence; y = 1; sfence od", "x = 2; mfence; (y == 1); y = 2; mfence; (y == 1); assert(x == 1)"
        ),
        {"sc": V, "tso": V, "pso": V},
    ),
    "an sfence that finds the buffer empty at first": (
        processes("do :: sfence; y = z; x = 1; z = 1 od", "(y == 1); a = x; assert(a == 1)"),
        {"sc": S, "tso": S, "pso": S},
    ),
    # An own store is seen as long as it waits, however many sfences have passed.
    "own stores behind sfences": (
        processes("do :: x = 1; sfence; y = 1; sfence; a = y; assert(a != 2 || z == 2) od", "(x == 1); z = 2; y = 2"),
        {"sc": S, "tso": S, "pso": V},
    ),
    # Growth that needs another process, or the own commits to another location.
    "a loop that another process drives": (
        processes(
            "do :: (z == 1); x = 1; (z == 0) od", "do :: z = 1; z = 0 od", "(x == 1); x = 0; mfence; assert(x == 0)"
        ),
        {"sc": V, "tso": V, "pso": V},
    ),
    "a loop around ghost steps": (
        processes(
            "do :: g = 1 - g; x = 1 od",
            "(x == 1); x = 0; mfence; (x == 1); x = 0; mfence; (x == 1); assert(0)",
            shared="ghost bit g; byte x",
        ),
        {"sc": V, "tso": V, "pso": V},
    ),
    "a loop with a failing cas": (
        processes("do :: cas(a, z, 1, 2); x = 1 od", "(x == 1); x = 0; mfence; (x == 1); assert(0)"),
        {"sc": V, "tso": V, "pso": V},
    ),
    # What a flush takes away does not come back with the next round.
    "a loop that flushes what it stored before": (
        processes(
            "do :: mfence; x = 1; (z == 0) od",
            "(x == 1); z = 1; mfence; x = 0; mfence; (x == 1); x = 0; mfence; (x == 1); x = 0; mfence; (x == 1); assert(0)",
        ),
        {"sc": S, "tso": S, "pso": S},
    ),
    "a flush after a loop that stores": (
        processes("x = 1; do :: x = 1 :: break od; mfence; y = 1", "(y == 1); x = 2; mfence; a = x; assert(a == 2)"),
        {"sc": S, "tso": S, "pso": S},
    ),
    "own stores are seen": (processes("x = 1; a = x; assert(a == 1)", "z = 1"), {"sc": S, "tso": S, "pso": S}),
    "stores that are lost are committed": (
        processes("x = 1; x = 1; y = 1", "(y == 1); assert(0)"),
        {"sc": V, "tso": V, "pso": V},
    ),
    "a loop that goes round by itself keeps nobody waiting": (
        processes("do :: sfence od", "z = 1; (z == 1); assert(0)"),
        {"sc": V, "tso": V, "pso": V},
    ),
    "nested loops with sfences": (  # not TSO: acceleration does not end there
        processes(
            "do :: do :: x = 1; sfence :: break od; y = 1; sfence od", "(y == 1); y = 0; mfence; a = y; assert(a != 2)"
        ),
        {"sc": S, "pso": S},
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loop(name: str) -> None:
    text, expected = LOOPS[name]
    program = compile_text(text)
    graph = ControlGraph(program)
    for model, verdict in expected.items():
        judged = explored(program, model, Semantics())
        assert judged in ({V: ["bad"], S: ["safe", "full", "large"]}[verdict]), model
        for engine in ("saturate", "accelerate"):
            outcome = verify(graph, model, engine=engine, budget=Budget(seconds=120))
            assert outcome.verdict is verdict, f"{engine} under {model}: {outcome.why}"
        assert verify(graph, model, engine="bounded:3", budget=Budget(seconds=120)).verdict in (
            verdict,
            Verdict.INCONCLUSIVE,
        )


@pytest.mark.parametrize("engine", ["saturate", "accelerate", "bounded:3"])
def test_what_an_atomic_waits_for_in_a_loop(engine: str) -> None:
    """With ``rmw=address`` an atomic step passes stores to other locations; with ``rmw=all``, or behind an sfence, none."""
    body = "x = 1; {fence} do :: xchg(a, z, 1) od"
    reader = "(z == 1); b = x; assert(b == 1)"
    for rmw, fence, verdict in (("address", "", V), ("address", "sfence;", S), ("all", "", S)):
        graph = ControlGraph(compile_text(processes(body.format(fence=fence), reader)), Semantics(rmw=rmw))  # type: ignore[arg-type]
        assert verify(graph, "pso", engine=engine).verdict is verdict, f"rmw={rmw} {fence}"
        assert verify(graph, "tso", engine=engine).verdict is S


def test_what_lies_deep_is_found() -> None:
    """Deeper than the depth-first search goes at first."""
    program = compile_text(processes("x = 1; " * 30 + "(z == 1); assert(0)", "z = 1"))
    for model in MODELS:
        assert verify(program, model, engine="accelerate").verdict is V


@pytest.mark.parametrize("last", [1, 2])
def test_writes_to_one_location_do_not_commute(last: int) -> None:
    writers = ("x = 1; mfence; y = 1", "x = 2; mfence; z = 1")
    program = compile_text(processes(*writers, f"(y == 1); (z == 1); a = x; assert(a != {last})"))
    for model in MODELS:
        assert verify(program, model, engine="accelerate").verdict is V


def test_a_flush_waits_for_the_stores_of_a_loop() -> None:
    """Of a buffer that may be empty the mfence is possible at once; of any other only behind its commits."""
    programs = [
        processes("do :: x = 1 :: break od; mfence; y = 1", "(y == 1); a = x; assert(a == 0)"),
        processes("do :: x = 1; z = 2 :: break od; mfence; a = x; assert(a == 0)"),
    ]
    for program in map(compile_text, programs):
        for model in MODELS:
            assert verify(program, model, engine="accelerate").verdict is V
