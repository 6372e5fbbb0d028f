"""Programs that speak to the race detector for which they are compiled: libraries tell it of their locks."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.errors import TeetotalError
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source

ANNOTATED = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
void __tsan_mutex_create(void *, unsigned), __tsan_mutex_destroy(void *, unsigned);
void __tsan_mutex_pre_lock(void *, unsigned), __tsan_mutex_post_lock(void *, unsigned, int);
int __tsan_mutex_pre_unlock(void *, unsigned);
void __tsan_mutex_post_unlock(void *, unsigned);
void __tsan_mutex_pre_signal(void *, unsigned), __tsan_mutex_post_signal(void *, unsigned);
void __tsan_mutex_pre_divert(void *, unsigned), __tsan_mutex_post_divert(void *, unsigned);
static atomic_flag taken;
static int count;
static void *add(void *unused) {
  __tsan_mutex_pre_lock(&taken, 0);
#ifdef LOCKS
  while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire)) {}
#endif
  __tsan_mutex_post_lock(&taken, 0, 0);
  count++;
  __tsan_mutex_pre_signal(&taken, 0), __tsan_mutex_post_signal(&taken, 0);
  __tsan_mutex_pre_divert(&taken, 0), __tsan_mutex_post_divert(&taken, 0);
  int depth = __tsan_mutex_pre_unlock(&taken, 0);
#ifdef LOCKS
  atomic_flag_clear_explicit(&taken, memory_order_release);
#endif
  __tsan_mutex_post_unlock(&taken, 0);
  return depth ? &count : unused;
}
int main(void) {
  __tsan_mutex_create(&taken, 0);
  pthread_t adder;
  pthread_create(&adder, 0, add, 0);
  add(0);
  pthread_join(adder, 0);
  __tsan_mutex_destroy(&taken, 0);
  assert(count == 2);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("flags", "verdict"), [(("-DLOCKS",), Verdict.SAFE), ((), Verdict.VIOLATION)])
def test_what_a_library_tells_of_its_locks_is_neither_missed_nor_believed(
    tmp_path: Path, compiler: str, flags: tuple[str, ...], verdict: Verdict
) -> None:
    file = tmp_path / "annotated.c"
    file.write_text(ANNOTATED)
    assert check(Source((str(file),), flags, compiler)).verdict is verdict


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_symbol_that_only_the_detector_s_headers_use_is_named(tmp_path: Path, compiler: str) -> None:
    file = tmp_path / "fibers.c"
    file.write_text("""
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
void *__tsan_get_current_fiber(void);
int main(void) {
#ifdef __SANITIZE_THREAD__
  return __tsan_get_current_fiber() == 0;
#endif
}
""")
    with pytest.raises(TeetotalError, match=r"cannot be loaded: .*__tsan_get_current_fiber"):
        check(Source((str(file),), (), compiler))
