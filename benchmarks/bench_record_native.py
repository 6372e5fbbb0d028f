"""What it costs a program to be built for ``record program --native``, and to be recorded.

Nanoseconds an access, at -O2: two threads that walk over an array of their own and at times lock a mutex, built as ever,
built to be recorded but not recorded, and recorded (windows of 100,000 accesses, one after the other).
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from teetotal.programs.c.build import Source, built_to_record, executable
from teetotal.record.windows import Run

ACCESSES = 4 * 10**7
RECORDED = 10**6
TEXT = """
#include <pthread.h>
#include <stdlib.h>
static long rounds, sum;
static volatile long own[2][1024];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *given) {
  volatile long *mine = given;
  for (long round = 0; round < rounds; round++) {
    for (int i = 0; i < 1024; i++) mine[i] += i;
    pthread_mutex_lock(&m); sum += mine[0]; pthread_mutex_unlock(&m);
  }
  return 0;
}
int main(int count, char **arguments) {
  pthread_t t[2];
  rounds = atol(arguments[1]) / 4096;  // two threads, a load and a store
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, (void *)own[i]);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return count < 2;
}
"""


def nanoseconds(program: Path, accesses: int) -> float:
    before = os.times()
    subprocess.run([program, str(accesses)], check=True)
    after = os.times()
    return (
        (after.children_user + after.children_system - before.children_user - before.children_system) * 1e9 / accesses
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.c"
        file.write_text(TEXT)
        plain = nanoseconds(executable(TEXT, Path(folder), None, ("-O2", "-pthread")), ACCESSES)
        with built_to_record(Source((str(file),), ("-O2",))) as program:
            dormant = nanoseconds(program, ACCESSES)
            begun = time.monotonic()
            run = Run(program, (str(RECORDED),), capacity=100_000, count=1_000_000)
            seen = sum(len(window.records) for window in run.windows())
            recorded = (time.monotonic() - begun) * 1e9 / seen
    print(f"{'':26}{'ns an access':>14}")
    for name, cost in {"as ever": plain, "built to be recorded": dormant, "recorded (wall clock)": recorded}.items():
        print(f"{name:26}{cost:14.1f}")


if __name__ == "__main__":
    main()
