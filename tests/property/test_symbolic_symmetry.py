"""Processes that can take each other's place: which ones are, and that verdicts do not depend on using it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic_programs import PROGRAMS, owning_program, repeated_program, scanning_program
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Kind, ModelName, Semantics
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.checker import check
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.renaming import _owners, renamings
from teetotal.engines.symbolic.scans import in_any_order
from teetotal.engines.symbolic.slots import NoGuess, Slots
from teetotal.engines.symbolic.symmetry import interchangeable
from teetotal.engines.symbolic.verify import OutOfBudget, robust, verify
from teetotal.programs.promela import compile_text
from teetotal.programs.promela.program import PromelaProgram

MODELS: tuple[ModelName, ...] = ("sc", "tso", "pso")


def agree(program: PromelaProgram, model: ModelName) -> Verdict:
    """The verdict with symmetry, and without it."""
    verdict = verify(ControlGraph(program), model, budget=Budget(seconds=20)).verdict
    assert verdict is not Verdict.INCONCLUSIVE
    assert verify(ControlGraph(program, symmetry=False), model, budget=Budget(seconds=20)).verdict is verdict
    return verdict


def certify(program: PromelaProgram, model: ModelName, verdict: Verdict) -> None:
    """Where control states are numbered alike, certificates still hold every state, and the checker confirms them."""
    found = verify(program, model, certify=True, budget=Budget(seconds=20))
    assert found.verdict is verdict
    if verdict is Verdict.SAFE:
        assert found.certificate is not None
        check(program, found.certificate, model, Semantics())


def ticket_lock(n: int) -> str:
    pairs = " || ".join(f"(P[{a}]@cs && P[{b}]@cs)" for a, b in combinations(range(n), 2))
    return f"""
    byte ticket, serving;
    active [{n}] proctype P() {{ byte mine; fetch_add(mine, ticket, 1); serving == mine; cs: serving = mine + 1 }}
    forbidden(mutex, {pairs})"""


@settings(max_examples=60)
@given(st.integers(0, 10**9))
def test_symmetry_changes_no_verdict(seed: int) -> None:
    program = compile_text(repeated_program(seed))
    for model in MODELS:
        agree(program, model)


@settings(max_examples=30)
@given(st.integers(0, 10**9))
def test_symmetry_changes_no_verdict_about_robustness(seed: int) -> None:
    program = compile_text(repeated_program(seed))
    try:
        found = [
            robust(ControlGraph(program, symmetry=symmetry), model, budget=Budget(seconds=20)).verdict
            for model in MODELS[1:]
            for symmetry in (True, False)
        ]
    except ProgramError:  # atomic blocks
        return
    assert found[0] is found[1]
    assert found[2] is found[3]


def test_random_programs_are_worth_testing() -> None:
    """With all processes alike, with some, with none; safe and not."""
    kinds = set()
    for seed in range(100):
        program = compile_text(repeated_program(seed))
        classes, processes = len(set(interchangeable(program))), len(program.processes)
        kind = "all" if classes == 1 else "none" if classes == processes else "some"
        verdict = verify(program, "pso", budget=Budget(seconds=20)).verdict
        kinds.add((kind, verdict))
        if seed < 20:
            certify(program, "pso", verdict)
    assert kinds == {
        (kind, verdict) for kind in ("all", "some", "none") for verdict in (Verdict.SAFE, Verdict.VIOLATION)
    }


ENTER = "bit l; active [3] proctype P() { bit a; xchg(a, l, 1); a == 0; cs: skip } "
TWINS: dict[str, tuple[str, list[int], Verdict]] = {
    "alike": (ENTER + "forbidden(one, P[0]@cs || P[1]@cs || P[2]@cs)", [0, 0, 0], Verdict.VIOLATION),
    "the property names one process": (ENTER + "forbidden(one, P[2]@cs)", [0, 0, 2], Verdict.VIOLATION),
    "the property names two of three": (
        "byte l; active [3] proctype P() { byte a; fetch_add(a, l, 1); a < 2; cs: do :: skip od }"
        "forbidden(two, P[1]@cs && P[2]@cs)",
        [0, 1, 1],
        Verdict.VIOLATION,
    ),
    "the property is about one and not the other": (
        "bit l; active [2] proctype P() { bit a; xchg(a, l, 1); a == 0; cs: skip } forbidden(one, !P[0]@cs && P[1]@cs)",
        [0, 1],
        Verdict.VIOLATION,
    ),
    "cases of the property differ in what they ask of a ghost": (
        "bit l; ghost byte g; active [2] proctype P() { bit a; xchg(a, l, 1); a == 0; cs: skip }"
        "forbidden(one, (P[0]@cs && g == 1) || (P[1]@cs && g == 0))",
        [0, 1],
        Verdict.VIOLATION,
    ),
    "one constant": (
        "byte l; active [2] proctype P() { bit a; xchg(a, l, 1); if :: a == 0 -> l = 2 + _pid :: else -> skip fi }"
        "active proctype Q() { byte b; b = l; assert(b != 3) }",
        [0, 1, 2],
        Verdict.VIOLATION,
    ),
    "the initial value of a local": (
        "byte l; active [2] proctype P() { byte mine = _pid; bit a; xchg(a, l, 1); a == 0; assert(mine == 0) }",
        [0, 1],
        Verdict.VIOLATION,
    ),
    "an argument": (
        "byte l; proctype P(byte mine) { bit a; xchg(a, l, 1); a == 0; assert(mine == 0) }"
        "init { run P(0); run P(1); run P(0) }",
        [0, 1, 0],
        Verdict.VIOLATION,
    ),
    "equal arguments": (
        "byte l; proctype P(byte mine) { bit a; xchg(a, l, 1); a == 0; assert(mine == 1) } init { run P(1); run P(1) }",
        [0, 0],
        Verdict.SAFE,
    ),
    "a fence that one process has": (
        "byte x, y; active [2] proctype P() { byte a; x = 1; if :: _pid == 0 -> mfence :: else -> skip fi; a = y;"
        "  if :: a == 0 -> cs: do :: skip od :: else -> skip fi }"
        "active proctype Q() { byte b; y = 1; mfence; b = x; if :: b == 0 -> cs: do :: skip od :: else -> skip fi }"
        "forbidden(sb, (P[0]@cs || P[1]@cs) && Q@cs)",
        [0, 1, 2],
        Verdict.VIOLATION,
    ),
    "a ghost that counts one": (
        "bit l; ghost byte g[2]; active [2] proctype P() { bit a; xchg(a, l, 1); a == 0; g[_pid] = 1; cs: skip }"
        "forbidden(second, g[1] == 1)",
        [0, 1],
        Verdict.VIOLATION,
    ),
    "a ghost that counts all": (
        "bit l; ghost byte g; active [3] proctype P() { bit a; xchg(a, l, 1); a == 0; g++ } forbidden(twice, g == 2)",
        [0, 0, 0],
        Verdict.SAFE,
    ),
    "the same text twice": (
        "bit l; active proctype P() { bit a; xchg(a, l, 1); a == 0; cs: skip }"
        "active proctype Q() { bit a; xchg(a, l, 1); a == 0; cs: skip } forbidden(second, Q@cs)",
        [0, 1],
        Verdict.VIOLATION,
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_processes_that_are_alike_or_nearly(name: str) -> None:
    text, classes, verdict = TWINS[name]
    program = compile_text(text)
    assert interchangeable(program) == classes
    for model in MODELS[1:]:
        assert agree(program, model) is verdict
        certify(program, model, verdict)


def test_clients_of_a_lock_do_not_multiply() -> None:
    """Who waits with which ticket does not matter: the states grow with the square of the processes, not as n!."""
    states = [
        [verify(ControlGraph(compile_text(ticket_lock(n)), symmetry=s), "tso").states for n in (2, 3, 4, 5)]
        for s in (True, False)
    ]
    assert states[0] == [(n + 1) * (n + 2) // 2 for n in (2, 3, 4, 5)]
    assert states[1][-1] > 20 * states[0][-1]


def test_a_violation_of_identical_processes_is_a_run_of_the_machine() -> None:
    """The lock opens before its owner's store is there: the run has been replayed with the processes as they are."""
    text = """
    byte l, d;
    active [3] proctype P() { byte v; bit a; xchg(a, l, 1); a == 0; v = d; d = v + 1; l = 0; assert(v != 1 || d == 2) }
    """
    program = compile_text(text)
    assert interchangeable(program) == [0, 0, 0]
    for model in ("tso", "pso"):
        found = verify(program, model)
        assert found.verdict is Verdict.VIOLATION
        assert found.replay is not None
        assert found.replay.bad() is not None


