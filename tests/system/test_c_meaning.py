"""What C means here, case by case: one source for all, built once; each case is a few threads and what they may find.

A case fails on the machines named, and on no others; what fails is an assertion unless something else is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from c_programs import compiled, explore

HEAD = """#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOAD(v) atomic_load_explicit(&v, memory_order_relaxed)
#define STORE(v, n) atomic_store_explicit(&v, n, memory_order_relaxed)
#define FENCE(order) atomic_thread_fence(memory_order_##order)
volatile int x, y, z, *p; atomic_int a, b; _Atomic unsigned char small;
__thread int own;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, recursive, checked;
pthread_rwlock_t rw; sem_t none, one; pthread_cond_t c = PTHREAD_COND_INITIALIZER;
pthread_barrier_t barrier; pthread_once_t once = PTHREAD_ONCE_INIT;
int __VERIFIER_nondet_int(void);
static void first(void) { x = 1; x = 2; }
static int often(void) { return ++own >= 8; }
static int wrong(void) { return ++errno >= 6; }
pthread_key_t key; static void destroyed(void *value) { x = *(int *)value; }
static int kept(void) { char *n = pthread_getspecific(key); return pthread_setspecific(key, n + 1), n >= (char *)6; }
static void *nothing(void *unused) { return 0; }
"""
MAIN = """
static void *start(void *code) { ((void (*)(void))code)(); return 0; }
int main(int n, char **given) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE); pthread_mutex_init(&recursive, &kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK); pthread_mutex_init(&checked, &kind);
  sem_init(&none, 0, 0); sem_init(&one, 0, 1); pthread_barrier_init(&barrier, 0, 2);
  void (**code)(void) = cases[atoi(given[1])];
  pthread_t t[4]; int count = 0;
  for (; code[count]; count++) pthread_create(&t[count], 0, start, code[count]);
  for (int i = 0; i < count; i++) pthread_join(t[i], 0);
  if (ends[atoi(given[1])]) ends[atoi(given[1])]();
}
"""


class Case(NamedTuple):
    threads: list[str]
    fails: str = ""
    end: str = ""
    options: str = ""
    what: str = "assertion"


RMW_ADDRESS = "rmw=address mutex=rmw"
CASES: dict[str, Case] = {
    # -- store buffers -----------------------------------------------------------------------------------------------
    "SB": Case(["x = 1; z = !y;", "y = 1; if (!x) assert(!z);"], "tso pso"),
    # Which nobody else sees: compilers may take it out.
    "SB, a store to a frame": Case(
        ["x = 1; atomic_int n; n = 1; z = !y;", "y = 1; atomic_int n; n = 1; if (!x) assert(!z);"], "tso pso"
    ),
    "SB, an rmw of a frame": Case(
        ["x = 1; atomic_int n = 0; n++; z = !y;", "y = 1; atomic_int n = 0; n++; if (!x) assert(!z);"], "tso pso"
    ),
    "SB+mfences": Case(["x = 1; FENCE(seq_cst); z = !y;", "y = 1; FENCE(seq_cst); if (!x) assert(!z);"]),
    "SB+mfences, rmw=address": Case(
        ["x = 1; FENCE(seq_cst); z = !y;", "y = 1; FENCE(seq_cst); if (!x) assert(!z);"], options=RMW_ADDRESS
    ),
    "SB+seq_cst": Case(["a = 1; z = !b;", "b = 1; if (!a) assert(!z);"]),
    "MP": Case(["x = 1; y = 1;", "if (y) assert(x);"], "pso"),
    "MP+release": Case(["x = 1; atomic_store_explicit(&a, 1, memory_order_release);", "if (a) assert(x);"]),
    "MP+release fence": Case(["x = 1; FENCE(release); y = 1;", "if (y) assert(x);"]),
    "MP+acq_rel fence": Case(["x = 1; FENCE(acq_rel); y = 1;", "if (y) assert(x);"]),
    "MP+acquire fence": Case(["x = 1; FENCE(acquire); y = 1;", "if (y) assert(x);"], "pso"),
    "MP, same address": Case(["x = 1; x = 2;", "int r = x; assert(x >= r);"]),
    "MP through two stores": Case(["z = 1; x = 1; x = 2; y = 1;", "if (x) assert(z);"], "pso"),
    "own store is seen": Case(["x = 1; x = 2; assert(x == 2);", "z = x;"]),
    "rmw, all": Case(["x = 1; atomic_fetch_add_explicit(&a, 1, memory_order_relaxed);", "if (a) assert(x);"]),
    "rmw, address": Case(
        ["x = 1; atomic_fetch_add_explicit(&a, 1, memory_order_relaxed);", "if (a) assert(x);"],
        "pso",
        options=RMW_ADDRESS,
    ),
    "releasing rmw, address": Case(
        ["x = 1; atomic_fetch_add_explicit(&a, 1, memory_order_release);", "if (a) assert(x);"], options=RMW_ADDRESS
    ),
    "releasing cas, address": Case(
        ["x = 1; int e = 0; atomic_compare_exchange_strong(&a, &e, 1);", "if (a) assert(x);"], options=RMW_ADDRESS
    ),
    "rmw behind a fence, address": Case(
        ["x = 1; FENCE(release); atomic_fetch_add_explicit(&a, 1, memory_order_relaxed);", "if (a) assert(x);"],
        options=RMW_ADDRESS,
    ),
    "rmw behind its own store": Case(
        ["STORE(a, 5); int old = atomic_fetch_add_explicit(&a, 1, memory_order_relaxed); assert(old == 5);", "z = a;"],
        end="assert(a == 6);",
        options=RMW_ADDRESS,
    ),
    "an ended thread has stored": Case(["x = 1;", "z = 1;"], end="assert(x == 1);", options=RMW_ADDRESS),
    "a stack that is shared": Case(
        ["volatile int here = 0; p = &here; sem_post(&none); sem_wait(&one); assert(here != 1); sem_wait(&one);",
         "sem_wait(&none); *p = 1; sem_post(&one);"],
        "sc tso pso",
        options="strategy=all",
    ),
    "a store to its own stack that another looks at": Case(
        ["int here = 0; p = &here; sem_post(&none); here = 1; x = y; sem_wait(&one); sem_wait(&one);",
         "sem_wait(&none); y = 1; z = *p; sem_post(&one);"],
        "tso pso",
        end="assert(x == 1 || z == 1);",
        options="strategy=all",
    ),
    # -- atomic operations -------------------------------------------------------------------------------------------
    "fetch": Case(
        ["a = 12; assert(atomic_fetch_sub(&a, 2) == 12); assert(atomic_fetch_or(&a, 5) == 10);"
         "assert(atomic_fetch_and(&a, 6) == 15); assert(atomic_fetch_xor(&a, 3) == 6);"
         "assert(__atomic_fetch_nand(&x, 1, __ATOMIC_SEQ_CST) == 0); assert(x == -1); assert(a == 5);"]
    ),
    "cas tells what it found": Case(
        ["a = 3; int e = 2; assert(!atomic_compare_exchange_strong(&a, &e, 9)); assert(e == 3 && a == 3);"
         "assert(atomic_compare_exchange_strong(&a, &e, 9)); assert(a == 9);"]
    ),
    "two that fail to exchange": Case(["int e = 1; atomic_compare_exchange_strong(&a, &e, 2);"] * 2),
    "one that makes another succeed": Case(
        ["int e = 0; atomic_compare_exchange_strong(&a, &e, 1);",
         "int e = 1; atomic_compare_exchange_strong(&a, &e, 2); e = 0; atomic_compare_exchange_strong(&a, &e, 3);"]
    ),
    "small wraps": Case(["small = 255; atomic_fetch_add(&small, 2); assert(small == 1);"]),
    # -- mutexes -----------------------------------------------------------------------------------------------------
    "mutex": Case(["pthread_mutex_lock(&m); x = 1; x = 2; pthread_mutex_unlock(&m);",
                   "pthread_mutex_lock(&m); assert(x != 1); pthread_mutex_unlock(&m);"]),
    "no mutex": Case(["x = 1; x = 2;", "assert(x != 1);"], "sc tso pso"),
    "trylock": Case(["if (!pthread_mutex_trylock(&m)) { x = 1; x = 2; pthread_mutex_unlock(&m); }",
                     "if (!pthread_mutex_trylock(&m)) { assert(x != 1); pthread_mutex_unlock(&m); }"]),
    "trylock may fail": Case(["pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
                              "int r = pthread_mutex_trylock(&m); assert(!r); pthread_mutex_unlock(&m);"],
                             "sc tso pso"),
    "recursive": Case(
        ["pthread_mutex_lock(&recursive); pthread_mutex_lock(&recursive); pthread_mutex_unlock(&recursive);"
         "x = 1; x = 2; pthread_mutex_unlock(&recursive);",
         "pthread_mutex_lock(&recursive); assert(x != 1); pthread_mutex_unlock(&recursive);"]
    ),
    "recursive trylock": Case(
        ["pthread_mutex_lock(&recursive); pthread_mutex_trylock(&recursive); pthread_mutex_unlock(&recursive);"
         "x = 1; x = 2; pthread_mutex_unlock(&recursive);",
         "pthread_mutex_lock(&recursive); assert(x != 1); pthread_mutex_unlock(&recursive);"]
    ),
    "error-checking": Case(
        ["pthread_mutex_lock(&checked); assert(pthread_mutex_lock(&checked) == EDEADLK);"
         "assert(!pthread_mutex_unlock(&checked)); assert(pthread_mutex_unlock(&checked) == EPERM);"]
    ),
    "unlocking what another holds": Case(
        ["pthread_mutex_lock(&m); sem_post(&none);", "sem_wait(&none); pthread_mutex_unlock(&m);"],
        "sc tso pso",
        what="misuse",
    ),
    "locking twice": Case(["pthread_mutex_lock(&m); pthread_mutex_lock(&m);"], "sc tso pso", what="deadlock"),
    "unlock is a fence": Case(
        ["pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); y = 1;", "if (y) assert(x);"], options="rmw=address"
    ),
    "unlock is no fence": Case(
        ["pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); y = 1;", "if (y) assert(x);"],
        "pso",
        options=RMW_ADDRESS,
    ),
    # -- readers and writers -----------------------------------------------------------------------------------------
    "a writer is alone": Case(["pthread_rwlock_wrlock(&rw); x = 1; x = 2; pthread_rwlock_unlock(&rw);",
                               "pthread_rwlock_rdlock(&rw); assert(x != 1); pthread_rwlock_unlock(&rw);"]),
    "a writer waits for each reader": Case(
        ["pthread_rwlock_rdlock(&rw); int r = x; assert(r == x); pthread_rwlock_unlock(&rw);",
         "pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw);",
         "pthread_rwlock_wrlock(&rw); x = 1; pthread_rwlock_unlock(&rw);"]
    ),
    "a reader that waits for a reader": Case(
        ["pthread_rwlock_rdlock(&rw); sem_wait(&none); int r = x; assert(r == x); pthread_rwlock_unlock(&rw);",
         "pthread_rwlock_rdlock(&rw); sem_post(&none); pthread_rwlock_unlock(&rw);",
         "pthread_rwlock_wrlock(&rw); x = 1; pthread_rwlock_unlock(&rw);"],
    ),
    "readers are together": Case(
        ["pthread_rwlock_rdlock(&rw); a = 1; assert(!b); pthread_rwlock_unlock(&rw);",
         "pthread_rwlock_rdlock(&rw); b = 1; assert(!a); pthread_rwlock_unlock(&rw);"],
        "sc tso pso",
    ),
    "a writer that tries": Case(
        ["if (!pthread_rwlock_trywrlock(&rw)) { x = 1; x = 2; pthread_rwlock_unlock(&rw); }",
         "if (!pthread_rwlock_tryrdlock(&rw)) { assert(x != 1); pthread_rwlock_unlock(&rw); }"]
    ),
    "a lock that is tried is a fence too": Case(
        ["pthread_rwlock_wrlock(&rw); x = 1; pthread_rwlock_unlock(&rw); y = 1;",
         "if (y && !pthread_rwlock_tryrdlock(&rw)) assert(x);"],
        options="rmw=address",
    ),
    # -- threads -----------------------------------------------------------------------------------------------------
    "keys are destroyed": Case(
        ["static int kept = 7; pthread_key_create(&key, destroyed); pthread_setspecific(key, &kept);"],
        end="assert(x == 7);",
    ),
    "a thread is joined once": Case(
        ["pthread_t t; pthread_create(&t, 0, nothing, 0); assert(!pthread_join(t, 0)); pthread_join(t, 0);"],
        "sc tso pso",
        what="misuse",
    ),
    # -- once, barriers, semaphores, futexes -------------------------------------------------------------------------
    "once is done": Case(["pthread_once(&once, first); assert(x == 2);", "pthread_once(&once, first); assert(x == 2);"]),
    "once is once": Case(
        ["pthread_once(&once, first); x = 3;", "pthread_once(&once, first); x = 3;"], end="assert(x == 3);"
    ),
    "barrier": Case(
        ["x = 1; pthread_barrier_wait(&barrier); assert(y);", "y = 1; pthread_barrier_wait(&barrier); assert(x);"]
    ),
    "barrier twice": Case(
        ["pthread_barrier_wait(&barrier); x = 1; pthread_barrier_wait(&barrier);",
         "pthread_barrier_wait(&barrier); pthread_barrier_wait(&barrier); assert(x);"]
    ),
    "semaphore": Case(["sem_wait(&one); x = 1; x = 2; sem_post(&one);", "sem_wait(&one); assert(x != 1); sem_post(&one);"]),
    "semaphore that is tried": Case(
        ["if (!sem_trywait(&one)) { x = 1; x = 2; sem_post(&one); }",
         "if (!sem_trywait(&one)) { assert(x != 1); sem_post(&one); }"]
    ),
    "a post publishes": Case(["x = 1; sem_post(&none);", "sem_wait(&none); assert(x);"], options="rmw=address"),
    "waiting for a post that never comes": Case(["sem_wait(&none);", "x = 1;"], "sc tso pso", what="deadlock"),
    "futex": Case(
        ["while (!LOAD(a)) syscall(SYS_futex, &a, FUTEX_WAIT, 0, 0);", "a = 1; syscall(SYS_futex, &a, FUTEX_WAKE, 1);"]
    ),
    "a futex without a wake": Case(
        ["while (!LOAD(a)) syscall(SYS_futex, &a, FUTEX_WAIT, 0, 0);", "a = 1;"], "sc tso pso", what="deadlock"
    ),
    # -- conditions --------------------------------------------------------------------------------------------------
    "condition": Case(
        ["pthread_mutex_lock(&m); while (!x) pthread_cond_wait(&c, &m); assert(y); pthread_mutex_unlock(&m);",
         "pthread_mutex_lock(&m); y = 1; x = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);"]
    ),
    "a signal wakes one": Case(
        ["pthread_mutex_lock(&m); x++; pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);"] * 2
        + ["for (;;) { pthread_mutex_lock(&m); int all = x == 2; if (all) pthread_cond_signal(&c);"
           " pthread_mutex_unlock(&m); if (all) break; }"],
        "sc tso pso",
        what="deadlock",
    ),
    "a broadcast wakes all": Case(
        ["pthread_mutex_lock(&m); x++; if (x == 2) pthread_cond_broadcast(&c);"
         " while (x < 2) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);"] * 2
    ),
    # -- loops that wait ---------------------------------------------------------------------------------------------
    "a thread-local count is no waiting": Case(["while (!x) assert(!often());", "x = 1;"], "sc tso pso"),
    "a count in errno is no waiting": Case(["errno = 0; while (!x) assert(!wrong());", "x = 1;"], "sc tso pso"),
    "a count under a key is no waiting": Case(
        ["pthread_key_create(&key, 0); while (!x) assert(!kept());", "x = 1;"], "sc tso pso"
    ),
    "chance is no waiting": Case(["while (!x) assert(rand() % 5 != 0);", "x = 1;"], "sc tso pso"),
    "the environment is no waiting": Case(["while (!x) assert(!__VERIFIER_nondet_int());", "x = 1;"], "sc tso pso"),
    "waiting": Case(["while (!x) ; assert(x);", "x = 1;"]),
    "waiting through zeros": Case(["while (!x) ;", "x = 0; x = 0; x = 1;"]),
    "two that fail": Case(["x = 1; assert(!y);", "y = 1; assert(!x);"], "sc tso pso"),
    "waiting for ever": Case(["while (!x) ;", "y = 1;"], "sc tso pso", what="livelock"),
    # -- memory ------------------------------------------------------------------------------------------------------
    "use after free": Case(["p = malloc(4); sem_post(&none); free((void *)p);", "sem_wait(&none); *p = 1;"], "sc tso pso",
                           what="use after free"),
    "freed twice": Case(["p = malloc(4); sem_post(&none); free((void *)p);", "sem_wait(&none); free((void *)p);"],
                        "sc tso pso", what="use after free"),
    "freed in the middle": Case(["p = malloc(64); sem_post(&none); sem_wait(&one); free((void *)(p + 4));",
                                 "sem_wait(&none);"], "sc tso pso", what="misuse"),
    "a fill may be torn": Case(
        ["p = malloc(16); p[0] = p[3] = 0; sem_post(&none); memset((void *)p, 1, 16);",
         "sem_wait(&none); int r = p[3], s = p[0]; assert(!(r && !s) && !(s && !r));"],
        "sc tso pso",
    ),
    "free before the post": Case(["p = malloc(4); *p = 1; free((void *)p); sem_post(&none);", "sem_wait(&none); z = 1;"]),
}  # fmt: skip


def source() -> str:
    parts = [HEAD]
    table, ends = [], []
    for number, case in enumerate(CASES.values()):
        names = [f"c{number}_{thread}" for thread in range(len(case.threads))]
        parts += [f"static void {name}(void) {{ {text} }}\n" for name, text in zip(names, case.threads, strict=True)]
        table.append("  {" + ", ".join([*names, "0"]) + "},\n")
        ends.append(f"c{number}_end" if case.end else "0")
        if case.end:
            parts.append(f"static void c{number}_end(void) {{ {case.end} }}\n")
    parts.append(f"static void (*cases[][5])(void) = {{\n{''.join(table)}}};\n")
    parts.append(f"static void (*ends[])(void) = {{{', '.join(ends)}}};\n")
    return "".join([*parts, MAIN])


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    with compiled(source()) as built:
        yield built


def failures(told: list[dict[str, Any]]) -> set[str]:
    return {line["what"] for line in told if line["type"] == "failure"}


@pytest.mark.parametrize("name", CASES)
def test_fails_on_those_machines_alone(program: Path, name: str) -> None:
    case = CASES[name]
    found = {}
    for model in ("sc", "tso", "pso"):
        arguments = [str(list(CASES).index(name))]
        end, told = explore(
            program, f"model={model}", "loop-bound=12", *case.options.split(), "executions=3000", arguments=arguments
        )
        found[model] = failures(told)
        if not case.fails:
            assert end["complete"], model
    assert found == {model: {case.what} if model in case.fails.split() else set() for model in found}


def test_whoever_has_joined_a_thread_has_stored() -> None:
    """Also where an rmw waits for the stores to its own address alone."""
    text = """
