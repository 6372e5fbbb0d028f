"""The C front end with flags, files and names that are out of the ordinary: it does what is meant, or says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.programs.c.build import Source
from teetotal.programs.c.check import check
from teetotal.report.terminal import render
from teetotal.verdicts import CheckResult

MAIN = """int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  return 0;
}
"""
BUFFERING = """#include <pthread.h>
volatile int x, y;
static void *f(void *p) { x = 1; int r = y; return 0; }
static void *g(void *p) { y = 1; int r = x; return 0; }
"""


def checked(folder: Path, text: str, *flags: str, compiler: str | None = None) -> CheckResult:
    file = folder / "program.c"
    file.write_text(text)
    return check(Source((str(file),), flags, compiler))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("visibility", ["hidden", "internal"])
def test_main_is_found_where_everything_is_hidden(visibility: str, compiler: str, tmp_path: Path) -> None:
    found = checked(tmp_path, BUFFERING + MAIN, f"-fvisibility={visibility}", compiler=compiler)
    assert found.models["tso"].robust is False


ALIASES = """#include <pthread.h>
volatile int x, y;
static int load(volatile int *p) { return *p; }
int also(volatile int *p) __attribute__((alias("load")));
static int again(volatile int *p) __attribute__((alias("load")));
extern volatile int z __attribute__((alias("y")));
static void *f(void *p) { x = 1; int r = also(&z); return 0; }
static void *h(void *p) { y = 1; int r = again(&x); return 0; }
static void *g(void *p) __attribute__((alias("h")));
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_functions_and_variables_of_several_names(compiler: str, tmp_path: Path) -> None:
    """clang declares aliases one after the other without a size, which was taken for functions without an end."""
    found = checked(tmp_path, ALIASES + MAIN, compiler=compiler)
    assert found.models["tso"].robust is False
    assert not any("cannot be seen" in note for note in found.notes)


def test_what_another_model_has_shown_is_told_once(tmp_path: Path) -> None:
    told = render(checked(tmp_path, BUFFERING + MAIN))
    assert told.count("as under TSO") == 1
