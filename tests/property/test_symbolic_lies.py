"""Certificates that lie in one thing and are right in all others, told apart from those that are right.

The digest is that of the program to be proved: a lie must be noticed for what it is.
"""

from __future__ import annotations

import msgspec
import pytest

from teetotal.answers.events import ModelName, Semantics
from teetotal.engines.symbolic.certificates import Certificate, digest
from teetotal.engines.symbolic.checker import Rejected, check
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.verify import verify
from teetotal.programs.promela import PromelaProgram, compile_text

RMW_ADDRESS = Semantics(rmw="address")
BARE = Semantics(rmw="address", mutex="rmw")


def proof(text: str, model: ModelName, semantics: Semantics = Semantics()) -> Certificate:
    found = verify(ControlGraph(compile_text(text), semantics), model, certify=True).certificate
    assert found is not None
    return found


def relabelled(certificate: Certificate, program: PromelaProgram) -> Certificate:
    return msgspec.structs.replace(certificate, digest=digest(program.text))


def rejected(text: str, certificate: Certificate, why: str) -> None:
    program = compile_text(text)
    with pytest.raises(Rejected, match=why):
        check(program, relabelled(certificate, program), certificate.model, certificate.semantics)


STORES = "byte x; active proctype P() { x = 1; x = 2 } active proctype Q() { byte a; a = x }"


def test_right_ones_are_accepted_whatever_an_rmw_flushes() -> None:
    texts = [
        STORES,
        "byte x; active proctype P() { byte a; x = 1; a = x; assert(a == 1) }",
        "byte x, y; active proctype P() { x = 1; sfence; y = 1 }"
        " active proctype Q() { byte a; (y == 1); a = x; assert(a == 1) }",
        "byte x, y; active proctype P() { byte r; x = 1; y = 1; fetch_add(r, x, 1); assert(r == 1) }",
        "byte x, y; active proctype P() { byte r; x = 1; sfence; fetch_add(r, y, 1) }"
        " active proctype Q() { byte a; (y == 1); a = x; assert(a == 1) }",
        "byte x; active proctype P() { one: skip } active proctype Q() { x = 1; two: skip; three: skip }"
        " forbidden(impossible, Q@two && Q@three)",
    ]
    for text in texts:
        for model in ("sc", "tso", "pso"):
            for semantics in (Semantics(), RMW_ADDRESS, BARE):
                certificate = proof(text, model, semantics)
                assert check(compile_text(text), certificate, model, semantics) == len(certificate.states)


def test_nothing_is_no_proof() -> None:
    rejected(STORES, msgspec.structs.replace(proof(STORES, "tso"), states=[]), "initial configuration")


def test_another_beginning_is_noticed() -> None:
    """A proof for x = 1 at the beginning: every state has that memory, or a later one."""
    text = "byte x = %d; active proctype P() { byte a; a = x }"
    rejected(text % 0, proof(text % 1, "tso"), "initial configuration")


def test_other_locations_are_noticed() -> None:
    rejected(STORES.replace("x", "y"), proof(STORES, "tso"), "other locations")


def test_a_step_that_leads_out_is_noticed() -> None:
    """Where Q ends after its load is taken out of all automata."""
    certificate = proof(STORES, "sc")
    ended = [n for n, (_, _, status) in enumerate(certificate.controls[1]) if status == "ended"]
    automata = [
        [
            (edges, [q for q in finals if q not in ended or number not in of_process(certificate, 1)])
            for edges, finals in a
        ]
        for number, a in enumerate(certificate.automata)
    ]
    rejected(STORES, msgspec.structs.replace(certificate, automata=automata), "leaves its automaton")


def of_process(certificate: Certificate, process: int) -> set[int]:
    return {parts[process] for _, parts in certificate.states}


