"""Every function of the C library's threads is modelled, harmless, or refused by its name: none is crashed into."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from c_programs import COMPILERS, compiled, explore
from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import TeetotalError
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.engines.runtime import driver as runtime
from teetotal.programs.c.build import Source

RUNTIME = Path(__file__).parents[2] / "runtime" / "hooks"
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
    """Each in a thread of its own: a thread that cannot be explored ends there, and the others go on."""
    cases = "\n".join(f"  case {number}: {name}(); break;" for number, name in enumerate(REFUSED))
    text = "\n".join(f"void {name}(void);" for name in REFUSED)
    text += f"""
int pthread_create(unsigned long *, const void *, void *(*)(void *), void *), pthread_join(unsigned long, void **);
long atol(const char *);
static void *call(void *number) {{
  switch ((long)number) {{
{cases}
  }}
  return 0;
}}
int main(int n, char **given) {{
  unsigned long t[32];
  for (int i = 1; i < n; i++) pthread_create(&t[i], 0, call, (void *)atol(given[i]));
  for (int i = 1; i < n; i++) pthread_join(t[i], 0);
}}
"""
    told: list[tuple[str, str]] = []
    with compiled(text) as program:
        for start in range(0, len(REFUSED), 24):
            numbers = [str(number) for number in range(start, min(start + 24, len(REFUSED)))]
            _, answers = explore(program, "executions=1", arguments=numbers)
            told += [(answer["what"], answer["message"]) for answer in answers if answer["type"] == "failure"]
    assert sorted(told) == sorted(("unsupported", name) for name in REFUSED)


def run(tmp_path: Path, text: str, *flags: str, suffix: str = ".c", compiler: str | None = None) -> CheckAnswer:
    file = tmp_path / f"program{suffix}"
    file.write_text(text)
    return check(Source((str(file),), flags, compiler), CheckOptions(models=("tso",)))


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
  pthread_barrier_wait(&b);
  pthread_join(t, 0);
}
"""


THREADS_H = """
#include <assert.h>
#include <threads.h>
mtx_t m; cnd_t c; int ready, woken;
static int waits(void *p) {
  mtx_lock(&m); while (!ready) cnd_wait(&c, &m); woken++; mtx_unlock(&m); return *(int *)p;
}
int main(void) {
  thrd_t t[2]; int given[] = {5, 6}, result[2] = {0, 0};
  mtx_init(&m, mtx_plain | mtx_recursive); cnd_init(&c);
  for (int i = 0; i < 2; i++) thrd_create(&t[i], waits, &given[i]);
  mtx_lock(&m); mtx_lock(&m); ready = 1; cnd_broadcast(&c); mtx_unlock(&m); mtx_unlock(&m);
  for (int i = 0; i < 2; i++) thrd_join(t[i], &result[i]);
  assert(woken == 2 && result[0] == 5 && result[1] == 6);
}
"""


def test_threads_of_c11_do_as_they_are_told(tmp_path: Path) -> None:
    """A recursive mutex is locked twice, all are woken, and what a thread returns is handed out."""
    assert run(tmp_path, THREADS_H).verdict is Verdict.SAFE


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


# -- C++20: one program, and an argument says which part of it runs ------------------------------------------------------

