"""Random histories: runs of SC, TSO and PSO machines, and such runs with reads changed.

A run picks a thread at random and lets it do a random operation, or makes one of its pending stores visible. Values
are counted up per address, so each is written once.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Literal

import numpy as np

from teetotal import _core
from teetotal.answers.arguments import Natural, Some, checked
from teetotal.answers.errors import ArgumentError, TeetotalError
from teetotal.answers.events import Kind, MachineName
from teetotal.answers.history import HISTORY_KINDS, HistoryKind
from teetotal.answers.options import Count
from teetotal.answers.verdict import Verdict
from teetotal.histories import hard
from teetotal.histories.check import check
from teetotal.histories.history import NO_ADDRESS, History

STRONGER: dict[MachineName, MachineName] = {"tso": "sc", "pso": "tso"}
ATTEMPTS = 1000
"""Runs that are tried for one that the stronger model forbids."""


class Columns:
    """The operations of a history in the making."""

    def __init__(self) -> None:
        self.thread: list[int] = []
        self.kind: list[int] = []
        self.address: list[int] = []
        self.value: list[int] = []
        self.read: list[int] = []

    def add(self, thread: int, kind: Kind, address: int, value: int, read: int = 0) -> None:
        self.thread.append(thread)
        self.kind.append(kind)
        self.address.append(address)
        self.value.append(value)
        self.read.append(read)

    def history(self, threads: int, addresses: int, *, by_thread: bool = False, name: str = "") -> History:
        thread = np.array(self.thread, np.uint32)
        order = np.argsort(thread, kind="stable") if by_thread else np.arange(len(thread))
        zeros = np.zeros(len(thread), np.uint32)
        return History(
            _core.make_history(
                name,
                thread[order],
                np.array(self.kind, np.uint8)[order],
                np.array(self.address, np.uint32)[order],
                np.array(self.value, np.int64)[order],
                np.array(self.read, np.int64)[order],
                zeros.astype(np.uint8),
                zeros,
                [str(t) for t in range(threads)],
                [f"x{a}" for a in range(addresses)],
                [],
                [],
                False,
            )
        )


@checked
def history(
    kind: HistoryKind = "sc",
    *,
    seed: Natural = 0,
    by_thread: bool = False,
    reads: int = 1,
    length: int = 2,
    variables: int = 6,
    clauses: int = 26,
    **shape: Any,
) -> History:
    """As ``teetotal generate history`` makes them: a run of a machine (``shape`` is what ``random_history`` takes), one
    with ``reads`` changed, the paper's of Figs 1c and 5, a ring of this ``length``, or a random formula."""
    match kind:
        case "sc":
            return random_history(seed=seed, by_thread=by_thread, **shape)
        case "tso" | "pso":
            return weak_history(kind, seed=seed, by_thread=by_thread, **shape)
        case "corrupted":
            return corrupted_history(seed=seed, reads=reads, by_thread=by_thread, **shape)
        case "fig1c":
            return hard.unorderable()
        case "fig5":
            return hard.two_pairs()
        case "ring":
            return hard.ring(length)
        case "formula":
            return hard.formula(hard.random_formula(variables, clauses, seed), f"formula-{seed}")
    raise ArgumentError(f"kind: {kind!r} is none of {', '.join(HISTORY_KINDS)}")


@checked
def random_history(
    model: MachineName = "sc",
    *,
    threads: Some = 4,
    operations: Count = 100,
    addresses: Some = 4,
    writes: float = 0.5,
    rmws: float = 0.0,
    fences: float = 0.0,
    seed: Natural = 0,
    by_thread: bool = False,
) -> History:
    """A history that the model allows. ``by_thread`` lists thread after thread, so that the order tells nothing."""
    run = Run(model, threads, addresses, np.random.default_rng(seed))
    run.go(operations, writes, rmws, fences)
    return run.columns.history(threads, addresses, by_thread=by_thread)


@checked
def weak_history(model: Literal["tso", "pso"], *, seed: Natural = 0, **parameters: Any) -> History:
    """A history that the model allows and the next stronger one does not."""
    for attempt in range(ATTEMPTS):
        history = random_history(model, seed=seed + attempt * 1_000_003, **parameters)
        if check(history, STRONGER[model]).verdict is Verdict.VIOLATION:
            return history
    raise TeetotalError(f"no history that is {model} and not {STRONGER[model]} among {ATTEMPTS}: ask for a larger one")