def test_a_commit_that_leads_nowhere_is_noticed() -> None:
    """Without the states in which x is 2."""
    for model in ("tso", "pso"):
        certificate = proof(STORES, model)
        left = [state for state in certificate.states if certificate.memories[state[0]] != [2]]
        assert len(left) < len(certificate.states)
        rejected(STORES, msgspec.structs.replace(certificate, states=left), "no state holds the result")


def test_the_others_stay_where_they_are() -> None:
    """As if Q had ended before P's first store became visible: what Q can do then is there, that it has not begun not."""
    certificate = proof(STORES, "tso")
    ended = [n for n, (_, _, status) in enumerate(certificate.controls[1]) if status == "ended"]
    automata = [*certificate.automata, [([], ended)]]
    states = [
        (memory, parts if certificate.memories[memory] == [0] else [parts[0], len(automata) - 1])
        for memory, parts in certificate.states
    ]
    rejected(
        STORES, msgspec.structs.replace(certificate, automata=automata, states=states), "no state holds the result"
    )


def test_a_forbidden_state_is_noticed() -> None:
    """A proof of the same program without the property holds all states, and so the bad ones."""
    text = "byte x; active proctype P() { x = 1; here: skip } forbidden(there, %s)"
    rejected(text % "P@here", marked(text), "there may hold")


def marked(text: str) -> Certificate:
    """For the program as it is, with a property that is never met: the label counts, and the proof goes through."""
    return proof(text % "P@here && !P@here", "tso")


def test_a_forbidden_ghost_is_noticed() -> None:
    text = "ghost byte g; active proctype P() { g = 1; g = 2 } forbidden(there, g == %d)"
    rejected(text % 2, proof(text % 3, "tso"), "there may hold")


def test_a_failed_assertion_is_noticed() -> None:
    """A proof in which the assertion holds, with its failing put beside its end wherever that is."""
    text = "byte x; active proctype P() { byte a; a = x; assert(a == 0 || a == %d) } active proctype Q() { x = 1 }"
    certificate, program = proof(text % 1, "sc"), compile_text(text % 2)
    state = program.begin(0)
    failed = program.after_load(0, state, 1)
    assert failed.status == "failed"
    controls = [list(of_one) for of_one in certificate.controls]
    most = max(map(len, controls))
    for of_one in controls:
        of_one += [(n, (0,) * len(of_one[0][1]), "cut") for n in range(most + 1 - len(of_one))]
    controls[0][most] = (failed.pc, failed.registers, failed.status)
    automata = [[(edges, [*finals, most]) for edges, finals in nodes] for nodes in certificate.automata]
    lie = msgspec.structs.replace(certificate, controls=controls, automata=automata)
    rejected(text % 2, lie, "assertion")


PUBLISHED = """byte x, y; active proctype P() { byte r; x = 1; fetch_add(r, y, 1) }
active proctype Q() { byte a, b; a = y; b = x; assert(a == 0 || b == 1) }"""


def test_what_an_rmw_flushes_is_part_of_the_claim() -> None:
    lie = msgspec.structs.replace(proof(PUBLISHED, "pso"), semantics=RMW_ADDRESS)
    rejected(PUBLISHED, lie, ".")


def test_what_an_unlock_flushes_is_part_of_the_claim() -> None:
    text = """bit m; byte x, y; active proctype P() { lock(m); x = 1; unlock(m); y = 1 }
    active proctype Q() { byte a, b; a = y; b = x; assert(a == 0 || b == 1) }"""
    rejected(text, msgspec.structs.replace(proof(text, "pso", RMW_ADDRESS), semantics=BARE), ".")


def test_an_mfence_is_no_sfence() -> None:
    """Store buffering with mfences is safe; the same with sfences is not, though the code looks alike."""
    text = """byte x, y; active proctype P() { x = 1; %s; (y == 0); in: skip }
    active proctype Q() { y = 1; %s; (x == 0); in: skip } forbidden(both, P@in && Q@in)"""
    rejected(text % ("sfence", "sfence"), proof(text % ("mfence", "mfence"), "pso"), ".")
