"""``check`` on C and C++ programs: verdicts, and what was explored for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from c_checks import HEAD, run
from c_programs import COMPILERS
from teetotal.answers.answer import Interrupted
from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import Semantics
from teetotal.answers.options import CheckOptions
from teetotal.answers.strategies import parse
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.engines.runtime import driver
from teetotal.programs.c.build import Source
from teetotal.report import terminal


def lines(result: CheckAnswer, text: str) -> set[str]:
    """The source lines, as text, of the cycles of all violations."""
    source = text.splitlines()
    places = (v.events[edge.source].location for v in result.violations for edge in v.cycle)
    return {source[place.line - 1].strip() for place in places if place is not None}


CASES = [
    ("int", "", False),
    ("volatile int", "", False),
    ("volatile char", "", False),
    ("volatile short", "", False),
    ("volatile long", "", False),
    ("volatile double", "", False),
    ("atomic_int", "", True),  # seq_cst stores
    ("volatile int", "atomic_thread_fence(memory_order_seq_cst)", True),
    ("volatile int", "atomic_thread_fence(memory_order_acq_rel)", False),
    ("volatile int", "__sync_synchronize()", True),
    ("volatile int", "__builtin_ia32_mfence()", True),
    ("volatile int", 'asm volatile("mfence" ::: "memory")', True),
    ("volatile int", 'asm volatile("lock; addl $0, 0(%%rsp)" ::: "memory", "cc")', True),
    ("volatile int", 'asm volatile("" ::: "memory")', False),
    ("volatile int", "__atomic_exchange_n(&(int){0}, 1, __ATOMIC_SEQ_CST)", False),  # on the stack: nobody's business
]


def buffering() -> str:
    """One program for all of them: its argument chooses."""
    parts = [HEAD]
    for n, (storage, fence, _) in enumerate(CASES):
        parts.append(f"static {storage} x{n}, y{n};\n")
        for name, store, load in (("f", "x", "y"), ("g", "y", "x")):
            body = f"  {store}{n} = 1;\n  {fence};\n  int r = {load}{n};\n  return 0;\n"
            parts.append(f"static void *{name}{n}(void *p) {{\n{body}}}\n")
    for name in "fg":
        listed = ", ".join(f"{name}{n}" for n in range(len(CASES)))
        parts.append(f"static void *(*const {name}[])(void *) = {{{listed}}};\n")
    parts.append("""int main(int n, char **given) {
  int which = atoi(given[1]); pthread_t t, u;
  pthread_create(&t, 0, f[which], 0); pthread_create(&u, 0, g[which], 0); pthread_join(t, 0); pthread_join(u, 0);
}
""")
    return "".join(parts)


@pytest.fixture(scope="module")
def buffers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("buffering")


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("case", range(len(CASES)), ids=[" with ".join(case[:2]) for case in CASES])
def test_store_buffering(buffers: Path, case: int, compiler: str) -> None:
    robust = CASES[case][2]
    result = run(buffers, buffering(), compiler=compiler, arguments=(str(case),))
    assert [result.models[model].robust for model in ("tso", "pso")] == [robust, robust]
    assert result.complete
    assert result.executions == 3
    if not robust:
        told = {f"x{case} = 1;", f"int r = y{case};", f"y{case} = 1;", f"int r = x{case};"}
        assert lines(result, buffering()) == told
        assert {event.address for event in result.violations[0].events} >= {f"x{case}", f"y{case}"}


@pytest.mark.parametrize(
    ("store", "robust"),
    [("relaxed", False), ("release", True), ("seq_cst", True)],
)
def test_message_passing_needs_release_on_pso_alone(tmp_path: Path, store: str, robust: bool) -> None:
    text = (
        HEAD
        + f"""
