"""``teetotal history FILE…``: is what was observed SC, TSO or PSO?"""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Any

import click

from teetotal.cli.budget import TIME_IS_OVER, Undecided, told
from teetotal.cli.options import memory_option, semantics, semantics_options
from teetotal.cli.progress import progress
from teetotal.scale import supervision

ENGINES = ("auto", "wsc+enum", "ccm+enum", "enum", "dbcop", "wsc+dbcop", "sat")
MODELS = ("sc", "tso", "pso", "wsc", "ccm")
FORMATS = ("axe", "text", "json", "dbcop", "polysi", "edn", "tracegen", "gem5")
EXPLAINED = 10
"""In text, proofs are printed for at most so many histories unless --explain is given."""
PARALLEL_BYTES = 1_000_000
"""Input below which starting processes costs more than it saves."""


@click.command(short_help="is a recorded history SC, TSO or PSO?")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False), metavar="FILE…")
@click.option("--model", "models", default="sc", metavar="M[,M…]", help="sc (default), tso, pso, wsc, ccm.")
@click.option("--engine", type=click.Choice(ENGINES), default="auto", help="How to decide; default auto.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="The files' format; default: by content.")
@click.option("--time", "seconds", type=click.FloatRange(min=0), metavar="SECONDS", help="At most so long a history.")
@click.option("--kernel", is_flag=True, help="The SC-kernel, and how much of it wSC and CCM find.")
@click.option("--check-witness", is_flag=True, help="Check every witness found with the independent checker.")
@click.option("--witness", is_flag=True, help="Show the witness; in JSON, however long it is.")
@click.option("--given-witness", type=click.Path(exists=True, dir_okay=False), metavar="RESULT.json",
              help="Only check the witnesses in this output of --json; no engine runs.")  # fmt: skip
@click.option("--explain/--no-explain", default=None, help="Prove each violation; default: for up to 10 histories.")
@click.option("--order/--no-order", default=True, help="Whether auto tries the file's own order first.")
@click.option("--unwritten", type=click.Choice(("error", "violation")), default="error",
              help="What a read of a value that nobody wrote is; default error.")  # fmt: skip
@click.option("--transactions", type=click.Choice(("refuse", "split")), default="refuse",
              help="What to do with transactions of several operations.")  # fmt: skip
@semantics_options
@click.option("--workers", type=click.IntRange(min=1), help="Processes; default: one a core for large input.")
@memory_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a history and model.")
def history(files: tuple[str, ...], models: str, as_json: bool, given_witness: str | None, **chosen: Any) -> int:
    """Decides whether each history in the files is consistent with a memory model.

    Formats: axe, our own text, dbcop (JSON and text), PolySI and Plume text, Jepsen EDN, rocket-chip TraceGen logs, gem5
    execution traces. A consistent history gets a witness, an inconsistent one a proof over a minimal part of it.
    """
    from teetotal.histories.result import Options, examine_all

    names = models.split(",")
    for name in names:
        if name not in MODELS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(MODELS)}", param_hint="--model")
    workers = chosen.pop("workers")
    explain = chosen.pop("explain")
    counts = {}
    for file in files:
        with supervision.watching(chosen["seconds"], late=late(file, as_json, chosen["seconds"])):
            counts[file] = _count(file, chosen["format"], chosen["transactions"])
    total = sum(counts.values()) * len(names)
    if total == 0:
        raise click.UsageError("no history in these files")
    options = [
        Options(
            model=name,  # type: ignore[arg-type]
            engine=chosen["engine"],
            seconds=chosen["seconds"],
            semantics=semantics(chosen["rmw"], chosen["mutex"]),
            use_order=chosen["order"],
            explain=explain if explain is not None else as_json or total <= EXPLAINED,
            kernel=chosen["kernel"],
            check_witness=chosen["check_witness"],
            witness=chosen["witness"],
            unwritten=chosen["unwritten"],
            format=chosen["format"],
            split_transactions=chosen["transactions"] == "split",
            late=late("a history", as_json, chosen["seconds"]),
        )
        for name in names
    ]
    if given_witness:
        return _check_given(files, given_witness, options[0])
    workers = workers or (_cores() if sum(os.path.getsize(f) for f in files) >= PARALLEL_BYTES else 1)
    tasks = [task for file in files for task in _shares(file, counts[file], options, workers)]
    report = Report(as_json, total, chosen["witness"])
    with progress("histories", total) as advance:
        for result in examine_all(tasks, workers):
            report.add(result)
            advance()
    return report.finish()


