"""Who works on a question beside whoever asks it, and where what is known so far is kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from teetotal.scale.crew import Answer, Crew, Item, Log, Tally, Work
from teetotal.scale.here import Here
from teetotal.scale.local import Processes

if TYPE_CHECKING:
    from teetotal.scale.checkpoint import Checkpoint  # which loads SQLite


class Slice(NamedTuple):
    """For so many seconds, and executions, somebody works on a part of an exploration before it is looked at who could
    help."""

    seconds: float = 4.0
    executions: int = 2**62

    @property
    def first(self) -> Slice:
        """Of whoever begins, alone: what takes no longer is not divided."""
        return Slice(min(0.1, self.seconds), self.executions)

    def within(self, seconds: float, share: float = 1.0) -> Slice:
        return Slice(min(share * self.seconds, seconds), self.executions)


SLICE = Slice()


class Scale:
    """``workers`` of this machine, or those of a Ray ``cluster``, by its address."""

    def __init__(
        self,
        workers: int = 1,
        cluster: str | None = None,
        checkpoint: Checkpoint | None = None,
        log: Log | None = None,
        slice: Slice = SLICE,
    ) -> None:
        self.workers, self.cluster, self.checkpoint, self.slice = workers, cluster, checkpoint, slice
        self.log = log or Log()
        self.crews: list[list[Tally]] = []
        self.asked: list[object] = []
        self.notes: list[str] = []

    @property
    def tallies(self) -> list[Tally]:
        """Of each worker, whatever crew it was in: one after the other has the same place."""
        found = [Tally() for _ in range(max(map(len, self.crews), default=0))]
        for tallies in self.crews:
            for worker, more in zip(found, tallies, strict=False):
                worker.add(more)
        return found

    @property
    def alone(self) -> bool:
        """Nobody helps, and nothing is kept: there is no use for parts."""
        return self.workers <= 1 and self.cluster is None and self.checkpoint is None

    def crew(
        self,
        work: Work[Item, Answer],
        items: int | None = None,
        seconds: float | None = None,
        megabytes: float | None = None,
    ) -> Crew[Item, Answer]:
        """For that many items at most, each with so much time and memory (see ``local.Processes``). Where the cluster
        cannot be used, the processors of this machine do."""
        crew = self._crew(work, items, seconds, megabytes)
        self.crews.append(crew.tallies)
        self.asked.append(crew)
        return crew

    @property
    def beside(self) -> float:
        """Processor seconds of this process while others worked for it."""
        return sum(crew.beside for crew in self.asked if isinstance(crew, Processes))

    def _crew(
        self, work: Work[Item, Answer], items: int | None, seconds: float | None, megabytes: float | None
    ) -> Crew[Item, Answer]:
        if self.cluster is not None:
            from teetotal.scale.cluster import Cluster, Unavailable

            try:
                return Cluster(work, self.cluster, self.warn)
            except Unavailable as why:
                self._without_cluster(why)
        workers = self.workers if items is None else min(self.workers, items)
        if workers <= 1 and (seconds is None or items == 1):
            return Here(work)
        return Processes(work, max(1, workers), seconds, megabytes)

    def look_for_cluster(self) -> None:
        """Before anything is asked of it: what turns out to need no help would not tell that there is none."""
        if self.cluster is not None:
            from teetotal.scale.cluster import Unavailable, look_for

            try:
                look_for(self.cluster)
            except Unavailable as why:
                self._without_cluster(why)

    def _without_cluster(self, why: Exception) -> None:
        self.warn(f"{why}: the processors of this machine do the work")
        self.cluster = None

    def warn(self, why: str) -> None:
        self.notes.append(why)
        self.log("warning", why=why)
        print(f"teetotal: warning: {why}", file=sys.stderr, flush=True)

    def note(self, what: str) -> None:
        """For ``--stats``: how the work was done."""
        self.notes.append(what)
        self.log("note", what=what)