int data; atomic_int flag;
void *f(void *p) {{ data = 1; atomic_store_explicit(&flag, 1, memory_order_{store}); return 0; }}
void *g(void *p) {{ if (atomic_load_explicit(&flag, memory_order_acquire)) assert(data == 1); return 0; }}
RUN(f, g)
"""
    )
    result = run(tmp_path, text)
    assert result.models["sc"].safe
    assert result.models["tso"].robust
    assert result.models["pso"].robust is robust
    safety = run(tmp_path, text, options=CheckOptions(goal="safe"))
    assert [safety.models[model].safe for model in ("sc", "tso", "pso")] == [True, True, robust]


def test_a_program_without_threads(tmp_path: Path) -> None:
    result = run(
        tmp_path, "int main(int argc, char **argv) { return argc != 2 || argv[1][0] != 'x'; }", arguments=("x",)
    )
    assert (result.verdict, result.executions, result.complete) == (Verdict.SAFE, 1, True)


def test_much_output_and_much_memory(tmp_path: Path) -> None:
    text = (
        HEAD
        + """#include <stdio.h>
volatile int x;
void *f(void *p) { x = 1; for (int i = 0; i < 20000; i++) printf("%d\\n", i); return 0; }
void *g(void *p) { char *big = calloc(1, 1UL << 30); big[1 << 29] = 1; x = big[0]; free(big); return 0; }
RUN(f, g)
"""
    )
    assert run(tmp_path, text).verdict is Verdict.SAFE


def test_several_files_make_one_program(tmp_path: Path) -> None:
    (tmp_path / "other.c").write_text("extern volatile int x; void *f(void *p) { x = VALUE; return 0; }")
    (tmp_path / "main.c").write_text(HEAD + "volatile int x; void *f(void *p); RUN(f, f)")
    source = Source((str(tmp_path / "main.c"), str(tmp_path / "other.c")), ("-DVALUE=7",))
    answer = check(source)
    assert (answer.executions, answer.symmetric) == (1, True)


def test_budgets_and_seeds(tmp_path: Path) -> None:
    text = (
        HEAD
        + "volatile int x; void *f(void *p) { for (int i = 0; i < 6; i++) { int r = x; x = i; } return 0; } RUN(f, f)"
    )
    limited = run(tmp_path, text, options=CheckOptions(executions=100))
    assert (limited.executions, limited.complete, limited.models["tso"].robust) == (100, False, None)
    rounds = run(tmp_path, text, options=CheckOptions(executions=20, explore=parse("preemptions:0..3")))
    assert rounds.executions == 20  # of all rounds together
    for how in ("random:50", "pct:50:3"):
        strategy = parse(how)
        first, again, other = (
            run(tmp_path, text, options=CheckOptions(explore=strategy, seed=seed)) for seed in (1, 1, 2)
        )
        assert first.executions == again.executions == other.executions == 50
        assert first.notes == again.notes


def test_who_interrupts_gets_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer, and by the exception that it is not all of it."""

    def interrupted(*_: object, **__: object) -> Iterator[object]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(driver, "answers", interrupted)
    with pytest.raises(Interrupted) as told:
        run(tmp_path, HEAD + "int x; void *f(void *p) { x = 1; return 0; } RUN(f, f)")
    assert isinstance(told.value.answer, CheckAnswer)
    assert (told.value.answer.verdict, told.value.answer.complete) == (Verdict.INCONCLUSIVE, False)


@pytest.mark.parametrize(
    ("flags", "safe", "violations"),
    [
        ("", (True, False, False), (0, 1, 1)),  # store buffering
        ("-DFENCE=__sync_synchronize()", (True, True, True), (0, 0, 0)),
        ("-DALSO=1", (False, False, False), (1, 1, 1)),  # and what fails under SC is told of each model
        ("-DALSO=1 -DFENCE=__sync_synchronize()", (False, False, False), (1, 1, 1)),
    ],
)
def test_safety_alone(tmp_path: Path, flags: str, safe: tuple[bool, ...], violations: tuple[int, ...]) -> None:
    text = (
        HEAD.replace("END }", "assert(a || b); assert(!ALSO || a == b); }")
        + "#ifndef FENCE\n#define FENCE\n#endif\n#ifndef ALSO\n#define ALSO 0\n#endif\n"
        + "volatile int x, y; int a, b; void *f(void *p) { x = 1; FENCE; a = y; return 0; }"
        + "void *g(void *p) { y = 1; FENCE; b = x; return 0; } RUN(f, g)"
    )
    result = run(tmp_path, text, flags=tuple(flags.split()), options=CheckOptions(goal="safe"))
    assert tuple(result.models) == ("sc", "tso", "pso")
    assert tuple(model.safe for model in result.models.values()) == safe
    assert tuple(min(1, len(model.violations)) for model in result.models.values()) == violations


