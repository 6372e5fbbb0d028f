"""What ends while a program runs: frames, stacks, thread-local variables, locks. Ordinary programs are safe, whatever
the compiler and the model; each use after an end is found, and told with the line of the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from c_programs import COMPILERS, answers, explore, reported
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.engines.runtime.events import Names
from teetotal.engines.runtime.replaying import replay
from teetotal.programs.c.build import Source, build
from teetotal.programs.c.frames import mark_ends
from teetotal.programs.c.symbols import Symbols

HEADERS = """#define _GNU_SOURCE
#include <alloca.h>
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int *volatile p; static atomic_int x, go; static __thread int local; static sem_t s; static pthread_t handle;
static pthread_mutex_t m; static pthread_spinlock_t spin; static pthread_rwlock_t rw; static pthread_cond_t c;
static pthread_barrier_t b; static pthread_key_t key; static __thread jmp_buf back;
struct node { _Atomic(struct node *) next; atomic_int locked; };
static _Atomic(struct node *) tail; static int count;
static void lock(struct node *n) {
  atomic_store(&n->next, 0); atomic_store(&n->locked, 1);
  struct node *before = atomic_exchange(&tail, n);
  if (before) { atomic_store(&before->next, n); while (atomic_load(&n->locked)); }
}
static void unlock(struct node *n) {
  struct node *after = atomic_load(&n->next), *me = n;
  if (!after && atomic_compare_exchange_strong(&tail, &me, 0)) return;
  while (!(after = atomic_load(&n->next)));
  atomic_store(&after->locked, 0);
}
static void section(void) { struct node n; lock(&n); count++; unlock(&n); }
static void give(int *at) { p = at; sem_post(&s); while (!atomic_load(&go)); }
static int *taken(void) { sem_wait(&s); return p; }
static void filled(int n) { int many[n]; many[n - 1] = 0; give(many); assert(many[n - 1] == 1); }
static long double wide(void) { int here = 0; give(&here); return here + 0.5L; }
static void jumps(void) { int here = 0; give(&here); longjmp(back, 1); }
static void overwrites(void) { volatile int much[40]; for (int i = 0; i < 40; i++) much[i] = i; p = (int *)&much[20]; }
static void leaves(void) {
  int here = 0; p = &here;
} // end
static void lends(void) {
  int here = 0; p = &here; sem_post(&s);
} // end
static void lent(void) { int here = 0; give(&here); }
static void told(int order) { if (order) atomic_store_explicit(&go, 1, memory_order_release);
  else atomic_store_explicit(&go, 1, memory_order_relaxed); }
