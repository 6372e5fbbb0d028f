"""The checkers of evidence about histories: they take what the machines of ``models/`` say is right, and nothing else.

Witnesses come from random runs of the machines, with stores that wait for long; proofs from the engine. Both are changed in
every small way. What a checker then says of a witness is what a machine says that plays it; a proof that a checker takes
is about a history that no run of the machine has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from histories import random_small
from history_specification import MACHINES, _issue, consistent
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Commit, EventId, Kind, ModelName, Semantics
from teetotal.answers.numbers import Before
from teetotal.histories import proof, witness
from teetotal.histories.history import History, Operation, to_text
from teetotal.histories.problem import Problem, Unwritten
from teetotal.histories.readers import read_text
from teetotal.models import PSO, TSO, Memory, Write

CASES: list[tuple[ModelName, Semantics]] = [
    ("sc", Semantics()),
    ("tso", Semantics()),
    ("pso", Semantics()),
    ("pso", Semantics(rmw="address")),
]
Steps = list[int]
"""2·i: operation i issues; 2·i + 1: its store becomes visible."""


def named(case: tuple[ModelName, Semantics]) -> str:
    return f"{case[0]}, rmw={case[1].rmw}"


# ---- a machine that plays witnesses


def plays(history: History, steps: Sequence[int], model: ModelName, semantics: Semantics) -> bool:
    """Whether the model's machine can do these steps, with every result. What a fence or an rmw has to wait for must be
    visible by then: the machine would see to that itself, but a witness says everything."""
    operations = list(history)
    place = {i: sum(o.thread == op.thread for o in operations[:i]) for i, op in enumerate(operations)}
    threads = {name: number for number, name in enumerate(history.threads)}
    initial = {address: history.initial.get(address, 0) for address in history.addresses}
    machine = MACHINES[model](initial, len(threads), semantics)
    issued = dict.fromkeys(history.threads, 0)
    for step in steps:
        if step // 2 >= len(operations):
            return False
        op = operations[step // 2]
        event = EventId(threads[op.thread], place[step // 2])
        if step % 2:
            if not _commits(machine, op, event):
                return False
        else:
            if issued[op.thread] != event.index:
                return False
            issued[op.thread] += 1
            visible = len(machine.visible)
            if not _issue(machine, event.thread, event.index, op):
                return False
            if any(write.event != event for write in machine.visible[visible:]):
                return False
    ended = all(issued[op.thread] > place[i] for i, op in enumerate(operations)) and not machine.commits()
    return ended and all(machine.m[address].value == value for address, value in history.final.items())


def _commits(machine: Memory, op: Operation, event: EventId) -> bool:
    step = Commit(event.thread, op.address if isinstance(machine, PSO) else None)
    if op.kind is not Kind.ST or step not in machine.commits():
        return False
    oldest = oldest_store(machine, step)
    if oldest.event != event:
        return False
    machine.commit(step)
    return True


def oldest_store(machine: Memory, step: Commit) -> Write:
    assert isinstance(machine, TSO | PSO)
    oldest = machine.B[step.thread][0] if isinstance(machine, TSO) else machine.B[step.thread][step.address or ""][0]
    assert isinstance(oldest, Write)
    return oldest


def run(random: Random, model: ModelName, semantics: Semantics, *, unique: bool = False) -> tuple[History, Steps]:
    """A random run of the machine: what it did, and its schedule with every commit. Values may repeat."""
    addresses, threads = "xy", 2
    machine = MACHINES[model](dict.fromkeys(addresses, 0), threads, semantics)
    done: list[Operation] = []
    numbers: dict[EventId, int] = {}
    steps: Steps = []

    def tell_commits(since: int, own: EventId | None = None) -> None:
        for write in machine.visible[since:]:
            if write.event is not None and write.event != own:
                steps.append(2 * numbers[write.event] + 1)

    counts = [0] * threads
    length = random.randint(5, 9)
    while len(done) < length or machine.commits():
        commits, visible = machine.commits(), len(machine.visible)
        if commits and (len(done) >= length or random.random() < 0.3):
            machine.commit(random.choice(commits))
            tell_commits(visible)
            continue
        thread, address = random.randrange(threads), random.choice(addresses)
        event = EventId(thread, counts[thread])
        kind = random.choice([Kind.ST, Kind.ST, Kind.ST, Kind.LD, Kind.LD, Kind.RMW, Kind.SFENCE, Kind.MFENCE])
        if kind is Kind.MFENCE and random.random() < 0.5:
            continue
        value = 1 + len(done) if unique else random.choice([1 + len(done), 1])
        numbers[event] = len(done)
        counts[thread] += 1
        match kind:
            case Kind.ST:
                machine.store(thread, Write(address, value, event))
                done.append(Operation(str(thread), kind, address, None, value))
            case Kind.LD:
                done.append(Operation(str(thread), kind, address, machine.load(thread, address).value))
            case Kind.RMW:
                written = value if random.random() < 0.8 else None
                old, _ = machine.atomic(thread, address, lambda _, w=written: w, event)  # type: ignore[misc]
                done.append(Operation(str(thread), kind, address, old.value, written))
            case _:
                (machine.mfence if kind is Kind.MFENCE else machine.sfence)(thread)
                done.append(Operation(str(thread), kind))
        tell_commits(visible, event)
        steps.append(2 * numbers[event])
    final = {address: write.value for address, write in machine.m.items()} if random.random() < 0.3 else None
    return History.of(done, final=final), steps


def changed(steps: Steps, random: Random) -> Iterator[tuple[str, Steps]]:
    yield "nothing", steps
    for i in range(len(steps)):
        yield "dropped", steps[:i] + steps[i + 1 :]
        yield "twice", [*steps[: i + 1], *steps[i:]]
        yield "issue for commit", [*steps[:i], steps[i] ^ 1, *steps[i + 1 :]]
        j = random.randrange(len(steps))
        rest = steps[:i] + steps[i + 1 :]
        yield "moved", [*rest[:j], steps[i], *rest[j:]]
        swapped = list(steps)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        yield "swapped", swapped
        if i:
            yield "moved one step earlier", [*steps[: i - 1], steps[i], steps[i - 1], *steps[i + 1 :]]
    yield "an operation that is none", [*steps, 2 * len(steps)]
    yield "backwards", steps[::-1]


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_witness_is_taken_if_a_machine_can_play_it(case: tuple[ModelName, Semantics]) -> None:
    model, semantics = case
    random = Random(f"witness {model} {semantics.rmw}")
    ends = Counter[tuple[str, bool]]()
    for _ in range(30):
        history, steps = run(random, model, semantics)
        for what, other in changed(steps, random):
            for asked, how in CASES:
                right = plays(history, other, asked, how)
                refuted = witness.refute(history, np.array(other, np.uint64), asked, how)
                assert (refuted == "") == right, f"{what}, {asked} {how}: {refuted!r}\n{to_text(history)}{other}"
                if (asked, how) == case:
                    ends[what, right] += 1
    assert ends["nothing", False] == 0
    for what in ("dropped", "twice", "moved", "swapped", "moved one step earlier"):
        assert ends[what, False] > 0
    assert ends["moved one step earlier", True] > 0


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_witness_with_another_result_is_refused(case: tuple[ModelName, Semantics]) -> None:
    model, semantics = case
    random = Random(f"results {model} {semantics.rmw}")
    for _ in range(60):
        history, steps = run(random, model, semantics)
        operations = list(history)
        for i, op in enumerate(operations):
            if op.read is None:
                continue
            other = [*operations[:i], op._replace(read=op.read + 100), *operations[i + 1 :]]
            assert "would read" in witness.refute(History.of(other), np.array(steps, np.uint64), model, semantics)


ST, LD, RMW = Kind.ST, Kind.LD, Kind.RMW
X1, Y1 = Operation("0", ST, "x", None, 1), Operation("0", ST, "y", None, 1)
X2 = Operation("0", ST, "x", None, 2)
LD_X1, LD_X2 = Operation("0", LD, "x", 1), Operation("0", LD, "x", 2)
RMW_Y = Operation("0", RMW, "y", 0, 1)
SF, MF = Operation("0", Kind.SFENCE), Operation("0", Kind.MFENCE)


@pytest.mark.parametrize(
    ("operations", "steps", "tso", "pso", "address"),
    [
        ([X1, Y1], [0, 1, ~1, ~0], "not the oldest pending store of its thread", "", ""),
        ([X1, SF, Y1], [0, 1, 2, ~2, ~0], "not the oldest pending store of its thread", "an sfence", "an sfence"),
        ([X1, RMW_Y], [0, 1, ~0], "not flushed", "not flushed", ""),
        ([X1, SF, RMW_Y], [0, 1, 2, ~0], "not flushed", "not flushed", "an sfence holds it back"),
        ([Y1, RMW_Y], [0, 1, ~0], "not flushed", "not flushed", "not flushed"),
        ([X1, MF], [0, 1, ~0], "not flushed", "not flushed", "not flushed"),
        ([X1, Operation("0", LD, "x", 0)], [0, 1, ~0], "would read 1", "would read 1", "would read 1"),
        ([X1, X2, LD_X1], [0, 1, 2, ~0, ~1], "would read 2", "would read 2", "would read 2"),
        ([X1, X2, LD_X2], [0, 1, 2, ~0, ~1], "", "", ""),
        ([X1], [~0, 0], "not the oldest pending", "not the oldest pending", "not the oldest pending"),
    ],
)
def test_particular_wrongs(operations: list[Operation], steps: list[int], tso: str, pso: str, address: str) -> None:
    history = History.of(operations)
    for (model, semantics), words in zip(CASES[1:], (tso, pso, address), strict=True):
        refuted = witness.refute(history, witness.from_json(steps), model, semantics)
        assert (words in refuted) if words else not refuted, (model, semantics, refuted)
        assert plays(history, witness.from_json(steps).tolist(), model, semantics) == (not words)


@pytest.mark.parametrize(
    "rubbish", [None, 1, "12", {"0": 1}, [1.0], [1.5], ["1"], [None], [True], [[0]], [10**30], [2**63]]
)
def test_what_is_no_witness(rubbish: object) -> None:
    with pytest.raises(TeetotalError, match="a witness is"):
        witness.from_json(rubbish)


# ---- proofs

Proof = tuple[list[proof.Lemma], list[proof.Edge]]


def proofs(random: Random, model: ModelName, semantics: Semantics, count: int) -> Iterator[tuple[History, Proof]]:
    """Inconsistent histories with the engine's proofs."""
    while count:
        history = random_small(random, operations=random.choice([6, 8]), fences=0.2, rmws=0.2)
        if random.random() < 0.3:
            final = {"x": random.choice([op.written or 0 for op in history if op.address == "x"] or [0])}
            history = History.of(list(history), final=final)
        try:
            problem = Problem(history, model, semantics)
        except Unwritten:
            continue
        checker = problem.checker()
        if problem.ambiguous or checker.saturate(None) != "inconsistent":
            continue
        if checker.impossible and random.random() < 0.9:
            continue
        count -= 1
        yield history, checker.proof()


