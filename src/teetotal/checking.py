"""``check`` and ``replay``: from a path by its front end to its engine, once for every kind of program.

==================  =======================================  ==============================================
file                front end                                engine
==================  =======================================  ==============================================
``.litmus``         ``programs.litmus`` → ``Program``        ``engines.interpreted``: states and executions
``.py``             ``programs.python`` → ``Program``        the same
``.c``, ``.cpp``…   ``programs.c`` → ``Source``              ``engines.runtime``: the program itself, run
``.pml``            ``programs.promela`` → its own graph     ``engines.symbolic``: buffers without bound
==================  =======================================  ==============================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import msgspec

from teetotal.answers.answer import Interrupted, Refusal, Undecided
from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import TeetotalError
from teetotal.answers.options import CheckOptions
from teetotal.answers.replay import ReplayAnswer
from teetotal.answers.schedules import TokenError, known_writes
from teetotal.answers.surroundings import advice
from teetotal.answers.verdict import Goal, Verdict
from teetotal.budget import Budget, Watcher
from teetotal.programs import files, goals
from teetotal.programs.c.build import Source
from teetotal.programs.program import Program
from teetotal.scale import crew, supervision
from teetotal.scale.crew import OutOfBudget, WorkerDied, in_order
from teetotal.scale.here import Here
from teetotal.scale.scale import Scale

if TYPE_CHECKING:
    from teetotal.programs.files import Subject

TIME_IS_OVER = "the time given by --time is over"
MEMORY_IS_USED_UP = "the memory is used up"


def check(
    subject: Subject,
    options: CheckOptions = CheckOptions(),
    *,
    command: str = "check",
    watcher: Watcher | None = None,
    scale: Scale | None = None,
) -> CheckAnswer:
    """Whether a program is robust and safe, or only safe, as ``options.goal`` says. ``Interrupted`` with what is known by
    then, where the user ends it. ``scale``: who helps."""
    options = msgspec.structs.replace(options, max_megabytes=supervision.affordable(options.max_megabytes))
    budget = Budget(options.seconds, options.max_megabytes, watcher, scale)
    if isinstance(subject, Program):
        from teetotal.engines import interpreted

        budget.begin()
        return interpreted.check(subject, options, budget, command=command)
    if isinstance(subject, Source):
        from teetotal.engines.runtime import checking as compiled

        return compiled.check(subject, options, budget, command=command)
    from teetotal.engines.symbolic import checking as symbolic

    if "c11" in options.models:
        raise TeetotalError(f"{subject.name}: a Promela program has no orders of C11")
    return symbolic.check(subject, options, budget, command=command)


def replay(
    token: str,
    paths: Sequence[str],
    options: CheckOptions = CheckOptions(),
    *,
    goal: Goal | None = None,
    gdb: bool = False,
    show_output: bool = False,
) -> ReplayAnswer | None:
    """The execution that a token describes, again. ``goal``, as it was asked: with ``safe``, what a litmus test claims
    must hold; with ``robust``, a Promela program runs without its ghost variables. None after a look in the debugger."""
    budget = Budget(options.seconds)
    if not all(map(files.is_c, paths)) and len(paths) == 1 and options.program is None:
        subject: Subject = files.chosen(files.read(paths, options), paths[0], None)
    else:
        (subject,) = files.read(paths, options)
    judged = True
    c11 = known_writes(token)
    token, known = c11 or (token, None)
    if isinstance(subject, Program):
        from teetotal.engines import story, weak

        demanding = goals.demanding(subject) if goal == "safe" else subject
        told = story.replayed(demanding, token) if known is None else weak.replayed(demanding, token, known)
    elif isinstance(subject, Source):
        from teetotal.engines.runtime import replaying

        shown = replaying.replay(
            token, subject, gdb=gdb, show_output=show_output, spurious=options.spurious, known=known
        )
        if shown is None:
            return None
        told = shown
    elif known is not None:
        raise TokenError(f"{subject.name}: a token of C11, of which Promela knows nothing")
    else:
        from teetotal.engines.symbolic import results

        told, judged = results.replayed(subject, token, without_ghosts=goal == "robust")
    return ReplayAnswer(
        input=" ".join(paths),
        command="replay",
        name=subject.name if isinstance(subject, Program) else " ".join(paths),
        verdict=Verdict.VIOLATION if told.cycle or told.message else Verdict.SAFE,
        complete=judged,
        seconds=budget.passed,
        execution=told,
        judged=judged,
    )


# -- many files -------------------------------------------------------------------------------------------------------

Watching = Callable[[str], AbstractContextManager[Watcher | None]]
"""From a program's name to who is told about it."""


