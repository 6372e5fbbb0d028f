"""What core/bindings/ exports, file by file."""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# -- graph.cpp ------------------------------------------------------------------------------------------------------

class MalformedError(ValueError):
    """``args`` are the event's number and what is wrong with it."""

    args: tuple[int, str]

def order_of_sc(
    kind: NDArray[np.uint8], address: NDArray[np.int32], wrote: NDArray[np.bool_], addresses: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def positions_in_thread(thread: NDArray[np.int32], threads: int) -> NDArray[np.int64]: ...

class Graph:
    def __init__(
        self,
        thread: NDArray[np.int32] | array[int],
        kind: NDArray[np.uint8] | array[int],
        address: NDArray[np.int32] | array[int],
        wrote: NDArray[np.bool_] | memoryview[bool],
        src: NDArray[np.int64] | array[int],
        co: NDArray[np.int64] | array[int],
        threads: int,
        addresses: int,
    ) -> None: ...
    def edges(self, with_po: bool) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]: ...
    def is_acyclic(self) -> bool: ...
    def components(self) -> NDArray[np.int32]: ...
    def shortest_cycle(self) -> list[tuple[int, int, int]]: ...
    def shortest_path(self, source: int, target: int) -> list[tuple[int, int, int]]: ...

# -- histories.cpp ----------------------------------------------------------------------------------------------------

class HistoryFault(ValueError):
    """``args`` are the line, 0 if there is none, and what is wrong."""

    args: tuple[int, str]

class HistoryColumns:
    name: str
    threads: list[str]
    addresses: list[str]
    nil: bool
    initial: list[tuple[int, int, int]]
    final: list[tuple[int, int, int]]
    thread: NDArray[np.uint32]
    kind: NDArray[np.uint8]
    address: NDArray[np.uint32]
    value: NDArray[np.int64]
    read: NDArray[np.int64]
    flags: NDArray[np.uint8]
    line: NDArray[np.uint32]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    def __len__(self) -> int: ...

class HistoryParts:
    def __init__(self, history: HistoryColumns, fewest: int) -> None: ...
    def __len__(self) -> int: ...
    def operations(self, part: int) -> NDArray[np.uint32]: ...
    def history(self, part: int) -> HistoryColumns: ...

class HistorySources:
    source: NDArray[np.uint32]
    final: NDArray[np.uint32]
    ambiguous: NDArray[np.uint32]
    first: NDArray[np.uint32]
    candidates: NDArray[np.uint32]
    final_ambiguous: NDArray[np.uint32]
    final_first: NDArray[np.uint32]
    final_candidates: NDArray[np.uint32]
    unwritten: list[int]
    unwritten_final: list[int]
    duplicates: int

_HistoryEdge = tuple[int, int, int, int]

