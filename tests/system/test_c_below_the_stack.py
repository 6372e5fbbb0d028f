"""Assembly that keeps something below the stack pointer from one piece to the next: hooks write there in between."""

from __future__ import annotations

from pathlib import Path

import pytest

import teetotal
from c_programs import COMPILERS
from teetotal import Verdict

HEAD = "#include <assert.h>\n#include <pthread.h>\nstatic volatile int x, y;\n"
COUNTS = (
    HEAD
    + r"""
static void *counts(void *a) {
  unsigned long n;
  __asm__ volatile("movq $0,-100(%rsp)");
  while (!x) __asm__ volatile("incq -100(%rsp)");
  __asm__ volatile("movq -100(%%rsp),%0" : "=r"(n));
  assert(n < 2);
  return a;
}
int main(void) { pthread_t t; pthread_create(&t, 0, counts, 0); x = 1; pthread_join(t, 0); }
"""
)
OWN = (
    HEAD
    + r"""
#define FENCE __asm__ volatile("lock; addl $0,-4(%%rsp)" ::: "memory", "cc")
static void *left(void *a) {
  x = 1;
  FENCE;
  (void)y;
  __asm__ volatile("movq %%rax,-8(%%rsp)\n\tmovq -8(%%rsp),%%rax" ::: "memory");
  return a;
}
int main(void) { pthread_t t; pthread_create(&t, 0, left, 0); y = 1; FENCE; (void)x; pthread_join(t, 0); }
"""
)


def check(text: str, compiler: str, folder: Path) -> teetotal.CheckAnswer:
    file = folder / "below.c"
    file.write_text(text)
    return teetotal.check(str(file), compiler=compiler)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_an_earlier_piece_left_there_is_named(compiler: str, tmp_path: Path) -> None:
    """The loop counts its rounds there, and was taken for one that waits: safe, though the assertion can fail."""
    answer = check(COUNTS, compiler, tmp_path)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert sum(note.count("which reads below the stack") for note in answer.notes) == 2


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_the_same_piece_wrote_there_and_fences_there_are_seen(compiler: str, tmp_path: Path) -> None:
    answer = check(OWN, compiler, tmp_path)
    assert answer.verdict is Verdict.SAFE
