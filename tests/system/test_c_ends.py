"""Ends of threads: pthread_exit runs what it must, and an exception in call_once lets another try."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.check import CheckAnswer
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source


def run(tmp_path: Path, text: str, compiler: str, *, suffix: str = ".cc", flags: tuple[str, ...] = ()) -> CheckAnswer:
    file = tmp_path / f"program{suffix}"
    file.write_text(text)
    return check(Source((str(file),), flags, compiler), CheckOptions())


HANDLERS = """#include <assert.h>
#include <pthread.h>
int done; pthread_mutex_t m;
void note(void *p) { done = done * 10 + (int)(long)p; }
void release(void *p) { pthread_mutex_unlock(p); }
void inner(void) { pthread_cleanup_push(note, (void *)2); pthread_exit((void *)7); pthread_cleanup_pop(0); }
void *f(void *p) {
  pthread_mutex_lock(&m);
  pthread_cleanup_push(release, &m);
  pthread_cleanup_push(note, (void *)1);
  pthread_cleanup_push(note, (void *)9);
  pthread_cleanup_pop(0);
  inner();
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return 0;
}
void *g(void *p) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
int main(void) {
  pthread_t t, u; void *r;
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
  pthread_join(t, &r); pthread_join(u, 0);
  assert(done == 21 && r == (void *)7);
}
"""
DESTRUCTORS = """#include <cassert>
#include <mutex>
#include <pthread.h>
#include <thread>
int done; std::mutex m;
struct Note { int n; ~Note() { done = done * 10 + n; } };
void handler(void *) { done = done * 10 + 5; }
void inner() { Note n{2}; pthread_cleanup_push(handler, nullptr); pthread_exit((void *)7); pthread_cleanup_pop(0); }
void *f(void *) { std::lock_guard<std::mutex> l(m); Note n{1}; inner(); return nullptr; }
void *g(void *) { std::lock_guard<std::mutex> l(m); return nullptr; }
void *h(void *) { try { pthread_exit(nullptr); } catch (...) { CATCH } return nullptr; }
int main() {
  pthread_t t, u, v; void *r;
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
  pthread_join(t, &r); pthread_join(u, 0);
  assert(done == 521 && r == (void *)7);
  pthread_create(&v, 0, h, 0); pthread_join(v, 0);
  std::thread x([] { Note n{3}; pthread_exit(nullptr); });
  x.join();
  assert(done == 5213);
  pthread_exit(nullptr);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_pthread_exit_runs_handlers(tmp_path: Path, compiler: str) -> None:
    result = run(tmp_path, HANDLERS, compiler, suffix=".c")
    assert (result.verdict, result.complete, result.executions) == (Verdict.SAFE, True, 2)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_pthread_exit_runs_destructors(tmp_path: Path, compiler: str) -> None:
    result = run(tmp_path, DESTRUCTORS, compiler, flags=("-DCATCH=throw;",))
    assert (result.verdict, result.complete, result.executions) == (Verdict.SAFE, True, 2)
    caught = run(tmp_path, DESTRUCTORS, compiler, flags=("-DCATCH=",))
    assert {violation.kind for violation in caught.violations} == {"misuse"}
    assert "catches the end of a thread and goes on" in caught.violations[0].message


ONCE = """#include <cassert>
#include <mutex>
#include <stdexcept>
#include <thread>
std::once_flag flag; int tries, done;
void attempt() {
  try {
    std::call_once(flag, [] { if (tries++ == 0) throw std::runtime_error("not yet"); done++; });
  } catch (std::runtime_error &) { }
}
int main() {
  std::thread t(attempt), u(attempt);
  t.join(); u.join();
  assert(tries == 2 && done == 1);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_an_exception_lets_another_thread_try_once_more(tmp_path: Path, compiler: str) -> None:
    result = run(tmp_path, ONCE, compiler)
    assert (result.verdict, result.complete) == (Verdict.SAFE, True), result
