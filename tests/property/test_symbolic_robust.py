"""Robustness against its definition: every trace of every execution, by the machines of models/."""

from __future__ import annotations

from random import Random
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promela_plain import as_program
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.verdict import Verdict
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.verify import robust
from teetotal.models import robust as robust_by_definition
from teetotal.programs.promela import compile_text


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


def many_stores(seed: int) -> str:
    """Three or four short processes, mostly stores to few locations: cycles through stores that wait in several buffers,
    and the order in which they reach memory, which is where one delaying process might not be enough."""
    random = Random(seed)
    processes = random.choice([3, 3, 4])
    lines = ["byte x, y, z;"]
    for p in range(processes):
        stores = [f"{v} = {random.choice('12')}" for v in "xyz"[: random.choice([2, 3])]]
        kinds = [*stores, *stores, "sfence", "a = x", "a = y", "if :: x == 1 -> skip :: else -> false fi"]
        body = [random.choice(kinds) for _ in range(random.choice([2, 2, 3] if processes == 3 else [2]))]
        lines.append(f"active proctype P{p}() {{ byte a; {'; '.join(body)} }}")
    return "\n".join(lines)


def as_defined(text: str, semantics: Semantics) -> None:
    program = compile_text(text)
    graph = ControlGraph(program, semantics)
    models: tuple[ModelName, ...] = ("tso", "pso")
    for model in models:
        defined = robust_by_definition(as_program(program), model, semantics)
        assert (robust(graph, model).verdict is Verdict.SAFE) == defined, text


@settings(max_examples=250)
@given(st.integers(0, 10**9))
def test_as_defined(seed: int) -> None:
    random = Random(seed)
    rmw, failed_cas = random.choice(["all", "address"]), random.choice(["read", "write"])
    as_defined(straight_line(seed), Semantics(rmw=rmw, failed_cas=failed_cas))


@settings(max_examples=50)
@given(st.integers(0, 10**9))
def test_one_delaying_process_is_enough(seed: int) -> None:
    as_defined(many_stores(seed), Semantics())


def test_store_buffering_and_message_passing() -> None:
    sb = "byte x, y; active proctype P() { byte a; x = 1; a = y } active proctype Q() { byte b; y = 1; b = x }"
    mp = "byte x, y; active proctype P() { x = 1; y = 1 } active proctype Q() { byte a, b; a = y; b = x }"
    assert [robust(compile_text(sb), m).verdict for m in ("tso", "pso")] == [Verdict.VIOLATION, Verdict.VIOLATION]
    assert [robust(compile_text(mp), m).verdict for m in ("tso", "pso")] == [Verdict.SAFE, Verdict.VIOLATION]


@pytest.mark.parametrize(
    "processes",
    [
        # Whoever delays, the cycle passes a store of somebody else that waits too in the first execution that has it.
        ["x = 1; y = 1", "y = 2; x = 2"],
        ["x = 1; sfence; y = 1", "y = 2; a = z", "z = 1; a = x"],
        ["x = 1; sfence; y = 1; a = y", "y = 2; a = z", "z = 1; mfence; a = x"],
        ["y = 1; x = 1; a = y", "y = 2; sfence; z = 1", "a = z; x = 2", "a = x; y = 3"],
        # Two stores to x must both wait, since the last process looks at both flags first; one is enough for a cycle.
        ["x = 1; y = 1", "x = 2; z = 1", "a = y; b = z; if :: a == 1 && b == 1 -> a = x :: else -> skip fi"],
    ],
)
def test_cycles_through_stores_that_wait_in_several_buffers(processes: list[str]) -> None:
    bodies = [f"active proctype P{i}() {{ byte a, b; {body} }}" for i, body in enumerate(processes)]
    as_defined("\n".join(["byte x, y, z;", *bodies]), Semantics(rmw="address"))


@pytest.mark.parametrize("failed_cas", ["read", "write"])
def test_a_failed_cas_reads_or_writes(failed_cas: Literal["read", "write"]) -> None:
    """What Q writes back is a step of a cycle; it was taken for a read, and the program proved."""
    text = """byte x, y, z;
    active proctype P() { byte a; x = 1; a = z }
    active proctype Q() { byte a; z = 1; cas(a, y, 5, 6) }
    active proctype R() { byte a, b; a = y; b = x }"""
    as_defined(text, Semantics(failed_cas=failed_cas))
    expected = Verdict.SAFE if failed_cas == "read" else Verdict.VIOLATION
    assert robust(compile_text(text), "tso", semantics=Semantics(failed_cas=failed_cas)).verdict is expected


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


