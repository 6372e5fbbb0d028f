"""Executions of a C program by many processes: what each does with a part, and what all say together.

Parts are those of engines/executions/parts.py. A process that explores one must know what the others know. What makes the
runtime begin again (``Restart``) it learns first, by doing the same; what it learns later concerns all parts, and then the
search is left to one process. So it is where cells of memory that one process saw as one are several to another one, and
where the runtime says that its search depends on more than a part tells (Explorer::why_whole).
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from teetotal import _core
from teetotal.answers.errors import TeetotalError
from teetotal.answers.options import CheckOptions
from teetotal.answers.strategies import Strategy
from teetotal.budget import Budget
from teetotal.engines.executions.parts import Exploration, PartAnswer, Refused
from teetotal.engines.executions.walks import Walks
from teetotal.engines.runtime import driver, messages
from teetotal.engines.runtime.messages import (
    AnyMessage,
    CutLoop,
    End,
    Explored,
    Failed,
    Found,
    Loaded,
    Overtakings,
    Progress,
    Restart,
    Stopped,
    Trouble,
    Unseen,
    Whole,
)
from teetotal.programs.c.build import Source
from teetotal.scale import supervision
from teetotal.scale.digest import digest
from teetotal.scale.processes import keeping
from teetotal.scale.scale import Slice

_MOST_PASTS = 1_000_000
_LIFE = 30.0
"""Seconds that a process works that stays: what it has found out about the program takes more and more memory."""


class Question(msgspec.Struct, frozen=True):
    """``files``: those beside the program, by name, for processes that do not have them."""

    program: str
    request: tuple[str, ...]
    arguments: tuple[str, ...]
    trust: bool = False
    files: dict[str, bytes] = {}


class Told(msgspec.Struct, frozen=True):
    """Of a slice: the lines of what was found, of its end, and of the overtakings that were kept."""

    executions: int
    found: list[str]
    loaded: str
    end: str
    layout: list[tuple[int, int, int]]
    pasts: list[tuple[int, int]]
    restarts: int
    incomplete: bool
    kept: list[str] = []


def explore(item: tuple[Question, str, int, Slice]) -> PartAnswer[Told]:
    """What a worker does with a part. What goes wrong here is told by whoever explores alone."""
    question, part, restarts, slice = item
    told = _Slice()
    try:
        if keeping.stays:
            runtime = keeping.one_for((question, restarts), lambda: _runtime(question, restarts))
            for line, message in runtime.ask(slice.seconds, slice.executions, part):
                told.take(line, message)
            runtime.spent += told.cpu
            told.cpu += runtime.watching()
            if runtime.spent > _LIFE:
                keeping.let_go()
            return told.answer(restarts, stays=True)
        with supervision.scratch_folder() as folder:
            program = Path(question.program)
            if question.files and not program.exists():
                for name, contents in question.files.items():
                    (Path(folder) / name).write_bytes(contents)
                program = Path(folder) / program.name
            given = Path(folder) / "part"
            given.write_text(part)
            request = [*question.request, *_words(slice), f"part={given}", f"restarts={restarts}"]
            for line, message in driver.lines(program, request, question.arguments, trust=question.trust):
                told.take(line, message)
            return told.answer(restarts)
    except Refused as why:
        keeping.let_go()
        return PartAnswer(refused=str(why))
    except driver.RuntimeDied as death:
        keeping.let_go()
        return PartAnswer(died=str(death))
    except (TeetotalError, OSError, AssertionError) as error:
        keeping.let_go()
        return PartAnswer(refused=str(error))


def _runtime(question: Question, restarts: int) -> driver.Runtime:
    """One that stays: to start it takes as long as some thousand executions."""
    request = [*question.request, f"restarts={restarts}"]
    return driver.Runtime(Path(question.program), request, question.arguments, trust=question.trust, serve=True)


class _Slice:
    """What one process tells about a part."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.kept: list[str] = []
        self.loaded = self.end = ""
        self.part: Explored | None = None
        self.executions = 0
        self.cpu = 0.0
        self.over = False

    def take(self, line: bytes, told: AnyMessage) -> None:
        match told:
            case Loaded():
                self.loaded = line.decode("ascii")
            case Restart():
                self.found, self.kept = [], []
            case Found() | Failed():
                self.found.append(line.decode("ascii"))
            case Overtakings():
                self.kept[told.number :] = [line.decode("ascii")]
            case Explored():
                self.part = told
            case End():
                self.end = line.decode("ascii")
                self.executions = told.executions
                self.cpu = told.cpu or 0.0
                self.over = told.stopped == "memory"
            case Whole():
                raise Refused(told.why)
            case Trouble() | Stopped():
                raise Refused("a process was ended")

    def answer(self, restarts: int = 0, *, stays: bool = False) -> PartAnswer[Told]:
        if self.part is None or not self.end:
            raise Refused("a process ended early")
        part = self.part
        told = Told(
            self.executions,
            self.found,
            self.loaded,
            self.end,
            part.layout,
            part.found,
            max(restarts, part.restarts),
            part.incomplete,
            self.kept,
        )
        return PartAnswer(part.left, part.asks, told, self.executions, self.over, beside=self.cpu if stays else 0.0)


