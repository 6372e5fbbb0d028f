"""C++ programs of several files that share inline functions: the linker keeps one copy, and what was written beside the
others goes with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.options import CheckOptions
from teetotal.checking import check
from teetotal.programs.c.build import Source

HEADER = """#include <atomic>
#include <cassert>
struct big { long a[6]; };
extern std::atomic<int> x;
extern big all;
inline int low(int v) { assert(v < 7); x.store(v); return x.load(); }
template <class T> T twice(T v) { assert(v < 100); return low(v) + low(v); }
inline void copy(long v) {
  __asm__ volatile("lock incq %0" : "+m"(all.a[0]));
  big own = all;
  own.a[1] = v;
  all = own;
}
"""
FIRST = """#include <pthread.h>
#include "h.hpp"
std::atomic<int> x;
big all;
void other();
static void *run(void *p) { twice(2); return p; }
int main() {
  pthread_t t;
  pthread_create(&t, 0, run, 0);
  other();
  pthread_join(t, 0);
  copy(1);
}
"""
SECOND = '#include "h.hpp"\nvoid other() { low(1); low(twice(0)); copy(2); }\n'


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_inline_functions_of_two_files(tmp_path: Path, compiler: str, optimised: str) -> None:
    for name, text in (("h.hpp", HEADER), ("a.cc", FIRST), ("b.cc", SECOND)):
        (tmp_path / name).write_text(text)
    files = str(tmp_path / "a.cc"), str(tmp_path / "b.cc")
    answer = check(Source(files, (optimised,), compiler), CheckOptions())
    assert str(answer.verdict) == "safe"
    assert not [note for note in answer.notes if "assertion" in note]
