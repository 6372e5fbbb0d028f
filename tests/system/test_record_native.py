"""Native runs, recorded: what the recorder writes down is an SC execution, whatever the program does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import teetotal
from amounts import some
from c_programs import COMPILERS, translate
from random_programs import MIXED, PLAIN, seeded
from teetotal import cli
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Kind
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check as check_program
from teetotal.histories.check import check
from teetotal.programs.c.build import Source, built_to_record, recording_flags
from teetotal.record.native_runs import natively
from teetotal.record.programs import RecordedExecution
from teetotal.record.windows import Run

HEAD = """
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int x, y, a, b;
atomic_int f;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
"""
NATIVELY = """
__attribute__((no_sanitize("thread"))) static void burn(int milliseconds) {
  struct timespec from, now;
  clock_gettime(CLOCK_MONOTONIC, &from);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < milliseconds);
}
"""


def two(first: str, second: str, before: str = "", after: str = "") -> str:
    return (
        f"{HEAD}{NATIVELY}{before}\n"
        f"void *p(void *_) {{\n{first}\nreturn 0; }}\nvoid *q(void *_) {{\n{second}\nreturn 0; }}\n"
        "int main(void) { pthread_t s, t;\n  pthread_create(&s, 0, p, 0); pthread_create(&t, 0, q, 0);\n"
        f"  pthread_join(s, 0); pthread_join(t, 0); {after} return 0; }}\n"
    )


def record(
    tmp_path: Path, text: str, *, suffix: str = ".c", flags: Sequence[str] = (), compiler: str | None = None,
    **settings: object,
) -> tuple[list[RecordedExecution], list[str]]:  # fmt: skip
    """All windows; each of them a trace that is accepted, and a history that is SC."""
    file = tmp_path / f"program{suffix}"
    file.write_text(text)
    notes: list[str] = []
    source = Source((str(file),), tuple(flags), compiler)
    found = list(natively(source, notes=notes, seconds=60, **settings))  # type: ignore[arg-type]
    for one in found:
        assert check(one.history).verdict is Verdict.SAFE
        assert one.trace.is_sequential()
    return found, notes


def reported(one: RecordedExecution) -> bool:
    return teetotal.monitor(one.trace).verdict is Verdict.VIOLATION


# -- what is found in them ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_store_buffering_is_seen_with_its_lines(tmp_path: Path, compiler: str, level: str) -> None:
    text = two("x = 1;\na = y;", "y = 1;\nb = x;")
    lines = text.splitlines()
    events = [
        event
        for seed in range(3)  # of all interleavings, the one where both loads see 1 shows nothing
        for one in record(tmp_path, text, compiler=compiler, flags=[level], seed=seed)[0]
        for violation in teetotal.monitor(one.trace).violations
        for event in violation.events
    ]
    told = {(str(event.kind), event.address, lines[event.location.line - 1]) for event in events if event.location}
    assert {("st", "x", "x = 1;"), ("ld", "y", "a = y;"), ("st", "y", "y = 1;"), ("ld", "x", "b = x;")} <= told


FENCE = "atomic_thread_fence(memory_order_seq_cst);"
LOCK, UNLOCK = "pthread_mutex_lock(&m);", "pthread_mutex_unlock(&m);"
ROBUST = {
    "fences": (f"x = 1; {FENCE} a = y;", f"y = 1; {FENCE} b = x;"),
    "locks": (f"{LOCK} x = 1; a = y; {UNLOCK}", f"{LOCK} y = 1; b = x; {UNLOCK}"),
    "rmws of memory that nobody shares": (
        "atomic_int own = 0; x = 1; atomic_fetch_add(&own, 1); a = y;",
        "atomic_int own = 0; y = 1; atomic_fetch_add(&own, 1); b = x;",
    ),
    "seq_cst stores": ("atomic_store(&f, 1); a = y;", "y = 1; atomic_thread_fence(memory_order_seq_cst); b = f;"),
    "a message": ("x = 1; atomic_store_explicit(&f, 1, memory_order_release); a = y;",
                  "while (!atomic_load_explicit(&f, memory_order_acquire)); y = 1; b = x;"),
    "memory that was given back": (
        "for (int i = 0; i < 50; i++) { volatile int *n = malloc(16); *n = i; a = y; free((void *)n); }",
        "for (int i = 0; i < 50; i++) { volatile int *n = malloc(16); *n = i; b = y; free((void *)n); }",
    ),
    "a semaphore": ("x = 1; sem_post(&s); sem_wait(&s); a = y;", "y = 1; sem_post(&s); sem_wait(&s); b = x;"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROBUST)
def test_no_false_alarm(tmp_path: Path, name: str) -> None:
    first, second = ROBUST[name]
    (one,), notes = record(tmp_path, two(first, second, before="static sem_t s;"))
    assert not reported(one), one.text()
    assert not any("without values" in note for note in notes), notes


@pytest.mark.parametrize("name", ["dekker", "takequeue", "spsc", "treiber"])
def test_no_false_alarm_of_an_algorithm(tmp_path: Path, name: str) -> None:
    file = Path(__file__).parents[2] / "benchmarks" / "programs" / f"{name}.c"
    for one in natively(Source((str(file),), ("-O2", "-DFENCED", "-DROUNDS=20"))):
        assert check(one.history).verdict is Verdict.SAFE
        assert not reported(one), one.text()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_random_programs(tmp_path: Path, compiler: str) -> None:
    """A monitor reports nothing of a program that is robust."""
    programs = [*seeded(17, some(20), PLAIN), *seeded(18, some(20), MIXED)]
    file = tmp_path / "programs.c"
    file.write_text(translate(programs))
    violations = 0
    with built_to_record(Source((str(file),), compiler=compiler)) as built:
        for number, program in enumerate(programs):
            (one,) = natively(Source((str(built),), arguments=(str(number),)), seed=number)
            assert check(one.history).verdict is Verdict.SAFE, one.text()
            assert one.trace.is_sequential()
            if reported(one):
                violations += 1
                assert check_program(program, CheckOptions()).verdict is Verdict.VIOLATION, one.text()
    assert violations


CXX = """
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>
struct Node { int value; Node *next; };
struct Once { int values[20]; Once() { for (int &value : values) value = 1; } };
struct Single { long value; };
std::mutex m; std::condition_variable c; std::atomic<int> n; std::atomic<Node *> head;
bool ready; int plain; Single singles[2];
Once &once() { static Once made; return made; }
int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([i] {
      { std::unique_lock<std::mutex> lock(m); c.wait(lock, [] { return ready; }); ++plain; }
      for (int k = 0; k < 20; ++k) {
        Node *node = new Node{k, head.load()};
        while (!head.compare_exchange_weak(node->next, node)) {}
        n.fetch_add(1);
        std::lock_guard<std::mutex> lock(m);
        ++plain; ++once().values[0]; singles[k % 2] = singles[1 - k % 2]; singles[k % 2].value += i + k;
      }
    });
  { std::lock_guard<std::mutex> lock(m); ready = true; }
  c.notify_all();
  for (auto &thread : threads) thread.join();
  return n == 60 && plain == 63 ? 0 : 1;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_cxx(tmp_path: Path, compiler: str, level: str) -> None:
    (one,), notes = record(tmp_path, CXX, suffix=".cpp", compiler=compiler, flags=[level])
    assert not reported(one)
    assert not any("ended" in note or "without values" in note for note in notes), notes
    changes = [event for event in one.execution.events if event.address == "n" and event.kind is Kind.RMW]
    assert [event.read for event in changes] == list(range(60))


