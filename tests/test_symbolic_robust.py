"""Robustness against its definition: every trace of every execution, by the machines of models/."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teetotal.errors import ProgramError
from teetotal.events import ModelName, Semantics
from teetotal.models import robust as robust_by_definition
from teetotal.programs.promela import compile_text
from teetotal.programs.promela.plain import as_program
from teetotal.symbolic.graph import ControlGraph
from teetotal.symbolic.verify import robust
from teetotal.verdicts import Verdict


def straight_line(seed: int) -> str:
    """Two to four processes of a few accesses without choices, so that it is a ``Program`` too."""
    random = Random(seed)
    processes = random.choice([2, 2, 2, 2, 3, 3, 3, 4])
    lines = ["byte x, y, z;"]
    for p in range(processes):
        body = []
        for _ in range(random.randint(2, {2: 4, 3: 3, 4: 2}[processes])):
            v = random.choice("xyz"[: random.choice([2, 3])])
            stores = [f"{v} = 1", f"{v} = 2", f"{v} = a"]
            loads = [f"a = {v}", f"a = {v}", f"b = {v}"]
            others = ["mfence", "sfence", f"xchg(a, {v}, 2)", f"cas(b, {v}, 0, 1)"]
            body.append(random.choice([*stores, *loads, *others]))
            if random.random() < 0.15:
                body.append(f"if :: a == 0 -> {random.choice('xyz')} = 1 :: else -> skip fi")
        lines.append(f"active proctype P{p}() {{ byte a, b; {'; '.join(body)} }}")
    return "\n".join(lines)


@settings(max_examples=250)
@given(st.integers(0, 10**9))
def test_as_defined(seed: int) -> None:
    program = compile_text(straight_line(seed))
    semantics = Semantics(rmw=Random(seed).choice(["all", "address"]))
    graph = ControlGraph(program, semantics)
    models: tuple[ModelName, ...] = ("tso", "pso")
    for model in models:
        defined = robust_by_definition(as_program(program), model, semantics)
        assert (robust(graph, model).verdict is Verdict.SAFE) == defined, straight_line(seed)


def test_store_buffering_and_message_passing() -> None:
    sb = "byte x, y; active proctype P() { byte a; x = 1; a = y } active proctype Q() { byte b; y = 1; b = x }"
    mp = "byte x, y; active proctype P() { x = 1; y = 1 } active proctype Q() { byte a, b; a = y; b = x }"
    assert [robust(compile_text(sb), m).verdict for m in ("tso", "pso")] == [Verdict.VIOLATION, Verdict.VIOLATION]
    assert [robust(compile_text(mp), m).verdict for m in ("tso", "pso")] == [Verdict.SAFE, Verdict.VIOLATION]


def test_a_helper_may_have_to_wait_for_a_ghost() -> None:
    """The reader looks at x only when the attacker, past the load that the cycle needs, has set a ghost variable."""
    text = """
    byte x, y; ghost bit g;
    active proctype P() { byte a; x = 1; a = y; g = 1 }
    active proctype Q() { byte b; bit c; y = 1; c = g; (c == 1); b = x }
    """
    assert [robust(compile_text(text), m).verdict for m in ("tso", "pso")] == [Verdict.VIOLATION, Verdict.VIOLATION]
    fenced = text.replace("x = 1;", "x = 1; mfence;")
    assert [robust(compile_text(fenced), m).verdict for m in ("tso", "pso")] == [Verdict.SAFE, Verdict.SAFE]


def test_a_loop_that_reads_itself_out_of_the_attack() -> None:
    """The attacker goes on only when a helper has answered what it loaded: both move between st_A and ld_A."""
    text = """
    byte x, y, z, w;
    active proctype P() { byte a, b, c; x = 1; a = y; b = z; if :: a == 0 && b == 1 -> c = w :: else -> skip fi }
    active proctype Q() { y = 1; z = 1 }
    active proctype R() { byte d; w = 1; mfence; d = x }
    """
    assert robust(compile_text(text), "tso").verdict is Verdict.VIOLATION


def test_an_attack_from_a_state_that_was_united_meanwhile() -> None:
    """Found by the definition: the attack's first state counted as dropped, since the one it came from was."""
    text = """
    byte x, y, z;
    active proctype P() { byte b; x = 2; cas(b, y, 0, 1); z = 1 }
    active proctype Q() { byte a, b; y = 1; x = 0; cas(b, y, 0, 1); a = x }
    """
    assert [robust(compile_text(text), m).verdict for m in ("tso", "pso")] == [Verdict.SAFE, Verdict.VIOLATION]


def test_atomic_blocks_are_refused() -> None:
    with pytest.raises(ProgramError, match="atomic blocks"):
        robust(compile_text("byte x, y; active proctype P() { atomic { x = 1; y = 1 } }"), "tso")
