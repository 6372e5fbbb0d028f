"""Threads that look whether another one has ended, and join it if so: ``pthread_tryjoin_np`` and its like."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Literal

import pytest

import teetotal
from c_programs import COMPILERS
from teetotal.answers.verdict import Verdict

JOINING = """
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
static volatile int x, y, z;
static pthread_t t[2];
static void *sets(void *p) { x = 1; while (WAITS) {} return &t; }
static void *joins(void *p) { void *r = &t; struct timespec now = {0, 0}; (void)now; LOOP END }
int main(void) {
  pthread_create(&t[0], 0, sets, 0);
  pthread_create(&t[1], 0, joins, 0);
  y = 1;
  pthread_join(t[1], 0);
}
"""
JOINED = "assert(x && r == &t); return p;"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("goal", ["robust", "safe"])
@pytest.mark.parametrize(
    ("loop", "end", "verdict"),
    [
        ("while (pthread_tryjoin_np(t[0], &r)) {}", JOINED, Verdict.SAFE),
        ("while (pthread_tryjoin_np(t[0], 0)) sched_yield();", JOINED, Verdict.SAFE),
        ("while (pthread_timedjoin_np(t[0], &r, &now) == ETIMEDOUT) {}", JOINED, Verdict.SAFE),
        ("while (pthread_clockjoin_np(t[0], &r, 0, &now)) {}", JOINED, Verdict.SAFE),
        ("while (pthread_tryjoin_np(t[0], 0) && !y) {}", "assert(x || y); return p;", Verdict.SAFE),
        ("while (pthread_tryjoin_np(t[0], 0) && !y) {}", "assert(x); return p;", Verdict.VIOLATION),
        ("while (pthread_tryjoin_np(t[0], 0) && !y) {}", "assert(y); return p;", Verdict.VIOLATION),
        ("int n = 0; while (pthread_tryjoin_np(t[0], 0)) n++;", JOINED, Verdict.INCONCLUSIVE),
    ],
)
def test_who_tries_to_join_again_and_again_waits(
    loop: str, end: str, verdict: Verdict, goal: Literal["robust", "safe"], compiler: str, tmp_path: Path
) -> None:
    file = tmp_path / "joining.c"
    file.write_text(JOINING.replace("LOOP", loop).replace("END", end).replace("WAITS", "0"))
    answer = teetotal.check(str(file), models="tso,pso", goal=goal, compiler=compiler)
    assert answer.verdict is verdict
    if end is JOINED and verdict is Verdict.SAFE:
        assert answer.executions <= 4


def test_who_tries_to_join_what_never_ends_hangs(tmp_path: Path) -> None:
    file = tmp_path / "joining.c"
    text = JOINING.replace("LOOP", "while (pthread_tryjoin_np(t[0], &r)) {}").replace("END", JOINED)
    file.write_text(text.replace("WAITS", "!z"))
    answer = teetotal.check(str(file), models="tso")
    assert [violation.kind for violation in answer.violations] == ["livelock"]
    assert "T2 spinning on thread 1" in answer.violations[0].message


def test_the_end_of_a_thread_that_somebody_looks_for_is_a_step(tmp_path: Path) -> None:
    """Ends that nothing follows are left out of executions, where nobody has looked for one."""
    text = """
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
static volatile int x, z, runs, r[2];
static pthread_t t[2];
static void *looks(void *p) { r[0] = x; z = 1; r[1] = x; return p; }
static void *tries(void *p) { x = 1; while (!z) {} x = 2; runs = pthread_tryjoin_np(t[0], 0) != 0; x = 3; return p; }
int main(void) {
  pthread_create(&t[0], 0, looks, 0);
  pthread_create(&t[1], 0, tries, 0);
  pthread_join(t[1], 0);
  if (runs) pthread_join(t[0], 0);
  assert(!(r[0] == FIRST && r[1] == SECOND && runs == RUNS));
}
"""
    file = tmp_path / "ends.c"
    found = set()
    for first, second, runs in product((0, 1), (0, 1, 2, 3), (0, 1)):
        with_these = text.replace("FIRST", str(first)).replace("SECOND", str(second)).replace("RUNS", str(runs))
        file.write_text(with_these)
        if teetotal.check(str(file), models="sc").verdict is Verdict.VIOLATION:
            found.add((first, second, runs))
    late = {(first, 3, 1) for first in (0, 1)}
    assert found == {(f, s, r) for f in (0, 1) for s in (0, 1, 2) for r in (0, 1) if s >= f} | late


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("variable", "thread", "before"),
    [
        ("volatile int", "r = x;", "x = 1;"),
        ("atomic_int", "r = atomic_load(&x);", "atomic_store(&x, 1);"),
        ("atomic_int", "atomic_store(&x, 1);", "pthread_create(&t[1], 0, thread, 0); pthread_join(t[1], 0);"),
    ],
)
def test_who_looks_for_an_end_does_not_see_the_beginning(
    variable: str, thread: str, before: str, compiler: str, tmp_path: Path
) -> None:
    """That a thread has not ended yet says nothing of whether it has begun: what it does first may come before the look.
    It was said to come after it, and a cycle was told that is none."""
    file = tmp_path / "begins.c"
    file.write_text(f"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
static {variable} x;
static int r;
static void *thread(void *p) {{ {thread} return p; }}
int main(void) {{
  pthread_t t[2];
  pthread_create(&t[0], 0, thread, 0);
  {before}
  if (pthread_tryjoin_np(t[0], 0)) pthread_join(t[0], 0);
}}
""")
    models = "tso,pso,c11" if variable == "atomic_int" else "tso,pso"
    answer = teetotal.check(str(file), models=models, compiler=compiler)
    assert answer.verdict is Verdict.SAFE, answer.violations


def test_who_tries_to_join_itself_has_not_ended(tmp_path: Path) -> None:
    file = tmp_path / "itself.c"
    text = """
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
static void *thread(void *p) { while (LOOPS pthread_tryjoin_np(pthread_self(), 0) == EBUSY) {} return p; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  struct timespec now = {0, 0};
  assert(pthread_tryjoin_np(pthread_self(), 0) == EBUSY);
  assert(pthread_timedjoin_np(pthread_self(), 0, &now) == EDEADLK);
  assert(pthread_join(pthread_self(), 0) == EDEADLK);
  pthread_join(t, 0);
}
"""
    for loops, verdict in (("0 &&", Verdict.SAFE), ("", Verdict.VIOLATION)):
        file.write_text(text.replace("LOOPS", loops))
        answer = teetotal.check(str(file), models="tso")
        assert answer.verdict is verdict
    assert [violation.kind for violation in answer.violations] == ["livelock"]
