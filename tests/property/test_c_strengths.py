"""Each synchronisation call is as strong as glibc makes it on x86-64, and no stronger: a fence, or none.

Store buffering with the call between one thread's store and its load, and an mfence in the other thread: robust exactly
if the call is a fence. ``benchmarks/bench_strengths.py`` asks the processor the same question about the same calls.
"""

from __future__ import annotations

import random
import shlex
from pathlib import Path

import pytest

from c_letters import INTERPRETER
from c_programs import compiled, explore
from teetotal.answers.check import CheckAnswer
from teetotal.answers.events import Kind
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Goal
from teetotal.checking import check
from teetotal.engines.runtime.replaying import replay
from teetotal.programs.c.build import Source

TEXT = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>
atomic_int x, y, idle_end; int seen[2], word;
#define SET(v) atomic_store_explicit(&v, 1, memory_order_relaxed)
#define GET(v) atomic_load_explicit(&v, memory_order_relaxed)
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
pthread_cond_t c = PTHREAD_COND_INITIALIZER; pthread_spinlock_t p, p_held; sem_t empty, full;
pthread_rwlock_t l, read_held, write_held; pthread_once_t done, fresh; pthread_barrier_t one; pthread_key_t key;
pthread_t child; mtx_t c11, c11_held; cnd_t c11_c; once_flag c11_once; struct timespec past; int value;
static void nothing(void) {}
static void *idle(void *p) { return 0; }
LEFTS
static void *right(void *q) { SET(y); atomic_thread_fence(memory_order_seq_cst); seen[1] = GET(x); return 0; }
int main(int n, char **given) {
  pthread_t t, u;
  pthread_spin_init(&p, 0); pthread_spin_init(&p_held, 0); sem_init(&empty, 0, 0); sem_init(&full, 0, 1);
  pthread_barrier_init(&one, 0, 1); pthread_key_create(&key, 0); mtx_init(&c11, mtx_plain); mtx_init(&c11_held, mtx_plain);
  cnd_init(&c11_c); pthread_once(&done, nothing); call_once(&c11_once, nothing);
  pthread_mutex_lock(&held); pthread_spin_lock(&p_held); mtx_lock(&c11_held);
  pthread_rwlock_rdlock(&read_held); pthread_rwlock_wrlock(&write_held);
  pthread_create(&t, 0, left[atoi(given[1])], 0); pthread_create(&u, 0, right, 0);
  pthread_join(t, 0); pthread_join(u, 0);
  assert(seen[0] || seen[1]);
}
"""

NO_FENCES = {
    "nothing": "",
    "pthread_spin_unlock": "pthread_spin_unlock(&p)",
    "pthread_cond_signal where nobody waits": "pthread_cond_signal(&c)",
    "sem_getvalue": "sem_getvalue(&full, &value)",
    "sem_trywait that fails": "sem_trywait(&empty)",
    "pthread_once that is done": "pthread_once(&done, nothing)",
    "pthread_cond_broadcast where nobody waits": "pthread_cond_broadcast(&c)",
    "pthread_mutex_trylock that fails": "pthread_mutex_trylock(&held)",
    "pthread_rwlock_tryrdlock that fails": "pthread_rwlock_tryrdlock(&write_held)",
    "pthread_rwlock_trywrlock that fails": "pthread_rwlock_trywrlock(&read_held)",
    "locking a recursive mutex again": "pthread_mutex_lock(&recursive)",
    "unlocking a recursive mutex once of twice": "pthread_mutex_unlock(&recursive)",
    "locking what the mutex knows to be locked": "pthread_mutex_lock(&checked)",
    "pthread_mutex_init": "pthread_mutex_init(&m, 0)",
    "pthread_mutex_destroy": "pthread_mutex_destroy(&m)",
    "a writer that locks again": "pthread_rwlock_wrlock(&l)",
    "pthread_tryjoin_np of a thread that runs": "pthread_tryjoin_np(pthread_self(), 0); pthread_self()",
    "pthread_getspecific": "pthread_getspecific(key)",
    "pthread_setspecific": "pthread_setspecific(key, &key)",
    "sched_yield": "sched_yield()",
    "mtx_trylock that fails": "mtx_trylock(&c11_held)",
    "cnd_signal where nobody waits": "cnd_signal(&c11_c)",
    "call_once that is done": "call_once(&c11_once, nothing)",
}
FENCES = {
    "mfence": "atomic_thread_fence(memory_order_seq_cst)",
    "pthread_mutex_lock": "pthread_mutex_lock(&m)",
    "pthread_mutex_unlock": "pthread_mutex_unlock(&recursive); pthread_mutex_unlock(&recursive)",
    "pthread_mutex_trylock": "pthread_mutex_trylock(&m)",
    "pthread_mutex_timedlock that fails": "pthread_mutex_timedlock(&held, &past)",
    "pthread_spin_lock": "pthread_spin_unlock(&p); pthread_spin_lock(&p)",
    "pthread_spin_trylock that fails": "pthread_spin_trylock(&p_held)",
    "pthread_rwlock_unlock": "pthread_rwlock_unlock(&l)",
    "pthread_rwlock_rdlock": "pthread_rwlock_rdlock(&read_held)",
    "pthread_rwlock_tryrdlock": "pthread_rwlock_tryrdlock(&read_held)",
    "pthread_rwlock_timedrdlock that fails": "pthread_rwlock_timedrdlock(&write_held, &past)",
    "pthread_rwlock_timedwrlock that fails": "pthread_rwlock_timedwrlock(&read_held, &past)",
    "pthread_cond_timedwait": "pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &past)",
    "sem_post": "sem_post(&full)",
    "sem_wait": "sem_wait(&full)",
    "sem_trywait": "sem_trywait(&full)",
    "sem_timedwait that fails": "sem_timedwait(&empty, &past)",
    "pthread_once that runs": "pthread_once(&fresh, nothing)",
    "pthread_barrier_wait": "pthread_barrier_wait(&one)",
    "pthread_create": "pthread_t i; pthread_create(&i, 0, idle, 0); pthread_detach(i)",
    "pthread_join": "pthread_join(child, 0)",
    "futex wake": "syscall(SYS_futex, &word, FUTEX_WAKE, 1)",
    "futex wait": "syscall(SYS_futex, &word, FUTEX_WAIT, 1, 0)",
    "mtx_lock": "mtx_lock(&c11)",
}
BEFORE = {
    "pthread_spin_unlock": "pthread_spin_lock(&p);",
    "pthread_spin_lock": "pthread_spin_lock(&p);",
    "locking a recursive mutex again": "pthread_mutex_lock(&recursive);",
    "unlocking a recursive mutex once of twice": "for (int i = 0; i < 2; i++) pthread_mutex_lock(&recursive);",
    "pthread_mutex_unlock": "for (int i = 0; i < 2; i++) pthread_mutex_lock(&recursive);",
    "locking what the mutex knows to be locked": "pthread_mutex_lock(&checked);",
    "a writer that locks again": "pthread_rwlock_wrlock(&l);",
    "pthread_rwlock_unlock": "pthread_rwlock_wrlock(&l);",
    "pthread_join": "pthread_create(&child, 0, idle, 0);",
}


CALLS = {**NO_FENCES, **FENCES}


def text() -> str:
    """One program for all calls: its argument chooses."""
    lefts = [
        f"static void *left{number}(void *q) {{ {BEFORE.get(name, '')} SET(x); {call}; seen[0] = GET(y); return 0; }}"
        for number, (name, call) in enumerate(CALLS.items())
    ]
    listed = ", ".join(f"left{number}" for number in range(len(CALLS)))
    return TEXT.replace("LEFTS", "\n".join([*lefts, f"static void *(*const left[])(void *) = {{{listed}}};"]))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("strengths") / "program.c"
    path.write_text(text())
    return path


def run(file: Path, name: str, goal: Goal = "robust") -> tuple[Source, CheckAnswer]:
    source = Source((str(file),), arguments=(str(list(CALLS).index(name)),))
    return source, check(source, CheckOptions(models=("tso",), goal=goal))


@pytest.mark.parametrize("name", NO_FENCES)
def test_what_is_no_fence(file: Path, name: str) -> None:
    source, result = run(file, name)
    assert result.models["sc"].safe
    assert result.models["tso"].robust is False
    again = replay(shlex.split(result.violations[0].replay)[2], source)
    assert again is not None
    assert again.cycle


@pytest.mark.parametrize("name", FENCES)
def test_what_is_a_fence(file: Path, name: str) -> None:
    _, result = run(file, name)
    assert (result.models["tso"].robust, result.complete, result.notes) == (True, True, result.notes)


@pytest.mark.parametrize("name", ["pthread_spin_unlock", "pthread_cond_signal where nobody waits",
                                  "sem_trywait that fails", "pthread_once that is done",
                                  "pthread_mutex_trylock that fails"])  # fmt: skip
def test_the_program_fails_on_tso_itself(file: Path, name: str) -> None:
    source, result = run(file, name, "safe")
    (found,) = result.models["tso"].violations
    assert "seen[0] || seen[1]" in found.message
    again = replay(shlex.split(found.replay)[2], source)
    assert again is not None
    assert "assertion" in again.message


@pytest.mark.parametrize(
    "name", ["pthread_mutex_trylock", "sem_trywait", "pthread_once that runs", "pthread_spin_lock"]
)
def test_the_program_holds_on_tso_itself(file: Path, name: str) -> None:
    _, result = run(file, name, "safe")
    assert result.models["tso"].safe


# -- the search: what looks before it writes, and what is let go by a store -----------------------------------------------

MORE = r"""
    case 'z': pthread_spin_lock(&q); pthread_spin_unlock(&q); break;
    case 'Z': if (!pthread_spin_trylock(&q)) pthread_spin_unlock(&q); break;
    case '<': pthread_spin_lock(&q); break;
    case '>': pthread_spin_unlock(&q); break;
    case 'O': pthread_once(&o, first); x = 1; break;
    case 'd': pthread_mutex_destroy(&m); break;
