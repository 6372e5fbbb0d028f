"""The monitors against ``models/`` and against the definition, by brute force over small programs."""

from __future__ import annotations

import doctest
import os
import random
import time
from collections import Counter
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amounts import some
from executions import dependent, interleavings
from monitor_checks import RELAXED, check, check_witness
from monitor_papers import burnim, sober
from monitor_reference import exact
from monitored_events import part, run
from notation import program
from random_programs import ALL_SEMANTICS, MIXED, SHAPES, Shape, seeded
from random_programs import programs as hypothesis_programs
from teetotal import _core, models
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Event, Issue, Kind, ModelName, Semantics
from teetotal.engines.executions import monitors
from teetotal.engines.executions.monitors import MONITORS, Columns, Report, Stream, witness
from teetotal.programs.program import Program

SEED = time.time_ns() if os.environ.get("TEETOTAL_PROFILE") == "fuzz" else 20
PAPERS = Semantics(rmw="address", mutex="rmw", failed_cas="write")


def flags(name: str, text: str | Program, semantics: Semantics = PAPERS) -> int:
    """On how many interleavings the monitor reports something."""
    subject = program(text) if isinstance(text, str) else text
    return sum(bool(run(name, events, semantics)) for events in interleavings(subject, semantics))


def execution(text: str, order: str, semantics: Semantics = PAPERS) -> list[Event]:
    """The SC execution in which the threads take turns as the digits say."""
    subject = models.Run(program(text), "sc", semantics)
    events = []
    for thread in map(int, order):
        subject.take(Issue(thread))
        events.append(subject.events[thread][-1])
    return events


# -- random programs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", SHAPES)
def test_against_brute_force(family: str) -> None:
    """No false report and no miss; every witness replayed: see monitor_checks. Where a mutex is also accessed plainly
    (``wild``), only that there is no false report."""
    for number, subject in enumerate(seeded(SEED, some(340), SHAPES[family])):
        complete = () if family == "wild" else RELAXED
        check(subject, ALL_SEMANTICS[number % len(ALL_SEMANTICS)], random.Random(number), complete)


SMALL = Shape(MIXED.weights, operations=(4, 3, 2))


@given(hypothesis_programs(SMALL), st.sampled_from(ALL_SEMANTICS))
def test_against_brute_force_shrinking(subject: Program, semantics: Semantics) -> None:
    check(subject, semantics, random.Random(0))


# -- named programs ---------------------------------------------------------------------------------------------------

FLUSHED_TOO_EARLY: list[tuple[ModelName, str]] = [
    ("tso", "T0: y=2; r2=x; mfence || T1: x=2; y=1"),
    ("tso", "T0: x=1; r=y; mfence || T1: y=1; mfence; r=x"),
    ("pso", "T0: x=2; y=1; mfence || T1: r1=y; r2=x"),
]


@pytest.mark.parametrize(("model", "text"), FLUSHED_TOO_EARLY)
def test_burnim_misses_programs_when_each_class_has_one_representative(model: ModelName, text: str) -> None:
    """A later mfence of the storing thread, unordered with the deciding event, may come first and flush the store."""
    assert not models.robust(program(text), model, PAPERS)
    assert flags(f"burnim-{model}", text) > 0
    silent_by_class: dict[object, list[bool]] = {}
    exact_by_class: dict[object, set[bool]] = {}
    for events in interleavings(program(text), PAPERS):
        key = frozenset((a.id, b.id) for i, a in enumerate(events) for b in events[i + 1 :] if dependent(a, b))
        silent_by_class.setdefault(key, []).append(not run(f"burnim-{model}", events, PAPERS))
        exact_by_class.setdefault(key, set()).add(bool(run(f"exact-{model}", events, PAPERS)))
    assert all(any(silent) for silent in silent_by_class.values())
    assert {True} in exact_by_class.values()
    assert all(len(verdicts) == 1 for verdicts in exact_by_class.values())