def answers(
    program: Path, request: Sequence[str], source: Source, budget: Budget, explore: Strategy
) -> Generator[AnyMessage, None, None]:
    """As ``driver.answers``: one process for a slice, and then whoever helps."""
    scale = budget.scale
    beside = (file for file in program.parent.iterdir() if file.is_file()) if scale.cluster is not None else ()
    files = {file.name: file.read_bytes() for file in beside}
    question = Question(str(program), tuple(request), source.arguments, source.trust, files)
    agreement = Agreement()
    seen: set[tuple[object, ...]] = set()
    try:
        division = _core if explore.name == "all" else Walks(explore.count)
        exploration = Exploration(lambda: _name(program, question), Told, scale, division)
        for told in exploration.all_told():
            agreement.take(told)
        if not exploration.parts[0].begun:
            first = _Slice()
            given = [*request, *_words(scale.slice.first), *_left(budget)]
            for line, message in driver.lines(program, given, source.arguments, trust=source.trust):
                with suppress(Refused):
                    first.take(line, message)
                if isinstance(message, Restart):
                    seen.clear()
                seen.add(_key(message))
                if isinstance(message, End) and message.whole:
                    scale.note(f"explored by one worker: {message.whole}")
                if not isinstance(message, Explored) and not (isinstance(message, End) and first.part is not None):
                    yield message
            if first.part is None:
                return  # it was done before the slice was over
            answer = first.answer()
            exploration.take(0, answer)
            assert answer.told is not None
            agreement.take(answer.told)
        else:
            yield messages.decode(exploration.told[0][0].loaded.encode())
        yield from _run(exploration, question, budget, agreement)
        yield from _together(exploration, seen, exhaustive=explore.is_exhaustive)
        if exploration.interrupted:
            raise KeyboardInterrupt
    except Refused as why:
        scale.note(f"explored by one worker: {why}")
        yield Restart()
        yield from driver.answers(program, [*request, *_left(budget)], source.arguments, trust=source.trust)


def divisible(options: CheckOptions) -> bool:
    """Whether it is a search that many can explore: random walks, or (core/search/part.hpp) one that leaves out what waits
    and what is equivalent."""
    if options.executions is not None or options.spurious > 0:
        return False
    return options.explore.name in ("random", "pct") or (options.explore.is_reduced and options.waiting == "skip")


def _words(slice: Slice) -> list[str]:
    return [f"slice={slice.seconds}", f"most={slice.executions}"]


def _left(budget: Budget) -> list[str]:
    return [] if budget.limit is None else [f"seconds={budget.left}"]


def _name(program: Path, question: Question) -> str:
    return digest(program.read_bytes(), repr((question.request, question.arguments)).encode(errors="backslashreplace"))


def _run(
    exploration: Exploration[Told], question: Question, budget: Budget, agreement: Agreement
) -> Generator[AnyMessage, None, None]:
    scale = budget.scale
    restarts = max(told.restarts for told in exploration.told[0])
    progress: list[Progress] = []
    exploration.accept = agreement.take
    if not exploration.over and not budget.over:
        crew = scale.crew(explore)
        try:
            while not exploration.over and not exploration.interrupted and not budget.over:
                exploration.run(
                    crew,
                    lambda part, share: (question, part, restarts, scale.slice.within(budget.left, share)),
                    budget.until,
                    lambda count, explored: progress.append(Progress(count, explored)),
                    steps=1,
                )
                yield from progress
                progress.clear()
            exploration.finish(crew)
        finally:
            crew.close()