# -- programs that do not come to their next hook ----------------------------------------------------------------------

WAITING = {
    "spins on a flag": ("usleep(20000); x = 1; atomic_store(&f, 1);", "while (!atomic_load(&f)); b = x;"),
    "sleeps in the kernel": ("x = 1; usleep(100000); x = 2;", "for (int i = 0; i < 1000; i++) y++; b = x;"),
    "computes where no hook is": ("x = 1; burn(100); x = 2;", "for (int i = 0; i < 1000; i++) y++; b = x;"),
    "waits for a condition": (
        f"{LOCK} while (!x) pthread_cond_wait(&c, &m); {UNLOCK}",
        f"usleep(20000); {LOCK} x = 1; pthread_cond_signal(&c); {UNLOCK}",
    ),
}


@pytest.mark.parametrize("name", WAITING)
def test_others_go_on_while_a_thread(tmp_path: Path, name: str) -> None:
    first, second = WAITING[name]
    (one,), notes = record(tmp_path, two(first, second))
    assert not any("ended" in note or "without values" in note for note in notes), notes
    assert {0, 1, 2} == {event.thread for event in one.execution.events}


# -- windows -----------------------------------------------------------------------------------------------------------

COUNTS = two("for (int i = 0; i < 20000; i++) x++;", "for (int i = 0; i < 20000; i++) x++;")


