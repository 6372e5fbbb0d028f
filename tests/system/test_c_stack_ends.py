"""Memory on a stack that ends without its function's return, or lies above what a return ends: each late use is found, with
every compiler, and who uses it in time is safe."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Literal

import pytest

from c_programs import COMPILERS
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source, build

HEADER = """#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdatomic.h>
typedef atomic_int A;
struct big { A a[10]; }; struct small { A a[5]; };
static _Atomic(A *) told; static A zero; static sem_t lent, taken, over;
static void *buffer[5];
static void lend(A *at) { told = at; sem_post(&lent); sem_wait(&taken); }
static void ends(void) { sem_wait(&over); }
#define APART __attribute__((noinline))
static APART void whole(struct big b) { lend(&b.a[9]); }
static APART void part(struct small b) { lend(&b.a[1]); }
static APART long seventh(long a, long b, long c, long d, long e, long f, A g) { lend(&g); return a + f; }
static APART double ninth(double a, double b, double c, double d, double e, double f, double g, double h, _Atomic float i)
{ lend((A *)&i); return a + h; }
static APART int silent(struct big b) { return b.a[9]; }
static APART void array(int n) { { A v[n]; v[0] = 0; lend(v); } ends(); }
static APART void jumps(void) { A here = 0; lend(&here); __builtin_longjmp(buffer, 1); }
static APART void lands(void) { if (!__builtin_setjmp(buffer)) jumps(); ends(); }
static APART void local(void) { A many[40]; many[20] = 0; lend(&many[20]); }
static APART void deep(int n) { whole((struct big){0}); if (n) deep(n - 1); }
static APART void calls(void) { whole((struct big){0}); }
#ifdef __clang__
static APART double rest(double a, A *at) { ends(); return a; }
static APART double leaves(double a, A *at) { A here = 0; lend(&here); __attribute__((musttail)) return rest(a + 1, at); }
static void inner(void) { lands(); }
#else
static APART double rest(double a, A *at) { ends(); return a; }
__attribute__((optimize("O2"), noinline)) static double leaves(double a, A *at) {
  { A here = 0; lend(&here); } return rest(a + 1, at); }
static APART void inner(void) {
  __label__ out; void within(void) { A here = 0; lend(&here); goto out; } within(); out: ends(); }
