"""Certificates of safe verdicts are accepted, and what is changed in them is noticed, unless it is still a proof."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

import msgspec
import pytest

from certificate_mutations import mutations
from promela_configurations import Configuration, configurations, covers
from symbolic_programs import NAMES, PROGRAMS, random_program
from teetotal.answers.errors import ParseError
from teetotal.answers.events import ModelName, Semantics
from teetotal.answers.verdict import Verdict
from teetotal.engines.symbolic.certificates import Certificate, Malformed, digest, read, save
from teetotal.engines.symbolic.checker import Rejected, check
from teetotal.engines.symbolic.graph import ControlGraph, Row
from teetotal.engines.symbolic.verify import verify
from teetotal.programs.promela import PromelaProgram, compile_text, load

ADDRESS = Semantics(rmw="address")
BARE_MUTEX = Semantics(rmw="address", mutex="rmw")


class Case(NamedTuple):
    """A program with what is claimed about it."""

    text: str
    model: ModelName
    semantics: Semantics = Semantics()
    fences: frozenset[int] = frozenset()

    @property
    def program(self) -> PromelaProgram:
        return compiled(self.text).with_fences(self.fences)


compiled = cache(compile_text)


def proof(program: PromelaProgram, model: ModelName, semantics: Semantics = Semantics()) -> Certificate | None:
    return verify(program, model, fences=program.fences, semantics=semantics, certify=True).certificate


@cache
def proof_of(case: Case) -> Certificate:
    certificate = proof(case.program, case.model, case.semantics)
    assert certificate is not None
    return certificate


@cache
def reachable(case: Case) -> tuple[set[Configuration], set[Configuration]]:
    return configurations(case.program, case.model, case.semantics, bound=3)


def judged(case: Case, certificate: Certificate) -> str:
    """``accepted``, ``rejected`` or ``malformed``; what is accepted is an invariant, as the machine says."""
    try:
        check(case.program, certificate, case.model, case.semantics)
    except Malformed:
        return "malformed"
    except Rejected:
        return "rejected"
    everything, bad = reachable(case)
    assert not bad
    assert all(covers(certificate, found) for found in everything)
    return "accepted"


# ---- what engines prove is accepted


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_accepted_also_after_a_journey_through_a_file(name: str, model: ModelName, tmp_path: Path) -> None:
    program = load(PROGRAMS / f"{name}.pml")
    for fences in (frozenset[int](), frozenset(range(len(program.sites)))):
        fenced = program.with_fences(fences)
        certificate = proof(fenced, model)
        if certificate is None:
            assert not fences, "with all fences every program is safe"
            continue
        save(certificate, tmp_path / "proof.json")
        assert check(fenced, read(tmp_path / "proof.json"), model) == len(certificate.states)


# ---- mutations

STORE_BUFFERING = """byte x, y;
active proctype P() { byte a; x = 1; FENCE a = y; (a == 0); here: skip }
active proctype Q() { byte a; y = 1; FENCE a = x; (a == 0); here: skip }
forbidden(both, P@here && Q@here)"""
MESSAGE = """byte data, flag;
active proctype P() { data = 1; FENCE flag = 1 }
active proctype Q() { byte a; a = flag; if :: a == 1 -> a = data; assert(a == 1) :: else fi }"""
EXCHANGE = MESSAGE.replace("flag = 1", "byte r; xchg(r, flag, 1)").replace("FENCE", "")
BEHIND_SFENCE = EXCHANGE.replace("data = 1;", "data = 1; sfence;")
HANDED_OVER = """byte x; bit m, done;
active proctype P() { byte a; lock(m); x = 1; unlock(m); xchg(a, done, 1) }
active proctype Q() { byte a; a = done; if :: a == 1 -> a = x; assert(a == 1) :: else fi }"""
ENDLESS = """byte x, y;
active proctype P() { do :: x = 1 :: x = 2 :: y = 1; break od }
active proctype Q() { byte a; a = x; assert(a <= 2) }"""
GHOST = """byte x; ghost byte inside;
active proctype P() { byte r; xchg(r, x, 1); if :: r == 0 -> inside++; inside--; x = 0 :: else fi }
active proctype Q() { byte r; xchg(r, x, 1); if :: r == 0 -> inside++; inside--; x = 0 :: else fi }
forbidden(crowded, inside > 1)"""
HELD_BACK = """byte x, y, z;
active proctype P() { byte a; x = 1; sfence; a = y; z = 1 + a }
active proctype Q() { atomic { x == 0; y = 1 } }"""  # y changes while x = 1 waits, or never
BLOCK = """byte x, y;
active proctype P() { x = 1; atomic { y = 1; x = 2 } }
active proctype Q() { byte a; a = y; if :: a == 1 -> a = x; assert(a == 2) :: else fi }"""


def fenced(text: str, fence: str) -> str:
    return text.replace("FENCE", f"{fence};" if fence else "")


RANDOM: list[tuple[int, ModelName, Literal["all", "address"]]] = [
    (1, "tso", "all"),
    (9, "pso", "address"),
    (48, "pso", "all"),
]

CASES = {
    "store buffering, tso": Case(fenced(STORE_BUFFERING, "mfence"), "tso"),
    "store buffering, pso": Case(fenced(STORE_BUFFERING, "mfence"), "pso"),
    "store buffering, sc": Case(fenced(STORE_BUFFERING, ""), "sc"),
    "message, tso": Case(fenced(MESSAGE, ""), "tso"),
    "message, pso": Case(fenced(MESSAGE, "sfence"), "pso"),
    "exchange": Case(EXCHANGE, "pso"),
    "exchange behind an sfence": Case(BEHIND_SFENCE, "pso", ADDRESS),
    "mutex": Case(HANDED_OVER, "pso", ADDRESS),
    "endless, tso": Case(ENDLESS, "tso"),
    "endless, pso": Case(ENDLESS, "pso"),
    "ghost": Case(GHOST, "tso"),
    "held back": Case(HELD_BACK, "pso"),
    "block": Case(BLOCK, "pso"),
}
CASES |= {
    f"random {seed}, {model}, {rmw}": Case(random_program(seed, loops=False), model, Semantics(rmw=rmw))
    for seed, model, rmw in RANDOM
}

TRIED = 250
"""Mutations of each certificate, drawn from all that there are."""

MALFORMED = {
    "no nodes", "an edge twice", "an edge to nowhere", "a cycle of markers", "a process less", "a letter twice",
    "a process's control states less", "a memory that is none", "an automaton that is none", "a store to nowhere",
    "a control state twice", "at a negative instruction",
}  # fmt: skip
"""Never a proof."""
HARMLESS = {"a state twice", "a node that nothing leads to"}
"""Always one: nothing that the proof speaks of has changed."""
HARMFUL = {
    "no states", "no finals", "a state less", "a state's memory", "a value in memory", "a final less", "an edge less",
    "another value stored", "processes swapped", "control states swapped", "at another instruction", "another register",
    "another status", "a final more", "an edge more", "an edge elsewhere", "a state's automaton", "a control state less",
}  # fmt: skip
"""Some are no proof; others change what no state uses, take away what a second state has too, or lead nowhere new."""


@cache
def outcomes(name: str) -> Counter[tuple[str, str]]:
    """How often each kind of mutation ends how."""
    case = CASES[name]
    changed = mutations(proof_of(case), TRIED, Random(name))
    return Counter((what, judged(case, certificate)) for what, certificate in changed)


@pytest.mark.parametrize("name", CASES)
def test_what_is_accepted_of_a_mutated_certificate_is_still_a_proof(name: str) -> None:
    case = CASES[name]
    assert judged(case, proof_of(case)) == "accepted"
    assert {end for _, end in outcomes(name)} == {"accepted", "malformed", "rejected"}


def test_which_mutations_leave_a_proof() -> None:
    ends: dict[str, set[str]] = {}
    for name in CASES:
        for what, end in outcomes(name):
            ends.setdefault(what, set()).add(end)
    assert {what for what, found in ends.items() if found == {"malformed"}} >= MALFORMED
    assert {what for what, found in ends.items() if found == {"accepted"}} == HARMLESS
    assert {what for what, found in ends.items() if found & {"rejected", "malformed"}} == MALFORMED | HARMFUL
    assert ends["no states"] == ends["no finals"] == {"rejected"}


# ---- bad states


class Blind(ControlGraph):
    """An engine that sees nothing bad: what it writes out has everything, the bad states too."""

    def expand(self, process: int, q: int) -> tuple[list[Row], int, bool]:
        rows, _, _ = super().expand(process, q)
        return rows, 0, False

    def ghosts_hold(self, case: int, memory: list[int]) -> bool:
        return False


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (Case(fenced(STORE_BUFFERING, ""), "tso"), "in which both may hold"),
        (Case(fenced(MESSAGE, ""), "pso"), r"an assertion of Q\[1\] fails"),
        (Case(EXCHANGE, "pso", ADDRESS), r"an assertion of Q\[1\] fails"),
        (Case(HANDED_OVER, "pso", BARE_MUTEX), r"an assertion of Q\[1\] fails"),
        (Case(GHOST.replace("xchg(r, x, 1)", "r = x"), "sc"), "crowded may hold"),
        (
            Case("byte a[2]; active proctype P() { byte i; i = a[0]; a[i + 2] = 1 }", "tso"),
            r"an assertion of P\[0\] fails",
        ),
    ],
)
def test_a_set_that_has_everything_is_rejected_for_its_bad_states_alone(case: Case, words: str) -> None:
    program = case.program
    certificate = verify(Blind(program, case.semantics), case.model, certify=True).certificate
    assert certificate is not None
    everything, bad = reachable(case)
    assert bad
    assert all(covers(certificate, found) for found in everything)
    with pytest.raises(Rejected, match=words):
        check(program, certificate, case.model, case.semantics)


# ---- what a certificate says about itself


def claims(case: Case) -> list[Case]:
    """The same program under every model and semantics, without fences, with each of them and with all."""
    sites = range(len(case.program.sites))
    sets = [frozenset[int](), *(frozenset([site]) for site in sites), frozenset(sites)]
    models: list[ModelName] = ["sc", "tso", "pso"]
    semantics = [Semantics(), ADDRESS, Semantics(mutex="rmw"), BARE_MUTEX]
    return [Case(case.text, m, s, f) for m in models for s in semantics for f in sets]


def relabelled(certificate: Certificate, case: Case) -> Certificate:
    """A certificate that lies about what it was made for."""
    return msgspec.structs.replace(
        certificate,
        digest=digest(case.text),
        locations=list(case.program.memory),
        model=case.model,
        semantics=case.semantics,
        fences=sorted(case.fences),
    )


RELABELLED = {
    "store buffering": Case(
        fenced(STORE_BUFFERING, ""),
        "tso",
        fences=frozenset(range(len(compile_text(fenced(STORE_BUFFERING, "")).sites))),
    ),
    "message": Case(fenced(MESSAGE, ""), "tso"),
    "exchange": Case(EXCHANGE, "pso"),
    "exchange under tso": Case(EXCHANGE, "tso"),
    "mutex": Case(HANDED_OVER, "pso", ADDRESS),
}


@pytest.mark.parametrize("name", RELABELLED)
def test_a_certificate_is_not_believed_about_itself(name: str) -> None:
    """For anything else than it was made for it is refused, and relabelled for that it has to be a proof of that."""
    case = RELABELLED[name]
    certificate = proof_of(case)
    ends = Counter[str]()
    for other in claims(case):
        same = other == case
        assert judged(other, certificate) == ("accepted" if same else "rejected")
        end = judged(other, relabelled(certificate, other))
        assert not (same and end != "accepted")
        ends[end] += 1
    assert ends["accepted"] >= 1
    assert ends["rejected"] >= 1


@pytest.mark.parametrize(
    ("made", "asked"),
    [
        (Case(EXCHANGE, "pso"), Case(EXCHANGE, "pso", ADDRESS)),
        (Case(HANDED_OVER, "pso", ADDRESS), Case(HANDED_OVER, "pso", BARE_MUTEX)),
        (Case(fenced(MESSAGE, ""), "tso"), Case(fenced(MESSAGE, ""), "pso")),
        (Case(fenced(STORE_BUFFERING, ""), "sc"), Case(fenced(STORE_BUFFERING, ""), "tso")),
        (RELABELLED["store buffering"], Case(fenced(STORE_BUFFERING, ""), "tso")),
        (Case(fenced(STORE_BUFFERING, "mfence"), "tso"), Case(fenced(STORE_BUFFERING, ""), "tso")),
        (Case(fenced(MESSAGE, "sfence"), "pso"), Case(fenced(MESSAGE, ""), "pso")),
        (Case(fenced(MESSAGE, "sfence"), "pso"), Case(fenced(MESSAGE, "sfence").replace("a == 1)", "a == 0)"), "pso")),
    ],
)
def test_what_is_not_safe_is_proved_by_no_other_proof(made: Case, asked: Case) -> None:
    assert verify(asked.program, asked.model, semantics=asked.semantics).verdict is Verdict.VIOLATION
    certificate = relabelled(proof_of(made), asked)
    with pytest.raises((Rejected, Malformed)) as rejection:
        check(asked.program, certificate, asked.model, asked.semantics)
    assert "made for" not in str(rejection.value)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Case(EXCHANGE, "tso"), "it was made for PSO, not for TSO"),
        (Case(EXCHANGE, "pso", ADDRESS), "it was made for --rmw all, not for --rmw address"),
        (Case(EXCHANGE, "pso", Semantics(mutex="rmw")), "it was made for --mutex fence, not for --mutex rmw"),
        (Case(EXCHANGE, "pso", fences=frozenset([0])), "it was made for the program with other fences"),
        (Case(BLOCK, "pso"), "it was made for another program text"),
    ],
)
def test_what_it_was_made_for_is_told(asked: Case, words: str) -> None:
    with pytest.raises(Rejected, match=words):
        check(asked.program, proof_of(Case(EXCHANGE, "pso")), asked.model, asked.semantics)


# ---- what is no certificate at all

KEYS = [field.name for field in msgspec.structs.fields(Certificate)]
SOUND = msgspec.json.encode(proof_of(CASES["message, pso"]))


def with_value(key: str, value: Any) -> bytes:
    return json.dumps({**json.loads(SOUND), key: value}).encode()


def with_inner(value: Any, *keys: Any) -> bytes:
    tree = json.loads(SOUND)
    place = tree
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return json.dumps(tree).encode()


RUBBISH: dict[str, bytes] = {
    "nothing": b"",
    "an empty object": b"{}",
    "a list": b"[]",
    "words": b"certificate",
    "a program": b"byte x; active proctype P() { x = 1 }",
    "no text": b"\xff\xfe" + SOUND,
    "no text inside": SOUND.replace(b"running", b"runn\xffng"),
    "deep lists": b"[" * 200_000,
    "deep lists for a value": SOUND.replace(b'"states":', b'"states":' + b"[" * 200_000),
    "deep lists for an unknown key": b'{"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "deep lists in the semantics": SOUND.replace(b'"rmw":', b'"x":' + b"[" * 200_000 + b"]" * 200_000 + b',"rmw":'),
    "an unknown key": SOUND.replace(b'{"version"', b'{"trust":1,"version"'),
    "a key twice": SOUND.replace(b'{"version"', b'{"states":[],"version"'),
    "a key twice in the semantics": SOUND.replace(b'"rmw":', b'"rmw":"address","rmw":'),
    "something behind it": SOUND + b"{}",
    "no number": with_value("version", float("nan")),
    "an endless number": with_value("version", float("inf")),
    "a number of 5000 digits": SOUND.replace(b'"version":1', b'"version":' + b"1" * 5000),
    "a huge value": with_inner(10**30, "letters", 0, 1),
    "a huge location": with_inner(10**30, "letters", 0, 0),
    "a huge memory": with_inner(2**31, "memories", 0, 0),
    "a huge register": with_inner([2**40], "controls", 1, 0, 1),
    "a huge node": with_inner([[1, 2**70]], "automata", 0, 0, 0),
    "too few registers": with_inner([], "controls", 1, 0, 1),
    "too many registers": with_inner([0, 0], "controls", 1, 0, 1),
    "a memory that is too short": with_inner([0], "memories", 0),
    "another version": with_value("version", 2),
    **{f"cut after {n} bytes": SOUND[:n] for n in range(0, len(SOUND), 97)},
    **{
        f"{key} is {kind}": with_value(key, value)
        for key in KEYS
        for kind, value in {
            "null": None,
            "true": True,
            "a fraction": 1.5,
            "an object": {"": 0},
            "lists": [[[]]],
            "a list of words": ["x"],
            "a negative number": -1,
        }.items()
        if (key, kind) not in (("locations", "a list of words"), ("semantics", "an object"))  # their form is right
    },
    **{f"without {key}": json.dumps({k: v for k, v in json.loads(SOUND).items() if k != key}).encode() for key in KEYS},
}


@pytest.mark.parametrize("name", RUBBISH)
def test_rubbish_is_no_certificate(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(RUBBISH[name])
    case = CASES["message, pso"]
    with pytest.raises(ParseError):
        check(case.program, read(path), case.model, case.semantics)


def test_numbers_that_name_nothing_are_no_certificate() -> None:
    program = load(PROGRAMS / "clh.pml")
    certificate = proof(program, "tso")
    assert certificate is not None
    for change in ({"states": [(0, [99, 99])]}, {"states": [(-1, [0, 0])]}, {"states": [(0, [0])]}, {"automata": [[]]}):
        with pytest.raises(Malformed):
            check(program, msgspec.structs.replace(certificate, **change), "tso")


def test_markers_belong_to_pso() -> None:
    case = CASES["endless, tso"]
    certificate = proof_of(case)
    automata = [
        [([*edges, (0, n)], finals) for n, (edges, finals) in enumerate(nodes)] for nodes in certificate.automata
    ]
    with pytest.raises(Malformed, match="under PSO only"):
        check(case.program, msgspec.structs.replace(certificate, automata=automata), "tso")


def test_no_word_begins_with_a_marker() -> None:
    """It would wait for nothing: whoever believes in it holds back what is behind it."""
    case = CASES["message, pso"]
    certificate = proof_of(case)
    automata = [[([*first[0], (0, len(rest) + 1)], first[1]), *rest, ([], [])] for first, *rest in certificate.automata]
    with pytest.raises(Malformed, match="begins with a marker"):
        check(case.program, msgspec.structs.replace(certificate, automata=automata), "pso")


def test_a_control_state_that_the_program_cannot_be_in_is_rejected() -> None:
    """An index out of bounds, where the program's own check has let nobody through."""
    case = Case("byte a[2], x; active proctype P() { byte i; i = x; if :: i < 2 -> a[i] = 1 :: else fi }", "tso")
    certificate = proof_of(case)
    controls = [[(pc, tuple(9 for _ in registers), status) for pc, registers, status in certificate.controls[0]]]
    with pytest.raises((Rejected, Malformed)):
        check(case.program, msgspec.structs.replace(certificate, controls=controls), "tso")


def test_a_check_can_be_ended() -> None:
    """A certificate can make work without end of a kind: each store more doubles what a process may know of its buffer."""

    class Enough(Exception):
        pass

    def tick() -> None:
        raise Enough

    shared = ", ".join(f"v{i}" for i in range(24))
    case = Case(f"byte {shared}; active proctype P() {{ v0 = 1 }}", "tso")
    certificate = proof_of(case)
    letters = [(x, 1) for x in range(24)]
    finals = {q for nodes in certificate.automata for _, finals in nodes for q in finals}
    everything = [([(1 + x, 0) for x in range(24)], sorted(finals))]
    states = [(memory, [0]) for memory, _ in certificate.states]
    changed = msgspec.structs.replace(certificate, letters=letters, automata=[everything], states=states)
    with pytest.raises(Enough):
        check(case.program, changed, "tso", tick=tick)
