"""C11: the monitor exact-c11 against the specification in models/c11, on the programs that are easily got wrong, on the
classics of the literature, on random ones, and on litmus tests whose answers herd has given."""

from __future__ import annotations

import csv
import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st_

from amounts import some
from c11_programs import c11, random_program
from shared import data
from teetotal.answers.options import ReleaseSequence
from teetotal.engines.executions.robustness import robustness
from teetotal.models import c11 as specification
from teetotal.programs.expressions import Op
from teetotal.programs.litmus import read_file
from teetotal.programs.program import Assume, Branch, Load, Program


def watched(program: Program, release_sequence: ReleaseSequence = "c20") -> specification.Verdict:
    """By the monitor. Each of its reports was confirmed by the specification, or this would have failed."""
    found = robustness(program, ["c11"], release_sequence=release_sequence)
    assert found.complete
    return "race" if found.races else "weak" if found.violations["c11"] else "robust"


TRAPS = {
    "two writers": ("y=1 ‖ y=2", "robust"),
    "coherence of what was read": ("r=x; r=x ‖ x=2", "robust"),
    "s shape: a store decides": ("r=x; y=1 ‖ y=1; x=1", "weak"),
    "rmw gap": ("r=y; x=2 ‖ xchg(x,1); y=1", "robust"),
    "sb, seq_cst": ("x=1.sc; r=y.sc ‖ y=1.sc; r=x.sc", "robust"),
    "sb, one relaxed": ("x=1.sc; r=y ‖ y=1.sc; r=x.sc", "weak"),
    "w+rwc, release and acquire": ("x=2.sc; y=2.rel ‖ r=y.acq; r=z.sc ‖ z=1.sc; r=x.sc", "robust"),
    "same location between": ("x=1.sc; x=2.rel ‖ await(x==2).acq; r=y.sc ‖ y=1.sc; await(x==0).sc", "weak"),
    "fence, then seq_cst load": ("x=1; fence.sc; y=2 ‖ xchg(y,2); r=x.sc", "weak"),
    "rwc, seq_cst": ("x=1.sc ‖ y=1.sc; r=x.sc ‖ r=x.sc; r=y.sc", "robust"),
    "rwc, one acquire": ("x=1.sc ‖ y=1.sc; r=x.acq ‖ r=x.sc; r=y.sc", "weak"),
    "access meets fence": ("x=1.sc; r=y.sc ‖ y=2; fence.sc; x=2", "robust"),
    "rwc, fences": ("x=1 ‖ y=1; fence.sc; r=x ‖ r=x; fence.sc; r=y", "robust"),
    "iriw, fences": ("x=1 ‖ y=1 ‖ r=x; fence.sc; r=y ‖ r=y; fence.sc; r=x", "robust"),
    "lone fences": ("fence.sc; xchg(y,2); r=x ‖ xchg(x,1); fence.sc; y=1", "weak"),
    "seq_cst store last": ("y=2.sc; x=1 ‖ r=x.sc; y=2.sc", "weak"),
    "rmw in a release sequence": ("r=x.acq; r=y ‖ y=1; xchg(x,1).rel ‖ xchg(x,1)", "robust"),
    "blocked": ("x=1; x=0; y=1 ‖ await(y==1); await(x==1)", "weak"),
    "mp, plain": ("x=1.na; y=1 ‖ r=y; r=x.na", "race"),
    "mp, plain and released": ("x=1.na; y=1.rel ‖ await(y==1).acq; r=x.na", "robust"),
    "waits only longer": ("x=1; await(y==1) ‖ y=1; r=x", "robust"),
    "a race of a thread that waits": ("await(x==1).na ‖ x=2", "race"),
    "swap fails on an older value": ("x=1; y=1 ‖ r=y; cas(x,1,2)", "weak"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_what_is_easily_got_wrong(name: str) -> None:
    text, expected = TRAPS[name]
    assert watched(c11(text, name)) == expected


@pytest.mark.parametrize("name", [name for name, (text, _) in TRAPS.items() if "await" not in text])
def test_the_specification_agrees_on_them(name: str) -> None:
    text, expected = TRAPS[name]
    assert specification.verdict(c11(text, name)) == expected


def test_own_stores_in_release_sequences_are_c11s_alone() -> None:
    program = c11("x=2; y=2.rel; y=2 ‖ xchg(y,2).acq; xchg(x,2)")
    assert watched(program, "c11") == specification.verdict(program, "c11") == "robust"
    assert watched(program, "c20") == specification.verdict(program, "c20") == "weak"


@pytest.mark.parametrize("between", ["acq", "rel", "ar"])
def test_a_fence_of_c11_keeps_no_store_before_a_load(between: str) -> None:
    """On TSO and PSO: the execution behind the report was not found where an acquire fence stood there."""
    program = c11(f"y=2; fence.{between}; r=x ‖ r=y; x=1; fence.sc; xchg(y,2)")
    found = robustness(program, ["tso", "pso"])
    assert found.violations["tso"]
    assert found.violations["pso"]


CLASSICS = {
    "sb": ("x=1{a}; r=y{b} ‖ y=1{a}; r=x{b}", [".sc .sc"], [".rel .acq", ".sc .acq", ".rel .sc"]),
    "sb, fences": ("x=1; fence{a}; r=y ‖ y=1; fence{b}; r=x", [".sc .sc"], [".sc .ar", ".ar .ar"]),
    "mp": ("x=1; y=1{a} ‖ r=y{b}; r=x", [".rel .acq", ".sc .sc"], [".rlx .acq", ".rel .rlx"]),
    "mp, fences": ("x=1; fence{a}; y=1 ‖ r=y; fence{b}; r=x", [".rel .acq"], [".acq .acq", ".rel .rel"]),
    "s": ("x=2; y=1{a} ‖ r=y{b}; x=1", [".rel .acq"], [".rlx .acq", ".rel .rlx"]),
    "lb": ("r=x{a}; y=1{b} ‖ r=y{a}; x=1{b}", [".rlx .rlx"], []),
    "wrc": ("x=1 ‖ r=x; y=1{a} ‖ r=y{b}; r=x", [".rel .acq"], [".rlx .acq", ".rel .rlx"]),
    "isa2": ("x=1; y=1{a} ‖ r=y{b}; z=1{a} ‖ r=z{b}; r=x", [".rel .acq"], [".rlx .acq", ".rel .rlx"]),
    "r": ("x=1{a}; y=1{a} ‖ y=2{a}; r=x{b}", [".sc .sc"], [".rel .acq", ".sc .acq"]),
    "2+2w": ("x=1{a}; y=2{b} ‖ y=1{a}; x=2{b}", [".sc .sc"], [".rel .rel", ".rlx .sc"]),
    "iriw": ("x=1{a} ‖ y=1{a} ‖ r=x{b}; r=y{b} ‖ r=y{b}; r=x{b}", [".sc .sc"], [".rel .acq"]),
    "z6.u": ("x=1.sc; y=1{a} ‖ fadd(y){b}; r=y ‖ y=3.sc; r=x.sc", [".sc .rlx"], [".rel .sc"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSICS)
def test_the_weakest_orders_of_the_classics(name: str) -> None:
    text, robust, weak = CLASSICS[name]
    for orders, expected in [*((o, "robust") for o in robust), *((o, "weak") for o in weak)]:
        a, b = orders.split()
        assert watched(c11(text.replace("{a}", a).replace("{b}", b))) == expected, orders


def agrees(program: Program, release_sequence: ReleaseSequence, most: int) -> None:
    try:
        expected = specification.verdict(program, release_sequence, most=most)
    except specification.TooMany:
        return
    assert watched(program, release_sequence) == expected


def without_loops(seed: int) -> Program:
    rng = random.Random(seed)
    program = random_program(rng)
    while any(getattr(i, "target", 10**6) < len(t.code) for t in program.threads for i in t.code):
        program = random_program(rng)
    return program


@settings(max_examples=some(150))
@given(st_.integers(0, 2**32), st_.sampled_from(["c20", "c20", "c11"]))
def test_the_monitor_finds_what_the_definition_has(seed: int, release_sequence: ReleaseSequence) -> None:
    agrees(without_loops(seed), release_sequence, 800)


def awaited(program: Program) -> Program:
    """Loops that wait as one load that has to see the right value."""
    threads = []
    for thread in program.threads:
        code = list(thread.code)
        for pc, instruction in enumerate(code):
            if isinstance(instruction, Branch) and instruction.target < pc:
                assert isinstance(instruction.when, Op)
                code[pc] = Assume(condition=Op("==", instruction.when.operands))
        threads.append(msgspec.structs.replace(thread, code=tuple(code)))
    return msgspec.structs.replace(program, threads=tuple(threads))


def verdict_of_awaits(program: Program, most: int) -> specification.Verdict:
    """Without the graphs in which such a load has seen a wrong value: it would have gone on waiting."""
    found: specification.Verdict = "robust"
    for state in specification.states(awaited(program), most=most):
        if any(local.status == "blocked" for local in state.locals):
            continue
        if not state.graph.sequentially_consistent:
            found = "weak"
        elif state.graph.races:
            return "race"
    return found


@settings(max_examples=some(150))
@given(st_.integers(0, 2**32))
def test_waiting_loops_are_single_events(seed: int) -> None:
    rng = random.Random(seed)
    program = random_program(rng, awaits=0.4)
    if any(isinstance(i, Load) and i.order == "na" for thread in program.threads for i in thread.code):
        return  # to wait at a plain location is a race by itself
    try:
        expected = verdict_of_awaits(program, 800)
    except specification.TooMany:
        return
    assert watched(program) == expected


@settings(max_examples=some(100))
@given(st_.integers(0, 2**32))
def test_stronger_orders_never_make_a_robust_program_weak(seed: int) -> None:
    program = random_program(random.Random(seed))
    if watched(program) != "robust":
        return
    rng = random.Random(seed)
    ordered = [
        (number, pc)
        for number, thread in enumerate(program.threads)
        for pc, instruction in enumerate(thread.code)
        if getattr(instruction, "order", "na") != "na"
    ]
    stronger = program.with_orders({place: "seq_cst" for place in ordered if rng.random() < 0.5})
    assert watched(stronger) == "robust"


def test_herds_answers() -> None:
    """Verdicts of all tests by the monitor; final states by the specification, of those that are quick to enumerate."""
    folder = data("c11-litmus")
    with (folder / "expected.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 300
    for number, row in enumerate(rows):
        program = read_file(folder / row["file"])
        assert watched(program, "c11") == row["verdict"], row["file"]
        if number % 12 == 0:
            try:
                states = [s for s in specification.states(program, "c11", most=300) if specification.final(program, s)]
            except specification.TooMany:
                continue
            outcomes = {program.outcome(state.locals, state.memory()) for state in states}
            assert len(outcomes) == int(row["states_c11"]), row["file"]
