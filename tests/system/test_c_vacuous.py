"""Assertions in C that prove nothing are pointed out, by line, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal import check

PROGRAM = """#include <assert.h>
#include <pthread.h>
int x, y;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static inline int low(int v) {
  assert(v < 7);  // nothing comes to it
  return v;
}
static void *f(void *p) {
  pthread_mutex_lock(&m);
  x = 1;
  assert(x == 1);
  if (y == 5)
    assert(x == 7 && y == 5);  // nothing comes to it
  pthread_mutex_unlock(&m);
  return p;
}
static void *g(void *p) {
  assert(1);  // no code
  assert(sizeof(int) == 4);  // no code
  pthread_mutex_lock(&m);
  y = 1;
  int r = y;
  pthread_mutex_unlock(&m);
  for (int i = 0; i < 2; ++i)
    assert(r == 1 ||
           r == 2);
  if (r == 9)
    assert(0);
  return p;
}
int main(void) {
  pthread_t s, t;
  pthread_create(&s, 0, f, 0);
  pthread_create(&t, 0, g, 0);
  pthread_join(s, 0);
  pthread_join(t, 0);
  assert(x + y == 2);
  return x == 3 ? low(y) : 0;
}
"""


def lines(notes: list[str], what: str) -> set[int]:
    return {int(found[1]) for note in notes if (found := re.match(rf"the assertion at \S+:(\d+) {what}", note))}


def written(comment: str) -> set[int]:
    return {number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith(f"// {comment}")}


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_says_nothing_is_told(tmp_path: Path, compiler: str, optimised: str) -> None:
    (tmp_path / "v.c").write_text(PROGRAM)
    answer = check(str(tmp_path / "v.c"), compiler=compiler, flags=(optimised,))
    assert str(answer.verdict) == "safe"
    assert lines(answer.notes, "is never evaluated") == written("nothing comes to it")
    assert lines(answer.notes, "has no code") == written("no code")


def test_what_only_a_relaxed_machine_comes_to_is_evaluated(tmp_path: Path) -> None:
    """Store buffering, with an assertion where both loads saw nothing: SC never comes to it, TSO does."""
    (tmp_path / "sb.c").write_text(
        """#include <assert.h>
#include <pthread.h>
volatile int x, y, a, b;
static void *f(void *p) { x = 1; a = y + 1; return p; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  y = 1; b = x + 1;
  pthread_join(t, 0);
  if (a == 1 && b == 1)
    assert(x == 1);
  return 0;
}
"""
    )
    for goal in ("robust", "safe"):
        answer = check(str(tmp_path / "sb.c"), goal=goal, models=("tso",))
        assert answer.models["tso"].safe
        assert not lines(answer.notes, "is never")
    assert lines(check(str(tmp_path / "sb.c"), goal="safe", models=("sc",)).notes, "is never") == {11}


def test_nothing_is_said_where_lines_are_not_known(tmp_path: Path) -> None:
    (tmp_path / "v.c").write_text(PROGRAM)
    answer = check(str(tmp_path / "v.c"), flags=("-g0",))
    assert str(answer.verdict) == "safe"
    assert not [note for note in answer.notes if "assertion" in note]


def test_nothing_is_said_where_not_everything_was_explored(tmp_path: Path) -> None:
    (tmp_path / "v.c").write_text(PROGRAM)
    answer = check(str(tmp_path / "v.c"), executions=1)
    assert not answer.complete
    assert not lines(answer.notes, "is never evaluated")
