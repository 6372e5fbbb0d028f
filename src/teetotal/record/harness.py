"""Programs for this machine's own processor: the C around the threads of a test, and the process that runs it.

A test is a function ``run_T(memory, log)`` per thread T. They run in batches: each round of a batch has memory and a log
of its own, all zero at first, where ``set_up(memory)`` may write initial values. The threads are pinned, to different
processors as long as there are enough, and meet every ``ROUNDS_BETWEEN_BARRIERS`` rounds; after a batch
``tell(memory, log)`` says what each round came to, and after all of them ``finish()``. Asked to end, by SIGINT or
SIGTERM, it finishes the batch at hand.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from teetotal.answers.errors import TeetotalError
from teetotal.programs.c.build import executable
from teetotal.scale.processes import die_with_parent
from teetotal.scale.supervision import scratch_folder

_BATCH_BYTES = 1 << 20
_MAX_BATCH = 1024
_BEFORE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char memory_t[MEMORY_BYTES] __attribute__((aligned(64)));
typedef int64_t log_t[LOG_WORDS];
"""
_AFTER = r"""
static memory_t *memories;
static log_t *logs;
static long rounds_left;
static volatile int batch;  // gcc would read it before meet(), which it knows to leave it alone

static volatile sig_atomic_t asked_to_end;
static void end_soon(int number) { (void)number; asked_to_end = 1; }

// A barrier that spins, and after a while lets others run: there may be more threads than processors.
static unsigned waiting, generation;
static void meet(void) {
  unsigned now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&waiting, 1, __ATOMIC_ACQ_REL) == THREADS) {
    __atomic_store_n(&waiting, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&generation, now + 1, __ATOMIC_RELEASE);
  } else {
    for (unsigned spins = 0; __atomic_load_n(&generation, __ATOMIC_ACQUIRE) == now; ++spins)
      if (spins > 2000) sched_yield();
  }
}

static void pin(int thread) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return;
  int wanted = thread % CPU_COUNT(&allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && wanted-- == 0) {
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      pthread_setaffinity_np(pthread_self(), sizeof one, &one);
      return;
    }
}

static void prepare(void) {
  batch = asked_to_end ? 0 : rounds_left < BATCH ? (int)rounds_left : BATCH;
  rounds_left -= batch;
  memset(memories, 0, sizeof(memory_t) * batch);
  memset(logs, 0, sizeof(log_t) * batch);
  for (int round = 0; round < batch; ++round) set_up(memories[round]);
}

static void *thread(void *argument) {
  int me = (int)(intptr_t)argument;
  pin(me);
  for (;;) {
    if (me == 0) prepare();
    meet();
    if (batch == 0) return NULL;
    for (int round = 0; round < batch; ++round) {
      if (round % ROUNDS_BETWEEN_BARRIERS == 0) meet();
      functions[me](memories[round], logs[round]);
    }
    meet();
    for (int round = 0; me == 0 && round < batch; ++round) tell(memories[round], logs[round]);
    if (me == 0 && fflush(stdout)) asked_to_end = 1;
  }
}

int main(int count, char **arguments) {
  rounds_left = count > 1 ? atol(arguments[1]) : 1;
  signal(SIGINT, end_soon);
  signal(SIGTERM, end_soon);
  memories = aligned_alloc(64, sizeof(memory_t) * BATCH);
  logs = malloc(sizeof(log_t) * BATCH);
  if (!memories || !logs) return 3;
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; ++i)
    if (pthread_create(&threads[i], NULL, thread, (void *)i)) return 4;
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  finish();
  return fflush(stdout) ? 5 : 0;
}
"""


class Test(msgspec.Struct, frozen=True, kw_only=True):
    """``code`` defines ``set_up``, ``run_0`` …, ``tell`` and ``finish``. ``log_words`` are of 8 bytes."""

    __test__ = False  # not pytest's

    threads: int
    memory_bytes: int
    log_words: int
    code: str
    rounds_between_barriers: int = 1

    @property
    def text(self) -> str:
        memory = -(-self.memory_bytes // 64) * 64
        log = max(self.log_words, 1)
        batch = min(max(_BATCH_BYTES // (memory + 8 * log), 1), _MAX_BATCH)
        numbers = {
            "THREADS": self.threads,
            "MEMORY_BYTES": memory,
            "LOG_WORDS": log,
            "BATCH": batch,
            "ROUNDS_BETWEEN_BARRIERS": self.rounds_between_barriers,
        }
        functions = ", ".join(f"run_{thread}" for thread in range(self.threads))
        return "".join(
            [
                *(f"#define {name} {number}\n" for name, number in numbers.items()),
                _BEFORE,
                self.code,
                f"\nstatic void (*const functions[])(char *, int64_t *) = {{{functions}}};\n",
                _AFTER,
            ]
        )


@contextmanager
def running(test: Test, rounds: int, compiler: str | None = None, seconds: float | None = None) -> Iterator[IO[bytes]]:
    """What the test writes, while it runs; afterwards, or when the time is over, it is asked to end."""
    with scratch_folder() as folder:
        program = executable(test.text, Path(folder), compiler, ("-O2", "-pthread"))
        command = [str(program), str(rounds)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=die_with_parent) as process:
            assert process.stdout is not None
            clock = threading.Timer(seconds or 0.0, process.terminate)
            if seconds is not None:
                clock.start()
            try:
                yield process.stdout
            finally:
                clock.cancel()
                process.stdout.close()
                process.terminate()
                try:
                    status = process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    status = process.wait()
        if status in (3, 4):
            raise TeetotalError("there is not enough memory, or there are too many threads, for this test")
