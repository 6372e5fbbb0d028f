"""A look at the clock is named, unless all that it leads to is the limit of a wait: that is explored either way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from c_programs import COMPILERS, version
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source, build

HEAD = """#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready; static long g; static sem_t s; static mtx_t mt;
static void later(struct timespec *t) { t->tv_sec++; }
static int same(int x) { return x; }
"""
MAIN = """
static void *first(void *p) { work(); return p; }
int main(void) {
  pthread_t t; sem_init(&s, 0, 0); mtx_init(&mt, mtx_timed); pthread_create(&t, 0, first, 0);
  pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); sem_post(&s); pthread_join(t, 0);
}
"""
LOOK = "struct timespec ts; clock_gettime(CLOCK_REALTIME, &ts);"
CARRY = "ts.tv_nsec += 500; if (ts.tv_nsec >= 1000000000) { ts.tv_sec++; ts.tv_nsec -= 1000000000; }"
WAIT = "sem_timedwait(&s, &ts);"
DECIDED = {
    "a second more": f"int x = same(1); {LOOK} ts.tv_sec += x; ts.tv_nsec = 0; {WAIT}",
    "nanoseconds that carry": f"{LOOK} {CARRY} pthread_mutex_lock(&m); int r = 0;"
    "while (!ready && r != ETIMEDOUT) r = pthread_cond_timedwait(&c, &m, &ts); pthread_mutex_unlock(&m);",
    "of C11": "struct timespec ts; timespec_get(&ts, TIME_UTC); ts.tv_sec += 2;"
    "if (mtx_timedlock(&mt, &ts) == thrd_success) mtx_unlock(&mt);",
}
NAMED = {
    "a branch": f"{LOOK} if (ts.tv_nsec > 5) g = 1; {WAIT}",
    "a branch over a return": f"{LOOK} if (ts.tv_nsec >= 1000000000) return; {WAIT}",
    "a branch over a load": f"{LOOK} if (ts.tv_nsec >= 1000000000) ts.tv_sec += g; {WAIT}",
    "a branch over a call": f"{LOOK} if (ts.tv_nsec >= 1000000000) sem_post(&s); {WAIT}",
    "a copy": f"{LOOK} long now = ts.tv_sec; {WAIT} if (now > 3) g = 1;",
    "a value": f"{LOOK} int late = ts.tv_sec > 5; {WAIT} g = late;",
    "an argument": f"{LOOK} same(ts.tv_sec); {WAIT}",
    "an address": f"{LOOK} later(&ts); {WAIT}",
    "an index": f"static char many[9]; {LOOK} g = many[ts.tv_sec]; {WAIT}",
    "a struct around it": "struct { int a; struct timespec ts; } j; clock_gettime(CLOCK_REALTIME, &j.ts);"
    "memcpy(&g, &j, 8); sem_timedwait(&s, &j.ts);",
    "a difference": "struct timespec a, b; clock_gettime(CLOCK_REALTIME, &a); clock_gettime(CLOCK_REALTIME, &b);"
    "if (b.tv_sec - a.tv_sec > 0) g = 1; sem_timedwait(&s, &a);",
    "a result": f"long told(void); g = told(); }} long told(void) {{ {LOOK} {WAIT} return ts.tv_sec;",
    "nanoseconds out of range": f"{LOOK} ts.tv_nsec += 500000000; {WAIT}",
}
OUT_OF_RANGE = {
    "no carry": "ts.tv_nsec += 500000000; if (ts.tv_nsec >= 1000000000) ts.tv_sec++;",
    "a carry too few": "ts.tv_nsec += 1600000000; if (ts.tv_nsec >= 1000000000) { ts.tv_sec++; ts.tv_nsec -= 1000000000; }",
    "less than none": "ts.tv_nsec -= 500000000; if (ts.tv_nsec >= 1000000000) { ts.tv_sec++; ts.tv_nsec -= 1000000000; }",
    "another comparison": "ts.tv_nsec += 500000000; if (ts.tv_sec >= 1000000000) ts.tv_sec++;",
    "the other way round": "ts.tv_nsec += 500000000; if (ts.tv_nsec <= 999999999) ts.tv_nsec += 0;",
    "too early": f"if (ts.tv_nsec >= 1000000000) ts.tv_sec++; {CARRY.partition(' if')[0].replace('500', '500000000')}",
    "seconds for nanoseconds": "ts.tv_nsec = ts.tv_sec; if (ts.tv_nsec >= 1000000000) ts.tv_nsec -= 1000000000;",
}
"""What the code knows of a second, and does not do about it: such waits fail at once, at some times of the day."""


def source(folder: Path, works: list[str]) -> Path:
    """All in one program, each in a function of its own."""
    file = folder / "program.c"
    functions = "".join(f"static void work{number}(void) {{ {work} }}\n" for number, work in enumerate(works))
    calls = " ".join(f"work{number}();" for number in range(len(works)))
    file.write_text(f"{HEAD}{functions}static void work(void) {{ {calls} }}{MAIN}")
    return file


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", DECIDED)
def test_the_limit_of_a_wait_may_come_from_the_clock(name: str, compiler: str, tmp_path: Path) -> None:
    file = source(tmp_path, [DECIDED[name]])
    result = check(Source((str(file),), (), compiler), CheckOptions(models=("tso",), executions=100))
    named = any("what the clock shows" in note for note in result.notes)
    if compiler == "clang" and version(compiler) > 19 and named and result.verdict is Verdict.INCONCLUSIVE:
        pytest.skip(
            "the code of this clang between the clock and the wait is none that is known: named, and inconclusive"
        )
    assert result.verdict is Verdict.SAFE, result.notes


@pytest.mark.parametrize("compiler", COMPILERS)
def test_any_other_use_of_the_clock_is_named(compiler: str, tmp_path: Path) -> None:
    build(Source((str(source(tmp_path, [LOOK + WAIT, *NAMED.values()])),), (), compiler), tmp_path)
    parts = re.split(r"^work(\d+):", (tmp_path / "0.s").read_text(), flags=re.MULTILINE)
    quiet = [int(number) for number, text in zip(parts[1::2], parts[2::2], strict=True) if "_for_limit" in text]
    assert [list(NAMED)[number - 1] for number in quiet if number] == []
    assert quiet == [0]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_program_that_has_its_own_wait_is_not_taken_at_its_word(compiler: str, tmp_path: Path) -> None:
    own = (
        "int sem_clockwait(sem_t *s, clockid_t c, const struct timespec *t) { (void)s, (void)c; return t->tv_sec > 3; }"
    )
    file, other = tmp_path / "p.c", tmp_path / "q.c"
    file.write_text(f"{HEAD}static void work(void) {{ {LOOK} sem_clockwait(&s, 0, &ts); }}{MAIN}")
    other.write_text(f"#define _GNU_SOURCE\n#include <semaphore.h>\n#include <time.h>\n{own}\n")
    result = check(Source((str(file), str(other)), (), compiler), CheckOptions(models=("tso",), executions=100))
    assert result.verdict is Verdict.INCONCLUSIVE, result.notes
    assert any("sem_clockwait, which the program has its own of" in note for note in result.notes)


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_a_limit_is_right_at_any_time_of_the_day(name: str, tmp_path: Path) -> None:
    file = source(tmp_path, [f"{LOOK} {OUT_OF_RANGE[name]} {WAIT}"])
    result = check(Source((str(file),)), CheckOptions(models=("tso",), executions=100))
    assert result.verdict is Verdict.INCONCLUSIVE, result.notes
    assert any("a wait whose limit has more nanoseconds than a second" in note for note in result.notes)


def test_a_wait_that_the_linker_wraps_is_not_taken_at_its_word(tmp_path: Path) -> None:
    wrapped = "int __wrap_sem_timedwait(sem_t *s, const struct timespec *t) { (void)s; return t->tv_sec > 3; }\n"
    file = tmp_path / "p.c"
    file.write_text(f"{HEAD}{wrapped}static void work(void) {{ {LOOK} {WAIT} }}{MAIN}")
    result = check(Source((str(file),), ("-Wl,--wrap=sem_timedwait",)), CheckOptions(models=("tso",), executions=100))
    assert result.verdict is Verdict.INCONCLUSIVE, result.notes