static int outrun(pthread_t t, int fenced) {
  int here = 0; p = &here; sem_post(&s); atomic_store_explicit(&x, 1, memory_order_relaxed);
  if (fenced) atomic_thread_fence(memory_order_seq_cst);
  if (!atomic_load_explicit(&go, memory_order_relaxed)) return 0;
  pthread_join(t, 0); return 1;
}
static void outruns(int fenced) {
  int *at = taken(); told(0);
  if (fenced) atomic_thread_fence(memory_order_seq_cst);
  if (!atomic_load_explicit(&x, memory_order_relaxed)) *at = 1;
}
static void sleeps(atomic_int *at) { p = (int *)at; sem_post(&s); while (!*at) syscall(SYS_futex, at, FUTEX_WAIT, 0, 0); }
static void wakes(void) { int *at = taken(); *(atomic_int *)at = 1; syscall(SYS_futex, at, FUTEX_WAKE, 1); }
static void naps(void) { atomic_int here = 0; sleeps(&here); }
static void lies(void) { pthread_mutex_t here = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&here); }
"""


class Case(NamedTuple):
    other: str
    mine: str
    what: str = ""
    done: str = ""


SAFE = {
    "queue of waiters on the stack": Case("section();", "section(); pthread_join(t, 0); assert(count == 2); return;"),
    "array of unknown size": Case("taken()[4] = 1; go = 1;", "filled(5); overwrites();"),
    "alloca": Case("*taken() = 1; go = 1;", "int *at = alloca(16); *at = 0; give(at); assert(*at == 1); overwrites();"),
    "long double is returned": Case("*taken() = 1; go = 1;", "assert(wide() == 1.5L); overwrites();"),
    "longjmp": Case("*taken() = 1; go = 1;", "if (!setjmp(back)) jumps(); overwrites(); assert(go);"),
    "frames one after the other": Case(
        "*taken() = 1; go = 1; *taken() = 1; go = 1;", "for (int i = 0; i < 2; i++) { wide(); go = 0; overwrites(); }"
    ),
    "a frame of 7 MB": Case("*taken() = 1; go = 1;", "char much[7 << 20]; much[9] = 0; give((int *)&much[8]);"),
    "thread-local by pointer": Case("*taken() = 1; go = 1;", "give(&local); assert(local == 1);"),
    "zeros are a mutex": Case(
        "sem_wait(&s); pthread_mutex_lock((void *)p); x++; pthread_mutex_unlock((void *)p);",
        "pthread_mutex_t here; memset(&here, 0, sizeof here); p = (int *)&here; sem_post(&s);"
        "pthread_mutex_lock(&here); x++; pthread_mutex_unlock(&here); pthread_join(t, 0); return;",
    ),
    "destroyed and made again": Case(
        "", "pthread_mutex_destroy(&m); pthread_mutex_init(&m, 0); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);"
    ),
    "the last at a barrier destroys it": Case(
        "if (pthread_barrier_wait(&b)) pthread_barrier_destroy(&b);",
        "if (pthread_barrier_wait(&b)) pthread_barrier_destroy(&b);",
    ),
    "woken at a frame that has ended": Case("naps();", "wakes();"),
    "woken at memory that was freed": Case(
        "wakes();", "atomic_int *at = calloc(1, sizeof *at); sleeps(at); free(at); pthread_join(t, 0); return;"
    ),
    "destroyed after the broadcast": Case(
        "pthread_mutex_lock(&m); go = 1; pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);",
        "while (!go); pthread_mutex_lock(&m); pthread_cond_broadcast(&c); pthread_mutex_unlock(&m);"
        "pthread_cond_destroy(&c);",
    ),
}

WRONG = {
    "a function has returned": Case(
        "sem_wait(&s);\n*p = 1; // use", "leaves(); sem_post(&s);", "use after return", "returned"
    ),
    "read after the return": Case(
        "sem_wait(&s);\nx = *p; // use", "leaves(); sem_post(&s);", "use after return", "returned"
    ),
    "its own frame": Case("", "leaves();\n*p = 1; // use", "use after return", "returned"),
    "the thread has ended": Case(
        "int here = 0; p = &here;", "pthread_join(t, 0);\n*p = 1; // use\nreturn;", "use after return", "ended"
    ),
    "thread-local of a thread that has ended": Case(
        "p = &local;", "pthread_join(t, 0);\n*p = 1; // use\nreturn;", "use after return", "ended"
    ),
    "it returns without waiting": Case("lends();", "\n*taken() = 1; // use", "use after return", "returned"),
    "read while it returns": Case("lends();", "int *at = taken();\nx = *at; // use", "use after return", "returned"),
    "the thread ends without waiting": Case(
        "int here; p = &here; sem_post(&s); pthread_exit(0);", "\n*taken() = 1; // use", "use after return", "ended"
    ),
    "thread-local of a thread that does not wait": Case(
        "local = 0; p = &local; sem_post(&s);", "\n*taken() = 1; // use", "use after return", "ended"
    ),
    "mutex after its end": Case(
        "sem_wait(&s);\npthread_mutex_lock(&m); // use",
        "\npthread_mutex_destroy(&m); // end\nsem_post(&s);", "misuse", "destroyed it",
    ),
    "mutex destroyed twice": Case(
        "", "\npthread_mutex_destroy(&m); // end\npthread_mutex_destroy(&m); // use", "misuse", "destroyed it"
    ),
    "mutex of a race": Case(
        "\npthread_mutex_lock(&m); // use", "\npthread_mutex_destroy(&m); // end", "misuse", "destroyed it"
    ),
    "mutex is held": Case(
        "pthread_mutex_lock(&m); sem_post(&s); while (!go);", "sem_wait(&s);\npthread_mutex_destroy(&m); // use", "misuse"
    ),
    "mutex made anew while held": Case(
        "pthread_mutex_lock(&m); sem_post(&s); while (!go);", "sem_wait(&s);\npthread_mutex_init(&m, 0); // use", "misuse"
    ),
    "mutex that nobody made": Case(
        "", "p = malloc(40); memset(p, 0x55, 40);\npthread_mutex_lock((void *)p); // use", "misuse"
    ),
    "spinlock after its end": Case(
        "\npthread_spin_lock(&spin); // use", "\npthread_spin_destroy(&spin); // end", "misuse", "destroyed it"
    ),
    "rwlock after its end": Case(
        "\npthread_rwlock_rdlock(&rw); // use", "\npthread_rwlock_destroy(&rw); // end", "misuse", "destroyed it"
    ),
    "rwlock is held": Case(
        "pthread_rwlock_rdlock(&rw); sem_post(&s); while (!go);",
        "sem_wait(&s);\npthread_rwlock_destroy(&rw); // use", "misuse",
    ),
    "condition after its end": Case(
        "\npthread_cond_signal(&c); // use", "\npthread_cond_destroy(&c); // end", "misuse", "destroyed it"
    ),
    "condition that is waited on": Case(
        "pthread_mutex_lock(&m); go = 1; pthread_cond_wait(&c, &m);",
        "while (!go); pthread_mutex_lock(&m);\npthread_cond_destroy(&c); // use", "misuse",
    ),
    "barrier after its end": Case(
        "sem_wait(&s);\npthread_barrier_wait(&b); // use",
        "\npthread_barrier_destroy(&b); // end\nsem_post(&s);", "misuse", "destroyed it",
    ),
    "barrier that nobody made": Case(
        "", "static pthread_barrier_t none;\npthread_barrier_wait(&none); // use", "misuse"
    ),
    "semaphore after its end": Case("\nsem_post(&s); // use", "\nsem_destroy(&s); // end", "misuse", "destroyed it"),
    "joined twice": Case("", "\npthread_join(t, 0); // end\npthread_join(t, 0); // use", "misuse", "joined it"),
    "joined though detached": Case(
        "", "\npthread_detach(t); // end\npthread_join(t, 0); // use", "misuse", "detached it"
    ),
    "detached twice": Case("", "\npthread_detach(t); // end\npthread_detach(t); // use", "misuse", "detached it"),
    "key after its end": Case(
        "", "pthread_key_create(&key, 0); pthread_key_delete(key);\npthread_getspecific(key); // use", "misuse"
    ),
    "a held mutex is freed": Case("", "p = calloc(1, 40); pthread_mutex_lock((void *)p);\nfree(p); // use", "misuse"),
    "a held mutex on the stack": Case("", "lies();", "misuse"),
    "used after free": Case(
        "sem_wait(&s);\n*p = 1; // use", "p = malloc(4);\nfree(p); // end\nsem_post(&s);", "use after free", "freed it"
    ),
    "freed twice": Case("", "p = malloc(4);\nfree(p); // end\nfree(p); // use", "use after free", "freed it"),
}  # fmt: skip

LATE = {
    "flag before what it tells of": (Case("*taken() = 1; told(0);", "lent();", "use after return"), ("pso",)),
    "flag behind what it tells of": (Case("*taken() = 1; told(1);", "lent();"), ()),
    "flag before what it tells of, on the heap": (
        Case("*taken() = 1; told(0);", "int *at = malloc(4); *at = 0; give(at); free(at);", "use after free"), ("pso",)
    ),
    "flag behind what it tells of, on the heap": (
        Case("*taken() = 1; told(1);", "int *at = malloc(4); *at = 0; give(at); free(at);"), ()
    ),
    "each overtakes its own flag": (
        Case("outruns(0);", "if (outrun(t, 0)) return;", "use after return"), ("tso", "pso")
    ),
    "each flag with a fence": (Case("outruns(1);", "if (outrun(t, 1)) return;"), ()),
}  # fmt: skip
"""Under which models something is used after its end."""

ALL = {**SAFE, **WRONG, **{name: case for name, (case, _) in LATE.items()}}


def source() -> str:
    parts = [HEADERS]
    for number, case in enumerate(ALL.values()):
        parts.append(f"static void *other{number}(void *unused) {{ {case.other}\nreturn 0; }}\n")
        parts.append(
            f"static void mine{number}(void) {{ pthread_t t; pthread_create(&t, 0, other{number}, 0); {case.mine}\n"
            "pthread_join(t, 0); }\n"
        )
    cases = " ".join(f"case {number}: mine{number}(); break;" for number in range(len(ALL)))
    parts.append(
        "int main(int argc, char **argv) { sem_init(&s, 0, 0); pthread_spin_init(&spin, 0);"
        f" pthread_barrier_init(&b, 0, 2); switch (atoi(argv[1])) {{ {cases} }} }}\n"
    )
    return "".join(parts)


@pytest.fixture(scope="module", params=COMPILERS)
def program(request: pytest.FixtureRequest) -> Iterator[Path]:
    with TemporaryDirectory() as directory:
        file = Path(directory) / "program.c"
        file.write_text(source())
        yield build(Source((str(file),), (), request.param), Path(directory))


def number(name: str) -> list[str]:
    return [str(list(ALL).index(name))]


@pytest.mark.parametrize("name", SAFE)
def test_ordinary_programs_are_safe(program: Path, name: str) -> None:
    for model in ("sc", "tso"):
        monitors = ["monitor=exact-tso", "monitor=exact-pso"] if model == "sc" else []
        end, told = explore(program, f"model={model}", "executions=300", *monitors, arguments=number(name))
        assert [answer for answer in told if answer["type"] == "failure"] == [], model
        assert end["unseen"] == []


@pytest.mark.parametrize("name", WRONG)
def test_a_use_after_the_end_is_told_with_both_places(program: Path, name: str) -> None:
    case = WRONG[name]
    told = list(answers(program, ["model=sc", "executions=300"], number(name)))
    failures = [answer for answer in told if answer["type"] == "failure" and answer["what"] == case.what]
    found = [answer for answer in failures if answer["cause"][0] == case.done][-1]
    lines = source().splitlines()
    symbols = Symbols(program, (str(program.parent / "program.c"),))
    names = Names(symbols, told[0]["base"])
    at, (_, _, cause) = names.place(found["place"]), found["cause"]
    symbols.close()
    assert at is not None
    assert "// use" in lines[at.line - 1] or "lies" in lines[at.line - 1]
    if case.done not in ("", "ended"):
        before = names.place(cause)
        assert before is not None
        assert "// end" in lines[before.line - 1]


@pytest.mark.parametrize("name", LATE)
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_a_store_that_reaches_memory_after_the_end_is_found(program: Path, name: str, model: str) -> None:
    case, models = LATE[name]
    end, told = explore(program, f"model={model}", arguments=number(name))
    failures = {answer["what"] for answer in told if answer["type"] == "failure"}
    assert failures == ({case.what} if model in models else set())
    assert end["complete"]


@pytest.mark.parametrize("name", LATE)
def test_monitors_of_sc_see_ends_as_the_machine_does(program: Path, name: str) -> None:
    """Robust and safe under SC is safe under the model."""
    end, told = explore(program, "monitor=exact-tso", "monitor=exact-pso", arguments=number(name))
    assert end["complete"]
    assert [count > 0 for count in reported(told)] == [model in LATE[name][1] for model in ("tso", "pso")]


CXX = """
#include <atomic>
#include <barrier>
#include <cassert>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>
static int x;
static void threads_in_a_vector() {
  std::atomic<int> n{0}; int got[2] = {0, 0}; std::vector<std::thread> all;
  for (int i = 0; i < 2; i++) all.emplace_back([&, i] { got[i] = i + 1; n.fetch_add(1); });
  for (auto &one : all) one.join();
  assert(n == 2 && got[0] == 1 && got[1] == 2);
}
struct Holder { std::thread t; int x = 0; };
static void a_thread_in_a_struct() {
  auto *h = new Holder; h->t = std::thread([&] { h->x = 1; }); h->t.join(); assert(h->x == 1); delete h;
}
static void a_latch() {
  std::latch done(1); std::thread t([&] { x = 1; done.count_down(); }); done.wait(); assert(x == 1); t.join();
}
static void a_barrier() {
  std::barrier<> both(2); std::thread t([&] { x = 1; both.arrive_and_wait(); });
  both.arrive_and_wait(); assert(x == 1); t.join();
}
static void a_jthread() { int here = 0; { std::jthread t([&] { here = 1; }); } assert(here == 1); }
static void a_future() {
  int here = 0; auto f = std::async(std::launch::async, [&] { here = 1; return 2; }); assert(f.get() == 2 && here == 1);
}
static void throws(std::atomic<int> &go) {
  int here = 0; std::thread t([&] { here = 1; go = 1; }); t.join();
  if (here == 1) throw std::runtime_error("x");
}
static void an_exception() {
  std::atomic<int> go{0}; int after = 0;
  try { throws(go); } catch (const std::exception &) { int big[32]; for (int &each : big) each = 7; after = big[3]; }
  assert(after == 7 && go == 1);
}
static void a_condition() {
  std::mutex m; std::condition_variable c; bool ready = false;
  std::thread t([&] { std::lock_guard<std::mutex> guard(m); ready = true; c.notify_one(); });
  { std::unique_lock<std::mutex> guard(m); c.wait(guard, [&] { return ready; }); }
  t.join();
}
static void a_stop_callback() {
  std::atomic<int> n{0};
  std::jthread t([&](std::stop_token s) { std::stop_callback c(s, [&] { n++; }); });
  t.request_stop(); t.join(); assert(n <= 1);
}
static std::binary_semaphore asked(0);
static std::promise<int> *question;
static int answer() {
  std::promise<int> mine; auto answer = mine.get_future(); question = &mine; asked.release(); return answer.get();
}
static void a_promise_of_who_waits() {
  std::thread t([] { asked.acquire(); question->set_value(1); }); assert(answer() == 1); t.join();
}
struct Triple { long a, b, c; };
static Triple made(Triple *from) { Triple here = *from; std::thread t([&] { here.b = 5; }); t.join(); return here; }
static void copies() { Triple one{1, 2, 3}; Triple two = made(&one); assert(two.a == 1 && two.b == 5 && two.c == 3); }
int main(int, char **argv) {
  void (*all[])() = {threads_in_a_vector, a_thread_in_a_struct, a_latch, a_barrier, a_jthread, a_future, an_exception,
                     a_condition, copies, a_stop_callback, a_promise_of_who_waits};
  all[std::atoi(argv[1])]();
}
"""
CXX_CASES = ("vector", "handle", "latch", "barrier", "jthread", "future", "exception", "condition", "copies")
CXX_CASES += ("stop callback", "promise of who waits")


@pytest.fixture(scope="module", params=COMPILERS)
def cxx_program(request: pytest.FixtureRequest) -> Iterator[Path]:
    with TemporaryDirectory() as directory:
        file = Path(directory) / "program.cpp"
        file.write_text(CXX)
        yield build(Source((str(file),), ("-std=c++20",), request.param), Path(directory))


@pytest.mark.parametrize("name", CXX_CASES)
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_ordinary_cxx_is_safe(cxx_program: Path, name: str, model: str) -> None:
    monitors = ["monitor=exact-tso", "monitor=exact-pso"] if model == "sc" else []
    arguments = [str(CXX_CASES.index(name))]
    end, told = explore(cxx_program, f"model={model}", "executions=200", *monitors, arguments=arguments)
    assert [answer for answer in told if answer["type"] == "failure"] == []
    assert end["executions"] > 0


def test_thread_locals_that_are_shared_are_memory_like_any_other(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(
        "#include <assert.h>\n#include <pthread.h>\nstatic __thread volatile int x; static volatile int *p, y;\n"
        "static void *f(void *unused) { y = 1; return (void *)(long)*p; }\n"
        "int main(void) { pthread_t t; void *r; p = &x; pthread_create(&t, 0, f, 0); x = 1; int s = y;\n"
        "pthread_join(t, &r); assert(s || r); }\n"
    )
    program = Source((str(file),))
    result = check(program, CheckOptions())
    assert (result.models["tso"].robust, result.models["sc"].safe) == (False, True)
    failed = check(program, CheckOptions(goal="safe")).models["tso"]
    assert failed.verdict is Verdict.VIOLATION
    token = failed.violations[0].replay.split()[2]
    again = replay(token, program)
    assert again is not None
    assert "assertion" in again.message


def test_errno_of_another_thread_bars_the_proof(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(
        "#include <errno.h>\n#include <pthread.h>\nstatic int *p;\n"
        "static void *f(void *unused) { return (void *)(long)*p; }\n"
        "int main(void) { pthread_t t; p = &errno; pthread_create(&t, 0, f, 0); pthread_join(t, 0); }\n"
    )
    result = check(Source((str(file),)), CheckOptions())
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any("errno" in note for note in result.notes)


def test_a_token_knows_what_of_a_stack_is_shared(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(
        "#include <pthread.h>\nstatic volatile int *p; static volatile int go;\n"
        "static void leaves(void) { volatile int here = 1; p = &here; go = 1; }\n"
        "static void *f(void *unused) { if (go) *p = 2; return 0; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); leaves(); pthread_join(t, 0); }\n"
    )
    program = Source((str(file),))
    found = check(program, CheckOptions()).violations[0]
    assert found.kind == "use after return"
    assert found.message.endswith(f"T0 returned at {file}:3")
    again = replay(found.replay.split()[2], program)
    assert again is not None
    assert "use after return" in again.message


def test_only_frames_that_others_may_know_of_are_marked() -> None:
    function = "\t.type\tf, @function\nf:\n\tmovq\t%rsp, %rbp\n{}\tret\n\t.size\tf, .-f\n"
    assert "teetotal" not in mark_ends(function.format("\tmovl\t-4(%rbp), %eax\n"))
    assert "call\tteetotal_frame_ends@PLT\n\tret" in mark_ends(function.format("\tleaq\t-4(%rbp), %rax\n"))
    assert "call\tteetotal_wide_frame_ends@PLT\n\tret" in mark_ends(
        function.format("\tleaq\t-4(%rbp), %rax\n\tfldt\t(%rax)\n")
    )


def test_frames_that_end_without_a_return_are_marked() -> None:
    """Where an exception lands, where setjmp comes back; and an address may be a copy of the stack pointer."""
    function = "\t.type\tf, @function\nf:\n\tpushq\t%rbp\n{}.L5:\n\tnop\n.L6:\n\tret\n\t.size\tf, .-f\n"
    table = (
        "\t.section\t.gcc_except_table\n\t.uleb128 .LLSDACSE1-.LLSDACSB1\n.LLSDACSB1:\n"
        "\t.uleb128 .LEHB0-.LFB1\n\t.uleb128 .LEHE0-.LEHB0\n\t.uleb128 .L5-.LFB1\n\t.uleb128 0x1\n"
        "\t.uleb128 .LEHB1-.LFB1\n\t.uleb128 .LEHE1-.LEHB1\n\t.uleb128 0\n\t.uleb128 0\n.LLSDACSE1:\n"
    )
    call = "\tcall\tteetotal_frame_ends@PLT\n"
    assert mark_ends(function.format("") + table) == function.format("").replace(".L5:\n", f".L5:\n{call}") + table
    twice = "\tcall\t_setjmp@PLT\n"
    assert mark_ends(function.format(twice)) == function.format(twice + call)
    for copied in ("\tmovq\t%rsp, %rax\n", "\taddq\t%rbp, %rdi\n"):
        assert mark_ends(function.format(copied)) == function.format(copied).replace("\tret", f"{call}\tret")


@pytest.mark.parametrize("label", ["", ".LVL5:\n", ".LBE3:\n\t.loc 1 32 39 discriminator 1\n"])
def test_a_frame_ends_at_a_tail_call_whatever_debuggers_are_told_of(label: str) -> None:
    """gcc 16 writes labels between: such an end was missed."""
    text = f"""\t.type\tf, @function
f:
\tpushq\t%rbp
\tmovq\t%rsp, %rbp
\tleaq\t-4(%rbp), %rdi
\tcall\tlend
\tleave
{label}\tjmp\trest
\t.size\tf, .-f
"""
    assert "teetotal_frame_ends@PLT\n\tjmp\trest" in mark_ends(text)
    assert "teetotal" not in mark_ends(text.replace("\tleave\n", "\tleave\n.L7:\n"))