CPP = r"""
#include <atomic>
#include <barrier>
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
using namespace std::chrono_literals;
std::atomic<int> a; int d[2], n;
std::latch both(2); std::barrier<> meet(2); std::counting_semaphore<4> given(0); std::counting_semaphore<2> taken(1);
std::mutex m; std::condition_variable c; std::condition_variable_any any; std::shared_mutex readers;
std::timed_mutex limited; std::shared_timed_mutex limited_readers; std::once_flag once; bool ready;
struct Seven { int value = 7; };
Seven &seven() { static Seven one; return one; }
template <typename F, typename G> void two(F f, G g) { std::thread t(f); g(); t.join(); }
void try_once() { for (int i = 0; i < 2; i++) try { std::call_once(once, [] { if (n++ == 0) throw 1; }); return; } catch (int) {} }
int main(int, char **given_name) {
  const auto is = [&](const char *name) { return !std::strcmp(given_name[1], name); };
  if (is("atomic wait")) two([] { d[0] = 1; a.store(1); a.notify_one(); }, [] { a.wait(0); assert(d[0]); });
  if (is("latch")) two([] { d[0] = 1; both.arrive_and_wait(); assert(d[1]); }, [] { d[1] = 1; both.arrive_and_wait(); assert(d[0]); });
  if (is("barrier")) two([] { d[0] = 1; meet.arrive_and_wait(); assert(d[1]); }, [] { d[1] = 1; meet.arrive_and_wait(); assert(d[0]); });
  if (is("semaphore")) two([] { d[0] = 1; given.release(); }, [] { given.acquire(); assert(d[0]); });
  if (is("semaphore as a mutex")) { auto f = [] { taken.acquire(); n++; taken.release(); }; two(f, f); assert(n == 2); }
  if (is("jthread")) { std::jthread t([](std::stop_token s) { while (!s.stop_requested()) std::this_thread::yield(); a = 1; }); t.request_stop(); t.join(); assert(a == 1); }
  if (is("condition")) two([] { { std::lock_guard l(m); ready = true; } c.notify_one(); }, [] { std::unique_lock l(m); c.wait(l, [] { return ready; }); });
  if (is("condition, limited")) two([] { std::lock_guard l(m); ready = true; c.notify_all(); }, [] { std::unique_lock l(m); c.wait_for(l, 1ms, [] { return ready; }); });
  if (is("shared_mutex")) two([] { std::unique_lock l(readers); d[0] = 1; d[1] = 1; }, [] { std::shared_lock l(readers); assert(d[0] == d[1]); });
  if (is("timed_mutex")) { two([] { if (limited.try_lock_for(1ms)) { n++; limited.unlock(); } }, [] { std::lock_guard l(limited); n++; }); assert(n); }
  if (is("shared_timed_mutex")) two([] { if (limited_readers.try_lock_shared_for(1ms)) { d[1] = d[0]; limited_readers.unlock_shared(); } }, [] { std::lock_guard l(limited_readers); d[0]++; });
  if (is("promise")) { std::promise<int> p; auto f = p.get_future(); std::thread t([&] { p.set_value(3); }); assert(f.get() == 3); t.join(); }
  if (is("value at thread exit")) { std::promise<int> p; auto f = p.get_future(); std::thread t([&] { p.set_value_at_thread_exit(3); }); assert(f.get() == 3); t.join(); }
  if (is("notified at thread exit")) { std::thread t([] { std::unique_lock l(m); ready = true; std::notify_all_at_thread_exit(c, std::move(l)); }); { std::unique_lock l(m); c.wait(l, [] { return ready; }); } t.join(); }
  if (is("async")) { auto f = std::async(std::launch::async, [] { return 4; }); assert(f.get() == 4); }
  if (is("deferred")) { auto f = std::async(std::launch::deferred, [] { return 4; }); assert(f.get() == 4); }
  if (is("packaged_task")) { std::packaged_task<int()> k([] { return 5; }); auto f = k.get_future(); std::thread t(std::move(k)); assert(f.get() == 5); t.join(); }
  if (is("call_once")) { two(try_once, try_once); assert(n == 2); }
  if (is("static")) two([] { assert(seven().value == 7); }, [] { assert(seven().value == 7); });
  if (is("sleep")) { two([] { std::this_thread::sleep_for(1ms); a = 1; }, [] { std::this_thread::sleep_until(std::chrono::steady_clock::now() + 1ms); }); assert(a == 1); }
  if (is("stop_callback")) { std::stop_source s; std::thread t([&] { s.request_stop(); }); { std::stop_callback k(s.get_token(), [] { n++; }); } t.join(); assert(n <= 1); }
  if (is("condition with stop_token")) { std::jthread t([](std::stop_token s) { std::unique_lock l(m); any.wait(l, s, [] { return ready; }); }); t.request_stop(); t.join(); }
}
"""  # noqa: E501
PARTS = [name for name in re.findall(r'is\("([^"]+)"\)', CPP) if name != "semaphore as a mutex"]
CUT = {"stop_callback", "condition with stop_token"}
"""These spin on what they write to a stack that others touch: not everything is explored, but nothing is blamed."""
FRAMES = {"promise", "value at thread exit", "stop_callback"}
"""These leave stores to frames that have ended in the buffers, where only TSO itself has them."""


@pytest.fixture(scope="module", params=COMPILERS)
def cpp(request: pytest.FixtureRequest) -> Iterator[Path]:
    with compiled(CPP, suffix=".cpp", flags=("-std=c++20",), compiler=request.param) as program:
        yield program


def test_ordinary_uses_of_cpp20_are_not_blamed(cpp: Path) -> None:
    for name in PARTS:
        for options in (["monitor=exact-tso"], *([] if name in FRAMES else [["model=tso"]])):
            end, told = explore(cpp, *options, "executions=300", arguments=[name])
            assert [answer for answer in told if answer["type"] in ("failure", "violation")] == [], name
            assert end["complete"] or name in CUT or end["executions"] == 300, name
            assert bool(end["unseen"]) == (name == "sleep"), (name, end["unseen"])  # there it looks at the clock itself


