"""Threads' own variables on the stack, which others know by an address: each part is seen, whatever part that is of.

clang asks of a member only where the member's own address goes, and has no hook for it where the variable is known
elsewhere by its beginning, or by another member.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from c_checks import run
from teetotal.answers.options import CheckOptions

COMPILERS = [one for one in ("gcc", "clang") if shutil.which(one)]
WAYS = {
    "whole": ("int v = 0; publish(&v, 0);", "v = 1;", "v"),
    "member": ("struct pair v = {0, 0}; publish(&v, 4);", "v.b = 1;", "v.b"),
    "member above": ("struct pair v; v.a = 0; v.b = 0; publish(&v.b, -4);", "v.a = 1;", "v.a"),
    "element": ("int v[4] = {0, 0, 0, 0}; publish(v, 8);", "v[2] = 1;", "v[2]"),
    "element of a member": ("struct row v = {0}; publish(&v, 4 + 4 * two);", "v.b[two] = 1;", "v.b[two]"),
    "from its end": ("int v[2]; v[0] = 0; v[1] = 0; publish(v + 2, -8);", "v[0] = 1;", "v[0]"),
    "imaginary": ("_Complex float v = 0; publish(&v, 4);", "__imag__ v = 1;", "(__imag__ v != 0)"),
    "argument": ("publish(&given, 20);", "given.b[4] = 1;", "given.b[4]"),
}
TEXT = (
    """#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
struct pair { int a, b; }; struct row { int a, b[9]; };
int *shared, y, done, two = 2, way; pthread_t t;
static void publish(void *p, int offset) { __atomic_store_n(&shared, (int *)((char *)p + offset), __ATOMIC_SEQ_CST); }
static void finish(void) { while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) sched_yield(); }
static int *found(void) { int *p; while (!(p = __atomic_load_n(&shared, __ATOMIC_SEQ_CST))) sched_yield(); return p; }
"""
    + "".join(
        f"static void stores{n}(struct row given) {{ {begins} {stores} int r = y; finish(); }}\n"
        f"static void loads{n}(struct row given) {{ {begins} y = 1; int r = {loads}; finish(); }}\n"
        for n, (begins, stores, loads) in enumerate(WAYS.values())
    )
    + "static void (*const ways[])(struct row) = {"
    + ", ".join(f"stores{n}, loads{n}" for n in range(len(WAYS)))
    + """};
static void *owner(void *unused) { struct row none = {0}; ways[way](none); return 0; }
static void *other(void *unused) {
  int *p = found();
  if (way % 2) { *p = 1; int r = y; } else { y = 1; int r = *p; }
  __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
  return 0;
}
int main(int n, char **given) {
  way = atoi(given[1]);
  pthread_t t, u; pthread_create(&t, 0, owner, 0); pthread_create(&u, 0, other, 0); pthread_join(t, 0); pthread_join(u, 0);
}
"""
)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("side", ["stores", "loads"])
@pytest.mark.parametrize("way", WAYS)
def test_store_buffering_through_a_part_of_an_own_variable(tmp_path: Path, compiler: str, side: str, way: str) -> None:
    number = 2 * list(WAYS).index(way) + (side == "loads")
    options = CheckOptions(models=("tso",), triage=0, shorten=False)
    result = run(tmp_path, TEXT, compiler=compiler, arguments=(str(number),), options=options)
    assert result.models["tso"].robust is False, result.notes


HALVES = """#include <cstdlib>
#include <thread>
struct whole { long a, b; }; struct fraction { double a, b; };
int y;
static long take(whole v) { return v.b; }
static double take(fraction v) { return v.b; }
static whole made() { return {0, 0}; }
template <class T> void passes(T v) { std::thread u([&] { v.b = 1; int r = y; }); y = 1; auto r = take(v); u.join(); }
static void returned() { whole v = made(); std::thread u([&] { v.b = 1; int r = y; }); y = 1; long r = take(v); u.join(); }
int main(int, char **given) {
  switch (std::atoi(given[1])) {
    case 0: passes(whole{0, 0}); break;
    case 1: passes(fraction{0, 0}); break;
    default: returned();
  }
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("way", range(3))
def test_store_buffering_through_the_second_register_of_a_struct(tmp_path: Path, compiler: str, way: int) -> None:
    """gcc passes it on without a hook, from where it had put it, without one, when it came in two registers."""
    options = CheckOptions(models=("tso",), triage=0, shorten=False)
    result = run(tmp_path, HALVES, suffix=".cc", compiler=compiler, arguments=(str(way),), options=options)
    assert result.models["tso"].robust is False, result.notes


LEFT = """#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
int *p;
static void leaves(void) { int here = 0; p = &here; }
__attribute__((no_sanitize("thread"))) static void stores(void) { leaves(); *p = 1; }
__attribute__((no_sanitize("thread"))) static int leaf(int n) { int v = n, *q = &v; *q += 1; return *q; }
static void *other(void *unused) { return 0; }
int main(int n, char **given) {
  pthread_t t; pthread_create(&t, 0, other, 0);
  switch (atoi(given[1])) {
    case 0: leaves(); asm volatile("movl $1, (%0)" :: "r"(p) : "memory"); break;
    case 1: leaves(); asm volatile("lock; incl (%0)" :: "r"(p) : "memory"); break;
    case 2: stores(); break;
    default: assert(leaf(1) == 2);
  }
  pthread_join(t, 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("way", range(4))
def test_what_the_own_stack_held_is_used_without_a_hook_of_the_compiler(
    tmp_path: Path, compiler: str, way: int
) -> None:
    """Close below the frame that does it, where hooks of ours have theirs meanwhile. A function that calls nobody may have
    variables of its own there."""
    options = CheckOptions(models=("tso",), triage=0, shorten=False)
    arguments = (str(way),)
    result = run(tmp_path, LEFT, compiler=compiler, arguments=arguments, options=options)
    assert [one.kind for one in result.violations] == (["use after return"] if way < 3 else []), result.notes