"""
LETTERS = INTERPRETER.replace("    case 'l':", MORE + "    case 'l':").replace(
    "int word;", "int word; pthread_spinlock_t q;"
)


def programs(pieces: list[str], model: str) -> list[list[str]]:
    """The semaphore's first value, and what the threads do: small enough for all their interleavings."""
    chance = random.Random(f"strengths of {pieces}")
    sizes = [(2, 2), (3, 2), (2, 1, 1)] if model == "sc" else [(2, 1), (1, 2), (1, 1)]
    return [
        [str(chance.randint(0, 1)), *("".join(chance.choices(pieces, k=size)) for size in chance.choice(sizes))]
        for _ in range(6)
    ]


@pytest.mark.parametrize(
    "pieces",
    [["z", "Z", "<k>", "<l>"], ["o", "O", "l"], ["p", "V", "g", "k"], ["T", "d", "{k}", "l"], ["S", "B", "C", "k"],
     ["R", "W", "w", "k"]],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("model", ["sc", "tso"])
def test_every_class_of_interleavings_once(pieces: list[str], model: str) -> None:
    compared = 0
    with compiled(LETTERS) as program:
        for arguments in programs(pieces, model):
            options = ["classes=1", f"model={model}"]
            reduced, _ = explore(program, *options, arguments=arguments)
            every, _ = explore(program, *options, "strategy=interleavings", "executions=6000", arguments=arguments)
            assert reduced["complete"], arguments
            assert reduced["redundant"] == 0, arguments
            assert reduced["executions"] == reduced["classes"] >= every["classes"], arguments
            if every["complete"]:
                assert every["classes"] == reduced["executions"], arguments
                compared += 1
    assert compared >= 3


def test_a_try_is_one_step_of_a_schedule(tmp_path: Path) -> None:
    """TSO is searched with a look and an rmw; the schedule that is told has one step for both."""
    file = tmp_path / "program.c"
    file.write_text(
        "#include <assert.h>\n#include <pthread.h>\npthread_mutex_t m; volatile int x, y, a, b;\n"
        "static void *f(void *p) { pthread_mutex_trylock(&m); x = 1; a = y; return 0; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); y = 1; b = x; pthread_join(t, 0); assert(a || b); }\n"
    )
    source = Source((str(file),))
    (found,) = check(source, CheckOptions(models=("tso",), goal="safe")).violations
    tries = [event for event in found.events if "try to lock" in event.text]
    assert [(event.kind, "succeeds" in event.text) for event in tries] == [(Kind.RMW, True)]
    again = replay(shlex.split(found.replay)[2], source)
    assert again is not None
    assert "assertion" in again.message