def _together(
    exploration: Exploration[Told], seen: set[tuple[object, ...]], *, exhaustive: bool
) -> Iterable[AnyMessage]:
    """What was found and is not ``seen`` yet, and one end for all. What is not ``exhaustive`` is never complete."""
    ends: list[End] = []
    incomplete = not exhaustive
    kept = 0
    for told in exploration.all_told():
        for line in told.kept:
            message = messages.decode(line.encode())
            assert isinstance(message, Overtakings)
            yield msgspec.structs.replace(message, number=kept)
            kept += 1
        for line in told.found:
            message = messages.decode(line.encode())
            if (key := _key(message)) not in seen:
                seen.add(key)
                yield message
        end = messages.decode(told.end.encode())
        assert isinstance(end, End)
        ends.append(end)
        incomplete = incomplete or told.incomplete
    stopped = "" if exploration.finished else "interrupted" if exploration.interrupted else "budget"
    yield end_of(ends, exploration.finished and not incomplete, next((e.stopped for e in ends if e.stopped), stopped))


def _key(message: AnyMessage) -> tuple[object, ...]:
    if isinstance(message, Found):
        return ("violation", message.monitor, message.at)
    return ("failure", message.at) if isinstance(message, Failed) else ()


def end_of(ends: Sequence[End], finished: bool, stopped: str) -> End:
    """As one search would have told it: what it counts is counted, and what it lists is in its order."""

    def total(value: Callable[[End], int]) -> int:
        return sum(map(value, ends))

    loops: dict[int, CutLoop] = {}
    unseen: set[Unseen] = set()
    for end in ends:
        for loop in end.loops:
            loops.setdefault(loop.place, loop)
        unseen.update(end.unseen)
    merged = End(
        executions=total(lambda end: end.executions),
        blocked=total(lambda end: end.blocked),
        cut=total(lambda end: end.cut),
        redundant=total(lambda end: end.redundant),
        steps=total(lambda end: end.steps),
        fresh=total(lambda end: end.fresh),
        longest=max(end.longest for end in ends),
        shown=total(lambda end: end.shown),
        restarts=max(end.restarts for end in ends),
        seconds=sum(end.seconds for end in ends),
        cpu=sum(end.cpu or 0.0 for end in ends),
        threads=max(end.threads for end in ends),
        reporting=[sum(counts) for counts in zip(*(end.reporting for end in ends), strict=True)],
        passes=[sum(counts) for counts in zip(*(end.passes for end in ends), strict=True)],
        loops=sorted(loops.values()),
        races=sorted({race for end in ends for race in end.races}),
        hazards=sorted({hazard for end in ends for hazard in end.hazards}),
        evaluated=sorted({place for end in ends for place in end.evaluated}),
        mixed=sorted({address for end in ends for address in end.mixed}),
        assembly=any(end.assembly for end in ends),
        symmetric=any(end.symmetric for end in ends),
        stopped=stopped,
        complete=finished and not any(end.cut for end in ends),
    )
    oddities = list(dict.fromkeys(oddity for end in ends for oddity in end.oddities))
    ordered = sorted(unseen, key=lambda told: (told[0].encode(errors="surrogateescape"), told[1]))
    msgspec.structs.force_setattr(merged, "oddities", oddities)  # their text is text already
    msgspec.structs.force_setattr(merged, "unseen", ordered)
    return merged


class Agreement:
    """What all processes must see alike: cells of data, and what is found out of threads with a certain past."""

    def __init__(self) -> None:
        self.pasts: dict[int, int] = {}
        self.left_out = 0  # a mask: of those with one of these bits nothing is kept
        self.begins: list[int] = []
        self.sizes: dict[int, int] = {}
        self.soft: set[int] | None = None

    def take(self, told: Told) -> None:
        """``Refused`` where one of them has seen something else."""
        for past, found in told.pasts:
            if self.pasts.setdefault(past, found) != found:
                raise Refused("remains of calls are part of what threads wait with")
        while len(self.pasts) > _MOST_PASTS:
            self.left_out = 2 * self.left_out + 2
            self.pasts = {past: found for past, found in self.pasts.items() if not past & self.left_out}
        if self.soft is None:
            self.soft = {address for address, _, soft in told.layout if soft}
        for address, size, soft in told.layout:
            if soft and address not in self.soft:
                raise Refused("memory is copied that one process knows little of")
            if self.sizes.get(address) == size:
                continue
            at = bisect.bisect_left(self.begins, address)
            before = self.begins[at - 1] if at else None
            after = self.begins[at] if at < len(self.begins) else None
            if (before is not None and before + self.sizes[before] > address) or (
                after is not None and after < address + size
            ):
                raise Refused("memory is accessed in different sizes")
            self.begins.insert(at, address)
            self.sizes[address] = size