class Done(msgspec.Struct, frozen=True):
    """What became of the files of a job: its programs' answers, what was wrong with them, or with teetotal (``fault``)."""

    answers: list[CheckAnswer] = []
    refusals: list[Refusal] = []
    undecided: Undecided | None = None
    interrupted: bool = False
    fault: str = ""

    @property
    def is_final(self) -> bool:
        """Nothing would become of it with more time."""
        open_ = self.interrupted or self.fault or self.undecided is not None
        return not open_ and all(answer.verdict is not Verdict.INCONCLUSIVE for answer in self.answers)


class Job(msgspec.Struct, frozen=True):
    """A file, or the C files of one program, as they are sent to a worker. ``late`` and ``full`` are what is printed where
    it has to be ended by force for its time or its memory."""

    paths: tuple[str, ...]
    options: CheckOptions
    watching: Watching | None = None
    late: str = ""
    full: str = ""

    @property
    def name(self) -> str:
        return " ".join(self.paths)

    def undecided(self, why: str) -> Undecided:
        seconds = self.options.seconds if self.options.seconds < math.inf else None
        return Undecided(input=self.name, command="check", notes=[why], seconds=seconds)

    def refusal(self, problem: TeetotalError | str) -> Refusal:
        error = TeetotalError(problem) if isinstance(problem, str) else problem
        return Refusal.of(error, self.name, "check")

    def run(self, scale: Scale | None = None) -> Done:
        """Within its limits, and whatever happens. ``scale``: who helps with each of its programs."""
        options = self.options
        try:
            with supervision.watching(options.seconds, options.max_megabytes, late=self.late, full=self.full):
                return self._run(scale)
        except MemoryError:
            return Done(undecided=self.undecided(MEMORY_IS_USED_UP))
        except RecursionError:
            return Done(refusals=[self.refusal(f"{self.name}: nested too deeply")])
        except OSError as error:
            return Done(refusals=[self.refusal(f"{self.name}: {advice(error)}")])
        except Exception:
            import traceback

            return Done(fault=f"{self.name}: {traceback.format_exc()}")

    def _run(self, scale: Scale | None) -> Done:
        answers: list[CheckAnswer] = []
        refusals: list[Refusal] = []
        try:
            subjects = files.read(self.paths, self.options)
        except TeetotalError as error:
            return Done(refusals=[self.refusal(error)])
        for subject in subjects:
            try:
                with nullcontext() if self.watching is None else self.watching(subject.name) as watcher:
                    answers.append(check(subject, self.options, watcher=watcher, scale=scale))
            except Interrupted as interrupt:
                return Done([*answers, interrupt.answer], refusals, interrupted=True)  # type: ignore[list-item]
            except MemoryError:  # what is known of others stays
                return Done(answers, refusals, undecided=self.undecided(MEMORY_IS_USED_UP))
            except TeetotalError as error:
                refusals.append(self.refusal(error))
        return Done(answers, refusals)

    def ended(self, death: WorkerDied) -> Done:
        """Where its process has not answered."""
        if isinstance(death, OutOfBudget):
            return Done(undecided=self.undecided(MEMORY_IS_USED_UP if death.memory else TIME_IS_OVER))
        if self.name.endswith(".py") or death.status == supervision.BAD_INPUT:  # whoever runs a file is at its mercy
            return Done(refusals=[self.refusal(f"{self.name}: {death}")])
        if death.status == supervision.FAULT:
            return Done(fault=f"{self.name}: {death}")
        return Done(undecided=self.undecided(str(death)))


def run(job: Job) -> Done:
    return job.run()


def check_all(jobs: Sequence[Job], scale: Scale, advance: Callable[[], None]) -> Iterator[Done]:
    """In the order of the jobs, by whoever helps: with one job each, or all with the only one. Those that a checkpoint
    knows are done."""
    if not jobs:
        return
    options, checkpoint = jobs[0].options, scale.checkpoint
    known = {} if checkpoint is None else {job.name: checkpoint.item(job.name, Done) for job in jobs}
    asked = [job for job in jobs if known.get(job.name) is None]
    seconds = options.seconds if options.seconds < math.inf else None

    def answers() -> Iterator[tuple[int, Done | WorkerDied]]:
        if len(jobs) == 1:
            return crew.each(Here(lambda job: job.run(scale)), asked)
        return crew.each(scale.crew(run, len(asked), seconds, options.max_megabytes), asked)

    def done() -> Iterator[tuple[int, Done]]:
        for position, answer in answers():
            advance()
            job = asked[position]
            told = job.ended(answer) if isinstance(answer, WorkerDied) else answer
            if checkpoint is not None and told.is_final:
                checkpoint.save_item(job.name, told)
            yield position, told

    new = in_order(done())
    for job in jobs:
        yield known.get(job.name) or next(new)