def changed_edges(edge: proof.Edge, operations: int) -> Iterator[proof.Edge]:
    a, b, why, reason = edge
    for op in range(operations):
        yield op, b, why, reason
        yield a, op, why, reason
        yield a, b, op, reason
    for other in range(8):
        yield a, b, why, other
    yield b, a, why, reason
    yield a, b, -1, reason
    yield a, operations, why, reason


def changed_proofs(given: Proof, operations: int) -> Iterator[Proof]:
    lemmas, cycle = list(given[0]), list(given[1])
    yield lemmas, []
    yield [], cycle
    yield lemmas[::-1], cycle
    yield [(claim, []) for claim, _ in lemmas], cycle
    for i, edge in enumerate(cycle):
        yield lemmas, cycle[:i] + cycle[i + 1 :]
        yield lemmas, [edge]
        for other in changed_edges(edge, operations):
            yield lemmas, [*cycle[:i], other, *cycle[i + 1 :]]
    for i, (claim, path) in enumerate(lemmas):
        yield lemmas[:i] + lemmas[i + 1 :], cycle
        for other in changed_edges(claim, operations):
            # A false fact is used where the true one was.
            used = [other if edge == claim else edge for edge in cycle]
            yield [*lemmas[:i], (other, path), *lemmas[i + 1 :]], used
        for j, edge in enumerate(path):
            yield [*lemmas[:i], (claim, [*path[:j], *path[j + 1 :]]), *lemmas[i + 1 :]], cycle
            for other in changed_edges(edge, operations):
                yield [*lemmas[:i], (claim, [*path[:j], other, *path[j + 1 :]]), *lemmas[i + 1 :]], cycle