def test_the_technical_reports_pso_monitor_commits_more_than_it_must() -> None:
    """It commits x=2 when the thread stores x=3, and with it, because of the sfence, z=1, which T1 could still
    overtake: it stays silent on an execution where the TACAS paper's monitor does not."""
    text = "T0: z=1; x=1; sfence; x=2; x=3 || T1: r=x; r=z"
    assert not models.robust(program(text), "pso", PAPERS)
    events = execution(text, "0010001")
    assert [(r.delayed, r.previous, r.deciding) for r in run("burnim-pso", events, PAPERS)] == [(0, 2, 6)]
    assert run("burnim-pso-report", events, PAPERS) == []
    assert flags("burnim-pso-report", text) > 0


SOBER_MISSES = [
    "T0: y=2; r0=y; r1=x || T1: x=1; y=1",
    # The technical report's Fig. 6.
    "T0: a=1; r0=a; if r0==1 then r1=b || T1: b=1; a=2; r2=xchg(c,1); r3=a",
]


@pytest.mark.parametrize("text", SOBER_MISSES)
def test_sober_as_printed_misses_programs_on_every_interleaving(text: str) -> None:
    assert not models.robust(program(text), "tso", PAPERS)
    assert flags("sober", text) == 0
    for name in ("sober-corrected", "burnim-tso", "exact-tso"):
        assert flags(name, text) > 0


def test_figure_7_of_the_technical_report() -> None:
    """Its SC run of Fig. 6's program, on which monitorTSO finds the violation that SOBER cannot see."""
    events = execution(SOBER_MISSES[1], "00011")
    for name in ("burnim-tso", "burnim-tso-report"):
        reports = run(name, events, PAPERS)
        assert [(r.delayed, r.previous, r.deciding) for r in reports] == [(0, 3, 4)]
    assert run("sober", events, PAPERS) == []


def test_figure_8_of_the_technical_report() -> None:
    """SOBER reports on a run where monitorTSO does not, since the store to a was committed; it does on another run."""
    text = "T0: a=1; r=b || T1: a=2 || T2: b=1; r=a"
    first, second = execution(text, "00122"), execution(text, "00221")
    for name in ("sober", "sober-corrected", "exact-tso"):
        assert [(r.delayed, r.previous, r.deciding) for r in run(name, first, PAPERS)] == [(0, 3, 4)]
    assert run("burnim-tso", first, PAPERS) == []
    assert [(r.delayed, r.previous, r.deciding) for r in run("burnim-tso", second, PAPERS)] == [(0, 2, 3)]


def test_an_mfence_is_not_an_atomic_operation_on_a_private_location() -> None:
    """Under the papers' PSO an atomic operation flushes its own address only."""
    fenced = "T0: x=1; mfence; y=1 || T1: r=y; r=x"
    atomic = "T0: x=1; r2=xchg(q,1); y=1 || T1: r=y; r=x"
    for name in ("burnim-pso", "exact-pso"):
        assert flags(name, fenced) == 0
        assert flags(name, atomic) > 0
    assert models.robust(program(fenced), "pso", PAPERS)
    assert not models.robust(program(atomic), "pso", PAPERS)


@pytest.mark.parametrize(
    ("text", "robust"),
    [
        ("T0: r0=x; r1=y || T1: y=1; sfence; x=2", True),  # ignoring the sfence would be a false alarm
        ("T0: z=1; sfence; r0=x || T1: x=1; sfence; r1=z", False),  # taking it for an mfence would be a miss
        ("T0: x=1; sfence; r=xchg(y,1) || T1: r1=y; r2=x", True),  # what an atomic operation writes is a later store
        ("T0: x=1; r=xchg(y,1) || T1: r1=y; r2=x", False),
        (
            "T0: a=1; mfence; r=b || T1: b=1; sfence; a=2",
            True,
        ),  # what the store before it knows, the store after it knows
    ],
)
def test_an_sfence_is_a_marker(text: str, robust: bool) -> None:
    assert models.robust(program(text), "pso", PAPERS) is robust
    for name in ("burnim-pso", "exact-pso"):
        assert (flags(name, text) == 0) is robust


