"""Calls that fail with a look alone: a trylock, a semaphore that is taken if that can be done, once. With an older value
the look would not fail, and is no load then but an atomic operation. So what is reported of it is something that the
machine does: its own schedule is one of the machine's."""

from __future__ import annotations

import random
import shlex
from pathlib import Path

import pytest

from amounts import some
from c_programs import compiled, explore, reported
from teetotal.answers.options import CheckOptions
from teetotal.checking import check
from teetotal.engines.runtime.replaying import replay
from teetotal.programs.c.build import Source

LETTERS = r"""
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#define LOAD(a) (void)atomic_load_explicit(&a, memory_order_relaxed)
#define STORE(a, v) atomic_store_explicit(&a, v, memory_order_relaxed)
static atomic_int x, y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t o = PTHREAD_ONCE_INIT;
static sem_t s;
static void nothing(void) {}
static void *run(void *given) {
  for (unsigned long letters = (unsigned long)given; letters; letters >>= 8) switch (letters & 255) {
    case 'x': STORE(x, 1); break;
    case 'X': STORE(x, 2); break;
    case 'y': STORE(y, 1); break;
    case 'a': LOAD(x); break;
    case 'b': LOAD(y); break;
    case '{': pthread_mutex_lock(&m); break;
    case '}': pthread_mutex_unlock(&m); break;
    case 'T': pthread_mutex_trylock(&m); break;
    case 't': if (!pthread_mutex_trylock(&m)) pthread_mutex_unlock(&m); break;
    case 'w': pthread_rwlock_wrlock(&l); break;
    case 'r': pthread_rwlock_rdlock(&l); break;
    case 'u': pthread_rwlock_unlock(&l); break;
    case 'R': pthread_rwlock_tryrdlock(&l); break;
    case 'W': pthread_rwlock_trywrlock(&l); break;
    case 'p': sem_trywait(&s); break;
    case 'V': sem_post(&s); break;
    case 'o': pthread_once(&o, nothing); break;
    case 'i': sem_init(&s, 0, 0); break;
    case 'e': while (pthread_mutex_trylock(&m)); break;
  }
  return 0;
}
int main(int c, char **given) {
  pthread_t t[8];
  unsigned long code[8] = {0};
  sem_init(&s, 0, given[1][0] - '0');
  for (int i = 0; i < c - 2; i++) {
    memcpy(&code[i], given[i + 2], strlen(given[i + 2]));
    pthread_create(&t[i], 0, run, (void *)code[i]);
  }
  for (int i = 0; i < c - 2; i++) pthread_join(t[i], 0);
}
"""

MONITORS = ("monitor=exact-tso", "monitor=exact-pso")


@pytest.mark.parametrize(
    "threads",
    [("xt", "{X}"), ("xT", "TX"), ("xR", "wXu"), ("xW", "rXu"), ("xo", "oX"), ("xp", "pX"), ("xt", "{aX}", "b")],
    ids=str,
)
@pytest.mark.parametrize("waiting", ["skip", "count"])
def test_a_look_does_not_overtake_what_made_it_fail(threads: tuple[str, ...], waiting: str) -> None:
    """It would succeed, and empty the buffer. That was reported, and the schedule that was told is none."""
    with compiled(LETTERS) as program:
        end, told = explore(program, f"waiting={waiting}", *MONITORS, arguments=("1", *threads))
    assert end["complete"]
    assert reported(told) == [0, 0]


@pytest.mark.parametrize(
    ("value", "threads", "models"),
    [
        (1, ("{}x", "XT"), "tso pso"), (0, ("Vx", "Xp"), "tso pso"), (0, ("{}xb", "yat"), "tso pso"),
        (0, ("xT", "{}{X}"), "tso pso"), (0, ("ix", "Xp"), "tso pso"), (1, ("ix", "Xp"), "pso"), (1, ("xe", "{X}"), ""),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("waiting", ["skip", "count"])
def test_what_looks_may_overtake(value: int, threads: tuple[str, ...], models: str, waiting: str) -> None:
    """The last but one would take the semaphore as it was before it began anew: what takes it comes after its own store,
    and only PSO lets the new beginning come later than what was stored behind it."""
    with compiled(LETTERS) as program:
        end, told = explore(program, f"waiting={waiting}", *MONITORS, arguments=(str(value), *threads))
    assert end["complete"]
    assert [model for model, count in zip(("tso", "pso"), reported(told), strict=True) if count] == models.split()


def test_what_would_succeed_overtakes_a_store_alone() -> None:
    """The try itself is told of, not only the store of the other thread that overtakes the one before it."""
    with compiled(LETTERS) as program:
        _, told = explore(program, *MONITORS, arguments=("1", "ix", "Xp"))
    deciding = {answer["steps"][-1][0] for answer in told if answer["type"] == "violation"}
    assert deciding == {1, 2}


def test_every_schedule_that_is_told_is_one_of_the_machine(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(LETTERS)
    replayed = 0
    for seed in range(some(300)):
        chance = random.Random(f"tries {seed}")
        pieces = chance.choice([["t", "T", "{}", "{"], ["r", "ru", "wu", "R", "W"], ["p", "V", "p"], ["o"]])
        threads = [
            "".join(chance.choices([*pieces, "x", "X", "a", "y", "b"], k=3)) for _ in range(chance.choice((2, 2, 3)))
        ]
        source = Source((str(file),), arguments=(str(chance.randint(0, 1)), *threads))
        options = CheckOptions(models=("tso", "pso"), waiting=chance.choice(("skip", "skip", "count")), triage=0)
        for violation in check(source, options).violations:
            if violation.model != "sc":
                assert replay(shlex.split(violation.replay)[2], source) is not None, (threads, violation.replay)
                replayed += 1
    assert replayed > some(300) / 3
