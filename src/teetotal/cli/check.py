"""``teetotal check``: robust and safe? One result per program, in the order of the files given."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path

import click
import msgspec

from teetotal import checking
from teetotal.checking import Options
from teetotal.cli.budget import MEMORY_IS_USED_UP, TIME_IS_OVER, Undecided, told
from teetotal.cli.options import (
    Models,
    Seconds,
    WithCompilerFlags,
    c_options,
    monitor_names,
    semantics,
    semantics_options,
    spurious_option,
)
from teetotal.cli.progress import counting, progress
from teetotal.cli.streams import keep_in_line
from teetotal.errors import TeetotalError
from teetotal.events import ModelName
from teetotal.explore import strategies
from teetotal.explore.outcomes import MAX_MEGABYTES, MAX_STATES
from teetotal.programs import c, files
from teetotal.programs.c import check as c_check
from teetotal.report import terminal
from teetotal.scale import supervision
from teetotal.scale.local import OutOfBudget, WorkerDied, available_workers, in_order
from teetotal.scale.local import each as pool
from teetotal.verdicts import CheckResult, Interrupted, Verdict, to_json


class Answer(msgspec.Struct, frozen=True):
    """What became of one file: its programs' results, and what was wrong with it, or with teetotal (``fault``)."""

    results: list[CheckResult]
    problems: list[str] = []
    undecided: Undecided | None = None
    interrupted: bool = False
    fault: str = ""


class FileJob(msgspec.Struct, frozen=True):
    """One file to check, as it is sent to a worker."""

    path: str
    options: Options
    show_progress: bool = False
    as_json: bool = False

    def run(self) -> Answer:
        results: list[CheckResult] = []
        problems: list[str] = []
        if self.path.endswith(".pml"):
            return self.verify()
        try:
            programs = files.read(self.path)
        except TeetotalError as error:
            return Answer(results, [str(error)])
        for program in programs:
            try:
                with counting(program.name, self.show_progress) as watcher:
                    results.append(checking.check(program, self.options, watcher=watcher))
            except Interrupted as interrupt:
                return Answer([*results, interrupt.result], problems, interrupted=True)
            except TeetotalError as error:
                problems.append(str(error))
        return Answer(results, problems)

    def verify(self) -> Answer:
        """Promela is for buffers without bound, and has its own engines."""
        from teetotal.symbolic.checking import check_file

        options = self.options
        try:
            return Answer(
                [
                    check_file(
                        self.path,
                        options.models,
                        options.semantics,
                        options.seconds,
                        options.max_megabytes,
                        options.goal,
                    )
                ]
            )
        except Interrupted as interrupt:
            return Answer([interrupt.result], [], interrupted=True)
        except TeetotalError as error:
            return Answer([], [str(error)])


class CJob(msgspec.Struct, frozen=True):
    """One C program to check."""

    source: c.Source
    options: c_check.Options
    show_progress: bool = False
    as_json: bool = False

    @property
    def path(self) -> str:
        return self.source.name

    def run(self) -> Answer:
        try:
            with counting(self.source.name, self.show_progress) as watcher:
                return Answer([c_check.check(self.source, self.options, progress=watcher)])
        except Interrupted as interrupt:
            return Answer([interrupt.result], interrupted=True)
        except TeetotalError as error:
            return Answer([], [str(error)])


Job = FileJob | CJob
_INT64 = click.IntRange(min=-(2**63), max=2**63 - 1)


def run(job: Job) -> Answer:
    """The job within its limits."""
    late, full = (told(_undecided(job, why), job.as_json) for why in (TIME_IS_OVER, MEMORY_IS_USED_UP))
    try:
        with supervision.watching(job.options.seconds, job.options.max_megabytes, late=late, full=full):
            return job.run()
    except MemoryError:
        return Answer([], undecided=_undecided(job, MEMORY_IS_USED_UP))
    except RecursionError:
        return Answer([], [f"{job.path}: nested too deeply"])
    except OSError as error:
        return Answer([], [f"{job.path}: {error.strerror or error}"])
    except Exception:
        return Answer([], fault=f"{job.path}: {traceback.format_exc()}")


