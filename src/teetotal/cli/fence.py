"""``teetotal fence``: the fewest fences, as a patch of the source."""

from __future__ import annotations

from typing import Any, get_args

import click

from teetotal.answers.answer import Interrupted
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import CHECKED
from teetotal.answers.fence import FenceAnswer
from teetotal.answers.options import FenceOptions, asked
from teetotal.answers.targets import Target
from teetotal.budget import Budget
from teetotal.cli import completing, outputs
from teetotal.cli.options import (
    Models,
    Seconds,
    WithCompilerFlags,
    c_options,
    memory_option,
    monitor_names,
    release_sequence_option,
    semantics_options,
    waiting_option,
)
from teetotal.cli.scaling import helping, scale_options
from teetotal.cli.telling import page, quiet, telling_options, watching
from teetotal.fences import fencing
from teetotal.report import fences as report
from teetotal.report.json import to_json
from teetotal.scale import supervision
from teetotal.scale.local import available_workers


@click.command(cls=WithCompilerFlags, short_help="The fewest fences, written back into the source.")
@click.argument("paths", nargs=-1, required=True, metavar="FILE…", shell_complete=completing.files)
@click.option("--model", "models", type=Models(CHECKED), default="tso,pso", show_default=True,
              help="Relaxed models that one set of fences has to serve.")  # fmt: skip
@click.option("--goal", type=click.Choice(["robust", "safe"]), default="robust", show_default=True,
              help="Every execution sequentially consistent, or nothing fails (as for teetotal check).")  # fmt: skip
@click.option("--minimum", is_flag=True, help="A set of least total cost.")
@click.option("--all", "every", is_flag=True, help="Every minimal set, the cheapest first.")
@click.option("--most", type=click.IntRange(min=1), default=1000, show_default=True, help="Sets that --all looks for.")
@click.option("--cost", "costs", default="", metavar="KIND=COST,…",
              help="mfence=10,sfence=3,release=2,seq_cst=9,rmw=10; loop=4 makes what loops run dearer.")  # fmt: skip
@click.option("--remove", is_flag=True, help="Take out fences of the program that are not needed.")
@click.option("--write", is_flag=True, help="Patch the files in place; the old ones stay beside them as FILE.orig.")
@click.option("--program", help="Only this program of a Python module (default: one set for all of them).")
@click.option("--style", type=click.Choice(["c11", "cpp11", "linux", "x86"]),
              help="How fences are written in C and C++ (default: c11, in C++ cpp11).")  # fmt: skip
@click.option("--strengthen", is_flag=True, help="Also make atomic stores stronger, where that is cheaper (C, C++).")
@click.option("--weaken", is_flag=True, help="The weakest orders of C11 that keep the program robust and race-free.")
@click.option("--target", type=click.Choice(get_args(Target)),
              help="What orders cost there (C11; default: any order is cheaper than any fence).")  # fmt: skip
@release_sequence_option
@click.option("--monitor", "monitors", default="", metavar="NAMES",
              shell_complete=completing.several_of(completing.monitors),
              help="Monitors that tell robust from not, as for teetotal check (default: exact-tso,exact-pso).")  # fmt: skip
@semantics_options
@waiting_option
@c_options
@click.option("--loop-bound", type=click.IntRange(min=0, max=2**31 - 1), help="Backward jumps that a thread may take.")
@click.option("--time", "seconds", type=Seconds(), help="Seconds to spend on the search.")
@memory_option
@click.option("--workers", type=click.IntRange(min=0), default=0, show_default="one per processor", metavar="N",
              help="Processes, each with a part of an exploration or one set of fences at a time.")  # fmt: skip
@scale_options
@telling_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def fence(paths: tuple[str, ...], write: bool, workers: int, as_json: bool, **settings: Any) -> int:
    """Find fences that make a program robust (or safe), prove that each of them is needed, and print the patch. The
    patched program is explored again, whole. Several C and C++ files are one program; what follows -- goes to the
    compiler."""
    settings["models"] = tuple(model for model in settings["models"] if model != "sc")
    if not settings["models"]:
        raise click.BadParameter("sc needs no fences; give tso, pso, c11 or several", param_hint="--model")
    settings["monitors"] = monitor_names(settings["monitors"])
    options = asked(FenceOptions, settings)
    if options.monitors and options.goal != "robust":
        raise click.UsageError("--monitor is for --goal robust: no monitor is asked whether something fails")
    try:
        with (
            helping("fence", workers or available_workers(), paths, options) as scale,
            watching(" ".join(paths), wanted=not as_json) as watcher,
        ):
            allowed = click.get_current_context().meta.get("teetotal.memory")  # to this process, by force
            megabytes = options.max_megabytes if allowed is None else min(options.max_megabytes, allowed)
            budget = Budget(options.seconds, supervision.affordable(megabytes), watcher, scale)
            repair = fencing.fence(paths, options, budget)
    except Interrupted as interrupt:
        _tell(interrupt.answer, as_json)  # type: ignore[arg-type]
        raise click.Abort from interrupt
    try:
        result = repair.write() if write else repair.answer
    except TeetotalError:
        _tell(repair.answer, as_json)  # the search may have been long: what it found is not lost
        raise
    _tell(result, as_json)
    return result.verdict.exit_status


def _tell(result: FenceAnswer, as_json: bool) -> None:
    outputs.note(result)
    if as_json:
        click.echo(to_json(result))
    else:
        click.echo(report.headline(result) if quiet() else report.render(result, page()))
