"""Many independent pieces of work on this machine's processors, none lost when a process dies.

The standard pool gives up everything when one of its processes is killed. Here each process has one piece at a time and
a pipe of its own: if it dies, that one piece is answered with ``WorkerDied``, a new process takes its place, and the
others never notice.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from teetotal.scale import supervision
from teetotal.scale.processes import die_with_parent, largest

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class WorkerDied(Exception):
    """The process that worked on this piece ended before it answered: why, and the exit status that this should have."""

    def __init__(self, why: str, status: int) -> None:
        super().__init__(why)
        self.status = status


class OutOfBudget(WorkerDied):
    """It was ended, because the piece took more time, or more ``memory``, than it may."""

    def __init__(self, memory: bool) -> None:
        super().__init__(f"its {'memory is used up' if memory else 'time is over'}", supervision.INCONCLUSIVE)
        self.memory = memory


def available_workers() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def each(
    work: Callable[[Item], Answer],
    items: Sequence[Item],
    workers: int,
    seconds: float | None = None,
    megabytes: float | None = None,
) -> Iterator[tuple[int, Answer | WorkerDied]]:
    """``work(item)`` for each item, as (position, answer), in the order in which they are done. One that has not ended
    long after its ``seconds``, or is larger than ``megabytes``, is ended.

    ``work`` must be importable by name and must not raise; it runs here where there is one item, or where one worker is
    enough and nobody has to be ended.
    """
    if len(items) <= 1 or (workers <= 1 and seconds is None):
        for position, item in enumerate(items):
            yield position, work(item)
        return
    from multiprocessing import connection  # which takes a while to load, and is seldom needed

    pool = [_Worker(work, seconds, megabytes) for _ in range(max(1, min(workers, len(items))))]
    try:
        waiting = iter(enumerate(items))
        for worker in pool:
            worker.give(*next(waiting))
        busy = list(pool)
        while busy:
            ready = connection.wait([worker.pipe for worker in busy], _soonest(busy))
            for worker in [worker for worker in busy if worker.pipe in ready or worker.must_end()]:
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


def _soonest(busy: Sequence[_Worker[Item, Answer]]) -> float | None:
    """When to look again: at the time, or at the memory."""
    times = [left for worker in busy if (left := worker.left()) is not None]
    if any(worker.most is not None for worker in busy):
        times.append(supervision.LOOK)
    return min(times, default=None)


class _Worker(Generic[Item, Answer]):
    def __init__(self, work: Callable[[Item], Answer], seconds: float | None, megabytes: float | None) -> None:
        self.work = work
        self.seconds = math.inf if seconds is None else supervision.patience(seconds)
        self.until = math.inf
        self.most = None if megabytes is None else supervision.room(megabytes)
        self.position = -1
        self._start()

    def _start(self) -> None:
        import multiprocessing

        context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(self.work, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def left(self) -> float | None:
        """Seconds until this piece has to be done; None: it may take as long as it likes."""
        return None if self.until == math.inf else max(0.0, self.until - time.monotonic())

    def must_end(self) -> bool:
        return self.left() == 0 or self._too_large()

    def _too_large(self) -> bool:
        return self.most is not None and largest(self.process.pid) > self.most

    def give(self, position: int, item: Item) -> None:
        self.position = position
        self.until = time.monotonic() + self.seconds
        try:
            self.pipe.send(item)
        except (BrokenPipeError, OSError):  # it died while idle
            self.stop()
            self._start()
            self.pipe.send(item)

    def take(self) -> Answer | WorkerDied:
        if not self.pipe.poll():
            memory = self._too_large()
            self.process.kill()
            self._again()
            return OutOfBudget(memory)
        try:
            answer: Answer = self.pipe.recv()
            return answer
        except (EOFError, OSError):
            code = self._again()
            status, why = supervision.death(code)
            return WorkerDied(why, status)

    def _again(self) -> int:
        """A new process in the place of one that has ended; how that did."""
        self.process.join()
        code: int = self.process.exitcode
        self.pipe.close()
        self._start()
        return code

    def stop(self) -> None:
        self.pipe.close()
        if self.process.is_alive():
            self.process.kill()  # one that has just been forked still hears SIGTERM as its parent does, and goes on
        self.process.join()


def _serve(work: Callable[[Item], Answer], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started us decides
    supervision.leave()
    die_with_parent()
    while True:
        try:
            item = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(work(item))
