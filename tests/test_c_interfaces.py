"""Every function of the C library's threads is modelled, harmless, or refused by its name: none is crashed into."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from c_programs import COMPILERS, compiled, explore
from teetotal.programs.c import runtime
from teetotal.programs.c.build import Source
from teetotal.programs.c.check import Options, check
from teetotal.verdicts import CheckResult, Verdict

RUNTIME = Path(__file__).parent.parent / "runtime"
REFUSED = re.findall(r"^REFUSED\((\w+)\)$", (RUNTIME / "refused.def").read_text(), re.MULTILINE)
FAMILIES = re.compile(r"(__pthread|pthread_|thrd_|mtx_|cnd_|tss_|sem_|mq_|call_once)")
HARMLESS = {
    r"pthread_(attr|mutexattr|condattr|rwlockattr|barrierattr)_\w+": "fills in, or tells, what its caller gave it",
    r"pthread_getattr_default_np|pthread_getconcurrency": "tells what nobody can change",
    r"__pthread_get_minstack|__pthread_keys|__pthread_cleanup_routine": "the C library's own, or its debugger's",
}


def symbols(library: str) -> set[str]:
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = {line.split()[2] for line in listed.splitlines()}
    return {name.partition("@@")[0] for name in names if "@@" in name or "@" not in name}


def loaded(name: str) -> str:
    listed = subprocess.run(["ldd", str(runtime.executable())], capture_output=True, text=True, check=True).stdout
    return re.findall(rf"{re.escape(name)} => (\S+)", listed)[0]


def test_each_function_of_threads_is_known() -> None:
    ours = symbols(str(runtime.executable()))
    theirs = {name for name in symbols(loaded("libc.so.6")) if FAMILIES.match(name)}
    assert len(theirs) > 150
    assert {name for name in theirs - ours if not any(re.fullmatch(known, name) for known in HARMLESS)} == set()


def test_what_is_refused_is_refused_by_name() -> None:
    """In a thread's own code, beside others: so are a team's functions that cannot be explored."""
    cases = "\n".join(f"  case {number}: {name}(); break;" for number, name in enumerate(REFUSED))
    text = "#include <stdlib.h>\n" + "\n".join(f"void {name}(void);" for name in REFUSED)
    text += "\nint main(int n, char **given) {\n  switch (atoi(given[1])) {\n" + cases + "\n  }\n  return 0;\n}\n"
    with compiled(text, flags=("-Wl,--unresolved-symbols=ignore-all",)) as program:
        for number, name in enumerate(REFUSED):
            _, told = explore(program, arguments=[str(number)])
            failures = [(answer["what"], answer["message"]) for answer in told if answer["type"] == "failure"]
            assert failures == [("unsupported", name)]


def run(tmp_path: Path, text: str, *flags: str, suffix: str = ".c", compiler: str | None = None) -> CheckResult:
    file = tmp_path / f"program{suffix}"
    file.write_text(text)
    return check(Source((str(file),), flags, compiler), Options(models=("tso",)))


PROPERTIES = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
pthread_barrier_t b;
static void *f(void *p) {
  int old;
  assert(!pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) && old == PTHREAD_CANCEL_ENABLE);
  assert(!pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) && old == PTHREAD_CANCEL_DEFERRED);
  pthread_testcancel();
  pthread_barrier_wait(&b);
  return p;
}
int main(void) {
  pthread_t t; char name[16]; cpu_set_t cpus; struct sched_param order = {7}; int policy; clockid_t clock;
  pthread_attr_t attributes; void *stack; size_t size; sigset_t set, old;
  pthread_barrier_init(&b, 0, 2);
  pthread_create(&t, 0, f, 0);
  assert(!pthread_setname_np(t, "worker") && !pthread_getname_np(t, name, sizeof name) && !strcmp(name, "worker"));
  assert(pthread_setname_np(t, "sixteen letters!") == ERANGE && pthread_getname_np(t, name, 3) == ERANGE);
  CPU_ZERO(&cpus); CPU_SET(1, &cpus);
  assert(!pthread_setaffinity_np(t, sizeof cpus, &cpus));
  CPU_ZERO(&cpus);
  assert(!pthread_getaffinity_np(t, sizeof cpus, &cpus) && CPU_COUNT(&cpus) == 1 && CPU_ISSET(1, &cpus));
  assert(!pthread_setschedparam(t, SCHED_FIFO, &order) && !pthread_setschedprio(t, 8));
  assert(!pthread_getschedparam(t, &policy, &order) && policy == SCHED_FIFO && order.sched_priority == 8);
  assert(!pthread_getcpuclockid(t, &clock));
  assert(!pthread_getattr_np(pthread_self(), &attributes) && !pthread_attr_getstack(&attributes, &stack, &size));
  assert((char *)&t - (char *)stack > 0 && (size_t)((char *)&t - (char *)stack) < size);
  pthread_attr_destroy(&attributes);
  sigfillset(&set);
  assert(!pthread_sigmask(SIG_BLOCK, &set, &old) && !sigismember(&old, SIGINT));
  assert(!pthread_sigmask(SIG_SETMASK, &old, &set) && sigismember(&set, SIGINT));
  assert(!pthread_atfork(0, 0, 0));
  assert(pthread_setname_np(t + 77, "nobody") == ESRCH);
  pthread_barrier_wait(&b);
  pthread_join(t, 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_changes_nothing_has_an_answer(tmp_path: Path, compiler: str) -> None:
    result = run(tmp_path, PROPERTIES, compiler=compiler)
    assert (result.verdict, [v.message for v in result.violations]) == (Verdict.SAFE, [])


JOINS = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
int x; struct timespec now; void *result;
static void *f(void *p) { x = 1; return &x; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  int error = JOIN;
  assert(error == 0 || error == LATE);
  if (error) assert(!pthread_join(t, &result));
  assert(x == 1 && result == &x);
  CLAIM
}
"""


