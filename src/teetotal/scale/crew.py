"""Work for many hands: one small interface, whoever the hands are.

=============  ========================================================================================================
``submit``     gives an item to somebody who is free
``receive``    the next answer, whoever it is from, or ``WorkerDied`` in its place: an item is never lost silently
``hurry``      somebody waits for the answer, which may be about what is done by now
``cancel``     nobody wants the answer any more
``in_order``   merges: answers by position, each as soon as all before it are there
=============  ========================================================================================================

``here.Here`` does the work itself, ``local.Processes`` has processes of this machine, ``cluster.Cluster`` those of a Ray
cluster. What an item is, none of them knows; answers do not depend on who gave them.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import msgspec

from teetotal.scale import supervision

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Given = TypeVar("Given", contravariant=True)
Got = TypeVar("Got", covariant=True)


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


class Tally(msgspec.Struct):
    """Of one worker: what it has done, how long that took, and how many seconds of a processor's."""

    items: int = 0
    busy: float = 0.0
    cpu: float = 0.0
    executions: int = 0
    died: int = 0

    def add(self, more: Tally) -> None:
        self.items += more.items
        self.busy += more.busy
        self.cpu += more.cpu
        self.executions += more.executions
        self.died += more.died

    def done(self, answer: object, cpu: float) -> None:
        self.items += 1
        self.cpu += cpu
        self.executions += getattr(answer, "executions", 0)


def timed(work: Callable[[Item], Answer], item: Item) -> tuple[Answer, float]:
    """The answer, and the seconds of processors that it took, here and in processes that were started for it; it tells
    itself of one that stays (``beside``)."""
    before = cpu() + cpu(resource.RUSAGE_CHILDREN)
    answer = work(item)
    return answer, cpu() + cpu(resource.RUSAGE_CHILDREN) - before + getattr(answer, "beside", 0.0)


def cpu(whose: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


class Crew(Protocol[Given, Got]):
    size: int
    tallies: list[Tally]

    @property
    def free(self) -> int:
        """How many can be given something now."""

    def submit(self, number: int, item: Given) -> None: ...

    def receive(self, seconds: float | None = None) -> tuple[int, Got | WorkerDied] | None:
        """None: there was no answer within so many seconds."""

    def hurry(self, number: int) -> bool:
        """Somebody waits: an answer about what is done by now would do. False: there is no way to say so."""

    def cancel(self, number: int) -> None: ...

    def close(self) -> None: ...


def each(
    crew: Crew[Item, Answer], items: Iterable[Item], tries: int = 1
) -> Generator[tuple[int, Answer | WorkerDied], None, None]:
    """(position, answer) of each item, in the order in which they are done. An item is taken when somebody is free, and
    is given to so many, one after the other, where they die of it; not where its time or memory was used up."""
    waiting = enumerate(items)
    again: list[tuple[int, Item]] = []
    running: dict[int, Item] = {}
    deaths: dict[int, int] = {}
    try:
        while True:
            while crew.free and (following := again.pop() if again else next(waiting, None)) is not None:
                running[following[0]] = following[1]
                crew.submit(*following)
            if not running:
                return
            found = crew.receive()
            if found is None:
                continue
            position, answer = found
            item = running.pop(position)
            if isinstance(answer, WorkerDied) and not isinstance(answer, OutOfBudget):
                deaths[position] = deaths.get(position, 0) + 1
                if deaths[position] < tries:
                    again.append((position, item))
                    continue
            yield found
    finally:
        crew.close()


def in_order(answers: Iterator[tuple[int, Answer]]) -> Iterator[Answer]:
    early: dict[int, Answer] = {}
    following = 0
    for position, answer in answers:
        early[position] = answer
        while following in early:
            yield early.pop(following)
            following += 1


class Log:
    """What happens, when: one JSON object a line, to a file that somebody asked for; and the tallies at the end. A file
    that cannot be written stops nobody: ``trouble`` says why, to whoever has an answer to tell first."""

    def __init__(self, path: str | None = None) -> None:
        self.began = time.monotonic()
        self.path, self.trouble = path, ""
        self.file = None if path is None else sys.stderr if path == "-" else open(path, "a", encoding="utf-8")  # noqa: SIM115

    def __call__(self, event: str, **told: Any) -> None:
        if self.file is not None:
            import json

            line = {"time": round(time.monotonic() - self.began, 3), "event": event, **told}
            try:
                self.file.write(json.dumps(line, ensure_ascii=False) + "\n")
                self.file.flush()
            except OSError as problem:
                self.trouble = f"cannot write the log {self.path}: {problem.strerror}; it is cut off"
                self.close()

    def close(self) -> None:
        if self.file is not None and self.file is not sys.stderr:
            with suppress(OSError):  # of what is still to be written, which is told already
                self.file.close()
        self.file = None


def lines_about(tallies: Sequence[Tally], seconds: float) -> Iterator[str]:
    """A line for each worker."""
    for number, tally in enumerate(tallies):
        rate = f"{tally.executions / tally.busy:,.0f} executions a second, " if tally.executions and tally.busy else ""
        idle = max(0.0, 1 - tally.busy / seconds) if seconds > 0 else 0.0
        died = f", died {tally.died} times" if tally.died else ""
        yield f"worker {number}: {tally.items} items, {rate}idle {idle:.0%}{died}"


Work = Callable[[Item], Answer]