def test_an_sfence_is_nothing_on_tso() -> None:
    """If a store were kept before an sfence, as before an mfence, this would be robust."""
    text = "T0: x=1; sfence; r=y || T1: y=1; sfence; r=x"
    assert not models.robust(program(text), "tso", PAPERS)
    for name in ("burnim-tso", "exact-tso", "sober-corrected"):
        assert flags(name, text) > 0


def test_loads_alone_decide_on_tso_but_not_on_pso() -> None:
    """Two threads that only store: on PSO one store overtakes another, and no load sees it."""
    text = "T0: x=1; y=1 || T1: y=2; x=2"
    assert models.robust(program(text), "tso", PAPERS)
    assert not models.robust(program(text), "pso", PAPERS)
    assert flags("exact-pso", text) > 0


def test_a_write_overtakes_plain_stores_only() -> None:
    """If T2's x=2 came before T0's exchange, that would read 2, and T0 would not read y: there is no cycle."""
    text = "T0: r0=xchg(x,1); if r0!=2 then r=y || T1: y=1; r=z || T2: z=1; x=2"
    assert models.robust(program(text), "tso", PAPERS)
    assert flags("exact-tso", text) == 0


def test_robustness_depends_on_what_a_failed_compare_and_swap_writes() -> None:
    """Writing the old value back conflicts with other threads' reads; reading does not."""
    text = "T0: y=1; r=x || T1: r2=cas(x,5,6); r3=y"
    for failed_cas, robust in (("read", True), ("write", False)):
        semantics = Semantics(failed_cas=failed_cas)
        for model in RELAXED:
            assert models.robust(program(text), model, semantics) is robust
            assert (flags(f"exact-{model}", text, semantics) == 0) is robust


def test_an_unlock_is_a_fence_or_not() -> None:
    text = "T0: lock(m); x=1; unlock(m); y=1 || T1: r1=y; r2=x"
    for mutex, robust in (("fence", True), ("rmw", False)):
        semantics = Semantics(rmw="address", mutex=mutex)
        assert models.robust(program(text), "pso", semantics) is robust
        for name in ("burnim-pso", "exact-pso"):
            assert (flags(name, text, semantics) == 0) is robust


def test_a_lock_decides_nothing() -> None:
    """Whether a lock can be taken before a store to its mutex is visible depends on the value there, which monitors do
    not see. Here it cannot, and a report would be false."""
    text = "T0: lock(m); m=0; x=1 || T1: r=x; if r==1 then lock(m)"
    assert models.robust(program(text), "pso", PAPERS)
    assert flags("exact-pso", text) == flags("burnim-pso", text) == 0


def test_known_limit_a_mutex_that_is_also_stored_to_plainly() -> None:
    """Here it can, and the violation is missed."""
    text = "T0: m=0; x=1 || T1: r=x; lock(m)"
    assert not models.robust(program(text), "pso", PAPERS)
    assert flags("exact-pso", text) == flags("burnim-pso", text) == 0


# -- streams that are no program's ------------------------------------------------------------------------------------

Row = tuple[int, int, bool, int, int]


def random_row(rng: random.Random, threads: int, addresses: int) -> Row:
    kind = rng.choices(range(7), [50, 40, 4, 2, 2, 1, 1])[0]
    return rng.randrange(threads), kind, rng.random() < 0.7, rng.randrange(addresses), rng.randrange(8)


def table(rows: list[Row], threads: int | None = None) -> Columns:
    thread, kind, writes, address, location = zip(*rows, strict=True)
    return Columns(
        np.array(thread, np.uint32),
        np.array(kind, np.uint8),
        np.array(writes, np.uint8),
        np.array(address, np.uint32),
        np.array(location, np.uint32),
        threads,
    )


