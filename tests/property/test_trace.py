"""The columnar trace against the specification in models/ and against brute force."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping
from itertools import pairwise

import numpy as np
import pytest

from amounts import some
from teetotal import models
from teetotal.answers.events import Commit, Event, EventId, Issue, Kind, Location, Request, Semantics
from teetotal.answers.violation import Edge
from teetotal.traces.trace import Trace, TraceError
from trace_of_columns import conflict_edges, happens_before, of_model, of_run, to_model

SEMANTICS = [Semantics(), Semantics(rmw="address", mutex="rmw", failed_cas="write")]


class Script:
    """Threads of requests, one after the other: the smallest program there is."""

    def __init__(self, threads: list[list[Request]], addresses: str) -> None:
        self.threads = threads
        self.addresses = addresses

    @property
    def initial_memory(self) -> Mapping[str, int]:
        return dict.fromkeys(self.addresses, 0)

    @property
    def thread_count(self) -> int:
        return len(self.threads)

    def start(self, thread: int) -> Hashable:
        return 0

    def next(self, thread: int, state: int) -> Request | None:
        return self.threads[thread][state] if state < len(self.threads[thread]) else None

    def update(self, thread: int, state: int, response: int | None) -> Hashable:
        return state + 1

    def halted(self, thread: int, state: int) -> bool:
        return state == len(self.threads[thread])


def ld(address: str) -> Request:
    return Request(Kind.LD, address)


def st(address: str, value: int) -> Request:
    return Request(Kind.ST, address, value)


def increment(old: int) -> int | None:
    return old + 1


def swap_if_zero(old: int) -> int | None:
    return 7 if old == 0 else None


def random_script(rng: random.Random, longest: int) -> Script:
    addresses = "xyz"[: rng.randint(1, 3)]

    def request() -> Request:
        address = rng.choice(addresses)
        makers: list[Callable[[], Request]] = [
            lambda: ld(address),
            lambda: ld(address),
            lambda: st(address, rng.randint(1, 3)),
            lambda: st(address, rng.randint(1, 3)),
            lambda: Request(Kind.RMW, address, function=rng.choice((increment, swap_if_zero))),
            lambda: Request(rng.choice((Kind.MFENCE, Kind.SFENCE))),
        ]
        return rng.choice(makers)()

    threads = [[request() for _ in range(rng.randint(1, longest))] for _ in range(rng.randint(2, 3))]
    if rng.random() < 0.2:
        for thread in threads[:2]:
            at = rng.randint(0, len(thread))
            thread[at:at] = [Request(Kind.LOCK, "m")]
            thread.append(Request(Kind.UNLOCK, "m"))
        addresses += "m"
    return Script(threads, addresses)


def random_traces(seed: int, programs: int) -> list[tuple[models.Run, Trace]]:
    rng = random.Random(seed)
    found = []
    for _ in range(programs):
        script = random_script(rng, 3)
        for model in ("tso", "pso"):
            runs = list(models.executions(script, model, rng.choice(SEMANTICS)))
            found.extend((run, of_run(run)) for run in rng.sample(runs, min(8, len(runs))))
    return found


def synthetic(rng: random.Random) -> Trace:
    """Any src and co whatever, however impossible on a machine: incoherent, not atomic, in odd orders."""
    size, threads, addresses = rng.randint(1, 14), rng.randint(1, 4), rng.randint(1, 3)
    kind = [rng.choice((0, 0, 0, 1, 1, 1, 2, 3, 5, 6)) for _ in range(size)]
    address = [-1 if Kind(k).is_fence else rng.randrange(addresses) for k in kind]
    wrote = [k == 1 or (Kind(k).is_atomic and rng.random() < 0.8) for k in kind]
    co, src = [-1] * size, [-1] * size
    for a in range(addresses):
        writes = [i for i in range(size) if address[i] == a and wrote[i]]
        if rng.random() < 0.5:
            rng.shuffle(writes)
        for position, write in enumerate(writes):
            co[write] = position
        for i in range(size):
            if address[i] == a and kind[i] != Kind.ST:
                earlier = [w for w in writes if w < i] if rng.random() < 0.8 else [w for w in writes if w != i]
                src[i] = rng.choice([-1, *earlier])
    thread = [rng.randrange(threads) for _ in range(size)]
    return Trace(thread=thread, kind=kind, address=address, wrote=wrote, src=src, co=co)


def delayed(rng: random.Random) -> Trace:
    """Longer coherent traces: each address of a thread has its own buffer, emptied at random. In a ring, where a thread
    shares one address with the next, cycles have to go all the way round."""
    ring = rng.random() < 0.7
    threads, size = rng.randint(2, 5), rng.randint(10, 40)
    addresses = threads if ring else rng.randint(2, 6)
    late = rng.choice((0.5, 0.8, 0.95, 0.99))
    thread, kind, address = [], [], []
    src, co = [-1] * size, [-1] * size
    last, count = [-1] * addresses, [0] * addresses
    buffers: dict[tuple[int, int], list[int]] = {(t, a): [] for t in range(threads) for a in range(addresses)}

    def commit(a: int, write: int) -> None:
        co[write], last[a] = count[a], write
        count[a] += 1

    for i in range(size):
        t, a, k = rng.randrange(threads), rng.randrange(addresses), rng.randrange(2)
        if ring:
            a = (t + rng.randrange(2)) % threads
        thread.append(t)
        kind.append(k)
        address.append(a)
        if k:
            buffers[t, a].append(i)
        else:
            src[i] = buffers[t, a][-1] if buffers[t, a] else last[a]
        for (_, b), buffer in buffers.items():
            while buffer and rng.random() > late:
                commit(b, buffer.pop(0))
    for (_, b), buffer in buffers.items():
        for write in buffer:
            commit(b, write)
    return Trace(thread=thread, kind=kind, address=address, src=src, co=co)


def closure(edges: set[tuple[Hashable, Hashable]]) -> set[tuple[Hashable, Hashable]]:
    successors: dict[Hashable, set[Hashable]] = {}
    for a, b in edges:
        successors.setdefault(a, set()).add(b)
    pairs = set()
    for a in successors:
        stack, seen = list(successors[a]), set()
        while stack:
            b = stack.pop()
            if b not in seen:
                seen.add(b)
                stack.extend(successors.get(b, ()))
        pairs.update((a, b) for b in seen)
    return pairs


def one_hop_edges(spec: models.Trace) -> set[tuple[EventId, EventId]]:
    """All that counts as one edge of a cycle: two events of a thread in order, or two that conflict."""
    edges = models.conflict_order(spec)
    for thread in spec.threads:
        edges.update((a.id, b.id) for i, a in enumerate(thread) for b in thread[i + 1 :])
    return edges


def shortest_by_brute_force(edges: set[tuple[EventId, EventId]]) -> int:
    """The length of a shortest cycle, 0 if there is none."""
    successors: dict[EventId, list[EventId]] = {}
    for a, b in edges:
        successors.setdefault(a, []).append(b)
    lengths = []
    for start in successors:
        distance, level, queue = {start}, 0, [start]
        while queue:
            level += 1
            queue = [b for a in queue for b in successors.get(a, ())]
            if start in queue:
                lengths.append(level)
                break
            queue = [b for b in dict.fromkeys(queue) if b not in distance]
            distance.update(queue)
    return min(lengths, default=0)


def check_against_specification(trace: Trace, spec: models.Trace) -> int:
    """Everything the trace says about order; the length of its cycle."""
    ids = [event.id for event in trace]
    reduced = {(ids[a], ids[b]) for a, b, _ in happens_before(trace)}
    assert closure(reduced) == closure(models.happens_before(spec))
    conflicts = {(ids[a], ids[b]) for a, b, _ in conflict_edges(trace)}
    assert conflicts <= models.conflict_order(spec)
    assert closure(conflicts) == closure(models.conflict_order(spec))
    assert trace.is_sc() == models.is_sc(spec)
    cycle = trace.cycle()
    hops = one_hop_edges(spec)
    assert len(cycle) == shortest_by_brute_force(hops)
    assert bool(cycle) != trace.is_sc()
    check_cycle(trace, cycle, spec)
    return len(cycle)


def check_cycle(trace: Trace, cycle: list[Edge], spec: models.Trace) -> None:
    """Each edge holds, for the reason that it gives, and leads to the next."""
    source_of = dict(spec.src)
    position = {event: i for _, order in spec.co for i, event in enumerate(order)}
    for edge, following in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        assert edge.target == following.source
        a, b = trace.event(edge.source), trace.event(edge.target)
        match edge.reason:
            case "po":
                assert a.thread == b.thread
                assert a.index < b.index
            case "src":
                assert source_of[b.id] == a.id
            case "co":
                assert a.address == b.address
                assert position[a.id] < position[b.id]
            case "fr":
                assert a.address == b.address
                source = source_of[a.id]
                assert source is None or position[source] < position[b.id]
        assert edge.because.startswith("because T")
    if cycle:
        assert cycle[0].source == min(edge.source for edge in cycle)


def test_relaxed_executions_agree_with_the_specification() -> None:
    lengths = []
    for run, trace in random_traces(seed=1, programs=300):
        spec = run.trace()
        assert to_model(trace) == spec
        lengths.append(check_against_specification(trace, spec))
        again = of_model(spec)
        assert to_model(again) == spec
        assert len(again.cycle()) == lengths[-1]
    assert len(lengths) > 1500
    assert {0, 4} <= set(lengths)


def test_synthetic_traces_agree_with_the_specification() -> None:
    rng = random.Random(2)
    lengths = []
    for _ in range(3000):
        trace = synthetic(rng)
        lengths.append(check_against_specification(trace, to_model(trace)))
    assert {0, 2, 3, 4, 5} <= set(lengths)


def test_long_cycles_agree_with_the_specification() -> None:
    rng = random.Random(7)
    lengths = [check_against_specification(trace, to_model(trace)) for trace in (delayed(rng) for _ in range(600))]
    assert {0, 4, 6, 8} <= set(lengths)
    assert min(length for length in lengths if length) == 4, "coherent traces have no shorter cycle"


def test_paths_are_shortest() -> None:
    """From each event to each other, in traces of all sorts, against breadth-first search over all one-hop edges."""
    rng = random.Random(8)
    lengths = set()
    for trace in [synthetic(rng) for _ in range(some(150))] + [delayed(rng) for _ in range(some(15))]:
        spec = to_model(trace)
        ids = [event.id for event in trace]
        successors: dict[EventId, list[EventId]] = {event: [] for event in ids}
        hops = one_hop_edges(spec)
        for a, b in hops:
            successors[a].append(b)
        for source in range(len(trace)):
            distance, queue = {ids[source]: 0}, [ids[source]]
            for a in queue:
                for b in successors[a]:
                    if b not in distance:
                        distance[b] = distance[a] + 1
                        queue.append(b)
            for target in range(len(trace)):
                path = trace.path(source, target)
                assert len(path) == distance.get(ids[target], 0)
                if path:
                    assert (path[0].source, path[-1].target) == (source, target)
                    assert all(a.target == b.source for a, b in pairwise(path))
                    assert all((ids[edge.source], ids[edge.target]) in hops for edge in path)
                lengths.add(len(path))
    assert {0, 1, 2, 3, 4, 5} <= lengths
    with pytest.raises(IndexError):
        trace.path(0, len(trace))


def test_whether_a_trace_happened_in_its_own_order() -> None:
    rng = random.Random(9)
    for _ in range(100):
        trace = synthetic(rng)
        again = Trace.from_sc(thread=trace.thread, kind=trace.kind, address=trace.address, wrote=trace.wrote)
        assert again.is_sequential()
        same = again.src.tolist() == trace.src.tolist() and again.co.tolist() == trace.co.tolist()
        assert trace.is_sequential() == same
    assert not store_buffering().is_sequential()


def test_sc_order_is_what_the_sc_machine_does() -> None:
    rng = random.Random(5)
    for _ in range(100):
        run = rng.choice(list(models.executions(random_script(rng, 3), "sc", rng.choice(SEMANTICS))))
        issued = of_run(run)
        trace = Trace.from_events(issued)
        assert to_model(trace) == run.trace()
        assert trace.is_sc()
        assert trace.cycle() == []


def store_buffering() -> Trace:
    """T0: x=1; r=y || T1: y=1; r=x, where both loads overtake both stores."""
    script = Script([[st("x", 1), ld("y")], [st("y", 1), ld("x")]], "xy")
    schedule = (*(Issue(p) for p in (0, 0, 1, 1)), Commit(0), Commit(1))
    return of_run(models.replay(script, "tso", schedule, Semantics()))


def test_the_cycle_is_told_in_sentences() -> None:
    trace = store_buffering()
    assert [(edge.source, edge.target, edge.reason, edge.because) for edge in trace.cycle()] == [
        (0, 1, "po", "because T0 does st x = 1 before ld y → 0"),
        (1, 2, "fr", "because T0's load of y saw the initial value, which T1's st y = 1 overwrites"),
        (2, 3, "po", "because T1 does st y = 1 before ld x → 0"),
        (3, 0, "fr", "because T1's load of x saw the initial value, which T0's st x = 1 overwrites"),
    ]


def test_src_co_and_later_sources_are_told_in_sentences() -> None:
    trace = Trace(
        thread=[0, 1, 2], kind=[1, 1, 0], address=[0, 0, 0], src=[-1, -1, 0], co=[0, 1, -1], addresses=["x"],
        read=[0, 0, 5], written=[5, 6, 0],
    )  # fmt: skip
    assert trace.why(0, 1, "co") == "because T0's st x = 5 reached memory before T1's st x = 6"
    assert trace.why(0, 2, "src") == "because T2's load of x saw T0's st x = 5"
    assert trace.why(2, 1, "fr") == "because T2's load of x saw T0's st x = 5, which T1's st x = 6 overwrites"


def test_an_rmw_that_passes_itself_in_co() -> None:
    """Found while writing the search: the first hop of the rmw leaps over itself, and the cycle must still close."""
    trace = Trace(thread=[0, 1], kind=[1, 2], address=[0, 0], src=[-1, -1], co=[0, 1])
    assert [(e.source, e.target, e.reason) for e in trace.cycle()] == [(0, 1, "co"), (1, 0, "fr")]


def test_events_come_back_as_they_went_in() -> None:
    here = Location("a.c", 3)
    events = [
        Event(0, 0, Kind.ST, "x", 5, location=here),
        Event(1, 0, Kind.LD, "x", 5),
        Event(0, 1, Kind.RMW, "y", 1, 0, Location("a.c", 4)),
        Event(0, 2, Kind.RMW, "y", None, 1, here),
        Event(1, 1, Kind.MFENCE),
        Event(1, 2, Kind.LOCK, "m", 1, 0),
        Event(1, 3, Kind.UNLOCK, "m", 0, 1),
        Event(0, 3, Kind.LD, "x"),
        Event(0, 4, Kind.RMW, "x", wrote=True),
        Event(0, 5, Kind.RMW, "x"),
    ]
    trace = Trace.from_events(events)
    assert list(trace) == events
    assert trace.src.tolist() == [-1, 0, -1, 2, -1, -1, 5, 0, 0, 8]
    assert trace.event(-1) == events[-1]
    assert [event.text for event in events[-3:]] == ["ld x", "rmw x", "rmw x, unchanged"]
    with pytest.raises(IndexError):
        trace.event(10)


GOOD = {"thread": [0, 1, 0], "kind": [1, 0, 3], "address": [0, 0, -1], "src": [-1, 0, -1], "co": [0, -1, -1]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thread": [0, -1, 0]}, "event 1: its thread is not a thread of the trace"),
        ({"thread": [0, 70000, 0]}, "a thread is numbered 70000; at most 65535 is supported"),
        ({"thread": [0, 2**40, 0]}, "a number in a column of int32 does not fit: 0 to 1099511627776"),
        ({"thread": [0.5, 0, 0]}, "a column of int32 cannot be made from float64"),
        ({"thread": [[0, 1, 0]]}, "a column has one dimension, not 2"),
        ({"thread": [0, 1]}, "column kind has 3 events, column thread has 2"),
        ({"kind": [1, 0, 8]}, "event 2: its kind is not one of the eight"),
        ({"address": [0, 0, 0]}, "event 2: a fence has no address"),
        ({"address": [0, -1, -1]}, "event 1: its address is not in the table of addresses"),
        ({"addresses": []}, "event 0: its address is not in the table of addresses"),
        ({"wrote": [False, False, False]}, "event 0: a store writes"),
        ({"wrote": [True, True, False]}, "event 1: a load or a fence cannot write"),
        ({"co": [-1, -1, -1]}, "event 0: the writes, and only they, have a position in co"),
        ({"co": [0, 0, -1]}, "event 1: the writes, and only they, have a position in co"),
        ({"co": [1, -1, -1]}, "event 0: its position in co is beyond the writes of its address"),
        ({"kind": [1, 1, 3], "src": [-1, -1, -1], "co": [0, 0, -1]}, "event 0: another write of its address has"),
        ({"src": [-1, 3, -1]}, "event 1: its source is not an event of the trace"),
        ({"src": [-1, -2, -1]}, "event 1: its source is not an event of the trace"),
        ({"src": [1, 0, -1]}, "event 0: it does not read, yet has a source"),
        ({"src": [-1, 1, -1]}, "event 1: it is its own source"),
        ({"src": [-1, 2, -1]}, "event 1: its source is not a write to its address"),
        ({"address": [1, 0, -1]}, "event 1: its source is not a write to its address"),
        ({"location": [0, -1, -1]}, "a location is numbered 0, and there are 0"),
    ],
)
def test_impossible_columns_are_refused(change: dict[str, object], message: str) -> None:
    assert Trace(**GOOD).is_sc()
    with pytest.raises(TraceError) as caught:
        Trace(**{**GOOD, **change})
    assert message in str(caught.value)


def test_an_empty_trace() -> None:
    trace = Trace.from_events([])
    assert len(trace) == 0
    assert trace.is_sc()
    assert trace.cycle() == []
    assert list(happens_before(trace)) == []


def test_a_long_chain_needs_no_deep_stack_and_a_far_cycle_is_found() -> None:
    """300,000 events of two threads with store buffering at the very end: components and search stay iterative."""
    n = 300_000
    rng = np.random.default_rng(6)
    before = Trace.from_sc(thread=rng.integers(0, 2, n), kind=rng.integers(0, 2, n), address=rng.integers(0, 100, n))
    sb = store_buffering()
    trace = Trace(
        thread=np.r_[before.thread, sb.thread],
        kind=np.r_[before.kind, sb.kind],
        address=np.r_[before.address, sb.address + 100],
        src=np.r_[before.src, np.where(sb.src < 0, -1, sb.src + n)],
        co=np.r_[before.co, sb.co],
    )
    assert not trace.is_sc()
    assert [(e.source - n, e.target - n) for e in trace.cycle()] == [(0, 1), (1, 2), (2, 3), (3, 0)]


def test_one_component_of_everything_is_searched_within_reason() -> None:
    """A first store delayed to the end closes cycles over 100,000 events; the shortest has four."""
    n = 100_000
    thread = np.r_[0, np.ones(n, int)]
    trace = Trace(
        thread=np.r_[thread, 0],
        kind=np.r_[1, np.zeros(n, int), 1],
        address=np.r_[0, np.ones(n - 1, int), 0, 1],
        src=np.r_[-1, np.full(n - 1, n + 1), -1, -1],
        co=np.r_[0, np.full(n, -1), 0],
    )
    cycle = trace.cycle()
    assert len(cycle) == 4
    assert np.unique(trace._graph.components()).tolist() == [0]