def neighbours(history: History) -> Iterator[History]:
    """Histories that differ in one thing: many of them are consistent."""
    operations, final = list(history), history.final
    if final:
        yield History.of(operations)
    values = {op.written for op in operations if op.written is not None} | {0}
    for i, op in enumerate(operations):
        kinds = (
            [Operation(op.thread, Kind.SFENCE if op.kind is Kind.MFENCE else Kind.MFENCE)] if op.kind.is_fence else []
        )
        reads = [op._replace(read=value) for value in values if op.read not in (None, value)]
        threads = [op._replace(thread=thread) for thread in history.threads if thread != op.thread]
        for other in [*kinds, *reads, *threads]:
            yield History.of([*operations[:i], other, *operations[i + 1 :]], final=final)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_no_proof_is_taken_about_a_consistent_history(case: tuple[ModelName, Semantics]) -> None:
    """Not the engine's about a neighbour, nor that with a false edge, reason or fact."""
    model, semantics = case
    random = Random(f"proof {model} {semantics.rmw}")
    ends = Counter[str]()
    for history, given in proofs(random, model, semantics, 25):
        assert proof.refute(history, model, semantics, *given) == "", to_text(history)
        assert not consistent(history, model, semantics)
        others = [other for other in changed_proofs(given, len(history)) if other != given]
        for other in others:
            ends["refused" if proof.refute(history, model, semantics, *other) else "right"] += 1
        known = [near for near in neighbours(history) if consistent(near, model, semantics)]
        for near in random.sample(known, min(len(known), 6)):
            for other in [given, *random.sample(others, min(len(others), 150))]:
                assert proof.refute(near, model, semantics, *other) != "", f"{to_text(near)}{other}"
                ends["of a consistent history"] += 1
    assert ends["refused"] > ends["right"] > 0
    assert ends["of a consistent history"] > 1000