def test_what_fails_under_tso_is_not_said_to_break_there_if_sc_was_not_explored_whole(tmp_path: Path) -> None:
    """It fails under SC too, with two preemptions; a store that waits in a buffer saves one."""
    text = (
        HEAD
        + "atomic_int x, y; void *f(void *p) { x = 1; x = 0; y = 1; y = 0; return 0; }"
        + "void *g(void *p) { int a = x; int b = y; assert(!(a == 1 && b == 1)); return 0; } RUN(f, g)"
    )
    result = run(tmp_path, text, options=CheckOptions(explore=parse("preemptions:1"), goal="safe"))
    assert (result.models["sc"].safe, result.models["tso"].safe) == (None, False)
    first = terminal.render(result).splitlines()[0]
    assert "violation: fails under TSO and PSO: " in first


def test_a_spinning_thread_goes_on_when_something_changes(tmp_path: Path) -> None:
    text = (
        HEAD
        + "volatile int x; void *f(void *p) { while (!x) ; return 0; } void *g(void *p) { x = 1; return 0; } RUN(f, g)"
    )
    for how in ("all", "preemptions:2", "random:100", "interleavings"):
        result = run(tmp_path, text, options=CheckOptions(explore=parse(how)))
        assert result.models["sc"].safe is not False
    assert run(tmp_path, text).verdict is Verdict.SAFE


def test_a_counted_loop_is_not_a_spin(tmp_path: Path) -> None:
    """The same place and nothing changed, but the loop counts: stopping it would hide the failure."""
    text = (
        HEAD
        + "volatile int x; void *f(void *p) { int n = 0; while (!x && n < 5) n++; assert(n < 5); return 0; }"
        + "void *g(void *p) { x = 1; return 0; } RUN(f, g)"
    )
    assert [violation.kind for violation in run(tmp_path, text).violations] == ["assertion"]


def test_choices_of_the_environment(tmp_path: Path) -> None:
    text = (
        HEAD
        + """int __VERIFIER_nondet_int(void); void __VERIFIER_assume(int); volatile int x;
void *f(void *p) { int a = __VERIFIER_nondet_int(); __VERIFIER_assume(a != 3); x = a; assert(a != BAD); return 0; }
void *g(void *p) { int r = x; return 0; }
RUN(f, g)"""
    )
    for bad, verdict in ((2, Verdict.VIOLATION), (3, Verdict.SAFE), (4, Verdict.VIOLATION), (9, Verdict.SAFE)):
        assert run(tmp_path, text, flags=(f"-DBAD={bad}",), options=CheckOptions(nondet=(0, 4))).verdict is verdict


def test_different_sizes_are_one_location_and_no_proof(tmp_path: Path) -> None:
    text = (
        HEAD
        + "volatile union { int i; char c[4]; } u; void *f(void *p) { u.i = 1; return 0; }"
        + "void *g(void *p) { u.c[1] = 2; return 0; } RUN(f, g)"
    )
    result = run(tmp_path, text)
    assert result.executions == 2
    assert result.models["tso"].robust is None
    assert any("different sizes" in note for note in result.notes)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_cpp(tmp_path: Path, compiler: str) -> None:
    text = r"""
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
std::mutex m; std::condition_variable changed; bool ready; std::atomic<int> n, word; std::shared_mutex s; int data, once;
std::once_flag flag;
struct Five { int v; Five() : v(5) {} };
Five &instance() { static Five five; return five; }
thread_local std::string name = "x";
int main() {
  std::vector<std::thread> threads;
  threads.emplace_back([] { std::unique_lock l(m); changed.wait(l, [] { return ready; }); n++;
                            std::call_once(flag, [] { once++; }); });
  threads.emplace_back([] { { std::lock_guard l(m); ready = true; } changed.notify_one();
                            std::call_once(flag, [] { once++; });
                            { std::unique_lock w(s); data = 1; } });
  threads.emplace_back([] { { std::shared_lock r(s); int d = data; (void)d; }
    try { throw std::runtime_error("boo"); } catch (std::exception &e) { n += e.what()[0] == 'b'; }
    assert(instance().v == 5); name += "y"; assert(name == "xy"); });
  for (auto &thread : threads) thread.join();
  std::thread waker([] { word.store(1); word.notify_one(); });
  word.wait(0);
  waker.join();
  assert(n == 2 && once == 1);
}
"""
    result = run(tmp_path, text, suffix=".cc", flags=("-std=c++20",), compiler=compiler)
    assert result.verdict is Verdict.SAFE
    assert result.complete