@checked
def corrupted_history(*, reads: int = 1, distance: int = 16, seed: Natural = 0, **parameters: Any) -> History:
    """An SC run in which some reads got another value of their address, from a write within that many of the right one.
    This is how the paper makes violations (section 6); a change may by luck do no harm."""
    history = random_history(seed=seed, **parameters)
    rng = np.random.default_rng(seed + 1)
    value, kind, address = history.columns.value, history.columns.kind, history.columns.address
    loads = np.flatnonzero(kind == Kind.LD)
    if len(loads) < reads:
        raise TeetotalError(f"{len(loads)} loads, of which {reads} were to be changed: ask for a larger history")
    newest = np.zeros(len(history.addresses), np.int64)
    stores = kind != Kind.LD
    np.maximum.at(newest, address[stores], value[stores])
    for load in rng.permutation(loads)[:reads]:
        right, most = int(value[load]), int(newest[address[load]])
        others = [v for v in range(max(0, right - distance), min(most, right + distance) + 1) if v != right]
        if others:
            value[load] = rng.choice(others)
    return history


class Run:
    """A machine with pending stores, one queue a thread (TSO) or one a thread and address (PSO)."""

    def __init__(self, model: MachineName, threads: int, addresses: int, rng: np.random.Generator) -> None:
        self.model = model
        self.threads = threads
        self.addresses = addresses
        self.rng = rng
        self.columns = Columns()
        self.memory = [0] * addresses
        self.written = [0] * addresses
        self.pending: list[dict[int, deque[tuple[int, int]]]] = [{} for _ in range(threads)]

    def go(self, operations: int, writes: float, rmws: float, fences: float) -> None:
        rng = self.rng
        thread = rng.integers(0, self.threads, operations).tolist()
        address = rng.integers(0, self.addresses, operations).tolist()
        choice = rng.random(operations).tolist()
        for t, a, c in zip(thread, address, choice, strict=True):
            if self.model != "sc":
                self._commit_some()
            if c < fences:
                self._flush(t)
                self.columns.add(t, Kind.MFENCE, NO_ADDRESS, 0)
            elif c < fences + rmws:
                self._flush(t)
                old = self.memory[a]
                self.memory[a] = self._fresh(a)
                self.columns.add(t, Kind.RMW, a, self.memory[a], old)
            elif c < fences + rmws + writes * (1 - fences - rmws):
                value = self._fresh(a)
                self.columns.add(t, Kind.ST, a, value)
                if self.model == "sc":
                    self.memory[a] = value
                else:
                    self._queue(t, a).append((a, value))
            else:
                self.columns.add(t, Kind.LD, a, self._load(t, a))

    def _fresh(self, address: int) -> int:
        self.written[address] += 1
        return self.written[address]

    def _queue(self, thread: int, address: int) -> deque[tuple[int, int]]:
        return self.pending[thread].setdefault(address if self.model == "pso" else 0, deque())

    def _load(self, thread: int, address: int) -> int:
        for queue in self.pending[thread].values():
            for a, value in reversed(queue):
                if a == address:
                    return value
        return self.memory[address]

    def _commit(self, queue: deque[tuple[int, int]]) -> None:
        address, value = queue.popleft()
        self.memory[address] = value

    def _commit_some(self) -> None:
        """Each step one random queue of one random thread may lose its oldest stores, so that queues stay short."""
        queues = [queue for queue in self.pending[int(self.rng.integers(self.threads))].values() if queue]
        if queues:
            queue = queues[int(self.rng.integers(len(queues)))]
            for _ in range(int(self.rng.integers(len(queue) + 1))):
                self._commit(queue)

    def _flush(self, thread: int) -> None:
        for queue in self.pending[thread].values():
            while queue:
                self._commit(queue)


@checked
def to_axe(history: History) -> str:
    """In axe's format, which has stores, loads, rmws and sync."""
    columns = history.columns
    reads = columns.read.tolist() or [0] * len(history)
    lines = []
    rows = zip(
        columns.thread.tolist(),
        columns.kind.tolist(),
        columns.address.tolist(),
        columns.value.tolist(),
        reads,
        strict=True,
    )
    for t, kind, a, value, read in rows:
        match kind:
            case Kind.ST:
                lines.append(f"{t}: M[{a}] := {value}")
            case Kind.LD:
                lines.append(f"{t}: M[{a}] == {value}")
            case Kind.RMW:
                lines.append(f"{t}: {{ M[{a}] == {read}; M[{a}] := {value} }}")
            case _:
                lines.append(f"{t}: sync")
    return "\n".join([*([f"# {history.name}"] if history.name else []), *lines, "check"]) + "\n"
