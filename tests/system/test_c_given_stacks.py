"""Stacks that a program gives its threads (``pthread_attr_setstack``): they are theirs from begin to end."""

from __future__ import annotations

from pathlib import Path

import pytest

import teetotal
from c_programs import COMPILERS
from teetotal.answers.verdict import Verdict

TEXT = """
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
enum { SIZE = 65536 };
static sem_t s;
static pthread_t a, b;
static pthread_attr_t with;
static char fixed[SIZE] __attribute__((aligned(4096)));
static volatile int x;
static void *user(void *p) { WORK return p; }
static void give(void *stack) { pthread_attr_init(&with); pthread_attr_setstack(&with, stack, SIZE); }
static void create(pthread_t *which) { pthread_create(which, &with, user, 0); }
static void join(pthread_t which) { pthread_join(which, 0); }
static void *pages(void) { return mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0); }
static void on_frame(void) { char frame[SIZE]; give(frame); create(&a); sem_wait(&s); }
int main(void) {
  sem_init(&s, 0, 0);
  char *m = aligned_alloc(4096, SIZE);
  (void)m; (void)pages; (void)on_frame;
  BODY
  return 0;
}
"""
RIGHT = {
    "joined, then freed": "give(m); create(&a); join(a); free(m);",
    "one after the other": "give(m); create(&a); join(a); create(&b); join(b); free(m);",
    "static memory": "give(fixed); create(&a); join(a); create(&b); join(b);",
    "halves": "pthread_attr_t other; give(fixed); other = with; pthread_attr_setstack(&other, fixed, SIZE / 2);"
    " pthread_attr_setstack(&with, fixed + SIZE / 2, SIZE / 2); create(&a); pthread_create(&b, &other, user, 0);"
    " join(a); join(b);",
    "pages": "m = pages(); give(m); create(&a); join(a); munmap(m, SIZE);",
    "the stack of main": "char frame[SIZE]; give(frame); create(&a); join(a);",
}
WRONG = {
    "freed before it is joined": ("x = 1;", "give(m); create(&a); free(m); join(a);", "frees the stack that T1 still has"),
    "freed while it waits": (
        "sem_wait(&s);", "give(m); create(&a); free(m); sem_post(&s); join(a);", "frees the stack that T1 still has",
    ),
    "freed when it is nearly over": (
        "sem_post(&s);", "give(m); create(&a); sem_wait(&s); free(m); join(a);", "frees the stack that T1 still has",
    ),
    "resized": ("x = 1;", "give(m); create(&a); m = realloc(m, 10); join(a);", "frees the stack that T1 still has"),
    "unmapped": ("x = 1;", "m = pages(); give(m); create(&a); munmap(m, SIZE); join(a);", "frees the stack that T1"),
    "freed before": ("x = 1;", "give(m); free(m); create(&a); join(a);", "T1 uses memory that was freed"),
    "two at once": ("x = 1;", "give(fixed); create(&a); create(&b); join(a); join(b);", "still has"),
    "the frame of a function": ("sem_post(&s);", "on_frame(); join(a);", "uses a variable of a function that has returned"),
}  # fmt: skip


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("which", RIGHT)
def test_a_stack_that_outlives_its_thread(which: str, compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "right.c"
    file.write_text(TEXT.replace("WORK", "x = 1;" if which != "halves" else "").replace("BODY", RIGHT[which]))
    for goal in ("robust", "safe"):
        assert teetotal.check(str(file), models="tso,pso", goal=goal, compiler=compiler).verdict is Verdict.SAFE


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("which", WRONG)
def test_a_stack_that_a_thread_still_has(which: str, compiler: str, tmp_path: Path) -> None:
    """What threads do to a stack that they are given is left out, and so was that it is theirs."""
    work, body, what = WRONG[which]
    file = tmp_path / "wrong.c"
    file.write_text(TEXT.replace("WORK", work).replace("BODY", body))
    answer = teetotal.check(str(file), models="tso", compiler=compiler)
    assert answer.verdict is Verdict.VIOLATION
    assert what in answer.violations[0].message