@pytest.mark.skipif(not Path("/usr/include/boost/lockfree").exists(), reason="boost is not installed")
@pytest.mark.parametrize("container", ["spsc_queue", "queue", "stack"])
def test_boost_lockfree(tmp_path: Path, container: str) -> None:
    declared = {"spsc_queue": "spsc_queue<int, boost::lockfree::capacity<2>> c;"}.get(
        container, f"{container}<int> c(4);"
    )
    text = f"""#include <boost/lockfree/{container}.hpp>
#include <cassert>
#include <thread>
boost::lockfree::{declared}
int main() {{
  std::thread producer([] {{ c.push(1); }}), consumer([] {{ int v; if (c.pop(v)) assert(v == 1); }});
  producer.join(); consumer.join();
}}"""
    result = run(tmp_path, text, suffix=".cc")
    assert result.verdict is Verdict.SAFE
    assert result.executions > 1


def test_semantics_reach_the_runtime(tmp_path: Path) -> None:
    """What an rmw and an unlock flush is a choice, for what is explored and for what is watched."""
    published = (
        HEAD
        + """volatile int x, y; atomic_int a; pthread_mutex_t m;
void *f(void *p) { PUBLISH; return 0; }
void *g(void *p) { if (SEEN) assert(x); return 0; }
RUN(f, g)"""
    )
    rmw = ("-DPUBLISH=x = 1; atomic_fetch_add_explicit(&a, 1, memory_order_relaxed)", "-DSEEN=a")
    unlock = ("-DPUBLISH=pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); y = 1", "-DSEEN=y")
    for flags, semantics, holds in (
        (rmw, Semantics(), True),
        (rmw, Semantics(rmw="address"), False),
        (unlock, Semantics(rmw="address"), True),
        (unlock, Semantics(rmw="address", mutex="rmw"), False),
    ):
        watched = run(tmp_path, published, flags=flags, options=CheckOptions(semantics=semantics))
        explored = run(tmp_path, published, flags=flags, options=CheckOptions(semantics=semantics, goal="safe"))
        assert (watched.models["pso"].robust, explored.models["pso"].safe) == (holds, holds)
        assert (watched.models["tso"].robust, explored.models["tso"].safe) == (True, True)


def test_a_monitor_that_can_miss_violations_proves_nothing_of_c(tmp_path: Path) -> None:
    text = HEAD + "volatile int x; void *f(void *p) { x = 1; return 0; } void *g(void *p) { return 0; } RUN(f, g)"
    result = run(tmp_path, text, options=CheckOptions(monitors=("burnim-tso", "burnim-pso")))
    assert [result.models[model].robust for model in ("tso", "pso")] == [None, None]
    result = run(
        tmp_path, text, options=CheckOptions(monitors=("burnim-tso",), explore=parse("interleavings"), models=("tso",))
    )
    assert result.models["tso"].robust is True


@pytest.mark.parametrize("how", ["preemptions:0", "random:5", "interleavings"])
def test_whatever_is_explored_is_watched_by_the_exact_monitors(how: str, tmp_path: Path) -> None:
    """The paper's see nothing where a fence comes first that the load need not have waited for."""
    text = (
        HEAD
        + "volatile int x, y; void *f(void *p) { x = 1; int r = y; __sync_synchronize(); return 0; }"
        + "void *g(void *p) { y = 1; __sync_synchronize(); int r = x; return 0; } RUN(f, g)"
    )
    assert run(tmp_path, text, options=CheckOptions(explore=parse(how))).models["tso"].robust is False
    fenced = text.replace("x = 1;", "x = 1; __sync_synchronize();")
    proved = run(tmp_path, fenced, options=CheckOptions(explore=parse(how))).models["tso"].robust
    assert proved is (True if how == "interleavings" else None)


