"""The bytes of mutexes, semaphores and the like: what the C library keeps there is not what is there in an execution."""

from __future__ import annotations

from pathlib import Path

import pytest

import teetotal
from c_programs import COMPILERS
from teetotal.answers.verdict import Verdict

HEAD = """
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
"""
LOCKS = "static void *f(void *p) { pthread_mutex_lock(m); pthread_mutex_unlock(m); return 0; }\n"
STATIC = "static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, *m = &mutex;\n" + LOCKS
HEAP = "static pthread_mutex_t *m;\n" + LOCKS
RUN = "int main(void) {{ {} pthread_t t; pthread_create(&t, 0, f, 0); {} pthread_join(t, 0); {} return 0; }}\n"
LOOKS = {
    "mutex": (STATIC + RUN.format("", "assert(m->__data.__lock == 0);", ""), "a mutex"),
    "its owner": (
        STATIC + RUN.format("pthread_mutex_lock(m); assert(!m->__data.__owner); pthread_mutex_unlock(m);", "", ""),
        "a mutex",
    ),
    "mutex of the heap": (
        HEAP + RUN.format("m = malloc(sizeof *m); pthread_mutex_init(m, 0);", "assert(m->__data.__lock == 0);", ""),
        "a mutex",
    ),
    "copy": (STATIC + RUN.format("", "char c[sizeof mutex]; memcpy(c, m, sizeof c); assert(!c[0]);", ""), "a mutex"),
    "semaphore": (
        "static sem_t s; static void *f(void *p) { sem_post(&s); return 0; }\n"
        + RUN.format("sem_init(&s, 0, 0);", "assert(*(volatile int *)&s == 0);", ""),
        "a semaphore",
    ),
    "barrier": (
        "static pthread_barrier_t b; static void *f(void *p) { pthread_barrier_wait(&b); return 0; }\n"
        + RUN.format("pthread_barrier_init(&b, 0, 2);", "assert(!*(volatile int *)&b); pthread_barrier_wait(&b);", ""),
        "a barrier",
    ),
    "readers and writers": (
        "static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;\n"
        "static void *f(void *p) { pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l); return 0; }\n"
        + RUN.format("", "assert(!l.__data.__readers);", ""),
        "a lock of readers and writers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("what", LOOKS)
def test_a_look_into_an_object_is_named(what: str, compiler: str, tmp_path: Path) -> None:
    """Each was proved: the look came first in every execution, or found what the C library does not keep there."""
    text, sort = LOOKS[what]
    file = tmp_path / "looks.c"
    file.write_text(HEAD + text)
    answer = teetotal.check(str(file), compiler=compiler)
    assert answer.verdict is not Verdict.SAFE
    assert any(f"a load of the bytes of {sort}" in note for note in answer.notes)


def test_objects_begin_and_go_as_data_does(tmp_path: Path) -> None:
    """Beside other threads: given its first value by stores, and its memory another one before it goes."""
    file = tmp_path / "begin.c"
    file.write_text(f"""{HEAD}
struct node {{ pthread_mutex_t m; int n; }};
static const struct node fresh = {{PTHREAD_MUTEX_INITIALIZER, 3}};
static void *f(void *p) {{
  struct node *a = malloc(sizeof *a), *b = calloc(1, sizeof *b);
  *a = fresh; memset(b, 0, sizeof *b);
  pthread_mutex_lock(&a->m); assert(a->n == 3); pthread_mutex_unlock(&a->m);
  pthread_mutex_lock(&b->m); b->n++; pthread_mutex_unlock(&b->m);
  pthread_mutex_destroy(&a->m); memset(a, 0, sizeof *a); free(a); free(b);
  return 0; }}
int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); return 0; }}
""")
    answer = teetotal.check(str(file))
    assert answer.verdict is Verdict.SAFE, answer.notes


def test_what_waits_at_a_word_is_data(tmp_path: Path) -> None:
    """A guard, a future and an atomic object that is waited for are words, with others right behind them."""
    file = tmp_path / "words.cpp"
    file.write_text("""
#include <atomic>
#include <cassert>
#include <future>
#include <thread>
struct Late { int n; Late() : n(3) {} };
static int late() { static Late one; static int a = 1, b = 2; return one.n + a + b; }
struct { std::atomic<int> go; int data; } word;
int main() {
  std::promise<int> promise;
  std::thread t([&] { assert(late() == 6); word.data = 4; word.go = 1; word.go.notify_one(); promise.set_value(5); });
  assert(late() == 6);
  word.go.wait(0); assert(word.data == 4);
  assert(promise.get_future().get() == 5);
  t.join();
}
""")
    answer = teetotal.check(str(file), flags=("-std=c++20",), models="tso")
    assert answer.verdict is Verdict.SAFE, answer.notes