def test_several_windows_of_a_fixed_size(tmp_path: Path) -> None:
    found, notes = record(tmp_path, COUNTS, window=500, count=4)
    assert len(found) == 4
    assert all(len(one.execution.events) <= 500 for one in found)
    assert not any("ended" in note for note in notes)


def test_a_window_of_a_program_that_was_killed(tmp_path: Path) -> None:
    text = two("x = 1; a = y; atomic_store(&f, 1);", "y = 1; b = x; while (!f); kill(getpid(), SIGKILL);")
    (one,), notes = record(tmp_path, text)
    assert "x" in {event.address for event in one.execution.events}
    assert "the program ended by signal SIGKILL" in notes


def test_the_time_is_over(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(two("x = 1; a = y; for (;;) pause();", "y = 1; b = x;"))
    (one,) = natively(Source((str(file),)), seconds=1)
    assert reported(one)


def test_a_mutex_that_is_held_when_a_window_begins(tmp_path: Path) -> None:
    """Such an unlock is an rmw."""
    file = tmp_path / "program.c"
    body = f"{LOCK} for (int i = 0; i < 40; i++) x++; {UNLOCK}"
    file.write_text(two(f"for (int k = 0; k < 200; k++) {{ {body} }}", f"for (int k = 0; k < 200; k++) {{ {body} }}"))
    found = list(natively(Source((str(file),)), window=150, count=20))
    kinds = {event.kind for one in found for event in one.trace if event.address == "m"}
    assert Kind.RMW in kinds
    assert all(one.trace.is_sequential() and not reported(one) for one in found)


# -- the command line --------------------------------------------------------------------------------------------------


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "teetotal", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, cwd=tmp_path)


def test_a_program_of_the_users_own_build(tmp_path: Path) -> None:
    (tmp_path / "sb.c").write_text(two("x = 1; a = y;", "y = 1; b = x;", after='printf("said\\n"); return 3;'))
    flags = recording_flags(Source(("sb.c",), compiler="gcc"))
    assert run(tmp_path, "cflags", "--record", "--cc", "gcc").stdout.split() == flags
    subprocess.run(["gcc", *flags, "sb.c", "-o", "sb"], check=True, cwd=tmp_path)
    alone = subprocess.run([tmp_path / "sb"], capture_output=True, text=True, check=False)
    assert (alone.returncode, alone.stdout) == (3, "said\n")
    done = run(tmp_path, "record", "program", "--native", "sb", "--traces", "traces", "--output", "h.txt")
    assert done.returncode == 0, done.stderr
    assert "said" in done.stderr
    assert "note: the program ended with status 3" in done.stderr
    assert run(tmp_path, "history", "h.txt", "--model", "sc").returncode == 0
    assert run(tmp_path, "monitor", "traces/0.jsonl").returncode == 1


def test_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain.c").write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "plain.c", "-o", "plain"], check=True, cwd=tmp_path)
    (tmp_path / "text").write_text("no program")
    for words, message in {
        ("plain",): "cannot be recorded: compile and link it with the flags",
        ("text",): "neither a C or C.. source nor an executable",
        ("missing",): "cannot read",
        ("plain.c", "--model", "tso"): "SC execution",
        ("plain", "plain"): "only C",
    }.items():
        first, *rest = (str(tmp_path / word) if (tmp_path / word).exists() else word for word in words)
        with pytest.raises(TeetotalError, match=message):
            cli.teetotal.main(["record", "program", "--native", first, *rest], standalone_mode=False)


def test_a_program_of_one_thread(tmp_path: Path) -> None:
    found, notes = record(tmp_path, "int main(void) { return 0; }")
    assert not found
    assert notes == ["the program started no second thread: there was nothing to record"]


def test_it_can_write_nothing_that_others_see(tmp_path: Path) -> None:
    target = tmp_path / "written"
    text = two(f'FILE *o = fopen("{target}", "w"); if (o) fclose(o);', "")
    record(tmp_path, text)
    assert not target.exists()
    list(natively(Source((str(tmp_path / "program.c"),), trust=True)))
    assert target.exists()


def test_the_window_does_not_grow(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(COUNTS)
    with built_to_record(Source((str(tmp_path / "p.c"),))) as built:
        sizes = [len(window.records) for window in Run(built, capacity=1000, count=3).windows()]
    assert sizes == [1000, 1000, 1000]