def test_a_semaphore_of_cpp20_that_sleeps_for_ever(cpp: Path) -> None:
    """libstdc++'s own bug 104928, where it is not mended: acquire reads 1, fails to take it, and asks the kernel to sleep
    while the counter is 1, which it is again once the other thread has released it and woken nobody."""
    end, told = explore(cpp, "executions=3000", arguments=["semaphore as a mutex"])
    for answer in told:
        if answer["type"] == "failure":
            assert answer["what"] == "deadlock"
            look = [step for step in answer["steps"] if step[8] == 0 and step[1] == 0][
                -1
            ]  # the kernel's: an ld, no verb
            assert look[6] == 1
    assert end["executions"] > 0


# -- OpenMP ---------------------------------------------------------------------------------------------------------------

REGIONS = r"""
#include <assert.h>
#include <omp.h>
int x, y, z, once, sum, a[4]; omp_lock_t l; omp_nest_lock_t nested;
int main(void) {
  omp_init_lock(&l); omp_init_nest_lock(&nested); omp_set_num_threads(2);
#pragma omp parallel
  {
#pragma omp critical
    x++;
#pragma omp critical(name)
    y++;
#pragma omp atomic
    z += 2;
#pragma omp single
    once++;
    omp_set_nest_lock(&nested); omp_set_nest_lock(&nested); omp_unset_nest_lock(&nested); omp_unset_nest_lock(&nested);
#pragma omp barrier
    assert(once == 1 && x == 2 && y == 2 && omp_get_num_threads() == 2 && omp_in_parallel());
#pragma omp parallel num_threads(2)
    assert(omp_get_num_threads() == 1);
  }
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < 4; i++) { a[i] = i; sum += i; }
  assert(z == 4 && sum == 6 && a[3] == 3 && !omp_in_parallel());
}
"""
SHARING = "int x; int main(void) {\n#pragma omp parallel\n x++;\n assert(x == 2); }\n"
TASKS = "int x; int main(void) {\n#pragma omp parallel\n#pragma omp single\n{\n#pragma omp task\n x = 1;\n}\n}\n"


def gomp() -> str:
    found = subprocess.run(["gcc", "-print-file-name=libgomp.so"], capture_output=True, text=True, check=False).stdout
    return found.strip()


with_gomp = pytest.mark.skipif(not Path(gomp()).is_absolute(), reason="libgomp is not installed")


@with_gomp
def test_parallel_regions(tmp_path: Path) -> None:
    result = run(tmp_path, REGIONS, "-fopenmp", compiler="gcc")
    assert (result.verdict, [v.message for v in result.violations]) == (Verdict.SAFE, [])
    (found, *_) = run(tmp_path, "#include <assert.h>\n" + SHARING, "-fopenmp", compiler="gcc").violations
    assert "x == 2 fails" in found.message
    tasks = run(tmp_path, TASKS, "-fopenmp", compiler="gcc")
    assert tasks.verdict is Verdict.INCONCLUSIVE
    assert any("the program uses GOMP_task" in note for note in tasks.notes)


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
def test_openmp_as_clang_has_it_is_refused_by_name(tmp_path: Path) -> None:
    program = "int x;\nint main(void) {\n#pragma omp parallel num_threads(2)\n  { x = 1; }\n}\n"
    with pytest.raises(TeetotalError, match=r"OpenMP as clang has it \(__kmpc_\w+\) is not explored; gcc's is"):
        run(tmp_path, program, "-fopenmp", compiler="clang")


@with_gomp
def test_each_function_of_openmp_is_known_or_refused(tmp_path: Path) -> None:
    """Those of newer libraries than there were when their names were written down, too: one of them, as all others."""
    known = symbols(str(runtime.executable()))
    theirs = {name for name in symbols(gomp()) if re.match(r"(GOMP_(?!PLUGIN)|omp_|GOACC_(?!decl))", name)}
    new = sorted(name for name in theirs if not name.endswith("_") and "." not in name and name not in known)
    for name in (*new[:1], "GOMP_of_the_future", "omp_of_the_future"):
        (tmp_path / "later.c").write_text(f"void {name}(void) {{}}\n")
        library = str(tmp_path / "liblater.so")
        subprocess.run(["gcc", "-shared", "-fPIC", str(tmp_path / "later.c"), "-o", library], check=True)
        (tmp_path / "p.c").write_text(f"void {name}(void); int main(void) {{ {name}(); return 0; }}\n")
        answer = check(Source((str(tmp_path / "p.c"),), (library, f"-Wl,-rpath,{tmp_path}"), "gcc"))
        assert answer.verdict is Verdict.INCONCLUSIVE
        assert any(name in note and "cannot be explored" in note for note in answer.notes), answer.notes