@settings(max_examples=60)
@given(st.integers(0, 10**9))
def test_renaming_owners_of_slots_changes_no_verdict(seed: int) -> None:
    program = compile_text(owning_program(seed))
    for model in MODELS:
        agree(program, model)


@pytest.mark.parametrize("seed", [405, 909])
def test_a_wrong_renaming_would_hide_these_violations(seed: int) -> None:
    """Where what is guessed is believed, unchecked, these count as safe."""
    program = compile_text(owning_program(seed))
    assert not renamings(program, interchangeable(program))
    assert agree(program, "sc") is Verdict.VIOLATION


def test_owners_of_slots_are_worth_testing() -> None:
    """With a renaming and without one, safe and not."""
    kinds = set()
    for seed in range(40):
        program = compile_text(owning_program(seed))
        kinds.add((bool(renamings(program, interchangeable(program))), verify(program, "pso").verdict))
    assert kinds == {(found, verdict) for found in (True, False) for verdict in (Verdict.SAFE, Verdict.VIOLATION)}


PAIRS = "forbidden(mutex, (P[0]@cs && P[1]@cs) || (P[0]@cs && P[2]@cs) || (P[1]@cs && P[2]@cs))"
OWNERS: dict[str, tuple[str, int, Verdict]] = {
    "own flags": (
        f"byte l, f[3]; active [3] proctype P() {{ bit a; xchg(a, l, 1); a == 0; f[_pid] = 1; cs: f[_pid] = 0 }} {PAIRS}",
        3,
        Verdict.SAFE,
    ),
    "names from 0, and 0 is the first turn": (
        f"byte t; active [3] proctype P() {{ t == _pid; cs: skip; t = 3 }} {PAIRS}",
        3,
        Verdict.SAFE,
    ),
    "nobody minds the turn": (
        f"byte t; active [3] proctype P() {{ t = _pid; t == _pid; cs: skip }} {PAIRS}",
        3,
        Verdict.VIOLATION,
    ),
    "arguments as names": (
        "byte t, f[4]; proctype P(byte me) {"
        "  byte a; f[me] = 1; xchg(a, t, me); if :: a != 0 -> f[a] == 0 :: else -> skip fi; cs: f[me] = 0 }"
        "init { run P(1); run P(3); run P(2) } forbidden(all, P[1]@cs && P[2]@cs && P[3]@cs)",
        3,
        Verdict.SAFE,
    ),
    "names are compared by size": (
        "byte t; active [3] proctype P() { byte a; xchg(a, t, _pid + 1); a < _pid + 1; cs: do :: skip od }"
        "forbidden(mutex, P[0]@cs && P[1]@cs && P[2]@cs)",
        0,
        Verdict.VIOLATION,
    ),
    "slots are looked at in their order": (
        "byte f[3]; active [3] proctype P() { byte i; f[_pid] = 1; mfence;"
        "  do :: i == 3 -> break :: i != 3 && i == _pid -> i++ :: i != 3 && i != _pid -> f[i] == 0; i++ od;"
        f" cs: f[_pid] = 0 }} {PAIRS}",
        0,
        Verdict.SAFE,
    ),
    "all use the slot of one": (
        f"byte f[3]; active [3] proctype P() {{ f[_pid] = 1; mfence; f[1] == 1; cs: skip; f[1] = 0 }} {PAIRS}",
        0,
        Verdict.VIOLATION,
    ),
    "the property names one process": (
        "byte l, f[3]; active [3] proctype P() { bit a; xchg(a, l, 1); a == 0; f[_pid] = 1; cs: skip }"
        "forbidden(second, P[1]@cs)",
        0,
        Verdict.VIOLATION,
    ),
    "the property asks for one process's ghost": (
        "bit l; ghost byte g[3]; active [3] proctype P() { bit a; xchg(a, l, 1); a == 0; g[_pid] = 1 }"
        "forbidden(second, g[1] == 1)",
        0,
        Verdict.VIOLATION,
    ),
    "an assertion about one name": (
        "bit l; byte t; active [3] proctype P() { byte a; lock(l); t = _pid; a = t; assert(a != 1) }",
        0,
        Verdict.VIOLATION,
    ),
    "somebody else knows one of them": (
        "byte t, f[3]; active [3] proctype P() { f[_pid] = 1 }"
        "active proctype Q() { byte a; a = f[1]; if :: a == 1 -> a = f[0]; assert(a == 1) :: else -> skip fi }",
        0,
        Verdict.VIOLATION,
    ),
    "somebody else knows them all": (
        "byte t, f[4]; active [3] proctype P() { f[_pid + 1] = 1; mfence; t = _pid + 1 }"
        "active proctype Q() { byte a, b; a = t; if :: a != 0 -> b = f[a]; assert(b == 1) :: else -> skip fi }",
        3,
        Verdict.SAFE,
    ),
    "a name that is no index": (
        "byte t, f[3]; active [3] proctype P() { byte a; t = 10 * _pid; f[_pid] = 1; a = t; f[a] = 1 }",
        0,
        Verdict.VIOLATION,
    ),
}


