"""C11: the monitor exact-c11 against the specification in models/c11, on the programs that are easily got wrong, on the
classics of the literature, on random ones, and on litmus tests whose answers herd has given."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st_

import monitored_events
from amounts import some
from c11_many import verdicts
from c11_programs import awaited, c11, random_program
from fuzz_c11 import compare, drawn
from shared import data
from small_programs import ld, lock, st, unlock, with_orders
from small_programs import program as of_threads
from teetotal import models
from teetotal.answers.events import Event, EventId
from teetotal.answers.options import ReleaseSequence
from teetotal.answers.schedules import TokenError, known_writes
from teetotal.engines import weak
from teetotal.engines.executions.robustness import robustness
from teetotal.models import c11 as specification
from teetotal.programs.litmus import read_file
from teetotal.programs.program import Program, Rmw


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
    "mp, fences": ("x=1; fence.rel; y=1 ‖ r=y; fence.acq; r=x", "robust"),
    "mp, fences that are not those": ("x=1; fence.acq; y=1 ‖ r=y; fence.rel; r=x", "weak"),
    "mp, plain and fences": ("x=1.na; fence.rel; y=1 ‖ await(y==1); fence.acq; r=x.na", "robust"),
    "waits only longer": ("x=1; await(y==1) ‖ y=1; r=x", "robust"),
    "a race of a thread that waits": ("await(x==1).na ‖ x=2", "race"),
    "swap fails on an older value": ("x=1; y=1 ‖ r=y; cas(x,1,2)", "weak"),
    "a round that waits has a race": ("x=1.na; x=2.rel ‖ await(x==2).acq", "race"),
    "and the first of its thread": ("x=1.na ‖ await(x==2).acq", "race"),
    "it reads what is handed over": ("x=1.na; x=2.rel; y=1; x=3.rel ‖ await(y==1); await(x==3).acq", "robust"),
    "what waits for ever reads the last write": ("x=1.na; x=2; y=1 ‖ await(y==1); await(x==3).acq", "race"),
    "an atomic store and then a plain load": ("x=1; y=1 ‖ await(y==1); r=x.na", "race"),
    "one of its rounds does not": (
        "x=1.na; x=2.rel; y=1.rel ‖ await(y==1); await(x==4).acq ‖ await(y==1).acq; x=3; x=4.rel", "race"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_what_is_easily_got_wrong(name: str) -> None:
    text, expected = TRAPS[name]
    assert watched(c11(text, name)) == expected


@pytest.mark.parametrize("name", TRAPS)
def test_the_specification_agrees_on_them(name: str) -> None:
    text, expected = TRAPS[name]
    program = c11(text, name)
    assert verdicts([awaited(program)])[0].verdict == expected
    if "await" not in text:
        assert specification.verdict(program) == expected


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


ALL = ["ARMv8", "POWER", "RISC-V"]
SHOWN = {
    "x=1; r=y ‖ y=1; r=x": ALL,
    "x=1.rel; r=y.acq ‖ y=1.rel; r=x.acq": ["POWER", "ARMv8 (with ldapr)"],
    "x=1; fence.ar; r=y ‖ y=1; fence.ar; r=x": ["POWER"],
    "x=1; y=1 ‖ r=y; r=x": ALL,
    "x=1; y=1 ‖ r=y.acq; r=x": ALL,
    "x=1; y=1.rel ‖ r=y; r=x": ALL,
    "x=1; y=2 ‖ y=1; x=2": ALL,
    "x=1.rel; y=2.rel ‖ y=1.rel; x=2.rel": [],
    "x=1; fence.ar; y=2 ‖ y=1; fence.ar; x=2": [],
    "x=1.rel ‖ y=1.rel ‖ r=x.acq; r=y.acq ‖ r=y.acq; r=x.acq": ["POWER"],
    "x=1 ‖ y=1 ‖ r=x; fence.ar; r=y ‖ r=y; fence.ar; r=x": ["POWER"],
}


@pytest.mark.parametrize("text", SHOWN)
def test_who_can_show_it(text: str) -> None:
    """The table of docs/explanation/c11.md, which herd's models have given; and one side alone in order."""
    found = robustness(c11(text), ["c11"]).violations["c11"]
    assert {tuple(weak.shown(violation, None).shown_by) for violation in found} == {tuple(SHOWN[text])}


@pytest.mark.parametrize("text", [text for text, verdict in TRAPS.values() if verdict == "weak"])
def test_what_c11_allows_can_be_seen_again(text: str) -> None:
    """Its token leads to the same graph: the same events, the same cycle."""
    program = c11(text)
    for found in robustness(program, ["c11"]).violations["c11"]:
        token = found.replay.split()[2]
        sequential = known_writes(token)
        assert sequential is not None
        again = weak.replayed(program, *sequential)
        assert (again.events, again.cycle, again.steps) == (found.events, found.cycle, found.steps)
        assert again.relations == found.relations


