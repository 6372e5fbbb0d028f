"""Which calls of the C library are fences: what this processor shows, beside what the checker takes each call for.

    python benchmarks/bench_strengths.py [ROUNDS]

Store buffering with the call between one thread's store and its load, and an mfence in the other thread
(benchmarks/stress/synchronisation_calls.c). A relaxed outcome shows that the call is no fence; none shows nothing by
itself, but a fence must never have one: then the exit status is 1. Needs two processors that are not too busy.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
NO_FENCE = {
    "nothing": "",
    "pthread_mutex_trylock, fails": "ld",
    "pthread_mutex_lock, again (recursive)": "–",
    "pthread_mutex_unlock, not the last (recursive)": "–",
    "pthread_mutex_lock, EDEADLK": "–",
    "pthread_mutex_unlock, EPERM": "–",
    "pthread_mutex_init": "–",
    "pthread_mutex_destroy": "ld",
    "pthread_spin_unlock": "sfence, st",
    "pthread_rwlock_tryrdlock, fails": "ld",
    "pthread_rwlock_trywrlock, fails": "ld",
    "pthread_rwlock_wrlock, EDEADLK": "–",
    "pthread_cond_signal, nobody waits": "ld",
    "pthread_cond_broadcast, nobody waits": "ld",
    "pthread_cond_init": "–",
    "sem_trywait, fails": "ld",
    "sem_getvalue": "ld",
    "pthread_once, is done": "ld",
    "pthread_tryjoin_np, fails": "ld",
    "pthread_getspecific": "–",
    "pthread_setspecific": "–",
    "pthread_self": "–",
    "sched_yield": "–",
    "getppid by syscall": "–",
}
"""What the checker takes for less than a fence, and for what; every other call is one."""


def measured(rounds: int, only: str = "") -> dict[str, tuple[int, int]]:
    """Rounds and relaxed outcomes of each call."""
    with TemporaryDirectory() as directory:
        program = Path(directory) / "calls"
        source = HERE / "stress" / "synchronisation_calls.c"
        subprocess.run(["cc", "-O2", "-pthread", str(source), "-o", str(program)], check=True)
        told = subprocess.run([str(program), str(rounds), only], capture_output=True, text=True, check=True).stdout
    rows = (line.split("\t") for line in told.splitlines())
    return {name: (int(tried), int(relaxed)) for name, tried, relaxed in rows}


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    print("| call | on the machine | rounds | relaxed outcomes |\n|---|---|---:|---:|")
    wrong = []
    for name, (tried, relaxed) in measured(rounds).items():
        print(f"| {name} | {NO_FENCE.get(name, 'a fence')} | {tried:,} | {relaxed:,} |")
        if relaxed and name not in NO_FENCE:
            wrong.append(name)
    for name in wrong:
        print(f"\n{name} is taken for a fence, and is none")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