def _undecided(job: Job, why: str) -> Undecided:
    return Undecided(job.path, "check", [why], seconds=job.options.seconds if job.options.seconds < inf else None)


def _ended(job: Job, death: WorkerDied) -> Answer:
    """What to say of a job whose process has not answered."""
    if isinstance(death, OutOfBudget):
        return Answer([], undecided=_undecided(job, MEMORY_IS_USED_UP if death.memory else TIME_IS_OVER))
    if job.path.endswith(".py") or death.status == supervision.BAD_INPUT:  # whoever runs a file is at its mercy
        return Answer([], [f"{job.path}: {death}"])
    if death.status == supervision.FAULT:
        return Answer([], fault=f"{job.path}: {death}")
    return Answer([], undecided=_undecided(job, str(death)))


@click.command(cls=WithCompilerFlags, short_help="Robust and safe on TSO and PSO?")
@click.argument("paths", nargs=-1, required=True, metavar="FILE…")
@click.option("--model", "models", type=Models(), default="tso,pso", show_default=True, help="Relaxed models to check.")
@click.option(
    "--explore",
    default="all",
    show_default=True,
    metavar="HOW",
    help="SC executions to watch: all (one per equivalence class), interleavings, preemptions:K, "
    "preemptions:0..K, random:N, pct:N:D.",
)
@click.option(
    "--monitor",
    "monitors",
    default="",
    metavar="NAMES",
    help="Monitors to watch them, as for teetotal monitor (default: exact-tso,exact-pso).",
)
@semantics_options
@c_options
@click.option("--each", is_flag=True, help="Each C file is a program of its own.")
@click.option("--goal", type=click.Choice(["robust", "safe"]), default="robust", show_default=True,
              help="robust: every execution sequentially consistent, and nothing fails; safe: nothing fails, where "
              "~exists and forall of a litmus test must hold too.")  # fmt: skip
@click.option(
    "--executions", type=click.IntRange(min=1, max=2**63), metavar="N", help="Executions to explore at most (C)."
)
@click.option("--nondet", type=(_INT64, _INT64), default=(0, 1), show_default=True, metavar="LOW HIGH",
              help="Range of __VERIFIER_nondet_int (C).")  # fmt: skip
@spurious_option
@click.option("--loop-bound", type=click.IntRange(min=0, max=2**31 - 1), metavar="N",
              help="Backward jumps that a thread may take (default: none for outcomes and for loops that only wait, "
              f"{checking.LOOP_BOUND} otherwise); in C, visits of one instruction (default: "
              f"{c_check.LOOP_BOUND}).")  # fmt: skip
@click.option("--time", "seconds", type=Seconds(), metavar="SECONDS",
              help="Time to spend on each program (default: no limit).")  # fmt: skip
@click.option("--states", type=click.IntRange(min=1, max=2**32 - 2), default=MAX_STATES, show_default=True,
              metavar="N", help="States to visit under each model at most.")  # fmt: skip
@click.option("--memory", type=click.IntRange(min=1, max=2**30), default=MAX_MEGABYTES, show_default=True,
              metavar="MB", help="Memory for a model's states, and for what is yet to be explored, at most.")  # fmt: skip
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**64 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="For random and pct.",
)
@click.option("--workers", type=click.IntRange(min=0), default=0, show_default="one per processor", metavar="N",
              help="Processes, each with one file at a time.")  # fmt: skip
