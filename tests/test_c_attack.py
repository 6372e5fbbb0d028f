"""Programs that once got a wrong answer."""

from __future__ import annotations

from pathlib import Path

from teetotal.programs.c.build import Source
from teetotal.programs.c.check import Options, check
from teetotal.verdicts import CheckResult, Verdict


def checked(tmp_path: Path, code: str, **options: object) -> CheckResult:
    path = tmp_path / "test.c"
    path.write_text(code)
    return check(Source((str(path),)), Options(**options))  # type: ignore[arg-type]


def test_many_threads_are_no_crash(tmp_path: Path) -> None:
    """Malloc counted the processors when the explorer needed memory in the ninth thread: a system call amid a hook."""
    threads = """
        #include <assert.h>
        #include <pthread.h>
        static int x[12];
        static void *store(void *at) { *(int *)at = 1; return 0; }
        int main(void) {
          pthread_t t[12];
          for (int i = 0; i < 12; i++) pthread_create(&t[i], 0, store, &x[i]);
          for (int i = 0; i < 12; i++) { pthread_join(t[i], 0); assert(x[i] == 1); }
        }"""
    assert checked(tmp_path, threads).verdict is Verdict.SAFE