def as_events(rows: list[Row]) -> list[Event]:
    counts: dict[int, int] = {}
    events = []
    for thread, number, writes, address, _ in rows:
        kind = Kind(number)
        index = counts[thread] = counts.get(thread, -1) + 1
        wrote = kind is Kind.ST or (kind.is_atomic and writes)
        name = None if kind.is_fence else f"a{address}"
        events.append(Event(thread, index, kind, name, 0 if wrote or kind is Kind.LD else None, 0))
    return events


@pytest.mark.parametrize("model", RELAXED)
def test_the_exact_kernels_follow_the_definition(model: ModelName) -> None:
    rng = random.Random(1)
    reports = 0
    for number in range(some(700)):
        semantics = ALL_SEMANTICS[number % len(ALL_SEMANTICS)]
        threads = rng.choice([2, 3, 4, 6])
        rows = [random_row(rng, threads, rng.choice([2, 3, 5])) for _ in range(30)]
        found = run(f"exact-{model}", table(rows, threads), semantics)
        assert [(r.delayed, r.previous, r.deciding) for r in found] == exact(as_events(rows), model, semantics)
        reports += len(found)
    assert reports > some(500)


@pytest.mark.parametrize("name", [name for name in MONITORS if not name.startswith("exact")])
def test_the_other_kernels_follow_the_papers_figures(name: str) -> None:
    rng = random.Random(7)
    reports = 0
    for number in range(some(500)):
        semantics = ALL_SEMANTICS[number % len(ALL_SEMANTICS)]
        threads = rng.choice([2, 3, 4, 6])
        rows = [random_row(rng, threads, rng.choice([2, 3, 5])) for _ in range(30)]
        found = [(r.delayed, r.previous, r.deciding) for r in run(name, table(rows, threads), semantics)]
        if name.startswith("burnim"):
            assert found == burnim(as_events(rows), MONITORS[name].model, semantics, name.endswith("-report"))
        else:
            assert found == sober(as_events(rows), corrected=name == "sober-corrected")
        reports += len(found)
    assert reports > some(30, least=4)


@pytest.mark.parametrize("name", MONITORS)
def test_taking_events_back(name: str) -> None:
    """Any mixture of observing and taking back ends as a fresh run over what is left."""
    rng = random.Random(2)
    reports = 0
    for number in range(some(120)):
        options = {"rmw_flushes_all": number % 2 == 0, "unlock_is_fence": number % 4 < 2}
        threads, addresses = rng.choice([2, 3, 5, 9, 40]), rng.choice([2, 4, 9])
        monitor = _core.Monitor(name, undo=True, **options)
        rows: list[Row] = []
        found = []
        for _ in range(200):
            if rows and rng.random() < 0.4:
                count = rng.randrange(1, len(rows) + 1) if rng.random() < 0.01 else 1
                monitor.undo(count)
                del rows[-count:], found[-count:]
            else:
                rows.append(random_row(rng, threads, addresses))
                found.append(monitor.step(*rows[-1]))
        assert monitor.events == len(rows)
        fresh = _core.Monitor(name, **options)
        assert found == [fresh.step(*row) for row in rows]
        reports += sum(one is not None for one in found)
    assert reports > some(10, least=1)


@pytest.mark.parametrize("name", MONITORS)
def test_dropped_writes_are_never_missed(name: str) -> None:
    """A monitor that can take events back drops nothing; one that cannot must report the same. Threads start late, stop
    early and rest, addresses come and go."""
    rng = random.Random(3)
    for declared in (False, True):
        rows: list[Row] = []
        for phase in range(30):
            threads = rng.sample(range(6 if phase < 20 else 7), rng.choice([1, 2, 3, 5]))
            addresses = rng.sample(range(40), rng.choice([2, 5, 20]))
            for _ in range(1500):
                _, kind, writes, _, location = random_row(rng, 1, 1)
                rows.append((rng.choice(threads), kind, writes, rng.choice(addresses), location))
        threads_given = 7 if declared else None
        dropping = Stream(name, threads=threads_given)
        keeping = Stream(name, threads=threads_given, undo=True)
        everything = table(rows, threads_given)
        assert dropping.observe(everything) == keeping.observe(everything)
        assert dropping.bytes < keeping.bytes / 10