def test_a_lock_on_a_location_that_is_stored_to_is_refused() -> None:
    """On PSO both stores to m may wait while R, who has seen both flags, takes the lock. Either alone would keep it out: no
    execution in which one process delays shows this cycle."""
    text = """bit m; byte f, g;
        active proctype P() { m = 1; f = 1 }
        active proctype Q() { m = 1; g = 1 }
        active proctype R() { byte a, b; a = f; b = g; if :: a == 1 && b == 1 -> lock(m) :: else -> skip fi }"""
    assert not robust_by_definition(as_program(compile_text(text)), "pso")
    with pytest.raises(ProgramError, match="a mutex is also stored to"):
        robust(compile_text(text), "pso")


def test_a_lock_that_init_stores_to_above_its_last_run_is_refused() -> None:
    text = """bit m; byte f;
        proctype P() { byte a; a = f; if :: a == 1 -> lock(m) :: else -> skip fi }
        init { goto start; rest: m = 1; f = 1; goto end; start: run P(); goto rest; end: skip }"""
    with pytest.raises(ProgramError, match="a mutex is also stored to"):
        robust(compile_text(text), "pso")


def test_what_init_does_before_its_last_run_is_no_matter() -> None:
    text = """bit m; byte x;
        proctype P() { lock(m); x = 1; unlock(m) }
        init { atomic { m = 0; x = 0; run P(); run P() }; x = 2 }"""
    assert robust(compile_text(text), "pso").verdict is Verdict.SAFE


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_two_reads_are_no_conflict(model: ModelName) -> None:
    """Nobody stores to y: that both read it does not put one of them before the other."""
    text = """byte x, y, z;
        active proctype P() { byte a; x = 1; a = y }
        active proctype Q() { byte b, c; z = 1; b = y; c = x }
        active proctype R() { byte d, e; d = y; e = z; e = x }"""
    assert robust(compile_text(text), model).verdict is Verdict.SAFE


def test_who_only_reads_what_the_attacker_reads_stays_where_it_is() -> None:
    """Else R's stores would be tried in every order during P's attack: the answer is the same, and takes longer."""
    others = "".join(f"active proctype R{i}() {{ byte d; d = y; v{i} = 1; d = v{i}; v{i} = 2 }}" for i in range(3))
    text = """byte x, y, v0, v1, v2;
        active proctype P() { byte a; x = 1; a = y }
        active proctype Q() { byte a; a = x }"""
    found = robust(compile_text(text + others), "tso")
    assert (found.verdict, found.states) == (Verdict.SAFE, 64)


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_a_store_that_is_none_any_more_once_nobody_reads_its_variable(model: ModelName) -> None:
    """When Q has stored w, nobody will read x, so x = 0 changes nothing of what is kept, and P is behind it at once. Left
    before it until memory changes again, it comes too late for the cycle of y and z."""
    text = """byte w, x, y, z;
        active proctype P() { byte r; x = 1; (w == 1); x = 0; y = 1; r = z }
        active proctype Q() { byte b; (x == 1); w = 1; z = 1; b = y }"""
    assert robust(compile_text(text), model).verdict is Verdict.VIOLATION


WAITS_FOR_GHOSTS = """byte x, y; ghost bit g, h;
    active proctype P() { byte a, c; x = 1; g = 1; STEP; a = y }
    active proctype Q() { byte b; y = 1; h = 1; (g == 1); b = x }"""


@pytest.mark.parametrize(
    "step", ["(h == 1)", "a = h; (a == 1)", "a = h; c = a; (c == 1)", "if :: h == 1 -> skip :: else -> goto end fi"]
)
def test_processes_that_depend_on_ghosts_are_refused(step: str) -> None:
    """Both stores are made before either load, so both have to wait if both loads are to miss them."""
    text = WAITS_FOR_GHOSTS.replace("STEP", step).replace("a = y }", "a = y; end: skip }")
    for asked in (text, text.replace("(g == 1); ", "")):  # both wait, or this one alone
        with pytest.raises(ProgramError, match="ghost variables decide"):
            robust(compile_text(asked), "tso")


def test_assertions_about_ghosts_do_not_matter() -> None:
    """Where one fails under every order of the stores, the loads behind it count all the same."""
    text = "byte x, y; ghost byte g; " + " ".join(
        f"active proctype P{p}() {{ byte a; {x} = 1; g++; assert(g == 1); a = {y} }}"
        for p, x, y in ((0, "x", "y"), (1, "y", "x"))
    )
    assert robust(compile_text(text), "tso").verdict is Verdict.VIOLATION