@pytest.mark.parametrize("name", OWNERS)
def test_owners_of_slots(name: str) -> None:
    text, exchanges, verdict = OWNERS[name]
    program = compile_text(text)
    assert len(renamings(program, interchangeable(program))) == exchanges
    for model in MODELS[1:]:
        assert agree(program, model) is verdict
        certify(program, model, verdict)


def queue_lock(n: int) -> str:
    pairs = " || ".join(f"(P[{a}]@cs && P[{b}]@cs)" for a, b in combinations(range(n), 2))
    return f"""
    byte tail, next[{n + 1}], locked[{n + 1}];
    active [{n}] proctype P() {{
      byte before, after; bit done;
      do
      :: next[_pid + 1] = 0; xchg(before, tail, _pid + 1);
         if :: before != 0 -> locked[_pid + 1] = 1; next[before] = _pid + 1; locked[_pid + 1] == 0 :: else -> skip fi;
    cs:  after = next[_pid + 1]; done = 0;
         if :: after == 0 -> cas(done, tail, _pid + 1, 0) :: else -> skip fi;
         if :: done -> skip
            :: else -> do :: after != 0 -> break :: else -> after = next[_pid + 1] od; locked[after] = 0
         fi
      od
    }}
    forbidden(mutex, {pairs})"""