def test_data_races_are_information(tmp_path: Path) -> None:
    text = HEAD + "STORAGE int x; void *f(void *p) { x = 1; return 0; } RUN(f, f)"
    for storage, races in (("", 1), ("volatile", 0), ("_Atomic", 0)):
        result = run(tmp_path, text, flags=(f"-DSTORAGE={storage}",))
        assert sum("data race on x" in note for note in result.notes) == races
        assert result.verdict is Verdict.SAFE
    readers = run(tmp_path, HEAD + "int x; void *f(void *p) { int r = x; return 0; } RUN(f, f)")
    assert not any("data race" in note for note in readers.notes)


def test_reads_at_the_same_time_are_no_data_race(tmp_path: Path) -> None:
    """Of what is written when both are done; where one is run, the other stands before it."""
    text = (
        HEAD
        + """int x; _Atomic int y; void *f(void *p) { volatile int r = x; y++; r = x; y++; return 0; }
    int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, 0);
    pthread_join(t, 0); pthread_join(u, 0); x = 1; return 0; }"""
    )
    result = run(tmp_path, text)
    assert result.verdict is Verdict.SAFE
    assert not any("data race" in note for note in result.notes)


STORE_BUFFERING = (
    HEAD
    + """volatile int x, y; int a, b;
void *f(void *p) { x = 1; a = y; return 0; }
void *g(void *p) { y = 1; b = x; return 0; }
RUN(f, g)"""
)


def test_what_was_not_asked_is_said_and_how_to_ask(tmp_path: Path) -> None:
    result = run(tmp_path, STORE_BUFFERING, flags=("-DEND=assert(a || b);",), options=CheckOptions(triage=0))
    assert result.models["tso"].safe is None
    assert any("only TSO allows" in note and "--goal safe" in note for note in result.notes)
    assert (result.triage, result.models["tso"].triage) == ("unknown", "unknown")
    assert "SC executions" in terminal.render(result)
    safety = run(tmp_path, STORE_BUFFERING, flags=("-DEND=assert(a || b);",), options=CheckOptions(goal="safe"))
    assert safety.models["tso"].safe is False
    assert not safety.notes
    shown = terminal.render(safety)
    assert "TSO: NOT SAFE\n" in shown  # and nothing about robustness, which was not asked
    assert "SC executions" not in shown
    proved = run(tmp_path, STORE_BUFFERING, options=CheckOptions(goal="safe"))
    assert "safe (no assertion fails)" in terminal.render(proved)


def test_variables_of_the_c_library_are_its_own_affair(tmp_path: Path) -> None:
    text = (
        HEAD
        + """#include <errno.h>
#include <stdio.h>
void *f(void *p) { for (int i = 0; i < 1000; i++) { fprintf(stderr, "%d\\n", i); errno = 0; } return 0; }
RUN(f, f)"""
    )
    result = run(tmp_path, text)
    assert (result.verdict, result.executions) == (Verdict.SAFE, 1)


TOLD = (
    HEAD
    + "volatile int x, y; volatile signed char c; atomic_int z;"
    + "void *f(void *p) { int e = 5; atomic_compare_exchange_strong(&z, &e, 1); x = -1; c = -2; int r = y; return 0; }"
    + "void *g(void *p) { y = 1; int r = c, s = x; return 0; }"
)


def test_events_have_the_values_that_the_program_sees(tmp_path: Path) -> None:
    """What is negative is negative, whatever its size, and a compare-and-swap that fails writes nothing."""
    result = run(tmp_path, TOLD + "RUN(f, g)", options=CheckOptions(models=("tso",)))
    (violation,) = result.violations[:1]
    told = {(str(event.kind), event.address): (event.read, event.value) for event in violation.events}
    assert told["rmw", "z"] == (0, None)
    assert told["st", "x"] == (None, -1)
    assert told["st", "c"] == (None, -2)
