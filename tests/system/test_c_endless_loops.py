"""Of loops those alone are cut that seem to have no end. What else a program does, loops that end among it, is done as
often as it does it, and a bound that the user gives counts rounds, whatever a round consists of."""

from __future__ import annotations

from math import comb
from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import ModelName
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Goal, Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source

PROGRAM = r"""
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, stop, beats;
static int plain[16];
static void set(int value) { atomic_store(&x, value); }
static int asked(void) { return atomic_load(&stop); }
static void *beat(void *unused) {
  while (!asked()) atomic_fetch_add(&beats, 1); // beats
  return unused;
}
static void *rounds(void *unused) {
  for (;;) {
    if (atomic_load(&stop)) break; // rounds
    for (int i = 0; i < 3; i++) atomic_store(&x, i);
    for (int i = 0; i < 12; i++) atomic_fetch_add(&beats, i);
  }
  return unused;
}
static void *reads(void *unused) { return (void *)(long)atomic_load(&x); }
static void *waits(void *unused) {
  for (int i = 0; i < LIMIT && !atomic_load_explicit(&stop, memory_order_relaxed); i++) {}
  return unused;
}
static void calls(void) { for (int i = 0; i < 4; i++) set(i + 1); assert(atomic_load(&x) == 0); }
static void straight(void) { set(1); set(2); set(3); set(4); assert(atomic_load(&x) == 0); }
static void ends(void) { for (int i = 0; i < 14; i++) plain[i] = i; assert(plain[13] == 0); }
static void nothing(void) {}
static void stores(void) { for (int i = 0; i < 5; i++) atomic_store_explicit(&x, i, ORDER); }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, THREAD, 0);
  BODY();
  atomic_store(&stop, 1);
  pthread_join(t, 0);
}
"""


def checked(
    directory: Path, compiler: str, thread: str, body: str, bound: int | None = None, **macros: str
) -> CheckAnswer:
    file = directory / "program.c"
    file.write_text(PROGRAM)
    given = {"LIMIT": "5", "ORDER": "memory_order_relaxed", **macros, "THREAD": thread, "BODY": body}
    source = Source((str(file),), tuple(f"-D{name}={value}" for name, value in given.items()), compiler)
    return check(source, CheckOptions(models=("tso",), loop_bound=bound))


def line(mark: str) -> int:
    return next(number for number, text in enumerate(PROGRAM.splitlines(), 1) if text.endswith(f"// {mark}"))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("body", ["straight", "calls", "ends"])
def test_what_ends_is_done_beside_a_thread_that_does_not(body: str, compiler: str, tmp_path: Path) -> None:
    """Each instruction was visited ten times at the most in every thread, where a store that is a fence, too, was three
    visits: the assertion behind that, which always fails, was never come to."""
    result = checked(tmp_path, compiler, "beat", body)
    assert result.verdict is Verdict.VIOLATION
    assert "assertion" in result.violations[0].message


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("thread", ["beat", "rounds"])
def test_the_loop_that_does_not_end_is_named(thread: str, compiler: str, tmp_path: Path) -> None:
    """Of loops in loops the outermost of those that go on: the inner ones end, and are run to their ends."""
    result = checked(tmp_path, compiler, thread, "nothing")
    assert result.verdict is Verdict.INCONCLUSIVE
    (note,) = (note for note in result.notes if "cut after" in note)
    named = {line("beats"), line("beats") - 2} if thread == "beat" else {line("rounds")}
    assert any(f"program.c:{number} cut after 10 rounds" in note for number in named), note


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("order", ["relaxed", "release", "seq_cst"])
def test_a_bound_counts_rounds(order: str, compiler: str, tmp_path: Path) -> None:
    for bound, verdict in ((4, Verdict.INCONCLUSIVE), (5, Verdict.SAFE)):
        result = checked(tmp_path, compiler, "reads", "stores", bound, ORDER=f"memory_order_{order}")
        assert result.verdict is verdict, (bound, result.notes)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_who_gives_up_after_many_tries_is_decided(compiler: str, tmp_path: Path) -> None:
    """A loop that counts while it waits is cut after 100 rounds only where it goes on for more than a thousand."""
    assert checked(tmp_path, compiler, "waits", "nothing", LIMIT="1000").verdict is Verdict.SAFE
    result = checked(tmp_path, compiler, "waits", "nothing", LIMIT="1200")
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any("cut after 102 rounds" in note for note in result.notes)


