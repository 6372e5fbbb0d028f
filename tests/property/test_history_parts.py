"""A history that is decided in parts is what it is as a whole, and the witness of the parts is one of the whole."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from amounts import some
from histories import random_small
from teetotal.answers.events import Kind, MachineName, Semantics
from teetotal.answers.history import HistoryAnswer
from teetotal.answers.options import HistoryOptions
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.histories import examining, parts, witness
from teetotal.histories.check import Check, check
from teetotal.histories.explain import explain
from teetotal.histories.history import History, Operation, to_text
from teetotal.histories.problem import Unwritten
from teetotal.histories.readers import read_text
from teetotal.scale.checkpoint import Checkpoint
from teetotal.scale.crew import Crew
from teetotal.scale.scale import Scale

MODELS: tuple[MachineName, ...] = ("sc", "tso", "pso")


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "FEWEST", 1)
    monkeypatch.setattr(parts, "LARGE", 1)


def phases(rng: random.Random, most: int = 4) -> History:
    """Small histories one after the other, each thread in its own time, some with an address in common; and between them
    what a thread does for itself."""
    operations: list[Operation] = []
    initial: dict[str, int] = {"seen": 7}
    final: dict[str, int] = {}
    common = rng.random() < 0.2
    for phase in range(rng.randint(1, most)):
        small = random_small(
            rng, threads=3, operations=rng.randint(2, 5), addresses=2, fences=0.15, rmws=0.15,
            values=rng.choice((None, None, None, 2)), unknown=0.1,
        )  # fmt: skip
        own = "" if common and phase % 2 else str(phase)
        for op in small:
            operations.append(op._replace(address=op.address and op.address + own))
            if rng.random() < 0.3:
                operations += alone(rng, op.thread)
        if rng.random() < 0.1 and small.addresses:
            final[small.addresses[0] + own] = rng.randrange(3)
        if rng.random() < 0.1 and small.addresses:
            initial[small.addresses[-1] + own] = rng.randrange(3)
    threads = sorted({op.thread for op in operations})
    mixed: list[Operation] = []
    left = {thread: [op for op in operations if op.thread == thread] for thread in threads}
    while any(left.values()):
        thread = rng.choice([name for name in threads if left[name]])
        mixed.append(left[thread].pop(0))
    if owned := [op for op in mixed if op.kind is Kind.ST and op.address == f"own{op.thread}"]:
        final[f"own{owned[-1].thread}"] = (owned[-1].written or 0) + (rng.random() < 0.98)  # what its rmw left there
    return History.of(mixed, initial=initial, final=final)


def alone(rng: random.Random, thread: str) -> Iterator[Operation]:
    """A thread's own address, nearly always as it left it; one that nobody writes; and one that all write, for nobody."""
    value = rng.randrange(100)
    yield Operation(thread, Kind.ST, f"own{thread}", written=value)
    yield Operation(thread, Kind.RMW, f"own{thread}", read=value, written=value + 1)
    yield Operation(thread, Kind.LD, f"own{thread}", read=value + (rng.random() < 0.98))
    yield Operation(thread, Kind.LD, "seen", read=7)
    yield Operation(thread, Kind.ST, "log", written=value)
    yield Operation(thread, Kind.RMW, "log", read=None, written=value)


def whole(history: History, model: MachineName, semantics: Semantics) -> Verdict | None:
    try:
        return Check(history, model, "auto", Budget(None), semantics, False, None).run().verdict
    except Unwritten:
        return None


def test_the_parts_are_as_the_whole() -> None:
    rng = random.Random(51)
    seen: Counter[tuple[int, Verdict | None]] = Counter()
    for number in range(some(1500, least=600)):
        history = phases(rng)
        semantics = Semantics(rmw=rng.choice(("all", "address")))
        for model in MODELS:
            expected = whole(history, model, semantics)
            try:
                found = check(history, model, semantics=semantics, use_order=number % 2 == 0)
            except Unwritten:
                found = None
            assert (found and found.verdict) == expected, (number, model)
            divided = parts.divided(history)
            seen[len(divided) if divided else 1, expected] += 1
            if found is not None and found.witness is not None:
                assert witness.refute(history, found.witness, model, semantics) == ""
    assert all(seen[count, verdict] for count in (1, 2, 3) for verdict in (Verdict.SAFE, Verdict.VIOLATION, None)), seen


def test_what_contradicts_a_part_contradicts_the_whole() -> None:
    """The explanation is about the part, in the numbers of the whole, and is checked before it is told."""
    for history in drawn(52, Verdict.VIOLATION, some(60)):
        found = explain(history, "sc")
        rest = history.restricted(found.operations, final={name: history.final[name] for name in found.finals})
        assert whole(rest, "sc", Semantics()) is Verdict.VIOLATION
        assert found.minimal


