"""What threads tell each other through something that is no memory, and what each has for itself.

A library, the kernel or the runtime keeps it, so that setting it and asking for it are no steps: one order of the two is
explored. In each program the thread that asks runs first, and finds nothing amiss; after the other it would.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from c_programs import COMPILERS, compiled, explore
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.engines.runtime import driver
from teetotal.programs.c.build import Source

C = """
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_t first; static pthread_key_t key, mine, its; static int which;
static void *asks(void *p) {
  char name[16]; cpu_set_t cpus; struct sched_param order; int policy;
  switch (which) {
  case 0: pthread_getname_np(first, name, sizeof name); assert(strcmp(name, "other")); break;
  case 1: pthread_getaffinity_np(first, sizeof cpus, &cpus); assert(CPU_ISSET(0, &cpus)); break;
  case 2: pthread_getschedparam(first, &policy, &order); assert(policy != SCHED_FIFO); break;
  case 3: pthread_key_create(&mine, 0); break;
  case 4: assert(!pthread_setspecific(key, p)); break;
  case 5: assert(!ferror(stdin)); break;
  }
  return p;
}
static void *sets(void *p) {
  cpu_set_t cpus; struct sched_param order = {3};
  switch (which) {
  case 0: pthread_setname_np(first, "other"); break;
  case 1: CPU_ZERO(&cpus); CPU_SET(1, &cpus); pthread_setaffinity_np(first, sizeof cpus, &cpus); break;
  case 2: pthread_setschedparam(first, SCHED_FIFO, &order); break;
  case 3: pthread_key_create(&its, 0); break;
  case 4: pthread_key_delete(key); break;
  case 5: putc('x', stdin); break;
  }
  return p;
}
int main(int count, char **words) {
  pthread_t t, u;
  which = atoi(words[1]); first = pthread_self(); pthread_key_create(&key, 0);
  pthread_create(&t, 0, asks, 0); pthread_create(&u, 0, sets, 0); pthread_join(t, 0); pthread_join(u, 0);
  assert(which != 3 || mine < its);
}
"""
CPP = r"""
#include <cassert>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <new>
#include <thread>
static void enough() { std::abort(); }
int main(int, char **words) {
  const int which = std::atoi(words[1]);
  std::thread asks([&] {
    if (which == 0) assert(std::get_new_handler() != enough);
    if (which == 1) assert(std::cout.fill() != 'x');
    if (which == 2) assert(std::cout.good());
  });
  std::thread sets([&] {
    if (which == 0) std::set_new_handler(enough);
    if (which == 1) std::cout << std::setfill('x');
    if (which == 2) std::cout << static_cast<std::streambuf *>(nullptr);
    if (which == 3) std::set_terminate(enough);
  });
  asks.join();
  sets.join();
}
"""
CALLS = [
    "pthread_setname_np",
    "pthread_setaffinity_np",
    "pthread_setschedparam",
    "pthread_key_create",
    "pthread_key_delete",
    "ferror",
]
CPP_CALLS = ["std::set_new_handler", "std::_Setfill", "std::basic_streambuf", "std::set_terminate"]


@pytest.mark.parametrize("name", CALLS)
def test_what_is_set_beside_who_asks_is_named(name: str) -> None:
    with compiled(C) as program:
        end, told = explore(program, arguments=[str(CALLS.index(name))])
    assert [answer for answer in told if answer["type"] == "failure"] == []  # or it would be no test
    assert any(name in what for what, _ in end["unseen"])


@pytest.mark.parametrize("name", CPP_CALLS)
def test_what_is_set_in_the_cpp_library_beside_who_asks_is_named(name: str) -> None:
    with compiled(CPP, suffix=".cpp") as program:
        end, _ = explore(program, arguments=[str(CPP_CALLS.index(name))])
    assert any(name in what for what, _ in end["unseen"])


OWN = """
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
static char stacks[2][65536]; static pthread_once_t once = PTHREAD_ONCE_INIT; static pthread_key_t key;
static void make(void) { pthread_key_create(&key, 0); }
static void *own(void *p) {
  stack_t stack = {.ss_sp = p, .ss_size = sizeof stacks[0]}, now; char name[16];
  pthread_once(&once, make); pthread_setspecific(key, p);
  sigaltstack(&stack, 0); pthread_setname_np(pthread_self(), p == stacks[0] ? "one" : "two");
  pthread_once(&once, make); assert(pthread_getspecific(key) == p);
  sigaltstack(0, &now); assert(now.ss_sp == p);
  pthread_getname_np(pthread_self(), name, sizeof name); assert(!strcmp(name, p == stacks[0] ? "one" : "two"));
  return p;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, own, stacks[0]); pthread_create(&u, 0, own, stacks[1]);
  pthread_join(t, 0); pthread_join(u, 0);
}
"""


def test_what_each_has_for_itself_is_not_named() -> None:
    """A stack for signals was forgotten at once; a key that is created once, by whoever comes first, has one number."""
    with compiled(OWN) as program:
        end, told = explore(program)
    assert (end["complete"], end["unseen"], [one for one in told if one["type"] == "failure"]) == (True, [], [])


LAST = r"""
#include <cassert>
#include <cstdlib>
#include <exception>
#include <thread>
static thread_local int me;
static int last;
struct Error {
  int told = 0;
  Error() = default;
  Error(const Error &) = default;
  ~Error() { last = me; told = 2; }
};
static std::exception_ptr one, two;
static int look(std::exception_ptr &held) {
  int told = 0;
  try { std::rethrow_exception(held); } catch (const Error &error) { told = error.told; }
  return told;
}
int main(int, char **words) {
  const int which = std::atoi(words[1]);
  one = two = std::make_exception_ptr(Error());
  std::thread first([=] { me = 1; if (which == 2) look(one); one = nullptr; });
  std::thread second([=] { me = 2; if (which == 2) look(two); two = nullptr; });
  first.join(); second.join();
  assert(which == 2 || last == which + 1);
}
"""


@pytest.mark.parametrize("which", ["0", "1"])
def test_any_holder_of_an_exception_may_be_the_last(which: str) -> None:
    """Letting go was no step: one thread was the last in all that was explored, and ran the destructor."""
    with compiled(LAST, suffix=".cpp") as program:
        _, told = explore(program, arguments=[which])
    assert "assertion" in [answer["what"] for answer in told if answer["type"] == "failure"]


def test_whoever_destroys_an_exception_comes_after_those_who_let_go() -> None:
    with compiled(LAST, suffix=".cpp") as program:
        end, told = explore(program, "monitor=exact-c11", arguments=["2"])
    assert (end["complete"], end["unseen"], [one["type"] for one in told]) == (True, [], ["loaded"])


ORDERS = """
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
static struct { char *left, *right; } pair, *pairs[1] = {&pair};
int main(int count, char **words) {
  pair.left = malloc(1); pair.right = malloc(1);
  intptr_t left = (intptr_t)pair.left, right = (intptr_t)pair.right;
  if (words[1][0] == '0') return pair.left < pair.right ? 0 : 2;
  if (words[1][0] == '1') return pairs[count - 2]->left < pairs[count - 2]->right ? 0 : 2;
  return left < right ? 0 : 2;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("which", ["variables", "through pointers", "as signed numbers"])
def test_which_address_is_lower_is_named_wherever_it_lies(which: str, compiler: str) -> None:
    """clang compares with what is in memory, and numbers with a sign were no addresses: both were passed by."""
    number = ["variables", "through pointers", "as signed numbers"].index(which)
    with compiled(ORDERS, compiler=compiler) as program:
        end, _ = explore(program, arguments=[str(number)])
    assert any("which of two objects has the lower address" in what for what, _ in end["unseen"])


BITS = """
#include <stdint.h>
#include <stdlib.h>
static long small = 12345;
int main(int count, char **words) {
  int64_t address = (intptr_t)malloc(1), other = (intptr_t)malloc(1);
  switch (atoi(words[1])) {
  case 0: return (double)address > 1e14;
  case 1: return (float)(uint64_t)address > 1e14f;
  case 2: { long double wide = address; return wide > 1e14L; }
  case 3: return (address ^ other) > 64;
  case 4: return (address ^ 1) == other;
  case 5: return (double)small + (float)(unsigned long)small + (long double)small + (small ^ 77) == 3;
  }
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("which", ["double", "float", "long double", "exclusive or", "a mark", "numbers"])
def test_fractions_and_exclusive_ors_of_addresses_are_named(which: str, compiler: str) -> None:
    """They were numbers like any other, and what was asked of them was proved."""
    number = ["double", "float", "long double", "exclusive or", "a mark", "numbers"].index(which)
    with compiled(BITS, compiler=compiler) as program:
        end, _ = explore(program, arguments=[str(number)])
    assert any("the bits of an address" in what for what, _ in end["unseen"]) is (number < 4)


WAITS = """
#include <atomic>
#include <thread>
static std::atomic<int> turn;
static std::atomic_flag over;
int main() {
  std::thread other([] { turn.wait(0); turn.store(2); turn.notify_one(); over.wait(false); });
  turn = 1; turn.notify_one(); turn.wait(1, std::memory_order_relaxed);
  over.test_and_set(); over.notify_one();
  other.join();
}
"""
HALF = """
#include <stdint.h>
#include <stdlib.h>
int main(void) {
  unsigned mark = 3;
  uintptr_t address = (uintptr_t)malloc(1);
  address = (address & 0xffffffff00000000) | mark;
  return address == 3;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_a_small_struct_leaves_of_a_register_is_no_look_at_an_address(compiler: str) -> None:
    """With gcc an int by value, as the order is in ``std::atomic::wait``, keeps the upper half of whatever was there."""
    with compiled(WAITS, compiler=compiler, suffix=".cpp", flags=["-std=c++20"]) as program:
        end, told = explore(program)
    assert (end["complete"], end["unseen"], [one for one in told if one["type"] == "failure"]) == (True, [], [])
    with compiled(HALF, compiler=compiler) as program:
        end, _ = explore(program)
    assert any("the bits of an address" in what for what, _ in end["unseen"])


AGAIN = """
#include <pthread.h>
#include <stdlib.h>
static int *volatile shared;
static void *changes(void *p) { free(shared); shared = malloc(4); *shared = 2; return p; }
int main(int count, char **words) {
  pthread_t t; int *older = malloc(4), *old = malloc(4), same;
  shared = old;
  pthread_create(&t, 0, changes, 0); pthread_join(t, 0);
  switch (atoi(words[1])) {
  case 0: return shared == old;
  case 1: { int *young = malloc(4); same = young != old; return same; }
  case 2: return older == old;  // which was there before
  case 3: return old == 0 || older == shared;
  }
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("which", "named"), [(0, True), (1, True), (2, False), (3, False)])
def test_freed_memory_that_could_have_come_back_is_named(which: int, named: bool, compiler: str) -> None:
    """Of the first two it was proved that they differ: nothing is given out twice in one execution."""
    with compiled(AGAIN, compiler=compiler) as program:
        end, _ = explore(program, arguments=[str(which)])
    assert any("the address of memory that was freed" in what for what, _ in end["unseen"]) is named


OTHER_LAYOUT = """#define _GNU_SOURCE
#include <dlfcn.h>
void *__cxa_init_primary_exception(void *object, void *type, void (*destroy)(void *)) {
  static int calls;  /* the explorer's own comes first: to it, it looks as if what it wrote were elsewhere */
  void *(*real)(void *, void *, void (*)(void *)) = dlsym(RTLD_NEXT, "__cxa_init_primary_exception");
  return calls++ == 0 ? (char *)object - 128 : real(object, type, destroy);
}
"""
CATCHES = """#include <cassert>
#include <thread>
int main() {
  int seen = 0;
  std::thread t([&] { try { throw 7; } catch (int n) { seen = n; } });
  t.join();
  assert(seen == 7);
}
"""


def test_exceptions_of_a_library_that_lays_them_out_otherwise_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.c").write_text(OTHER_LAYOUT)
    library, started = tmp_path / "libother.so", tmp_path / "explorer"
    subprocess.run(["gcc", "-shared", "-fPIC", str(tmp_path / "other.c"), "-o", str(library), "-ldl"], check=True)
    started.write_text(f'#!/bin/sh\nLD_PRELOAD="{library}" exec "{driver.executable()}" "$@"\n')
    started.chmod(0o755)
    (tmp_path / "p.cpp").write_text(CATCHES)
    source = Source((str(tmp_path / "p.cpp"),))
    assert check(source).verdict is Verdict.SAFE
    monkeypatch.setenv("TEETOTAL_RUNTIME", str(started))
    answer = check(source)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert any("exception" in note and "lays out in its own way" in note for note in answer.notes), answer.notes