void *f(void *unused) { return 0; }
void *g(void *unused) { x = 1; FENCE(seq_cst); a = y; return 0; }
int main(void) {
  pthread_t t, s;
  pthread_create(&t, 0, f, 0); pthread_create(&s, 0, g, 0);
  y = 1; pthread_join(t, 0); b = x;
  pthread_join(s, 0); assert(a || b);
}
"""
    with compiled(HEAD + text) as program:
        end, told = explore(program, "model=pso", "rmw=address")
    assert (end["complete"], end["executions"]) == (True, 3)
    assert [answer for answer in told if answer["type"] == "failure"] == []


def test_each_write_is_seen_by_one_that_waits(program: Path) -> None:
    """Reads x until it is 1 while x is set to 0 twice. It sees each of the three zeros not at all, once or twice: 27
    ways. Seeing the last of them a third time is waiting for ever: 1 + 3 + 9 ways."""
    arguments = [str(list(CASES).index("waiting through zeros"))]
    end, _ = explore(program, "model=sc", "waiting=count", arguments=arguments)
    assert (end["executions"], end["blocked"]) == (40, 13)
    end, _ = explore(program, "model=sc", arguments=arguments)  # where waiting is no part of executions
    assert (end["executions"], end["blocked"]) == (1, 0)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.fails])
def test_nothing_fails_without_reduction_either(program: Path, name: str) -> None:
    """The search takes some operations for independent of each other; here every one may be preempted, once."""
    arguments = [str(list(CASES).index(name))]
    _, told = explore(program, "model=sc", "strategy=preemptions", "count=1", "loop-bound=12", arguments=arguments)
    assert failures(told) == set()


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("trylock", "sc"),
        ("barrier", "sc"),
        ("one that makes another succeed", "sc"),
        ("MP+release fence", "pso"),
        ("unlock is a fence", "pso"),
    ],
)
def test_as_many_executions_as_classes(program: Path, name: str, model: str) -> None:
    arguments = [str(list(CASES).index(name))]
    options = [f"model={model}", "classes=1"]
    reduced, _ = explore(program, *options, arguments=arguments)
    every, _ = explore(program, *options, "strategy=interleavings", arguments=arguments)
    assert reduced["executions"] == reduced["classes"] == every["classes"]
    assert reduced["redundant"] == 0


def test_a_failed_compare_and_exchange_is_a_read(program: Path) -> None:
    """Two of them in either order are one execution."""
    end, _ = explore(program, "model=sc", arguments=[str(list(CASES).index("two that fail to exchange"))])
    assert end["executions"] == 1


def test_every_failure_is_told(program: Path) -> None:
    _, told = explore(program, "model=sc", arguments=[str(list(CASES).index("two that fail"))])
    assert sorted(line["message"] for line in told if line["type"] == "failure") == ["!x", "!y"]


ROUNDS = """#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
volatile int x, z;
static void *nothing(void *rounds) { int n = *(int *)rounds; while (n--) z = x; return 0; }
static void *looks(void *unused) { assert(x != 1); return 0; }
int main(int n, char **given) {
  int rounds = atoi(given[1]);
  pthread_t t, u;
  pthread_create(&t, 0, nothing, &rounds); pthread_create(&u, 0, looks, 0);
  pthread_join(t, 0);
  x = 1; x = 2;
  pthread_join(u, 0);
}
"""


def test_main_beside_the_last_thread_and_loops_that_are_cut() -> None:
    with compiled(ROUNDS) as program:
        for rounds, cut in ((3, False), (4, True)):
            end, told = explore(program, "model=sc", "loop-bound=3", arguments=[str(rounds)])
            assert bool(end["cut"]) == cut
            assert end["complete"] != cut
            assert failures(told) == (set() if cut else {"assertion"})
