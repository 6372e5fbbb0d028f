"""What a waiting thread of a C program is, and what is no part of it: of its frame, and of what others know of that."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import teetotal
from c_programs import COMPILERS, explore
from teetotal.answers.verdict import Verdict
from teetotal.programs.c.build import Source, build

BESIDE = """
#include <pthread.h>
#include <stdatomic.h>
enum { LAST = 6, THREADS = 5 };
static atomic_int x;
static void *set(void *p) { for (int i = 1; i <= LAST; i++) atomic_store((atomic_int *)p, i); return 0; }
static void look(void *p) {}
int main(int argc, char **argv) {
  pthread_t one, many[THREADS]; atomic_int mine = 0; struct { int a, b; } zero = {0, 0};
  switch (argv[1][0]) {
    case 'g': pthread_create(&one, 0, set, &x); while (x != LAST) {} break;
    case 'm': pthread_create(&many[2], 0, set, &x); while (x != LAST) {} one = many[2]; break;
    case 'l': pthread_create(&one, 0, set, &mine); while (mine != LAST) {} break;
    case 'n': { int seen; pthread_create(&one, 0, set, &x); while ((seen = x) != LAST) {} break; }
    case 's': look(&zero); pthread_create(&one, 0, set, &x); while (x != LAST) {} break;
  }
  pthread_join(one, 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_who_has_given_addresses_of_its_frame_away_waits_like_any_other(compiler: str, tmp_path: Path) -> None:
    """What it had loaded was taken for a part of its state, since somebody might read it by those addresses: each store
    that it could see was another round, and there were 64 executions."""
    file = tmp_path / "beside.c"
    file.write_text(BESIDE)
    program = build(Source((str(file),), (), compiler), tmp_path)
    for which in ("global", "many", "local", "named", "struct"):
        end, _ = explore(program, arguments=[which])
        assert (end["executions"], end["complete"]) == (1, True), which


LOCALS = """
#include <pthread.h>
#include <stdatomic.h>
#define R memory_order_relaxed
static atomic_int x, y, z;
static _Thread_local int mine;
static int look(atomic_int *p) { return atomic_load_explicit(p, R); }
static void await(atomic_int *p) { while (!look(p)) {} }
static void add(int *to, int more) { *to += more; }
static void *set(void *p) { int seen = mine; atomic_store_explicit(&x, 1, R); add(&seen, atomic_load_explicit(&z, R));
  return 0; }
static void *wait(void *p) { int seen = mine; atomic_store_explicit(&z, 1, R); add(&seen, atomic_exchange(&y, 1));
  await(&x); add(&seen, 1); return 0; }
int main(void) {
  pthread_t one, other; pthread_create(&one, 0, set, 0); pthread_create(&other, 0, wait, 0);
  pthread_join(one, 0); pthread_join(other, 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_where_thread_local_variables_lie_was_asked_in_the_first_execution_alone(compiler: str, tmp_path: Path) -> None:
    """What that left on the stack was part of the thread's state in this execution and in no other, so that a round led
    elsewhere: one more execution, and a report of a read that only waits."""
    file = tmp_path / "locals.c"
    file.write_text(LOCALS)
    program = build(Source((str(file),), (), compiler), tmp_path)
    for snapshots in ("snapshots=2", "snapshots=12", "snapshots=0"):
        end, told = explore(program, "monitor=exact-tso", "monitor=exact-pso", snapshots)
        assert (end["executions"], end["complete"]) == (2, True), snapshots
        assert not [one for one in told if one["type"] == "violation"], snapshots


VOLATILE = """
#include <pthread.h>
#include <stdatomic.h>
struct two { int a; volatile int b; };
static struct two *_Atomic known;
static void give(struct two *to) { atomic_store(&known, to); }
static void *sets(void *p) { struct two *to; while (!(to = atomic_load(&known))) {} to->b = 1; return 0; }
int main(void) {
  pthread_t t; struct two here = {0, 0};
  pthread_create(&t, 0, sets, 0);
  give(&here);
  while (!here.b) {}
  pthread_join(t, 0);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_who_waits_at_a_volatile_variable_that_others_know_is_seen(compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "known.c"
    file.write_text(VOLATILE)
    answer = teetotal.check(str(file), models="tso,pso", compiler=compiler)
    assert answer.verdict is Verdict.SAFE


INLINED = """
#include <atomic>
#include <cassert>
#include <chrono>
#include <latch>
#include <thread>
static int x, d;
static std::latch done(1);
int main() {
  std::thread a([] { d = 1; std::atomic_ref<int>(x).store(1); done.count_down(); });
  std::thread b([] { LOOP assert(d == 1); });
  a.join();
  b.join();
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "loop",
    [
        "while (std::atomic_ref<int>(x).load() == 0) {}",
        "while (!done.try_wait()) {}",
        "while (!done.try_wait()) std::this_thread::sleep_for(std::chrono::milliseconds(1));",
    ],
)
def test_objects_that_are_made_in_a_loop_of_cpp_are_no_change(loop: str, compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "inlined.cc"
    file.write_text(INLINED.replace("LOOP", loop))
    answer = teetotal.check(str(file), models="tso", compiler=compiler, flags=["-std=c++20"])
    assert answer.verdict is Verdict.SAFE


TICKETS = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
struct lock { atomic_uint next, served; int count; };
static void *take(void *p) {
  struct lock *lock = p;
  unsigned mine = atomic_fetch_add(&lock->next, 1);
  while (atomic_load_explicit(&lock->served, memory_order_acquire) != mine) {}
  lock->count++;
  atomic_store_explicit(&lock->served, mine + 1, memory_order_release);
  return 0;
}
int main(void) {
  struct lock lock = {0, 0, 0}; pthread_t t, u;
  pthread_create(&t, 0, take, &lock); pthread_create(&u, 0, take, &lock);
  take(&lock);
  pthread_join(t, 0); pthread_join(u, 0);
  assert(lock.count == 3);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_members_of_a_struct_that_others_change_are_no_state_of_whom_it_belongs_to(
    goal: Literal["robust", "safe"], compiler: str, tmp_path: Path
) -> None:
    """Main waits in a function that it calls. What it reads of the struct by itself, behind its joins, was taken for its
    own: whoever had the lock meanwhile changed what main was, and its loop was cut."""
    file = tmp_path / "tickets.c"
    file.write_text(TICKETS)
    answer = teetotal.check(str(file), models="tso,pso", goal=goal, compiler=compiler)
    assert answer.verdict is Verdict.SAFE


SEQLOCK = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <threads.h>
#define LD(x, order) atomic_load_explicit(&x, memory_order_##order)
#define ST(x, v, order) atomic_store_explicit(&x, v, memory_order_##order)
static atomic_int count, left, right;
static HANDLED writes(void *unused) {
  ST(count, 1, relaxed); atomic_thread_fence(memory_order_release);
  ST(left, 1, relaxed); ST(right, 1, relaxed); ST(count, 2, release);
  return 0;
}
int main(void) {
  int seen, one, other;
  CREATE
  do {
    seen = LD(count, acquire); one = LD(left, relaxed); other = LD(right, relaxed);
    atomic_thread_fence(memory_order_acquire);
  } while (seen & 1 || seen != LD(count, relaxed));
  assert(one == other);
  JOIN
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("create", "join", "returns"),
    [
        ("pthread_t writer; pthread_create(&writer, 0, writes, 0);", "pthread_join(writer, 0);", "void *"),
        ("thrd_t writer; thrd_create(&writer, writes, 0);", "thrd_join(writer, 0);", "int "),
    ],
)
def test_who_waits_beside_a_handle_needs_nothing_that_lies_there(
    create: str, join: str, returns: str, compiler: str, tmp_path: Path
) -> None:
    """With gcc what it had read last ended where the handle began, and could have been read by its address: a torn look
    that was thrown away was a violation, and a fence put between the two stores."""
    file = tmp_path / "seqlock.c"
    file.write_text(SEQLOCK.replace("HANDLED ", returns).replace("CREATE", create).replace("JOIN", join))
    assert teetotal.check(str(file), compiler=compiler).verdict is Verdict.SAFE
