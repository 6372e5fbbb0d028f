"""``teetotal monitor``: the monitors over recorded SC traces. One result per trace, in the order given."""

from __future__ import annotations

import math
import os
import stat
import sys
from collections.abc import Callable
from typing import Any

import click

from teetotal.answers.answer import Refusal
from teetotal.answers.errors import TeetotalError
from teetotal.answers.options import MonitorOptions, asked
from teetotal.answers.verdict import Verdict
from teetotal.cli import completing, outputs
from teetotal.cli.options import budget_options, monitor_names, semantics_options
from teetotal.cli.telling import page, quiet, telling_options, watching
from teetotal.engines.executions.monitors import EXACT_C11, MONITORS
from teetotal.report.json import to_json
from teetotal.report.progress import Watcher


@click.command(short_help="The monitors over a recorded SC trace.")
@click.argument("paths", nargs=-1, required=True, metavar="TRACE…", shell_complete=completing.files)
@click.option("--model", "models", metavar="MODELS",
              help="The exact monitors of these, separated by commas: tso, pso, c11 (of traces that say which order each "
                   "event has).  [default: tso,pso]")  # fmt: skip
@click.option("--monitor", "monitors", metavar="NAMES",
              shell_complete=completing.several_of(completing.monitors),
              help=f"Which, separated by commas: {', '.join([*MONITORS, EXACT_C11.name])}.",
)  # fmt: skip
@semantics_options
@click.option(
    "--group",
    type=click.Choice(["pair", "triple"]),
    default="pair",
    show_default=True,
    help="What makes two violations one: the places of the store and of what overtakes it, or of the event between too.",
)
@click.option("--window", type=click.IntRange(min=0), default=1 << 17, show_default=True,
              help="Events kept to tell how the store happens before what overtakes it.")  # fmt: skip
@click.option("--violations", is_flag=True, help="Tell every distinct violation in full.")
@budget_options
@telling_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object per trace, each on a line.")
def monitor(
    paths: tuple[str, ...], models: str | None, monitors: str | None, violations: bool, as_json: bool, **settings: Any
) -> int:
    """Read recorded traces (files, or - for standard input) and tell which delayed stores would make the same program
    leave sequential consistency on TSO and PSO, or under C11. A damaged trace is monitored up to the damage."""
    from teetotal.report import monitored
    from teetotal.traces import monitoring, open_trace

    if models is not None and monitors is not None:
        raise click.UsageError("--model stands for the exact monitors of the models, --monitor names others: not both")
    if monitors is None:
        named = [model.strip() for model in (models or "tso,pso").split(",") if model.strip()]
        if unknown := [model for model in named if model not in ("tso", "pso", "c11")]:
            raise click.UsageError(f"--model {unknown[0]}: there are tso, pso and c11")
        monitors = ",".join(f"exact-{model}" for model in named)
    names = monitor_names(monitors)
    if not names:
        raise click.UsageError("--monitor names no monitor")
    if paths.count("-") > 1:
        raise click.UsageError("standard input can be read only once")
    options = asked(MonitorOptions, {**settings, "monitors": names})
    verdict, bad = Verdict.SAFE, False
    for number, path in enumerate(paths):
        try:
            with open_trace(path) as reader, watching(os.path.basename(path), wanted=not as_json) as show:
                result = monitoring.monitor(reader, options, _progress(reader, show), again_at(path))
        except TeetotalError as error:
            outputs.refuse(Refusal.of(error, path, "monitor"), as_json)
            bad = True
            continue
        outputs.note(result)
        if as_json:
            click.echo(to_json(result))
        elif quiet():
            click.echo(monitored.headline(result))
        else:
            click.echo(("\n" if number else "") + monitored.render(result, page(), every_violation=violations))
        sys.stdout.flush()
        verdict += result.verdict
        if result.error is not None:
            click.echo(f"teetotal: {result.error}", err=True)
            bad = True
        elif not result.complete:
            if number + 1 < len(paths):
                click.echo(f"teetotal: {result.notes[-1]}; not read: {', '.join(paths[number + 1 :])}", err=True)
            break
    return 2 if bad else verdict.exit_status


def again_at(path: str) -> str | None:
    """The path, if it can be read once more."""
    return path if path != "-" and stat.S_ISREG(os.stat(path).st_mode) else None


def _progress(reader: Any, show: Watcher | None) -> Callable[[], None]:
    """What is called now and then while a trace is read: how many events there are, and how much of the file that is."""
    if show is None:
        return lambda: None
    return lambda: show("events", reader.events, reader.source.position / (reader.source.size or math.inf))
