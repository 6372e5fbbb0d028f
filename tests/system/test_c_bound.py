"""Variables that are bound to registers which calls overwrite: hooks are calls that the source does not have."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import teetotal
from c_programs import COMPILERS
from teetotal.answers.verdict import Verdict

HEAD = """
#include <assert.h>
#include <pthread.h>
static volatile int flag;
"""
RUN = """
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); flag = 2; pthread_join(t, 0); return 0; }
"""
KEPT = {
    "a general register": "static void *f(void *p) {"
    ' register long n __asm__("rcx") = 5; flag = 1; assert(n == 5); return 0; }',
    "a vector register": "static void *f(void *p) {"
    ' register double d __asm__("xmm3") = 2.5; flag = 1; assert(d == 2.5); return 0; }',
    "arguments of assembly": """
static struct { long a, b, c; } given = {1, 2, 3};
static long add(void) {
  register long a __asm__("r10") = given.a; register long b __asm__("r8") = given.b;
  register long c __asm__("r9") = given.c; long r;
  __asm__ volatile("leaq (%1,%2), %0; addq %3, %0" : "=&r"(r) : "r"(a), "r"(b), "r"(c));
  return r; }
static void *f(void *p) { flag = 1; assert(add() == 6); return 0; }""",
    "what one piece of assembly leaves to another": """
static void *f(void *p) { int r; __asm__ volatile("movl $5, %%r9d" ::: "r9"); flag = 1;
  __asm__ volatile("movl %%r9d, %0" : "=r"(r)); assert(r == 5); return 0; }""",
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("what", KEPT)
def test_what_is_in_a_register_outlives_the_hooks(what: str, compiler: str, tmp_path: Path) -> None:
    """gcc's failed: the hook before the store to ``flag`` had other uses for the register."""
    file = tmp_path / "bound.c"
    file.write_text(HEAD + KEPT[what] + RUN)
    answer = teetotal.check(str(file), compiler=compiler)
    assert answer.verdict is Verdict.SAFE, answer.notes


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_all_of_a_wide_register_outlives_the_hooks(tmp_path: Path) -> None:
    if " avx2 " not in Path("/proc/cpuinfo").read_text():
        pytest.skip("the processor has no AVX2")
    file = tmp_path / "wide.c"
    file.write_text(
        "#include <immintrin.h>\n"
        + HEAD
        + 'static void *f(void *p) { register __m256i v __asm__("ymm9") = _mm256_set1_epi32(7); flag = 1;'
        + " assert(_mm256_extract_epi32(v, 7) == 7); return 0; }"
        + RUN
    )
    assert teetotal.check(str(file), flags=("-mavx2",), compiler="gcc").verdict is Verdict.SAFE


COUNTS = {
    "a general register": ('static void *f(void *p) { register long n __asm__("r9") = 0;', ()),
    "a vector register": ('static void *f(void *p) { register double n __asm__("xmm9") = 0;', ()),
    "a register of all functions": (
        'register long n __asm__("r11"); static void *f(void *p) { n = 0;',
        ("-ffixed-r11",),
    ),
}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("what", COUNTS)
def test_a_loop_that_counts_in_a_register_does_not_wait(what: str, tmp_path: Path) -> None:
    """These were proved: the hook overwrote the count, in the same way in each round."""
    begin, flags = COUNTS[what]
    file = tmp_path / "counts.c"
    file.write_text(f"{HEAD}{begin} while (!flag) n += 1; assert(n != 3); return 0; }}{RUN}")
    assert teetotal.check(str(file), flags=flags, compiler="gcc", loop_bound=9).models["sc"].safe is False


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_register_that_is_bound_for_all_functions_is_named(tmp_path: Path) -> None:
    file = tmp_path / "all.c"
    file.write_text(f"""{HEAD}register long n __asm__("r11");
static void set(void) {{ n = 5; }}
static long get(void) {{ return n; }}
static void *f(void *p) {{ set(); flag = 1; if (get() == 5) flag = 3; return 0; }}{RUN}""")
    answer = teetotal.check(str(file), flags=("-ffixed-r11",), compiler="gcc")
    assert any("%r11 in get(), which is bound to a variable of all functions" in note for note in answer.notes)
    assert answer.verdict is not Verdict.SAFE


FRACTIONS = """
#include <math.h>
static double x[4] = {1, 2, 3, 4}; static float y = 2; static volatile double w; static volatile float q;
static unsigned long u = 7;
static double sum(double a, float b, int n, ...) {
  double s = a * b;
  for (int i = 0; i < 4; i++) { s += x[i] * (n + i) - (float)i; s = sqrt(s * s); w = s; q = (float)w; if (w < q) s = -s; }
  u = (unsigned long)s;
  return s + u; }
static void *f(void *p) { while (flag != 2); assert(sum(1, y, 3, 4.0) > 1); return 0; }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [(), ("-mavx2", "-mfma")])
def test_a_thread_that_computes_fractions_can_wait(flags: tuple[str, ...], compiler: str, tmp_path: Path) -> None:
    """Nothing of these lives across a hook, though instructions name registers whose contents nobody looks at."""
    if flags and " avx2 " not in Path("/proc/cpuinfo").read_text():
        pytest.skip("the processor has no AVX2")
    file = tmp_path / "fractions.c"
    file.write_text(HEAD + FRACTIONS + RUN)
    answer = teetotal.check(str(file), flags=(*flags, "-lm"), compiler=compiler)
    assert answer.verdict is Verdict.SAFE, answer.notes
