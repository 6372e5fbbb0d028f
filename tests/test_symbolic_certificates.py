"""Certificates of safe verdicts are accepted, and whatever is changed in them is noticed."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest

from symbolic_programs import NAMES, PROGRAMS
from teetotal.errors import ParseError
from teetotal.events import Kind
from teetotal.programs.promela import PromelaProgram, compile_text, load
from teetotal.symbolic.certificates import Certificate, read, save
from teetotal.symbolic.checker import Rejected, check
from teetotal.symbolic.verify import verify

SMALL = [name for name in NAMES if name != "ticket"]


def proof(program: PromelaProgram, model: str, fences: frozenset[int]) -> Certificate | None:
    return verify(program, model, fences=fences, certify=True).certificate  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_accepted_also_after_a_journey_through_a_file(name: str, model: str, tmp_path: Path) -> None:
    program = load(PROGRAMS / f"{name}.pml")
    for fences in (frozenset[int](), frozenset(range(len(program.sites)))):
        certificate = proof(program, model, fences)
        if certificate is None:
            assert not fences, "with all fences every program is safe"
            continue
        save(certificate, tmp_path / "proof.json")
        assert check(program, read(tmp_path / "proof.json")) == len(certificate.states)


def mutated(certificate: Certificate, random: Random) -> Certificate:
    """One thing less in it, or one thing else."""
    automata = [[(list(edges), list(finals)) for edges, finals in nodes] for nodes in certificate.automata]
    states = list(certificate.states)
    nodes = random.choice(automata)
    match random.choice(["final", "final", "edge", "state", "part", "redirect"]):
        case "final":
            node = random.choice([n for n in nodes if n[1]])
            node[1].remove(random.choice(node[1]))
        case "edge" if any(n[0] for n in nodes):
            node = random.choice([n for n in nodes if n[0]])
            node[0].remove(random.choice(node[0]))
        case "redirect" if any(n[0] for n in nodes) and len(nodes) > 1:
            node = random.choice([n for n in nodes if n[0]])
            position = random.randrange(len(node[0]))
            letter, to = node[0][position]
            node[0][position] = (letter, (to + 1) % len(nodes))
        case "part" if len(states) > 1:
            one, two = random.sample(range(len(states)), 2)
            states[one] = (states[one][0], states[two][1])
        case _:
            states.pop(random.randrange(len(states)))
    return msgspec.structs.replace(certificate, automata=automata, states=states)


@pytest.mark.parametrize("name", SMALL)
def test_mutated_certificates_are_rejected(name: str) -> None:
    """Each of them misses something that can be reached, or that its own states lead to."""
    program = load(PROGRAMS / f"{name}.pml")
    random = Random(name)
    tried = 0
    for model in ("tso", "pso"):
        fences = frozenset(range(len(program.sites)))
        certificate = proof(program, model, frozenset()) or proof(program, model, fences)
        assert certificate is not None
        for _ in range(12):
            changed = mutated(certificate, random)
            if (changed.automata, changed.states) == (certificate.automata, certificate.states):
                continue
            tried += 1
            with pytest.raises(Rejected):
                check(program, changed)
    assert tried >= 12


def test_a_proof_of_another_program_or_model_is_rejected() -> None:
    program = load(PROGRAMS / "peterson.pml")
    everything = frozenset(range(len(program.sites)))
    certificate = proof(program, "tso", everything)
    assert certificate is not None
    with pytest.raises(Rejected, match="another program"):
        check(load(PROGRAMS / "dekker.pml"), certificate)
    with pytest.raises(Rejected):
        check(program, msgspec.structs.replace(certificate, fences=[]))
    only_mfences = frozenset(i for i in everything if program.sites[i].kind is Kind.MFENCE and i != 1)
    some = proof(program, "tso", only_mfences)
    assert some is not None
    with pytest.raises(Rejected):
        check(program, msgspec.structs.replace(some, model="pso"))


def test_a_claim_that_covers_everything_but_is_bad_is_rejected() -> None:
    safe = compile_text("byte x; active proctype P() { x = 1; here: skip }")
    text = "byte x; active proctype P() { x = 1; here: skip } forbidden(there, P@here)"
    unsafe = compile_text(text)
    certificate = proof(safe, "tso", frozenset())
    assert certificate is not None
    with pytest.raises(Rejected):
        check(unsafe, certificate)


def test_rubbish_is_no_certificate(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ParseError, match="not a certificate"):
        read(tmp_path / "x.json")
    certificate = proof(load(PROGRAMS / "clh.pml"), "tso", frozenset())
    assert certificate is not None
    broken = msgspec.structs.replace(certificate, states=[(0, [99, 99])])
    with pytest.raises(Rejected, match="malformed"):
        check(load(PROGRAMS / "clh.pml"), broken)