@pytest.mark.parametrize(
    ("call", "late"),
    [
        ("pthread_tryjoin_np(t, &result)", "EBUSY"),
        ("pthread_timedjoin_np(t, &result, &now)", "ETIMEDOUT"),
        ("pthread_clockjoin_np(t, &result, CLOCK_MONOTONIC, &now)", "ETIMEDOUT"),
    ],
)
def test_joins_that_do_not_wait(tmp_path: Path, call: str, late: str) -> None:
    text = JOINS.replace("JOIN", call).replace("LATE", late)
    assert run(tmp_path, text.replace("CLAIM", "")).verdict is Verdict.SAFE
    for claim in ("error == 0", f"error == {late}"):  # either may happen
        (found,) = run(tmp_path, text.replace("CLAIM", f"assert({claim});")).violations
        assert claim.split()[0] in found.message


def test_a_writer_that_locks_again_is_told_so(tmp_path: Path) -> None:
    text = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; struct timespec now;
pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static void *f(void *p) {
  pthread_rwlock_wrlock(&l);
  assert(pthread_rwlock_wrlock(&l) == EDEADLK && pthread_rwlock_rdlock(&l) == EDEADLK);
  assert(pthread_rwlock_timedwrlock(&l, &now) == EDEADLK && pthread_rwlock_timedrdlock(&l, &now) == EDEADLK);
  assert(pthread_rwlock_trywrlock(&l) == EBUSY && pthread_rwlock_tryrdlock(&l) == EBUSY);
  pthread_rwlock_unlock(&l);
  pthread_mutex_lock(&m);
  assert(pthread_mutex_lock(&m) == EDEADLK && pthread_mutex_timedlock(&m, &now) == EDEADLK);
  assert(pthread_mutex_trylock(&m) == EBUSY);
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); }
"""
    result = run(tmp_path, text)
    assert (result.verdict, [v.message for v in result.violations]) == (Verdict.SAFE, [])


def test_calls_of_c11_are_told_where_the_program_makes_them(tmp_path: Path) -> None:
    text = """#include <assert.h>
#include <threads.h>
mtx_t m; int x;
static int f(void *p) {
  mtx_lock(&m);
  x++;
  mtx_unlock(&m);
  return 0;
}
int main(void) {
  thrd_t t; mtx_init(&m, mtx_plain);
  thrd_create(&t, f, 0);
  mtx_lock(&m);
  mtx_unlock(&m);
  thrd_join(t, 0);
  assert(x == 0);
}
"""
    (found,) = run(tmp_path, text).violations
    lines = {event.text: event.location.line for event in found.events if event.location and event.thread == 0}
    assert lines == {"create thread 1": 12, "lock m": 13, "unlock m": 14, "join thread 1": 15}
