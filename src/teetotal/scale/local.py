"""Processes of this machine, none of whose work is lost when one of them dies.

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
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic

from teetotal import _core
from teetotal.scale import supervision
from teetotal.scale.crew import Answer, Item, OutOfBudget, Tally, Work, WorkerDied, cpu, timed
from teetotal.scale.processes import HURRY, children, die_with_parent, hurried_later, keeping, largest

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


FAREWELL = 0.5
"""Seconds that a process has to end by itself, which takes some milliseconds."""


def available_workers() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class Processes(Generic[Item, Answer]):
    """Each is started when there is something for it: a crew may be larger than the work. ``beside``, once it is closed:
    the processor seconds of whoever asked, meanwhile."""

    def __init__(
        self, work: Work[Item, Answer], workers: int, seconds: float | None = None, megabytes: float | None = None
    ) -> None:
        self.size = workers
        self.pool = [_Worker(work, seconds, megabytes) for _ in range(workers)]
        self.tallies = [worker.tally for worker in self.pool]
        self.busy: list[_Worker[Item, Answer]] = []
        self.began, self.beside = cpu(), 0.0

    @property
    def free(self) -> int:
        return len(self.pool) - len(self.busy)

    def submit(self, number: int, item: Item) -> None:
        worker = max((worker for worker in self.pool if worker not in self.busy), key=lambda worker: worker.started)
        worker.give(number, item)
        self.busy.append(worker)

    def receive(self, seconds: float | None = None) -> tuple[int, Answer | WorkerDied] | None:
        from multiprocessing import connection  # which takes a while to load, and is seldom needed

        until = math.inf if seconds is None else time.monotonic() + seconds
        while self.busy:
            soonest = [_soonest(self.busy), None if until == math.inf else max(0.0, until - time.monotonic())]
            ready = connection.wait(
                [worker.pipe for worker in self.busy],
                min((moment for moment in soonest if moment is not None), default=None),
            )
            for worker in self.busy:
                if worker.pipe in ready or worker.must_end():
                    self.busy.remove(worker)
                    return worker.position, worker.take()
            if time.monotonic() >= until:
                break
        return None

    def hurry(self, number: int) -> bool:
        for worker in self.busy:
            if worker.position == number and worker.process.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(worker.process.pid, HURRY)
        return True

    def cancel(self, number: int) -> None:
        for worker in [worker for worker in self.busy if worker.position == number]:
            self.busy.remove(worker)
            worker.end()

    def close(self) -> None:
        started = [worker for worker in self.pool if worker.started]
        idle = [worker for worker in started if worker not in self.busy]
        for worker in idle:
            worker.send_home()
        for worker in started:
            worker.stop(FAREWELL if worker in idle else 0.0)
        self.busy = []
        self.beside = cpu() - self.began


def _soonest(busy: Sequence[_Worker[Item, Answer]]) -> float | None:
    """When to look again: at the time, or at the memory."""
    times = [left for worker in busy if (left := worker.left()) is not None]
    if any(worker.most is not None for worker in busy):
        times.append(supervision.LOOK)
    return min(times, default=None)


class _Worker(Generic[Item, Answer]):
    def __init__(self, work: Work[Item, Answer], seconds: float | None, megabytes: float | None) -> None:
        self.work = work
        self.seconds = math.inf if seconds is None else supervision.patience(seconds)
        self.until = math.inf
        self.most = None if megabytes is None else supervision.room(megabytes)
        self.position = -1
        self.tally = Tally()
        self.began = 0.0
        self.started = False

    def _start(self) -> None:
        import multiprocessing

        context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(self.work, theirs), daemon=True)
        with hurried_later():
            self.process.start()
        theirs.close()
        self.started = True

    def left(self) -> float | None:
        """Seconds until this piece has to be done; None: it may take as long as it likes."""
        return None if self.until == math.inf else max(0.0, self.until - time.monotonic())

    def must_end(self) -> bool:
        return self.left() == 0 or self._too_large()

    def _too_large(self) -> bool:
        return self.most is not None and largest(self.process.pid) > self.most

    def give(self, position: int, item: Item) -> None:
        self.position = position
        self.began = time.monotonic()
        self.until = self.began + self.seconds
        if not self.started:
            self._start()
        try:
            self.pipe.send(item)
        except (BrokenPipeError, OSError):  # it died while idle
            self.stop()
            self._start()
            self.pipe.send(item)

    def take(self) -> Answer | WorkerDied:
        self.tally.busy += time.monotonic() - self.began
        if not self.pipe.poll():
            memory = self._too_large()
            self.end()
            return OutOfBudget(memory)
        try:
            answer: Answer
            answer, spent = self.pipe.recv()
        except (EOFError, OSError):
            code = self._again()
            self.tally.died += 1
            status, why = supervision.death(code)
            return WorkerDied(why, status)
        self.tally.done(answer, spent)
        return answer

    def end(self) -> None:
        """By force; another process takes its place."""
        self.process.kill()
        self._again()

    def _again(self) -> int:
        """A new process in the place of one that has ended; how that did."""
        self.process.join()
        supervision.sweep_after(self.process.pid)
        code: int = self.process.exitcode
        self.pipe.close()
        self._start()
        return code

    def send_home(self) -> None:
        """It has nothing to do, and ends by itself, with what it has kept."""
        with suppress(BrokenPipeError, OSError):
            self.pipe.send(None)

    def stop(self, patience: float = 0.0) -> None:
        self.process.join(patience)
        self.pipe.close()
        if self.process.is_alive():
            self.process.kill()  # one that has just been forked still hears SIGTERM as its parent does, and goes on
        self.process.join()
        supervision.sweep_after(self.process.pid)


def _hurried(*_: object) -> None:
    """Processes that explore for us tell what they have; so does the core, which lets this run now and then."""
    _core.pause_part()
    for child in children():
        with suppress(ProcessLookupError):
            os.kill(child, HURRY)


def _serve(work: Work[Item, Answer], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started us decides
    supervision.leave()
    signal.signal(HURRY, _hurried)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {HURRY})  # it may have come before us
    die_with_parent()
    keeping.stays = True
    try:
        while (item := pipe.recv()) is not None:
            pipe.send(timed(work, item))
    except (EOFError, OSError):
        pass
    finally:
        keeping.let_go()
