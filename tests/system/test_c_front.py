"""The C front end with flags, files and names that are out of the ordinary: it does what is meant, or says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import TeetotalError
from teetotal.checking import check
from teetotal.programs.c.build import Source
from teetotal.report.terminal import render

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


def checked(folder: Path, text: str, *flags: str, compiler: str | None = None) -> CheckAnswer:
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
    assert told.count("Not robust under TSO and PSO: ") == told.count("a contradiction.") == 1


TIMED = {
    "sem_timedwait": "sem_timedwait(&s, &when)",
    "pthread_cond_timedwait": "pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &when); pthread_mutex_unlock(&m)",
    "pthread_rwlock_timedrdlock": "pthread_rwlock_timedrdlock(&l, &when)",
}


@pytest.mark.parametrize("call", TIMED)
def test_a_limit_is_read_as_other_arguments_are(call: str, tmp_path: Path) -> None:
    """Store buffering through the limit: nothing was said to read it, and the program was called robust."""
    text = f"""#include <pthread.h>
#include <semaphore.h>
#include <time.h>
struct timespec when; volatile int y; sem_t s;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static void *f(void *p) {{ when.tv_nsec = 1; int r = y; return 0; }}
static void *g(void *p) {{ y = 1; {TIMED[call]}; return 0; }}
"""
    found = checked(tmp_path, text + MAIN)
    assert found.models["tso"].robust is False
    assert any("data race on when.tv_nsec" in note for note in found.notes)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [("-z", "execstack"), ("-Wl,-z,execstack",)])
def test_code_on_the_stack_is_refused(flags: tuple[str, ...], compiler: str, tmp_path: Path) -> None:
    """Stacks of threads are not executable here: to call code there was told as a crash."""
    text = """
static void *f(void *p) { char code[] = {(char)0xc3}; ((void (*)(void))code)(); return 0; }
static void *g(void *p) { return 0; }
"""
    with pytest.raises(TeetotalError, match="can run code on its stack"):
        checked(tmp_path, "#include <pthread.h>\n" + text + MAIN, *flags, compiler=compiler)
