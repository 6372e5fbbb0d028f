"""One exploration by many: its parts given to a crew, and merged as if nobody else had explored them.

core/search/part.hpp says what a part is, and core/search/merging.hpp why the merged answer is that of one search, counts,
violations and all. Here is who works on what:

- the *whole*, part 0, is explored like any other, for a slice of time; then what is left of it comes back;
- where somebody has nothing to do, whoever works longest is asked for what is left, before the slice is over;
- before a part is given to somebody, leaves of it are set aside as parts of their own for those who are free; the
  shallowest first, since most is behind them;
- a part that comes to a leaf that was set aside takes in what is known of it by then, and goes on from there.

What was told along the way (``Told``) is kept in the order of the search. A part whose worker dies is given to another one.
With a ``Checkpoint`` every change is in its file before anybody builds on it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

import msgspec

from teetotal import _core
from teetotal.scale.crew import Crew, Item, WorkerDied
from teetotal.scale.scale import Scale

Told = TypeVar("Told", bound=msgspec.Struct)
MOST_DEATHS = 3
"""So often in a row somebody may die of one part before the search is left to one process."""
SHORT = 0.25
"""The share of a slice after which a part comes back where others wait for something to do, and nobody can be hurried."""
MOMENT = 0.5
"""Seconds at most for what those who are at work have found, when all is over: it takes as long as one execution."""
HASTE, KEPT_HASTE = 0.003, 0.03
"""Seconds that a part is worked on before somebody else may want some of it: some times what it takes to begin with one,
and, where it is kept, to write it through to the disk."""

MOST_HASTE = 0.2
"""The same where parts are so small that it takes longer to give them away than to explore them, or where nothing of what
comes back can be given away: a search that is one long path."""
AGAIN = 0.01
"""Seconds after which whoever has not heard that somebody waits is told so again."""


class PartAnswer(msgspec.Struct, Generic[Told], frozen=True):
    """Of a slice: what is left, what it asks of those above, and what was told. ``over``: it ended the whole search.
    ``refused``: why this search cannot be explored in parts. ``died``: what happened to a process that was needed.
    ``beside``: processor seconds of a process that stays."""

    left: str = ""
    asks: str = ""
    told: Told | None = None
    executions: int = 0
    over: bool = False
    interrupted: bool = False
    refused: str = ""
    died: str = ""
    beside: float = 0.0


class State(Protocol):
    """Of a part: whose leaf comes next (0: its own), how many others could be given away, what share is explored."""

    @property
    def finished(self) -> bool: ...
    @property
    def next(self) -> int: ...
    @property
    def open(self) -> int: ...
    @property
    def explored(self) -> float: ...


class Division(Protocol):
    """How a search is divided: an optimal one (core/search/merging.hpp), or random walks (``walks``)."""

    def whole_search(self) -> str: ...
    def state_of_part(self, text: str, /) -> State: ...
    def give_parts(self, text: str, most: int, number: int, /) -> tuple[str, list[str]]: ...
    def take_back(self, text: str, numbers: list[int], /) -> str: ...
    def marks_of_part(self, text: str, /) -> list[int]: ...
    def merge_part(self, text: str, merged: str, asks: str, /) -> tuple[str, str] | None: ...


class Refused(Exception):
    """This search cannot be explored in parts: why."""


class Part(msgspec.Struct):
    """``begun``: somebody has explored some of it, in so many executions."""

    text: str
    asks: str = ""
    begun: bool = False
    over: bool = False
    executions: int = 0


class Exploration(Generic[Told]):
    """Begins with the whole search, or with what a checkpoint has of it: ``name`` tells its name there."""

    def __init__(self, name: Callable[[], str], telling: type[Told], scale: Scale, division: Division = _core) -> None:
        self.checkpoint, self.log, self.division = scale.checkpoint, scale.log, division
        self.parts: dict[int, Part] = {0: Part(division.whole_search())}
        self.told: dict[int, list[Told]] = {0: []}
        if self.checkpoint is not None:
            for number, (part, told) in self.checkpoint.parts(name(), Part, telling).items():
                self.parts[number], self.told[number] = part, told
            for part in self.parts.values():  # what nobody had begun is not there
                gone = [mark for mark in self.division.marks_of_part(part.text) if mark not in self.parts]
                part.text = self.division.take_back(part.text, gone)
        self.running: dict[int, float] = {}  # since when
        self.can_hurry = True
        self.haste = self.least = HASTE if self.checkpoint is None else KEPT_HASTE
        self.clock: Callable[[], float] = time.monotonic
        self.following = max(self.parts) + 1
        self.deaths: dict[int, int] = {}
        self.states: dict[int, State] = {}
        self.interrupted = False
        self.left_out = False  # something that was found, since it does not fit the rest
        self.accept: Callable[[Told], None] | None = None  # raises Refused

    @property
    def over(self) -> bool:
        return self.parts[0].over or self._state(0).finished

    @property
    def finished(self) -> bool:
        return self._state(0).finished and not self.parts[0].over and not self.left_out

    @property
    def executions(self) -> int:
        return sum(part.executions for part in self.parts.values())

    def all_told(self) -> Iterator[Told]:
        """In the order of the search; where it is not over, behind that what is known of what comes later."""
        for number in sorted(self.told)[: 1 if self.over else None]:
            yield from self.told[number]

    def run(
        self,
        crew: Crew[Item, PartAnswer[Told]],
        item: Callable[[str, float], Item],
        until: float = math.inf,
        watch: Callable[[int, float], None] | None = None,
        *,
        steps: float = math.inf,
    ) -> None:
        """Until it is over, or the time is (``time.monotonic``), or the user ends it; or for so many answers. An ``item``
        is made of a part's text and the share of a slice that it is worth."""
        try:
            while not self.over and not self.interrupted and time.monotonic() < until and steps > 0:
                steps -= 1
                while crew.free and (number := self._choose(crew.free, crew.size)) is not None:
                    self.running[number] = self.clock()
                    share = 1.0 if self.can_hurry else self._share(number, crew.size)
                    crew.submit(number, item(self.parts[number].text, share))
                soon = self._hurry(crew)
                self._receive(crew, min(soon, max(0.0, until - time.monotonic())))
                for gone in [number for number in self.running if number not in self.parts]:
                    crew.cancel(gone)
                    del self.running[gone]
                if watch is not None:
                    watch(self.executions, self._state(0).explored)
        except KeyboardInterrupt:
            self.interrupted = True

    def finish(self, crew: Crew[Item, PartAnswer[Told]]) -> None:
        """The time is over, or the user has ended it: those who are at work tell what they have found by now."""
        end = time.monotonic() + MOMENT
        try:
            while self.running and not self.over and time.monotonic() < end:
                for number in self.running:  # again and again: it may be about to begin
                    crew.hurry(number)
                self._receive(crew, MOMENT / 10)
        except KeyboardInterrupt:
            self.interrupted = True
        except Refused:  # nobody has the time to ask again
            self.left_out = True

    def _receive(self, crew: Crew[Item, PartAnswer[Told]], seconds: float) -> None:
        if (found := crew.receive(seconds)) is not None:
            number, answer = found
            if isinstance(answer, WorkerDied) or answer.died:
                self._lost(number, str(answer) if isinstance(answer, WorkerDied) else answer.died)
            else:
                took = self.clock() - self.running.pop(number)
                self.take(number, answer)
                vain = took < HASTE or (number in self.parts and not self._state(number).open)
                self.haste = min(1.5 * self.haste, MOST_HASTE) if vain else max(0.8 * self.haste, self.least)

    def _hurry(self, crew: Crew[Item, PartAnswer[Told]]) -> float:
        """Where somebody has nothing to do: whoever works longest tells what is left, so that it can be divided. Seconds
        after which to look again."""
        if not crew.free or not self.running:
            return 1.0
        longest = min(self.running, key=lambda number: self.running[number])
        early = self.haste - (self.clock() - self.running[longest])
        if early > 0:
            return early
        self.can_hurry = crew.hurry(longest)
        return AGAIN  # it may have been about to begin

    def _state(self, number: int) -> State:
        if number not in self.states:
            self.states[number] = self.division.state_of_part(self.parts[number].text)
        return self.states[number]

    def _change(self, number: int, text: str) -> None:
        self.parts[number].text = text
        self.states.pop(number, None)

    def _ready(self) -> list[int]:
        """The parts that somebody could go on with."""
        ready = []
        for number, part in self.parts.items():
            if number not in self.running and not part.over:
                state = self._state(number)
                if not state.finished and not state.next:
                    ready.append(number)
        return ready

    def _share(self, number: int, workers: int) -> float:
        """Where there is not enough for all, what is given now should come back soon: nobody else can take from it."""
        enough = len(self._ready()) > (workers // 2 if self.parts[number].begun else workers)
        return 1.0 if workers == 1 or enough else SHORT

    def _choose(self, free: int, workers: int) -> int | None:
        """A part for somebody who is free; where there are not enough for all who are, leaves of it are set aside."""
        ready = [] if self.over else self._ready()
        if not ready:
            return None
        chosen = min(ready)
        wanted = (free if self.can_hurry else 2 * workers) - len(ready)
        if workers > 1 and wanted > 0 and self.parts[chosen].begun and self._state(chosen).open:
            left, given = self.division.give_parts(self.parts[chosen].text, wanted, self.following)
            self._change(chosen, left)
            for text in given:
                self.parts[self.following], self.told[self.following] = Part(text), []
                self.following += 1
        return chosen

    def take(self, number: int, answer: PartAnswer[Told]) -> None:
        """What somebody has explored."""
        if answer.refused:
            raise Refused(answer.refused)
        part = self.parts[number]
        self.deaths.pop(number, None)
        self._change(number, answer.left)
        part.begun, part.over = True, answer.over
        part.asks += answer.asks
        part.executions += answer.executions
        if answer.told is not None:
            if self.accept is not None:
                self.accept(answer.told)
            self.told[number].append(answer.told)
        self.interrupted = self.interrupted or answer.interrupted
        while any(self._merge(known) for known in sorted(self.parts)):  # one at a time: others may go with it
            pass
        if self.checkpoint is not None:
            begun = [known for known, part in self.parts.items() if part.begun]
            self.checkpoint.save_parts({known: (self.parts[known], self.told[known]) for known in begun})
        self.log("explored", part=number, executions=answer.executions)

    def _lost(self, number: int, death: str) -> None:
        self.running.pop(number, None)
        self.log("died", part=number, why=death)
        self.deaths[number] = self.deaths.get(number, 0) + 1
        if self.deaths[number] == MOST_DEATHS:
            raise Refused(f"a worker died {MOST_DEATHS} times: {death}")

    def _merge(self, number: int) -> bool:
        """Whether a part has gone on by what was known of its next leaf."""
        part = self.parts[number]
        if number in self.running or part.over or not self._state(number).next:
            return False
        following = self._state(number).next
        leaf = self.parts[following]
        if following in self.running:
            return False
        merged = None
        if leaf.begun and not leaf.over:
            merged = self.division.merge_part(part.text, leaf.text, leaf.asks)
            if merged is None:
                self.log("thrown away", part=following, executions=leaf.executions)
        if merged is None and not leaf.over:  # whoever explores the part explores the leaf, too
            self._drop(following)
            self._change(number, self.division.take_back(part.text, [following]))
            return True
        if merged is not None:
            self._change(number, merged[0])
            part.asks += merged[1]
        part.over = leaf.over
        part.executions += leaf.executions
        self.told[number] += self.told[following]
        del self.parts[following], self.told[following]
        self.states.pop(following, None)
        return True

    def _drop(self, number: int) -> None:
        """It, and what was set aside of it."""
        for given in self.division.marks_of_part(self.parts[number].text):
            self._drop(given)
        del self.parts[number], self.told[number]
        self.states.pop(number, None)
