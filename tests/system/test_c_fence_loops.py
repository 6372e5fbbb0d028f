"""C loops of fences alone: nothing that other threads do can end them."""

from __future__ import annotations

from pathlib import Path

import pytest

import teetotal
from c_programs import COMPILERS
from teetotal.answers.options import FenceOptions
from teetotal.answers.verdict import Verdict
from teetotal.fences.fencing import fence

TEXT = """
#include <pthread.h>
static volatile int x, z, w;
static void *f(void *p) { int r = z, n = 0; (void)n; LOOP x = 1; return p; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  z = 1; w = 1;
  int r = x; (void)r;
  pthread_join(t, 0);
}
"""
FENCE = "__atomic_thread_fence(5);"
MFENCE = 'asm volatile("mfence" ::: "memory");'


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "loop",
    [
        f"while (r != 1) {{ {FENCE} }}",
        f"while (r != 1) {{ {FENCE} {MFENCE} __atomic_thread_fence(2); }}",
        f"while (r != 1) {{ {MFENCE} }}",
        f"int q; do {{ r = z; q = w; }} while (r && !q); if (!r) for (;;) {FENCE}",
    ],
)
def test_a_loop_that_only_fences_is_a_hang(loop: str, compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "fences.c"
    file.write_text(TEXT.replace("LOOP", loop))
    for goal in ("robust", "safe"):
        answer = teetotal.check(str(file), models="tso,pso", goal=goal, compiler=compiler)
        assert {violation.kind for violation in answer.violations} == {"livelock"}
        assert "T1 spinning on a fence" in answer.violations[0].message


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("loop", "verdict"),
    [
        (f"for (int i = 0; i < 200; i++) {FENCE}", Verdict.SAFE),
        (f"while (r != 1) {{ {FENCE} if (w) break; }}", Verdict.SAFE),
        (f"while (w != 1) {{ {FENCE} {FENCE} }}", Verdict.SAFE),
        (f"while (r != 1 && n < 2000) {{ {FENCE} n++; }}", Verdict.SAFE),
        (f"while (r != 1) {{ {FENCE} n++; }}", Verdict.INCONCLUSIVE),
    ],
)
def test_a_loop_that_fences_and_does_more_is_none(loop: str, verdict: Verdict, compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "fences.c"
    file.write_text(TEXT.replace("LOOP", loop))
    assert teetotal.check(str(file), models="tso,pso", compiler=compiler).verdict is verdict


def test_a_loop_whose_fence_is_off_goes_on_for_ever_too(tmp_path: Path) -> None:
    """While fences are looked for, our marks stand in their place."""
    file = tmp_path / "fences.c"
    file.write_text(TEXT.replace("LOOP", f"while (r != 1) {{ {FENCE} }}"))
    answer = fence(str(file), FenceOptions(models=("tso",))).answer
    assert answer.fences == []
    assert answer.verdict is Verdict.VIOLATION
    assert [violation.kind for violation in answer.violations] == ["livelock"]