#endif
"""


ENDS = {
    "array of unknown size": "array(zero + 2);",
    "longjmp of the compiler's": "lands();",
    "goto out of a nested function": "inner();",
    "a tail call": "assert(leaves(2.5, &zero) == 3.5);",
    "struct by value": "whole((struct big){0}); ends();",
    "seventh integer": "assert(seventh(1, 2, 3, 4, 5, 6, 7) == 7); ends();",
    "ninth fraction": "assert(ninth(1, 2, 3, 4, 5, 6, 7, 8, 9) == 9); ends();",
    "another call's arguments lie there": "whole((struct big){0}); silent((struct big){0}); ends();",
}

IN_TIME = {
    "one call after the other": "whole((struct big){0}); whole((struct big){0});",
    "a smaller argument at the same place": "whole((struct big){0}); part((struct small){0});",
    "a larger argument at the same place": "part((struct small){0}); whole((struct big){0});",
    "a frame where the arguments lay": "calls(); local();",
    "an array in each round": "for (int i = 0; i < 2; i++) { A v[zero + 3]; v[1] = 0; lend(&v[1]); }",
}


def program(mine: str, other: str) -> str:
    return (
        f"{HEADER}static void *borrows(void *unused) {{ {other} return 0; }}\n"
        "int main(void) { pthread_t t; sem_init(&lent, 0, 0); sem_init(&taken, 0, 0); sem_init(&over, 0, 0);"
        f" pthread_create(&t, 0, borrows, 0); {mine} pthread_join(t, 0); }}\n"
    )


def source(folder: Path, compiler: str, mine: str, other: str) -> Source:
    file = folder / "program.c"
    file.write_text(program(mine, other))
    return Source((str(file),), (), compiler)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ENDS)
def test_a_use_after_the_end_is_found(tmp_path: Path, compiler: str, name: str) -> None:
    other = "sem_wait(&lent); A *at = told; sem_post(&taken); (*at)++; sem_post(&over);"
    result = check(source(tmp_path, compiler, ENDS[name], other), CheckOptions())
    assert result.verdict is Verdict.VIOLATION
    assert result.violations[0].kind == "use after return"


@pytest.mark.parametrize("compiler", COMPILERS)
def test_who_is_told_of_the_end_uses_it_afterwards(tmp_path: Path, compiler: str) -> None:
    """Parameters that lie in the frame of a caller which goes on, whatever it does meanwhile."""
    mine = "whole((struct big){0}); silent((struct big){0}); sem_post(&over);"
    other = "sem_wait(&lent); A *at = told; sem_post(&taken); sem_wait(&over); (*at)++;"
    result = check(source(tmp_path, compiler, mine, other), CheckOptions())
    assert result.violations[0].kind == "use after return"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ENDS)
def test_a_use_in_time_is_none(tmp_path: Path, compiler: str, name: str) -> None:
    other = "sem_wait(&lent); A *at = told; (*at)++; sem_post(&taken); sem_post(&over);"
    result = check(source(tmp_path, compiler, ENDS[name], other), CheckOptions())
    assert result.verdict is Verdict.SAFE, result


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", IN_TIME)
def test_what_lies_there_later_lives(tmp_path: Path, compiler: str, name: str) -> None:
    other = "for (int i = 0; i < 2; i++) { sem_wait(&lent); A *at = told; (*at)++; sem_post(&taken); }"
    result = check(source(tmp_path, compiler, IN_TIME[name], other), CheckOptions())
    assert result.verdict is Verdict.SAFE, result


@pytest.mark.parametrize("compiler", COMPILERS)
def test_without_debugging_information_parameters_end_too_or_are_named(tmp_path: Path, compiler: str) -> None:
    """gcc's callers give up what they have passed; clang's keep its place, and nothing says how large that is."""
    late = "sem_wait(&lent); A *at = told; sem_post(&taken); (*at)++; sem_post(&over);"
    found = Verdict.VIOLATION if compiler == "gcc" else Verdict.INCONCLUSIVE
    for other, verdict in ((late, found), ("sem_wait(&lent); sem_post(&taken); sem_post(&over);", Verdict.SAFE)):
        (file,) = source(tmp_path, compiler, "whole((struct big){0}); sem_wait(&over);", other).files
        result = check(Source((file,), ("-g0",), compiler), CheckOptions())
        assert result.verdict is verdict
        named = any("parameters on the stack" in note for note in result.notes)
        assert named == (verdict is Verdict.INCONCLUSIVE)


@pytest.mark.skipif(shutil.which("clang") is None, reason="gcc's callers give up what they have passed")
def test_more_dead_parameters_than_are_remembered_are_named(tmp_path: Path) -> None:
    for calls, verdict in ((16, Verdict.SAFE), (17, Verdict.INCONCLUSIVE)):
        other = f"for (int i = 0; i < {calls}; i++) {{ sem_wait(&lent); A *at = told; (*at)++; sem_post(&taken); }}"
        result = check(source(tmp_path, "clang", f"deep({calls - 1});", other), CheckOptions())
        assert result.verdict is verdict


@pytest.mark.skipif(shutil.which("gcc") is None, reason="clang's callers keep the place of what they pass")
def test_what_callers_give_up_is_marked(tmp_path: Path) -> None:
    build(source(tmp_path, "gcc", "whole((struct big){0});", ""), tmp_path)
    marked = r"call\s+whole(?:\n.*[.:].*)*\n\s*addq\s+\$48, %rsp\n\s*call\s+teetotal_(?:wide_)?frame_ends@PLT"
    assert re.search(marked, (tmp_path / "0.s").read_text()) is not None


THROWN = """
#include <atomic>
#include <thread>
static std::atomic<int *> told{nullptr};
static void leave() { int here = 0; told = &here; throw 1; }
int main() {
  std::thread late([] { if (int *at = told.load()) *at = 1; });
  try { leave(); } catch (int) {}
  late.join();
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_what_lies_there_later_may_be_larger(tmp_path: Path, goal: Literal["robust", "safe"], compiler: str) -> None:
    """The destructor of the thread has a pointer there, of which the variable was a half. The cell grew with it, and steps
    that had been cut by the smaller one were gone through again by the larger one: the explorer was taken down."""
    file = tmp_path / "thrown.cc"
    file.write_text(THROWN)
    answer = check(Source((str(file),), (), compiler), CheckOptions(goal=goal))
    assert {violation.kind for violation in answer.violations} == {"use after return"}