BUFFERED = """T0: st x = 1
T0: {}
T0: ld y -> 0
T1: st y = 1
T1: {}
T1: ld x -> 0
"""
PO, RF, FR = Before.PROGRAM, Before.READS_FROM, Before.INITIAL


@pytest.mark.parametrize(
    ("between", "cycle", "right"),
    [
        (("sfence", "sfence"), [(0, 2, -1, PO), (2, 3, -1, FR), (3, 5, -1, PO), (5, 0, -1, FR)], ["sc"]),
        (("mfence", "mfence"), [(0, 2, -1, PO), (2, 3, -1, FR), (3, 5, -1, PO), (5, 0, -1, FR)], ["sc", "tso", "pso"]),
        (
            ("ld x -> 1", "ld y -> 1"),  # what a process reads from its own buffer is not yet visible
            [(0, 1, -1, RF), (1, 2, -1, PO), (2, 3, -1, FR), (3, 4, -1, RF), (4, 5, -1, PO), (5, 0, -1, FR)],
            [],
        ),
        (
            ("sfence", "sfence"),
            [(0, 1, -1, PO), (1, 2, -1, PO), (2, 3, -1, FR), (3, 5, -1, PO), (5, 0, -1, FR)],
            ["sc"],
        ),
    ],
)
def test_what_program_order_is_worth(between: tuple[str, str], cycle: list[proof.Edge], right: list[ModelName]) -> None:
    (history,) = read_text(BUFFERED.format(*between))
    for model, semantics in CASES:
        assert (proof.refute(history, model, semantics, [], cycle) == "") == (model in right)
        assert model not in right or not consistent(history, model, semantics)