@pytest.mark.parametrize("name", MONITORS)
def test_threads_and_addresses_may_appear_at_any_time(name: str) -> None:
    """No capacity is fixed: what is known from the start makes no difference."""
    rng = random.Random(4)
    rows = [random_row(rng, 2 + number // 60, 2 + number // 100) for number in range(3000)]
    assert run(name, table(rows)) == run(name, table(rows, 64))
    assert run(name, table(rows, 52))[:50] == Stream(name).observe(table(rows))[:50]


@pytest.mark.parametrize("name", MONITORS)
def test_memory_does_not_grow_with_the_execution(name: str) -> None:
    rng = np.random.default_rng(5)
    size = 200_000
    block = Columns(
        rng.integers(0, 4, size, np.uint32),
        rng.choice(np.array([0, 1, 2, 3, 4], np.uint8), size, p=[0.5, 0.4, 0.06, 0.02, 0.02]),
        np.ones(size, np.uint8),
        rng.integers(0, 64, size, np.uint32),
        rng.integers(0, 8, size, np.uint32),
    )
    stream = Stream(name, threads=5)  # the fifth never does anything, and so never learns of any write
    stream.summarise(block)
    early = stream.bytes
    for _ in range(9):
        stream.summarise(block)
    assert stream.events == 10 * size
    assert stream.bytes < 2 * early


# -- what is dropped in long executions --------------------------------------------------------------------------------

LOAD, STORE, RMW = (int(kind) for kind in (Kind.LD, Kind.ST, Kind.RMW))
A, B, ELSEWHERE = range(3)


def event(thread: int, kind: int, address: int) -> Row:
    return thread, kind, True, address, thread


def long_pause(thread: int) -> list[Row]:
    """So many writes elsewhere that writes which nobody can ask for are dropped."""
    return [event(thread, STORE, ELSEWHERE)] * 9000


def reports_despite_dropping(name: str, rows: list[Row], threads: int | None) -> int:
    """How many there are; one that drops nothing must have the same."""
    everything = table(rows, threads)
    found = Stream(name, threads=threads).observe(everything)
    assert found == Stream(name, threads=threads, undo=True).observe(everything)
    return len(found)


@pytest.mark.parametrize("how", [LOAD, STORE])
@pytest.mark.parametrize("threads", [None, 3])
def test_a_write_that_only_an_address_knows_of_is_kept(how: int, threads: int | None) -> None:
    """T0: a; b; a, then T1: st b; ld a. Through b, T1 knows of T0's first store to a and not of its second."""
    early = [event(0, STORE, A), event(0, how, B), event(0, STORE, A)]
    late = [event(1, STORE, B), event(1, LOAD, A)]
    for name in ("exact-tso", "exact-pso", "sober-corrected"):
        assert reports_despite_dropping(name, early + long_pause(2) + late, threads) == 1


def test_a_thread_that_appears_late_finds_old_writes() -> None:
    """T1 has seen all that T0 did; T2, which nobody knows of yet, has not."""
    early = [event(0, STORE, A), event(0, LOAD, B), event(0, STORE, A), event(1, LOAD, A)]
    late = [event(2, STORE, B), event(2, LOAD, A)]
    for name in ("exact-tso", "exact-pso", "sober-corrected"):
        assert reports_despite_dropping(name, early + long_pause(1) + late, None) == 1


def test_the_plain_store_behind_a_kept_atomic_write_is_kept() -> None:
    """T1's store to a overtakes T0's last plain store to a, which T0's exchange has hidden since."""
    early = [*[event(0, STORE, A)] * 5, event(0, RMW, A), event(0, LOAD, B)]
    late = [*[event(2, STORE, A)] * 6, event(1, STORE, B), event(1, STORE, A)]
    assert reports_despite_dropping("exact-pso", early + long_pause(2) + late, 3) == 1


def test_the_last_known_of_many_writes_is_found() -> None:
    """T1 knows of so many of T0's stores to a as it saw b after, and no more."""
    for count in range(1, 40):
        rows = [row for k in range(40) for row in (event(0, STORE, A), event(0, LOAD, B + k))]
        rows += [event(1, STORE, B + count - 1), event(1, LOAD, A)]
        (found,) = run("exact-tso", table(rows, 2))
        assert (found.delayed, found.deciding) == (2 * (count - 1), len(rows) - 1)


# -- the rest of the interface ----------------------------------------------------------------------------------------


def test_summaries_are_the_reports_by_triple() -> None:
    rng = random.Random(6)
    rows = table([random_row(rng, 4, 6) for _ in range(20_000)], 4)
    for name in MONITORS:
        stream = Stream(name, threads=4)
        reports = run(name, rows)
        assert stream.summarise(part(rows, slice(0, 5000))) + stream.summarise(part(rows, slice(5000, None))) == len(
            reports
        )
        counts = Counter(report.triple for report in reports)
        assert [(group.first.triple, group.count) for group in stream.distinct()] == list(counts.items())
        first = {report.triple: report for report in reversed(reports)}
        assert all(group.first == first[group.first.triple] for group in stream.distinct())


def test_wrong_reports_have_no_witness() -> None:
    fenced = "T0: x=1; mfence; r=y || T1: y=1; mfence; r=x"
    claim = monitors.Report("exact-tso", "tso", 0, 4, 5, 0, 0, 0)
    with pytest.raises(ValueError, match="the report is wrong"):
        check_witness(program(fenced), execution(fenced, "000111"), claim, Semantics())
    unrelated = "T0: x=1 || T1: y=1; r=x"
    claim = monitors.Report("exact-tso", "tso", 0, 1, 2, 0, 0, 0)
    with pytest.raises(ValueError, match="does not happen before"):
        check_witness(program(unrelated), execution(unrelated, "011"), claim, Semantics())


def test_bad_usage() -> None:
    with pytest.raises(TeetotalError, match="no monitor is called exact-sc; there are exact-tso"):
        run("exact-sc", [])
    with pytest.raises(ValueError, match="no kind of event has the number 8"):
        run("exact-tso", table([(0, 8, False, 0, 0)]))
    with pytest.raises(ValueError, match="event 1 is of thread 2, but only 2 threads were announced"):
        run("exact-tso", table([(0, 0, False, 0, 0), (2, 0, False, 0, 0)], 2))
    with pytest.raises(ValueError, match="the columns differ in length"):
        Stream("exact-tso").observe(table([(0, 0, False, 0, 0)])._replace(kind=np.zeros(2, np.uint8)))
    with pytest.raises(RuntimeError, match="made without undo"):
        _core.Monitor("exact-tso").undo()
    with pytest.raises(RuntimeError, match="no event is left"):
        _core.Monitor("exact-tso", undo=True).undo()


def test_nothing_to_monitor() -> None:
    for name in MONITORS:
        assert run(name, []) == []


def test_examples_in_the_documentation() -> None:
    assert doctest.testmod(monitors).failed == 0


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_a_witness_of_many_stores_has_few_constraints(model: Literal["tso", "pso"]) -> None:
    """Not one for each two stores of a thread: a loop with thousands of them before the violation is told as fast."""
    stores = [Event(0, number, Kind.ST, f"a{number % 64}") for number in range(3000)]
    left = [Event(0, 3000, Kind.ST, "x"), Event(0, 3001, Kind.LD, "y")]
    events = [*stores, *left, Event(1, 0, Kind.ST, "y"), Event(1, 1, Kind.LD, "x")]
    report = Report("", model, 3000, 3002, 3003, 0, 0, 0)
    edges = witness._Constraints(events, report, Semantics()).edges()
    assert sum(map(len, edges.values())) < 5 * len(events)
    assert len(witness.schedule(events, report)) == 2 * 3002 + 2