class HistoryChecker:
    def __init__(
        self,
        history: HistoryColumns,
        source: NDArray[np.uint32],
        final: NDArray[np.uint32],
        model: int,
        rmw_all: bool,
        rules: str,
    ) -> None: ...
    choices: int
    conflicts: int
    visits: int
    chains: int
    impossible: bool
    def saturate(self, seconds: float | None) -> str: ...
    def extend(self, rule: str, seconds: float | None) -> str: ...
    def saturate_assuming(self, pairs: list[tuple[int, int]], seconds: float | None) -> str: ...
    def take_back(self) -> None: ...
    def decide(
        self, engine: str, seconds: float | None, conflicts: int | None = None
    ) -> tuple[str, NDArray[np.uint32] | None]: ...
    def before(self, a: int, b: int) -> bool: ...
    def proof(self) -> tuple[list[tuple[_HistoryEdge, list[_HistoryEdge]]], list[_HistoryEdge]]: ...
    def edges(self) -> list[_HistoryEdge]: ...
    def pairs(self, ordered: bool) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...
    def base_edges(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...
    def plausible(self, reads: NDArray[np.uint32], sources: NDArray[np.uint32]) -> NDArray[np.uint8]: ...
    def ccm(self, list_pairs: bool, seconds: float | None) -> tuple[str, NDArray[np.uint32], NDArray[np.uint32]]: ...

def make_history(
    name: str,
    thread: NDArray[np.uint32],
    kind: NDArray[np.uint8],
    address: NDArray[np.uint32],
    value: NDArray[np.int64],
    read: NDArray[np.int64],
    flags: NDArray[np.uint8],
    line: NDArray[np.uint32],
    threads: list[str],
    addresses: list[str],
    initial: list[tuple[int, int]],
    final: list[tuple[int, int]],
    has_nil: bool,
) -> HistoryColumns: ...
def affordable(bytes: int) -> int: ...
def spare_memory(root: str = "/") -> int | None: ...
def memory_to_saturate(history: HistoryColumns, model: int) -> int: ...
def read_history_file(
    path: str, format: str, split_transactions: bool = False, seconds: float | None = None
) -> list[HistoryColumns]: ...
def read_history_text(text: bytes, format: str, split_transactions: bool = False) -> list[HistoryColumns]: ...
def resolve_sources(history: HistoryColumns) -> HistorySources: ...
def refute_witness(history: HistoryColumns, steps: NDArray[np.uint64], model: int, rmw_all: bool) -> str: ...
def schedule_of_order(history: HistoryColumns, order: NDArray[np.uint32], model: int) -> NDArray[np.uint64]: ...
def search_values(
    history: HistoryColumns, seconds: float | None, most_states: int
) -> tuple[str, NDArray[np.uint32] | None, int, int]: ...
def short_cycles(
    nodes: int, start: NDArray[np.uint32], end: NDArray[np.uint32], per_component: int
) -> tuple[list[list[int]], NDArray[np.uint32]]: ...

# -- monitors.cpp -----------------------------------------------------------------------------------------------------

_Words = NDArray[np.uint32]
_Bytes = NDArray[np.uint8]
_Found = tuple[int, int, int, int, int, int]

class Monitor:
    def __init__(
        self,
        name: str,
        *,
        rmw_flushes_all: bool = True,
        unlock_is_fence: bool = True,
        threads: int = 0,
        undo: bool = False,
        older: Callable[[str, int, int, int], bool] | None = None,
    ) -> None: ...
    def step(self, thread: int, kind: int, writes: bool, address: int, location: int) -> _Found | None: ...
    def arrive(self, thread: int, kind: int, writes: bool, address: int, location: int) -> _Found | None: ...
    def observe(
        self, thread: _Words, kind: _Bytes, writes: _Bytes, address: _Words, location: _Words, order: _Bytes
    ) -> list[_Found]: ...
    def summarise(
        self, thread: _Words, kind: _Bytes, writes: _Bytes, address: _Words, location: _Words, order: _Bytes
    ) -> int: ...
    def distinct(self, since: int = 0) -> list[tuple[int, _Found]]: ...
    def undo(self, count: int = 1) -> None: ...
    @property
    def events(self) -> int: ...
    @property
    def bytes(self) -> int: ...

# -- outcomes.cpp -----------------------------------------------------------------------------------------------------

class Outcomes:
    def __init__(self, program: Program, model: int, semantics: Semantics, observed: list[tuple[int, int]]) -> None: ...
    def explore(
        self, max_states: int, max_bytes: int, seconds: float, watcher: Callable[[int, float], None] | None
    ) -> bool: ...
    @property
    def complete(self) -> bool: ...
    @property
    def full(self) -> bool: ...
    @property
    def states(self) -> int: ...
    @property
    def cut(self) -> int: ...
    @property
    def deadlock(self) -> int | None: ...
    @property
    def livelock(self) -> int | None: ...
    @property
    def evaluated(self) -> set[tuple[int, int]]: ...
    @property
    def outcomes(self) -> list[tuple[list[int], int]]: ...
    @property
    def failures(self) -> list[tuple[int, int, bool, int]]: ...
    def schedule(self, state: int) -> list[tuple[int, int]]: ...

# -- overtakings.cpp --------------------------------------------------------------------------------------------------

class Overtaking:
    marks: list[int]
    def models(self, fences: bytes) -> int: ...

class Overtakings:
    def __init__(self, tso: bool, pso: bool, semantics: Semantics, skip_waiting: bool, pieces: list[bytes]) -> None: ...
    def still(self, fences: bytes) -> list[tuple[int, tuple[int, int, int], Overtaking]]: ...
    bytes: int

# -- program.cpp ------------------------------------------------------------------------------------------------------

class Program:
    def __init__(
        self,
        threads: list[
            tuple[list[tuple[int, int, int, list[int], list[int], list[int], int, int]], list[int], list[int]]
        ],
        memory: list[int],
        loop_bound: int | None,
    ) -> None: ...

class Semantics:
    def __init__(self, rmw_flushes_all: bool, unlock_is_fence: bool, failed_cas_writes: bool) -> None: ...

class EndlessLoop(Exception): ...

# -- search.cpp -------------------------------------------------------------------------------------------------------

class SearchResult:
    executions: int
    blocked: int
    cut: int
    vain: int
    redundant: int
    complete: bool
    full: bool
    endless: bool
    bounded: bool

def search(
    program: Program,
    semantics: Semantics,
    skip_waiting: bool,
    strategy: str,
    count: int,
    depth: int,
    seed: int,
    keep: int,
    seconds: float,
    megabytes: int,
    twins: Sequence[int] = (),
) -> tuple[SearchResult, list[list[int]], bool]: ...
def count_classes(program: Program, semantics: Semantics, skip_waiting: bool, most: int) -> tuple[int, int]: ...
def monitored_search(
    program: Program,
    semantics: Semantics,
    skip_waiting: bool,
    strategy: str,
    count: int,
    depth: int,
    seed: int,
    monitors: list[str],
    seconds: float,
    megabytes: int,
    watcher: Callable[[int, float], None] | None,
    release_sequence_c11: bool = False,
    twins: Sequence[int] = (),
    marks: tuple[Sequence[int], Sequence[int], int] = ...,
    screened: bool = True,
) -> tuple[
    SearchResult,
    list[tuple[tuple[int, int, int], tuple[int, tuple[int, int, int], list[int], bool]]],
    list[tuple[int, int, int, int]],
    bool,
    tuple[bytes, bool],
]: ...
def monitored_part(
    program: Program,
    semantics: Semantics,
    skip_waiting: bool,
    strategy: str,
    depth: int,
    seed: int,
    monitors: list[str],
    release_sequence_c11: bool,
    part: str,
    seconds: float,
    most: int,
    megabytes: int,
    twins: Sequence[int] = (),
    marks: tuple[Sequence[int], Sequence[int], int] = ...,
) -> tuple[
    SearchResult,
    list[tuple[tuple[int, int, int], tuple[int, tuple[int, int, int], list[int], bool]]],
    list[tuple[int, int, int, int]],
    list[int],
    bool,
    str,
    str,
    tuple[bytes, bool],
]: ...
def pause_part() -> None: ...

class MixedMutex(Exception): ...

# -- parts.cpp --------------------------------------------------------------------------------------------------------

class PartState:
    finished: bool
    next: int
    open: int
    explored: float

def whole_search() -> str: ...
def state_of_part(part: str) -> PartState: ...
def give_parts(part: str, most: int, number: int) -> tuple[str, list[str]]: ...
def take_back(part: str, numbers: list[int]) -> str: ...
def marks_of_part(part: str) -> list[int]: ...
def merge_part(part: str, merged: str, asks: str) -> tuple[str, str] | None: ...

# -- tracecheck.cpp ---------------------------------------------------------------------------------------------------

class TraceCheck:
    def __init__(self, max_threads: int) -> None: ...
    def feed(
        self,
        thread: NDArray[np.int32],
        kind: NDArray[np.uint8],
        address: NDArray[np.int32],
        location: NDArray[np.int32],
        wrote: NDArray[np.bool_],
        read: NDArray[np.int64],
        written: NDArray[np.int64],
        valued: NDArray[np.bool_],
        addresses: int,
        locations: int,
    ) -> tuple[int, int, int, int]: ...

# -- symbolic.cpp -----------------------------------------------------------------------------------------------------

_Step = tuple[bool, int, int, int, list[tuple[int, int]]]
_Report = Callable[[int, float], None]

class ControlGraph:
    def __init__(
        self,
        source: object,
        start: list[int],
        memory: list[int],
        buffered: int,
        loads: list[list[int]],
        touches: list[list[int]],
        stores: list[list[int]],
        bad: list[tuple[list[int], list[int], bool]],
        address_needs: bool,
        alike: list[int],
    ) -> None: ...

def verify_saturate(
    graph: ControlGraph,
    model: int,
    fences: list[bool],
    joining: bool,
    blur: int,
    max_work: int,
    certificate: bool,
    renamings: Sequence[tuple[tuple[int, int], tuple[int, ...], tuple[tuple[int, int], ...]]],
    progress: _Report,
) -> dict[str, Any]: ...
def verify_bounded(
    graph: ControlGraph, model: int, fences: list[bool], capacity: int, progress: _Report
) -> dict[str, Any]: ...
def verify_accelerate(graph: ControlGraph, model: int, fences: list[bool], progress: _Report) -> dict[str, Any]: ...
def give_back_memory(seconds: float) -> None: ...
def verify_robust(graph: ControlGraph, model: int, fences: list[bool], progress: _Report) -> dict[str, Any]: ...
def isolate(own: str, megabytes: int) -> bool: ...
def simulated_protocols() -> list[str]: ...
def simulated_mistakes() -> list[tuple[str, str, bool]]: ...
def simulate(
    lengths: list[int],
    kind: NDArray[np.uint8],
    address: NDArray[np.uint32],
    value: NDArray[np.int64],
    *,
    addresses: int,
    seed: int,
    protocol: str,
    bug: str,
    buffer: int,
    sets: int,
    ways: int,
    words: int,
    home_lines: int,
    delay: int,
) -> tuple[list[int], bool, int]: ...