def late(what: str, as_json: bool, seconds: float | None) -> str:
    """What is said of a history that has to be ended by force."""
    return told(Undecided(what, "history", [TIME_IS_OVER], seconds=seconds), as_json)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _count(file: str, format: str | None, transactions: str) -> int:
    from teetotal.histories.result import read_once

    return len(read_once(file, format, transactions == "split"))


def _shares(file: str, count: int, options: list[Any], workers: int) -> list[Any]:
    """Each model's histories of a file in shares, at least four for each worker so that all are busy to the end, and small
    enough to lose little to Ctrl-C."""
    size = max(1, min(-(-count // (4 * workers)), 100))
    return [(file, at, min(at + size, count), option) for option in options for at in range(0, count, size)]


class Report:
    """Prints results as they come, and the summary."""

    def __init__(self, as_json: bool, total: int, show_witness: bool) -> None:
        self.as_json = as_json
        self.total = total
        self.show_witness = show_witness
        self.tally: Counter[tuple[str, str]] = Counter()
        self.unexplained = 0

    def add(self, result: Any) -> None:
        from teetotal.verdicts import to_json

        self.tally[result.model, str(result.verdict)] += 1
        if self.as_json:
            click.echo(to_json(result))
            return
        name = result.name or Path(result.input).name
        click.echo(
            f"{result.verdict!s:12} {result.model:3}  {name}: {result.operations:,} operations, {result.threads} threads, "
            f"{result.seconds:.3f} s by {result.decided_by}"
        )
        if result.learned:
            click.echo(f"  known all the same: {result.learned}")
        if result.witness_checked:
            click.echo(f"  witness of {result.witness_steps:,} steps checked")
        if result.kernel:
            _show_kernel(result.kernel)
        if self.show_witness and result.witness is not None:
            self._show_witness(result)
        if result.text:
            for line in result.text:
                click.echo(line)
            _show_models(result.models)
        elif str(result.verdict) == "violation":
            self.unexplained += 1

    def _show_witness(self, result: Any) -> None:
        from teetotal.histories.readers import read
        from teetotal.histories.witness import from_json, narrate

        found = next(h for h in read(result.input) if h.name == result.name)
        for line in narrate(found, from_json(result.witness), limit=len(result.witness)):
            click.echo("  " + line)

    def finish(self) -> int:
        from teetotal.verdicts import Verdict

        if self.total > 1 and not self.as_json:
            click.echo(f"\n{'model':8}{'safe':>10}{'violation':>12}{'inconclusive':>14}")
            for model in dict.fromkeys(model for model, _ in self.tally):
                numbers = [self.tally[model, verdict] for verdict in ("safe", "violation", "inconclusive")]
                click.echo(f"{model:8}{numbers[0]:>10}{numbers[1]:>12}{numbers[2]:>14}")
            if self.unexplained:
                click.echo(f"{self.unexplained} without their proofs; --explain prints them")
        verdicts = (Verdict(verdict) for _, verdict in self.tally)
        return reduce(Verdict.__add__, verdicts, Verdict.SAFE).exit_status


def _show_kernel(kernel: Any) -> None:
    def share(part: int) -> str:
        return f"{part:,} ({100 * part / kernel.kernel:.2f} %)" if kernel.kernel else str(part)

    click.echo(f"  SC-kernel: {kernel.kernel:,} of {kernel.pairs:,} pairs of writes of one address")
    click.echo(f"  found by wSC {share(kernel.wsc)}, by CCM {share(kernel.ccm)}")


def _show_models(models: dict[str, Any]) -> None:
    for verdict, word in (("violation", "violates"), ("safe", "satisfies"), ("inconclusive", "undecided")):
        named = [model for model, found in models.items() if str(found) == verdict]
        if named:
            click.echo(f"  {word} {', '.join(named)}")


def _check_given(files: tuple[str, ...], path: str, options: Any) -> int:
    """Checks witnesses that an earlier run wrote, without any engine."""
    from teetotal.histories.readers import read
    from teetotal.histories.witness import from_json, refute

    histories = {(file, h.name): h for file in files for h in read(file, format=options.format)}
    wrong = 0
    for number, line in enumerate(Path(path).read_text().splitlines(), start=1):
        try:
            result = json.loads(line)
            key, steps, model = (result["input"], result.get("name", "")), result.get("witness"), result["model"]
        except (ValueError, KeyError, TypeError) as error:
            raise click.UsageError(f"{path}:{number}: not a result of teetotal history --json") from error
        if steps is None or key not in histories or model not in ("sc", "tso", "pso"):
            continue
        reason = refute(histories[key], from_json(steps), model, options.semantics)
        wrong += bool(reason)
        click.echo(
            f"{'wrong' if reason else 'right':8} {model:3}  {key[1] or key[0]}" + (f": {reason}" if reason else "")
        )
    return 1 if wrong else 0
