"""``teetotal check``: robust and safe? One result per program, in the order of the files given."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from teetotal import checking
from teetotal.answers.answer import Refusal, Undecided
from teetotal.answers.events import CHECKED
from teetotal.answers.options import COMPILED_LOOP_BOUND as COMPILED
from teetotal.answers.options import LOOP_BOUND as INTERPRETED
from teetotal.answers.options import MAX_MEGABYTES, MAX_STATES, TRIAGE_SECONDS, CheckOptions, asked
from teetotal.answers.verdict import Verdict
from teetotal.checking import Job
from teetotal.cli import completing, outputs
from teetotal.cli.budget import told
from teetotal.cli.options import (
    Models,
    Number,
    Seconds,
    WithCompilerFlags,
    c_options,
    monitor_names,
    release_sequence_option,
    semantics_options,
    spurious_option,
    waiting_option,
)
from teetotal.cli.scaling import helping, scale_options
from teetotal.cli.telling import advancing, page, quiet, telling_options, watching
from teetotal.programs import files
from teetotal.report import terminal
from teetotal.report.json import to_json
from teetotal.report.streams import keep_in_line
from teetotal.scale import supervision
from teetotal.scale.local import available_workers

_INT = click.IntRange(min=-(2**31), max=2**31 - 1)


@click.command(cls=WithCompilerFlags, short_help="Robust and safe on TSO and PSO, and in C11?")
@click.argument("paths", nargs=-1, required=True, metavar="FILE…", shell_complete=completing.files)
@click.option("--model", "models", type=Models(CHECKED), default="tso,pso", show_default=True,
              help="Relaxed models to check: tso, pso, c11.")  # fmt: skip
@click.option(
    "--explore",
    default="all",
    show_default=True,
    metavar="HOW",
    shell_complete=completing.one_of(completing.STRATEGIES),
    help="SC executions to watch: all (one per equivalence class), interleavings, preemptions:K, "
    "preemptions:0..K, random:N, pct:N:D.",
)
@click.option(
    "--monitor",
    "monitors",
    default="",
    metavar="NAMES",
    shell_complete=completing.several_of(completing.monitors),
    help="Monitors to watch them, as for teetotal monitor (default: exact-tso,exact-pso).",
)
@semantics_options
@waiting_option
@click.option("--symmetry", type=click.Choice(["on", "off"]), default="on", show_default=True,
              help="Whether executions that differ in which of several identical threads did what are explored "
              "once.")  # fmt: skip
@c_options
@click.option("--each", is_flag=True, help="Each C file is a program of its own.")
@click.option("--goal", type=click.Choice(["robust", "safe", "both"]), default="robust", show_default=True,
              help="What status 0 means. robust: every execution sequentially consistent, and no assertion fails; safe: "
              "nothing fails, where ~exists and forall of a litmus test must hold too; both: both.")  # fmt: skip
@click.option("--triage", type=Number(min=0), default=TRIAGE_SECONDS, show_default=True, metavar="SECONDS",
              help="Where a program is not robust: time to find out, for each model, whether that breaks something "
              "(C; elsewhere it is known anyway). 0: leave it open.")  # fmt: skip
@click.option(
    "--executions", type=click.IntRange(min=1, max=2**62), metavar="N", help="Executions to explore at most (C)."
)
@click.option("--nondet", type=(_INT, _INT), default=(0, 1), show_default=True, metavar="LOW HIGH",
              help="Range of __VERIFIER_nondet_int (C).")  # fmt: skip
@spurious_option
@click.option("--races", is_flag=True, help="Data races alone: accesses, one not atomic, that C11 does not order.")
@release_sequence_option
@click.option("--loop-bound", type=click.IntRange(min=0, max=2**31 - 1), metavar="N",
              help="Backward jumps that a thread may take (default: no bound, but "
              f"{INTERPRETED} if loops have no end); in C, visits of one instruction (default: no bound, but {COMPILED} "
              "rounds of a loop that only counts them).")  # fmt: skip
@click.option("--time", "seconds", type=Seconds(), metavar="SECONDS",
              help="Time to spend on each program (default: no limit).")  # fmt: skip
@click.option("--states", "max_states", type=click.IntRange(min=1, max=2**32 - 2), default=MAX_STATES, show_default=True,
              metavar="N", help="States to visit under each model at most.")  # fmt: skip
@click.option("--memory", "max_megabytes", type=click.IntRange(min=1, max=2**30), default=MAX_MEGABYTES, show_default=True,
              metavar="MB", help="Memory for a model's states, and for what is yet to be explored, at most.")  # fmt: skip
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**63 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="For random and pct.",
)
@click.option("--workers", type=click.IntRange(min=0), default=0, show_default="one per processor", metavar="N",
              help="Processes, each with one file at a time, or with a part of the only one.")  # fmt: skip
@scale_options
@click.option("--outcomes", is_flag=True, help="List every outcome with all its values, however many.")
@click.option("--violations", is_flag=True, help="Tell every violation, not only the first of its kind per model.")
@telling_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object per program, each on a line.")
def check(
    paths: tuple[str, ...], each: bool, workers: int, outcomes: bool, violations: bool, as_json: bool, **settings: Any
) -> int:
    """Check programs: litmus tests and Python programs with every outcome under SC, TSO and PSO; whether each execution
    stays sequentially consistent, and whether assertions hold. A Python file is run to find its programs. C and C++
    files given together are one program, and what follows -- goes to the compiler. Directories are searched for litmus
    tests."""
    given = click.get_current_context().get_parameter_source("models")
    by_default = given is click.core.ParameterSource.DEFAULT
    if settings["races"]:
        if not by_default:
            raise click.UsageError("--races is a question of its own: without --model")
        settings["models"] = ("c11",)
    low, high = settings["nondet"]
    if low > high:
        raise click.UsageError(f"--nondet {low} {high} has no value")
    settings["monitors"] = monitor_names(settings["monitors"])
    options = asked(CheckOptions, {**settings, "fitting": by_default and not settings["races"]})
    found, problems = files.find(paths)
    for path in found:
        keep_in_line(path)
    refusals = [Refusal.of(problem, problem.message.partition(": ")[0], "check") for problem in problems]
    programs = files.together(found, each)
    jobs = []
    for names in programs:
        job = Job(names, options, partial(watching, wanted=len(programs) == 1))
        late, full = (told(job.undecided(why), as_json) for why in (checking.TIME_IS_OVER, checking.MEMORY_IS_USED_UP))
        jobs.append(Job(names, options, job.watching, late, full))
    verdicts: list[Verdict] = []
    fault = False
    for refusal in refusals:
        outputs.refuse(refusal, as_json)
    sheet = page()
    with (
        helping("check", workers or available_workers(), found, options) as scale,
        advancing("checking", len(jobs), wanted=len(jobs) > 1) as advance,
    ):
        for done in checking.check_all(jobs, scale, advance):
            for answer in done.answers:
                outputs.note(answer)
                if as_json:
                    click.echo(to_json(answer))
                elif quiet():
                    click.echo(terminal.headline(answer, sheet))
                else:
                    shown = terminal.render(answer, sheet, every_outcome=outcomes, every_violation=violations)
                    click.echo(("\n" if verdicts else "") + shown)
                verdicts.append(answer.verdict)
            if done.undecided is not None:
                outputs.note(done.undecided)
                click.echo(("\n" if verdicts and not as_json else "") + told(done.undecided, as_json))
                verdicts.append(done.undecided.verdict)
            if done.fault:
                fault = True
                outputs.note(Undecided(input=" ".join(paths), command="check", notes=[supervision.FAULT_OF_OURS]))
                click.echo(f"{done.fault}\nteetotal: {supervision.FAULT_OF_OURS}", err=True)
            for refusal in done.refusals:
                outputs.refuse(refusal, as_json)
            refusals += done.refusals
            sys.stdout.flush()
            if done.interrupted:
                raise click.Abort
    if len(verdicts) > 1 and not as_json and not quiet():
        counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts]
        click.echo(f"\n{len(verdicts)} programs: {', '.join(counts)}")
    if fault:
        return supervision.FAULT
    return 2 if refusals else sum(verdicts, Verdict.SAFE).exit_status