def test_a_final_value_is_seen_though_nobody_reads_it() -> None:
    """x = 2 comes last; that the file has x = 1 last means nothing."""
    operations = [
        Operation("1", Kind.LD, "y", read=1), Operation("1", Kind.ST, "x", written=2), Operation("1", Kind.LD, "z", read=3),
        Operation("0", Kind.ST, "x", written=1), Operation("0", Kind.ST, "y", written=1),
        Operation("0", Kind.ST, "z", written=3),
    ]  # fmt: skip
    for last, verdict in ((2, Verdict.SAFE), (1, Verdict.VIOLATION)):
        assert check(History.of(operations, final={"x": last}), "tso", use_order=False).verdict is verdict


def test_no_way_from_one_address_to_another_is_forgotten() -> None:
    """Ways that were seen are known by a hash. That from address 0 to 5 has the same as that from 12 to 10."""
    lines = [f"W{a}: st a{a} = 1\nR{a}: ld a{a} -> 1" for a in range(13)]
    lines[10], lines[12] = "T1: st a10 = 1", "T0: st a12 = 1"
    (history,) = read_text(
        "\n".join([*lines, "V: ld a0 -> 1", "V: ld a5 -> 1", "T0: ld a10 -> 0", "T1: ld a12 -> 0\n"])
    )
    assert parts.divided(history) is not None
    assert check(history, "sc").verdict is Verdict.VIOLATION


def test_parts_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under PSO the chains of a part are its threads times its addresses, and its rows as long as there are chains."""
    monkeypatch.undo()
    swapped = [(0, 1, 0), (1, 0, 1)]
    operations = [
        Operation(str(thread), kind, f"{'xy'[address]}{number}", read=read, written=written)
        for thread, first, second in swapped
        for number in range(3 * parts.FEWEST // 4)
        for kind, address, read, written in ((Kind.ST, first, None, 1), (Kind.LD, second, 0, None))
    ]
    history = History.of(operations)
    divided = parts.divided(history)
    assert divided is not None
    assert [len(divided.operations(number)) for number in range(len(divided))] == [2_000, 2_000, 2_000]
    assert check(history, "pso").verdict is Verdict.SAFE
    assert check(history, "sc").verdict is Verdict.VIOLATION


def drawn(seed: int, verdict: Verdict, count: int, fewest: int = 2) -> Iterator[History]:
    """Histories of that many parts, at least, that SC allows or forbids."""
    rng = random.Random(seed)
    while count:
        history = phases(rng, 6)
        divided = parts.divided(history)
        if divided and len(divided) >= fewest and whole(history, "sc", Semantics()) is verdict:
            yield history
            count -= 1


# -- by many ----------------------------------------------------------------------------------------------------------


class Deadly(Scale):
    """So often somebody dies of the first part."""

    def __init__(self, workers: int, deaths: int, folder: Path) -> None:
        super().__init__(workers)
        self.tokens = [folder / f"{death}" for death in range(deaths)]
        folder.mkdir()
        for token in self.tokens:
            token.touch()

    def crew(self, work: Any, *limits: Any) -> Crew[Any, Any]:
        def deadly(task: Any) -> Any:
            left = [token for token in self.tokens if token.exists()]
            if task.number == 0 and left:
                left[0].unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            return work(task)

        return super().crew(deadly, *limits)


def asked(path: Path, scale: Scale) -> list[HistoryAnswer]:
    models: tuple[MachineName, ...] = ("sc", "tso")
    tasks = [
        (str(path), 0, 1, HistoryOptions(model=model, use_order=False, check_witness=model == "sc")) for model in models
    ]
    return [replace(answer, seconds=0.0) for answer in examining.examine_all(tasks, scale)]


@pytest.mark.parametrize("verdict", [Verdict.SAFE, Verdict.VIOLATION], ids=str)
def test_whoever_decides_the_parts(verdict: Verdict, tmp_path: Path) -> None:
    """The same answers, counts, witness and explanation included, also where workers die."""
    for number, history in enumerate(drawn(53, verdict, 3, fewest=3)):
        path = tmp_path / f"{number}.txt"
        path.write_text(to_text(history))
        alone = asked(path, Scale())
        assert alone[0].verdict is verdict
        assert alone[0].witness_checked or alone[0].violations
        for scale in (Scale(2), Scale(3)):
            assert asked(path, scale) == alone
        deadly = Deadly(2, 2, tmp_path / f"{number} twice")
        assert asked(path, deadly) == alone
        assert sum(tally.died for tally in deadly.tallies) == 2
        given_up, *_ = asked(path, Deadly(2, 3, tmp_path / f"{number} thrice"))
        assert given_up.verdict is not Verdict.SAFE
        kept = str(tmp_path / f"{number}.db")
        for resume in (False, True):
            checkpoint = Checkpoint(kept, "", "", resume=resume)
            scale = Scale(2, checkpoint=checkpoint)
            assert asked(path, scale) == alone
            checkpoint.close()
        assert verdict is Verdict.VIOLATION or not any(tally.items for tally in scale.tallies)