def test_queues_of_owners_do_not_multiply() -> None:
    states = {
        symmetry: verify(ControlGraph(compile_text(queue_lock(4)), symmetry=symmetry), "tso").states
        for symmetry in (True, False)
    }
    assert states[False] > 15 * states[True]


def any_order(program: PromelaProgram) -> PromelaProgram | None:
    """The program with its scans in any order, whether its processes can then change places or not."""
    groups, owners = _owners(program, interchangeable(program))
    try:
        other, names = in_any_order(program, owners, Slots(program, groups))
    except NoGuess:
        return None
    return other if names else None


def compare_scans(program: PromelaProgram, model: ModelName) -> tuple[bool, Verdict, Verdict]:
    """Whether processes can change places if scans go in any order; the verdict, and the verdict with such scans."""
    verdict = verify(ControlGraph(program, symmetry=False), model, budget=Budget(seconds=20)).verdict
    other = any_order(program)
    if other is None:
        return False, verdict, verdict
    wider = verify(ControlGraph(other, symmetry=False), model, budget=Budget(seconds=20)).verdict
    assert Verdict.INCONCLUSIVE not in (verdict, wider)
    assert wider is Verdict.VIOLATION or verdict is Verdict.SAFE
    freed = ControlGraph(program).freed(lambda: None)
    if freed is not None:
        assert verify(freed, model, budget=Budget(seconds=20)).verdict is wider
    return freed is not None, verdict, wider


@settings(max_examples=40)
@given(st.integers(0, 10**9))
def test_scans_in_any_order_hide_nothing(seed: int) -> None:
    program = compile_text(scanning_program(seed))
    for model in MODELS:
        compare_scans(program, model)


def test_scanning_programs_are_worth_testing() -> None:
    """With processes that can change places and with such that cannot; safe, not safe, and safe in their own order only."""
    kinds = set()
    for seed in (*range(9), 44, 51):
        kinds.add(compare_scans(compile_text(scanning_program(seed)), "tso"))
    safe, unsafe = Verdict.SAFE, Verdict.VIOLATION
    assert kinds == {(f, *v) for f in (True, False) for v in ((safe, safe), (safe, unsafe), (unsafe, unsafe))}