NEWER, OLDER = (0, 1, 2, Before.STORE), (1, 0, 3, Before.STORE)
ITSELF, ELSEWHERE = (1, 0, 1, Before.STORE), (3, 1, 0, Before.OVERWRITES)
AGAIN = (1, 0, 0, Before.OVERWRITES)


@pytest.mark.parametrize(
    ("text", "lemmas", "cycle"),
    [
        (  # nothing puts the first write before the read of the second
            "T0: st x = 1\nT1: st x = 2\nT2: ld x -> 2\nT2: ld x -> 1\n",
            [(NEWER, []), (OLDER, [(1, 2, -1, RF), (2, 3, -1, PO)])],
            [NEWER, OLDER],
        ),
        (  # an rmw is before its own reading, and yet after what it read
            "T0: st x = 1\nT1: rmw x: 1 -> 2\n",
            [(ITSELF, [])],
            [ITSELF, (0, 1, -1, RF)],
        ),
        (  # a write of another address overwrites nothing
            "T0: st x = 1\nT0: st y = 1\nT1: ld y -> 1\nT1: ld x -> 1\n",
            [(ELSEWHERE, [(0, 1, -1, PO)])],
            [ELSEWHERE, (1, 2, -1, RF), (2, 3, -1, PO)],
        ),
        (  # nor does a write overwrite itself
            "T0: st x = 1\nT1: ld x -> 1\n",
            [(AGAIN, [])],
            [AGAIN, (0, 1, -1, RF)],
        ),
    ],
)
def test_false_facts(text: str, lemmas: list[proof.Lemma], cycle: list[proof.Edge]) -> None:
    (history,) = read_text(text)
    for model, semantics in CASES:
        assert consistent(history, model, semantics)
        assert "does not force it" in proof.refute(history, model, semantics, lemmas, cycle)


def test_an_rmw_reads_what_another_wrote() -> None:
    """Though it writes the same value itself."""
    (history,) = read_text("T1: rmw x: 1 -> 1\nT1: st y = 1\nT0: ld y -> 1\nT0: st x = 1\n")
    cycle = [(0, 1, -1, PO), (1, 2, -1, RF), (2, 3, -1, PO), (3, 0, -1, RF)]
    for model, semantics in CASES:
        assert not consistent(history, model, semantics)
        assert proof.refute(history, model, semantics, [], cycle) == ""


def test_proofs_speak_of_their_own_model() -> None:
    """Of a run of the weaker machine, the proof that the stronger one has no such run is none about the weaker one."""
    random = Random("models")
    for (model, semantics), (weaker, how) in pairwise(CASES):
        seen = 0
        while seen < 3:
            history, _ = run(random, weaker, how, unique=True)
            checker = Problem(history, model, semantics).checker()
            if checker.saturate(None) == "inconsistent":
                seen += 1
                assert proof.refute(history, model, semantics, *checker.proof()) == ""
                assert proof.refute(history, weaker, how, *checker.proof()) != "", to_text(history)
