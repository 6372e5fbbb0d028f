"""Many independent pieces of work on this machine's processors, none lost when a process dies.

The standard pool gives up everything when one of its processes is killed. Here each process has one piece at a time and
a pipe of its own: if it dies, that one piece is answered with ``WorkerDied``, a new process takes its place, and the
others never notice.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

_PR_SET_PDEATHSIG = 1

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class WorkerDied(Exception):
    """The process that worked on this piece ended before it answered."""


def available_workers() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def each(
    work: Callable[[Item], Answer], items: Sequence[Item], workers: int
) -> Iterator[tuple[int, Answer | WorkerDied]]:
    """``work(item)`` for each item, as (position, answer), in the order in which they are done.

    ``work`` must be importable by name and must not raise; it runs here where one worker is enough.
    """
    if workers <= 1 or len(items) <= 1:
        for position, item in enumerate(items):
            yield position, work(item)
        return
    pool = [_Worker(work) for _ in range(min(workers, len(items)))]
    try:
        waiting = iter(enumerate(items))
        for worker in pool:
            worker.give(*next(waiting))
        busy = list(pool)
        while busy:
            ready = wait([worker.pipe for worker in busy])
            for worker in [worker for worker in busy if worker.pipe in ready]:
                yield worker.position, worker.take()
                following = next(waiting, None)
                if following is None:
                    busy.remove(worker)
                else:
                    worker.give(*following)
    finally:
        for worker in pool:
            worker.stop()


def in_order(answers: Iterator[tuple[int, Answer]]) -> Iterator[Answer]:
    """Answers by position, each as soon as all before it are there."""
    early: dict[int, Answer] = {}
    following = 0
    for position, answer in answers:
        early[position] = answer
        while following in early:
            yield early.pop(following)
            following += 1


class _Worker(Generic[Item, Answer]):
    def __init__(self, work: Callable[[Item], Answer]) -> None:
        self.work = work
        self.position = -1
        self._start()

    def _start(self) -> None:
        context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(self.work, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, position: int, item: Item) -> None:
        self.position = position
        try:
            self.pipe.send(item)
        except (BrokenPipeError, OSError):  # it died while idle
            self.stop()
            self._start()
            self.pipe.send(item)

    def take(self) -> Answer | WorkerDied:
        try:
            answer: Answer = self.pipe.recv()
            return answer
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            reason = (
                f"by signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"with status {code}"
            )
            self.pipe.close()
            self._start()
            return WorkerDied(f"its process ended {reason}")

    def stop(self) -> None:
        self.pipe.close()
        if self.process.is_alive():
            self.process.terminate()
        self.process.join()


def _serve(work: Callable[[Item], Answer], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started us decides
    if sys.platform == "linux":  # and when that one is killed, nobody waits for our answer
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    while True:
        try:
            item = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(work(item))
