"""What the processor does in several accesses, others see in parts: one hook of the compiler's may stand for more than one.

Truth is what x86 promises: nobody sees a part of an access that lies in a quadword, and nothing is said of any other.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source

HEAD = """#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
typedef struct { long a, b; } two;
__attribute__((noinline)) static two made(void) { return (two){1, 1}; }
struct __attribute__((packed, aligned(64))) packed { char before[2]; unsigned inside; char between[8]; long across; };
"""
CASES = {
    "int128": ("__int128 x;", "x = -1;", "__int128 v = x; assert(v == 0 || v == -1);", True),
    "volatile int128": ("volatile __int128 x;", "x = -1;", "__int128 v = x; assert(v == 0 || v == -1);", True),
    "long double": ("long double x = 1;", "x = 3;", "long double v = x; assert(v == 1 || v == 3);", True),
    "complex float": (
        "_Complex float x __attribute__((aligned(8)));",
        "x = 1 + 1.0iF;",
        "_Complex float v = x; assert(__real__ v == __imag__ v);",
        True,
    ),
    "complex double": (
        "_Complex double x;",
        "x = 1 + 1.0i;",
        "_Complex double v = x; assert(__real__ v == __imag__ v);",
        True,
    ),
    "struct": ("two x;", "x = made();", "two v = x; assert(v.a == v.b);", True),
    "across words": ("struct packed x;", "x.across = -1;", "long v = x.across; assert(v == 0 || v == -1);", True),
    "inside a word": (
        "struct packed x;",
        "x.inside = -1;",
        "unsigned v = x.inside; assert(v == 0 || v == -1u);",
        False,
    ),
    "a word": ("double x;", "x = 1.5;", "double v = x; assert(v == 0 || v == 1.5);", False),
}
PROGRAM = (
    HEAD
    + "".join(
        f"static {declared.replace(' x', f' x{number}')}\n"
        f"#define x x{number}\n"
        f"static void *w{number}(void *unused) {{ {write} return 0; }}\n"
        f"static void *r{number}(void *unused) {{ {read} return 0; }}\n"
        "#undef x\n"
        for number, (declared, write, read, _) in enumerate(CASES.values())
    )
    + f"static void *(*const all[][2])(void *) = {{{', '.join(f'{{w{n}, r{n}}}' for n in range(len(CASES)))}}};\n"
    + """int main(int argc, char **argv) {
  pthread_t t, u;
  int chosen = atoi(argv[1]);
  pthread_create(&t, 0, all[chosen][0], 0);
  pthread_create(&u, 0, all[chosen][1], 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
"""
)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", CASES)
def test_parts_are_seen_where_there_are_any(name: str, compiler: str, tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(PROGRAM)
    number = list(CASES).index(name)
    options = CheckOptions(models=("tso",), triage=0, shorten=False)
    result = check(Source((str(file),), (), compiler, (str(number),)), options)
    torn = CASES[name][3]
    assert result.verdict is (Verdict.VIOLATION if torn else Verdict.SAFE), result.notes
    assert [violation.kind for violation in result.violations[:1]] == (["assertion"] if torn else [])


def test_parts_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(PROGRAM)
    found = check(Source((str(file),), (), "gcc", ("0",)), CheckOptions(models=("tso",), triage=0)).violations[0]
    assert {"x0", "x0+8"} <= {event.address for event in found.events}