SCAN = "do :: j == 3 -> break :: else -> {body}; j++ od"
SCANS: dict[str, tuple[str, bool, Verdict, Verdict]] = {
    "a lock that waits for one after the other": (
        "byte f[3]; active [3] proctype P() { byte j; f[_pid] = 1; mfence; j = 0;"
        f" {SCAN.format(body='if :: j == _pid -> skip :: else -> f[j] == 0 fi')}; cs: f[_pid] = 0 }} {PAIRS}",
        True,
        Verdict.SAFE,
        Verdict.SAFE,
    ),
    "the same without a fence": (
        "byte f[3]; active [3] proctype P() { byte j; f[_pid] = 1; j = 0;"
        f" {SCAN.format(body='if :: j == _pid -> skip :: else -> f[j] == 0 fi')}; cs: f[_pid] = 0 }} {PAIRS}",
        True,
        Verdict.VIOLATION,
        Verdict.VIOLATION,
    ),
    "the last one that it looks at decides": (
        "byte f[3]; active [3] proctype P() { byte j, a; f[_pid] = 1; mfence; j = 0;"
        f" {SCAN.format(body='a = j; f[j] == 1')}; (a == 2); assert(0) }}",
        False,
        Verdict.VIOLATION,
        Verdict.VIOLATION,
    ),
    "the last one that it looks at is always the same": (
        "byte f[3]; active [3] proctype P() { byte j, a; f[_pid] = 1; mfence; j = 0;"
        f" {SCAN.format(body='a = j; f[j] == 1')}; assert(a == 2) }}",
        False,
        Verdict.SAFE,
        Verdict.VIOLATION,
    ),
    "a bit that comes round again": (
        "byte f[3]; active [3] proctype P() { byte c; bit j; f[_pid] = 1; j = 0;"
        " do :: c == 3 -> break :: else -> f[j] == 1; j++; c++ od; assert(j == 0) }",
        False,
        Verdict.VIOLATION,
        Verdict.VIOLATION,
    ),
    "a byte that comes round again": (
        "byte f[3]; active [3] proctype P() { byte j; bit again; f[_pid] = 1; j = 0;"
        " do :: j > 2 -> if :: again -> break :: else -> do :: j < 3 -> break :: else -> j++ od; again = 1 fi"
        " :: else -> f[j] == 1; assert(!again || j != 2); j++ od }",
        False,
        Verdict.VIOLATION,
        Verdict.VIOLATION,
    ),
    "a scan that goes on from where it begins": (
        "byte f[3]; active [3] proctype P() { byte j; f[_pid] = 1;"
        f" {SCAN.format(body='f[j] == 1')}; j = 0; {SCAN.format(body='f[j] == 1')}; assert(0) }}",
        True,
        Verdict.VIOLATION,
        Verdict.VIOLATION,
    ),
    "a scan that begins elsewhere the first time": (
        "byte f[4]; proctype P(byte j) { f[_pid] = 1; do :: j == 4 -> break :: else -> f[j] == 1; j++ od;"
        " assert(f[1] == 1); j = 1 } init { run P(3); run P(3); run P(3) }",
        False,
        Verdict.VIOLATION,
        Verdict.VIOLATION,
    ),
}


@pytest.mark.parametrize("name", SCANS)
def test_scans(name: str) -> None:
    text, exchanged, verdict, wider = SCANS[name]
    program = compile_text(text)
    for model in MODELS[1:]:
        assert compare_scans(program, model) == (exchanged, verdict, wider)


def sized(name: str, n: int) -> PromelaProgram:
    """A benchmark for n processes."""
    text, _, _ = (PROGRAMS / f"{name}.pml").read_text().replace("#define N 3", f"#define N {n}").partition("forbidden")
    pairs = " || ".join(f"(P[{a}]@cs && P[{b}]@cs)" for a, b in combinations(range(n), 2))
    return compile_text(f"{text}forbidden(mutex, {pairs})", f"{name}.pml")


@pytest.mark.parametrize("name", ["peterson_n", "filter"])
def test_locks_that_look_at_others_in_order_do_not_multiply(name: str) -> None:
    program = sized(name, 4)
    fences = frozenset(i for i, site in enumerate(program.sites) if site.kind is Kind.MFENCE)
    plain = ControlGraph(program)
    freed = plain.freed(lambda: None)
    assert freed is not None
    assert len(freed.renamings) == 6
    assert 5 * verify(freed, "tso", fences=fences).states < verify(plain, "tso", fences=fences).states


def test_a_lock_is_proved_with_scans_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first try gives up; a certificate, and a violation, are found without."""
    monkeypatch.setattr("teetotal.engines.symbolic.verify.FIRST_WORK", 1)
    asked = []

    def freed(graph: ControlGraph, poll: Callable[[], None]) -> ControlGraph | None:
        asked.append(graph)
        return of_graph(graph, poll)

    of_graph = ControlGraph.freed
    monkeypatch.setattr(ControlGraph, "freed", freed)
    for name, verdict in list(SCANS.items())[:2]:
        program = compile_text(SCANS[name][0])
        assert verify(program, "tso").verdict is verdict[2]
        assert asked
        asked.clear()
        certify(program, "tso", verdict[2])
        assert not asked


def test_looking_for_exchanges_is_ended_in_time() -> None:
    def over() -> None:
        raise OutOfBudget("time")

    with pytest.raises(OutOfBudget):
        ControlGraph(sized("peterson_n", 4)).freed(over)