RETRIES = r"""
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int wants[2], inside;
static void *thread(void *me) {
  int i = (int)(long)me;
  for (;;) {
    atomic_store_explicit(&wants[i], 1, memory_order_relaxed);
    if (!atomic_load_explicit(&wants[1 - i], memory_order_relaxed)) break;
    atomic_store_explicit(&wants[i], 0, memory_order_relaxed);
  }
  assert(atomic_fetch_add(&inside, 1) == 0);
  atomic_fetch_sub(&inside, 1);
  atomic_store_explicit(&wants[i], 0, memory_order_relaxed);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, thread, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
"""


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_what_goes_wrong_goes_wrong_in_few_rounds(goal: Goal, tmp_path: Path) -> None:
    """With ten rounds it has tens of millions of executions, and what follows from the first violation was not asked."""
    file = tmp_path / "retries.c"
    file.write_text(RETRIES)
    result = check(Source((str(file),)), CheckOptions(models=("tso",), goal=goal))
    assert result.verdict is Verdict.VIOLATION
    assert any("assertion" in violation.message for violation in result.violations)
    assert result.executions < 1000


SHARED = r"""
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int beats, stop;
static void beat(void) { atomic_fetch_add(&beats, 1); } // beat
static int looks(int n) { return n < LIMIT && !atomic_load(&stop); }
static void *beats_on(void *unused) {
  for (;;) beat();
  return unused;
}
static void *idles(void *unused) {
  for (long n = 0; !atomic_load(&stop) && looks(0); n++) {}
  return unused;
}
static void *first_beats(void *unused) {
  for (int i = 0; i < 12; i++) beat();
  if (atomic_load(&stop)) assert(!"stopped");
  return beats_on(unused);
}
static void beat_often(void) { for (int i = 0; i < 14; i++) beat(); assert(!"beaten"); }
static void look_often(void) { for (int n = 0; looks(n); n++) {} assert(!"looked"); }
static void nothing(void) {}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, THREAD, 0);
  BODY();
  atomic_store(&stop, 1);
  pthread_join(t, 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("thread", "body", "message"),
    [
        ("beats_on", "beat_often", "beaten"),
        ("idles", "look_often", "looked"),
        ("first_beats", "nothing", "stopped"),
    ],
)
def test_what_an_endless_loop_calls_ends_elsewhere(
    thread: str, body: str, message: str, compiler: str, tmp_path: Path
) -> None:
    """Instructions were counted, whoever called for them: who calls the same function in a loop that ends, or before the
    one that does not, was cut there, and what lies behind was never come to."""
    file = tmp_path / "shared.c"
    file.write_text(SHARED)
    macros = (f"-DTHREAD={thread}", f"-DBODY={body}", "-DLIMIT=200")
    result = check(Source((str(file),), macros, compiler), CheckOptions(models=("tso",)))
    assert result.verdict is Verdict.VIOLATION
    assert message in result.violations[0].message


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_loops_without_an_end_are_cut_with_store_buffers_too(model: ModelName, tmp_path: Path) -> None:
    """To find the races of a load in 10,000 rounds took hours: what it would see before each of its own earlier loads was
    looked for, though none of them conflicts with it."""
    file = tmp_path / "polls.c"
    file.write_text(
        """
#include <pthread.h>
static volatile int x, y;
static void *polls(void *p) { do { __atomic_fetch_xor(&x, 1, __ATOMIC_SEQ_CST); } while (!y); return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, polls, 0); y = 1; pthread_join(t, 0); }
"""
    )
    result = check(Source((str(file),)), CheckOptions(models=(model,), goal="safe", seconds=60))
    assert any("cut after 10 rounds" in note for note in result.notes)
    assert not any("time" in note for note in result.notes)


def test_rounds_are_counted_of_steps_that_are_not_run_too(tmp_path: Path) -> None:
    """Executions by formula: main's last addition comes behind j of ten, and then what it reads is one of the stores behind
    that, or the last one before."""
    file = tmp_path / "known.c"
    file.write_text(
        """
#include <pthread.h>
static volatile int x, y;
static void add(void) { __atomic_fetch_add(&x, 1, __ATOMIC_SEQ_CST); }
static void *adds(void *p) { for (;;) { add(); y = 1; } return p; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, adds, 0);
  for (int i = 0; i < 6; i++) add();
  int r = y;
  (void)r;
  pthread_join(t, 0);
}
"""
    )
    result = check(Source((str(file),)), CheckOptions(models=("tso",), triage=0))
    assert result.executions == 11 + sum(comb(5 + j, 5) * (12 - j) for j in range(1, 11))