@click.option("--outcomes", is_flag=True, help="List every outcome with all its values, however many.")
@click.option("--violations", is_flag=True, help="Tell every violation, not only the first of its kind per model.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per program, each on a line.")
def check(
    paths: tuple[str, ...],
    models: tuple[ModelName, ...],
    explore: str,
    monitors: str,
    rmw: str,
    mutex: str,
    failed_cas: str,
    compiler: str | None,
    arguments: tuple[str, ...],
    each: bool,
    loop_bound: int | None,
    goal: str,
    executions: int | None,
    nondet: tuple[int, int],
    spurious: int,
    seconds: float | None,
    states: int,
    memory: int,
    seed: int,
    workers: int,
    outcomes: bool,
    violations: bool,
    as_json: bool,
    flags: tuple[str, ...],
) -> int:
    """Check programs: litmus tests and Python programs with every outcome under SC, TSO and PSO; whether each execution
    stays sequentially consistent, and whether assertions hold. A Python file is run to find its programs. C and C++
    files given together are one program, and what follows -- goes to the compiler. Directories are searched for litmus
    tests."""
    options = Options(
        models=models,
        semantics=semantics(rmw, mutex, failed_cas),
        explore=strategies.parse(explore),
        monitors=monitor_names(monitors),
        seconds=float("inf") if seconds is None else seconds,
        max_states=states,
        max_megabytes=memory,
        loop_bound=loop_bound,
        seed=seed,
        goal=goal,  # type: ignore[arg-type]
    )
    found, problems = files.find(paths)
    for path in found:
        keep_in_line(path)
    for problem in problems:
        click.echo(f"teetotal: {problem}", err=True)
    c_files = [path for path in found if Path(path).suffix in c.SUFFIXES]
    programs_in_c = [(path,) for path in c_files] if each else [tuple(c_files)] if c_files else []
    c_options = c_check.Options(
        models=models,
        semantics=options.semantics,
        explore=options.explore,
        monitors=options.monitors,
        seconds=options.seconds,
        executions=executions,
        loop_bound=loop_bound,
        seed=seed,
        nondet=nondet,
        max_megabytes=memory,
        goal=options.goal,
        spurious=spurious,
    )
    jobs: list[Job] = [FileJob(path, options, len(found) == 1, as_json) for path in found if path not in c_files]
    jobs += [
        CJob(
            c.Source(names, flags, compiler, arguments),
            c_options,
            len(found) == len(c_files) and len(programs_in_c) == 1,
            as_json,
        )
        for names in programs_in_c
    ]
    verdicts: list[Verdict] = []
    bad = len(problems)
    fault = False
    for answer in _answers(jobs, workers or available_workers(), seconds, memory):
        for result in answer.results:
            if as_json:
                click.echo(to_json(result))
            else:
                click.echo(("\n" if verdicts else "") + terminal.render(
                    result, every_outcome=outcomes, every_violation=violations
                ))  # fmt: skip
            verdicts.append(result.verdict)
        if answer.undecided is not None:
            click.echo(("\n" if verdicts and not as_json else "") + told(answer.undecided, as_json))
            verdicts.append(answer.undecided.verdict)
        if answer.fault:
            fault = True
            click.echo(f"{answer.fault}\nteetotal: {supervision.FAULT_OF_OURS}", err=True)
        for problem_text in answer.problems:
            bad += 1
            click.echo(f"teetotal: {problem_text}", err=True)
        sys.stdout.flush()
        if answer.interrupted:
            raise click.Abort
    if len(verdicts) > 1 and not as_json:
        counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts]
        click.echo(f"\n{len(verdicts)} programs: {', '.join(counts)}")
    if fault:
        return supervision.FAULT
    return 2 if bad else sum(verdicts, Verdict.SAFE).exit_status


def _answers(jobs: Sequence[Job], workers: int, seconds: float | None, memory: int) -> Iterator[Answer]:
    with progress("checking", len(jobs)) as advance:

        def done() -> Iterator[tuple[int, Answer]]:
            for position, answer in pool(run, jobs, workers, seconds, memory):
                advance()
                yield position, _ended(jobs[position], answer) if isinstance(answer, WorkerDied) else answer

        yield from in_order(done())