@pytest.mark.parametrize("token", ["1c:0x2.1o0", "1c:0x2.1.1o1", "1c:1o0", "1c:0x2.1x3.1o0", "1c:0.1.1o0"])
def test_a_token_of_another_program_is_refused(token: str) -> None:
    sequential = known_writes(token)
    assert sequential is not None
    with pytest.raises(TokenError, match="belongs to another program"):
        weak.replayed(c11("x=1; y=1 ‖ r=y; r=x"), *sequential)


@pytest.mark.parametrize("release_sequence", ["c20", "c11"])
def test_many_graphs_at_once_are_those_of_the_specification(release_sequence: ReleaseSequence) -> None:
    """What the monitor is compared with, one graph after the other: by ``models.c11`` as it stands."""
    rng = random.Random(15)
    programs = [awaited(random_program(rng)) for _ in range(some(60))]
    compared = 0
    for program, found in zip(programs, verdicts(programs, release_sequence), strict=True):
        racing: set[frozenset[EventId]] = set()
        weak = False
        try:
            for state in specification.states(program, release_sequence, most=400):
                waits = any(local.status == "blocked" for local in state.locals)
                if state.graph.sequentially_consistent:
                    racing |= {frozenset({a.id, b.id}) for a, b in state.graph.races}
                elif not waits:
                    weak = True
        except specification.TooMany:
            continue
        assert len(found.racing) == len(racing)
        assert found.verdict == ("race" if racing else "weak" if weak else "robust")
        compared += 1
    assert compared > len(programs) // 2


def test_the_monitor_finds_what_the_definition_has() -> None:
    """Races, robustness and hazards: ``make fuzz`` does the same with others, and more of them."""
    seen: Counter[str] = Counter()
    for programs, release_sequence in drawn(some(600), 15):
        seen += compare(programs, release_sequence)
    assert min(seen["race"], seen["weak"], seen["robust"], seen["hazard"]) > 2


def traces(program: Program) -> Iterator[list[Event]]:
    """One SC execution after the other, as recorded."""
    for execution in models.executions(program, "sc"):
        own = [iter(events) for events in execution.events]
        yield [next(own[step.thread]) for step in execution.schedule]


def test_recorded_traces_show_what_the_definition_has() -> None:
    """Over the traces of all executions: but for waits and compare-and-swaps, of which a trace knows one outcome alone."""
    rng = random.Random(15)
    seen = set()
    programs: list[Program] = []
    while len(programs) < some(150):
        program = random_program(rng)
        code = [i for thread in program.threads for i in thread.code]
        if len(code) < 7 and not any(isinstance(i, Rmw) and i.when for i in code) and awaited(program) == program:
            programs.append(program)
    for program, expected in zip(programs, verdicts(programs), strict=True):
        reports = [report for trace in traces(program) for report in monitored_events.run("exact-c11", trace)]
        told = "race" if any(report.race for report in reports) else "weak" if reports else "robust"
        assert told == expected.verdict, program
        seen.add(told)
    assert seen == {"race", "weak", "robust"}


RECORDED = {
    "a plain load, then a store": ("r=x.na ‖ x=1", "01", ["race"]),
    "a plain store, then an atomic load": ("x=1.na; y=1 ‖ r=y; r=x", "0011", ["race"]),
    "a later rmw of a store's is seq_cst": ("x=1; fadd(x).sc; r=z.sc ‖ z=1.sc; x=2.sc", "00011", []),
    "and where none is": ("x=1; fadd(x); r=z.sc ‖ z=1.sc; x=2.sc", "00011", ["weak"]),
    "fences hand over": ("x=1.na; fence.rel; y=1 ‖ r=y; fence.acq; r=x.na", "000111", []),
    "an acquire fence hands nothing over": ("x=1.na; fence.acq; y=1 ‖ r=y; fence.acq; r=x.na", "000111", ["race"]),
    "a release fence takes nothing over": ("x=1.na; fence.rel; y=1 ‖ r=y; fence.rel; r=x.na", "000111", ["race"]),
}


@pytest.mark.parametrize("name", RECORDED)
def test_one_recorded_trace(name: str) -> None:
    """What a monitor says of one execution, where no other one could show it."""
    text, order, expected = RECORDED[name]
    (trace,) = [one for one in traces(c11(text, name)) if "".join(str(event.thread) for event in one) == order]
    assert ["race" if report.race else "weak" for report in monitored_events.run("exact-c11", trace)] == expected


def test_a_mutex_hands_over_what_was_done_under_it() -> None:
    under = [lock("m"), st("x", 1), unlock("m")], [lock("m"), ld("r", "x"), unlock("m")]
    for trace in traces(of_threads(*under)):
        assert not monitored_events.run("exact-c11", trace)


@settings(max_examples=100)
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
    stronger = with_orders(program, {place: "seq_cst" for place in ordered if rng.random() < 0.5})
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
