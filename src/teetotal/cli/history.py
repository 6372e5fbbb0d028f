"""``teetotal history FILE…``: is what was observed SC, TSO or PSO?"""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource
from msgspec.structs import replace

from teetotal.answers.answer import Refusal, Undecided
from teetotal.answers.errors import TeetotalError
from teetotal.answers.history import ENGINES, HISTORY_MODELS, HistoryAnswer
from teetotal.answers.options import HistoryOptions as Options
from teetotal.answers.options import asked
from teetotal.answers.verdict import Verdict
from teetotal.checking import TIME_IS_OVER
from teetotal.cli import outputs
from teetotal.cli.budget import told
from teetotal.cli.options import Seconds, memory_option, semantics_options
from teetotal.cli.scaling import helping, scale_options
from teetotal.cli.telling import advancing, page, quiet, telling_options
from teetotal.histories import examining
from teetotal.histories.formats import FORMATS
from teetotal.report import history as report
from teetotal.report.json import to_json
from teetotal.report.streams import in_line
from teetotal.scale.local import available_workers

EXPLAINED = 10
"""In text, proofs are printed for at most so many histories unless --explain is given."""
PARALLEL_BYTES = 1_000_000
"""Input below which starting processes costs more than it saves."""


@click.command(short_help="is a recorded history SC, TSO or PSO?")
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE…")
@click.option("--model", "models", default="sc", metavar="M[,M…]", help="sc (default), tso, pso, wsc, ccm.")
@click.option("--engine", type=click.Choice(ENGINES), default="auto", help="How to decide; default auto.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="The files' format; default: by content.")
@click.option(
    "--time",
    "seconds",
    type=Seconds(),
    metavar="SECONDS",
    help="For each history: to read, decide and explain it.",
)
@click.option("--kernel", is_flag=True, help="The SC-kernel, and how much of it each saturation finds.")
@click.option("--check-witness", is_flag=True, help="Check every witness found with the independent checker.")
@click.option("--witness", is_flag=True, help="Show the witness; in JSON, however long it is.")
@click.option("--given-witness", type=click.Path(exists=True, dir_okay=False), metavar="RESULT.json",
              help="Only check the witnesses in this output of --json; no engine runs.")  # fmt: skip
@click.option("--explain/--no-explain", default=None, help="Prove each violation; default: for up to 10 histories.")
@click.option("--order/--no-order", "use_order", default=True, help="Whether auto tries the file's own order first.")
@click.option("--unwritten", type=click.Choice(("error", "violation")), default="error",
              help="What a read of a value that nobody wrote is; default error.")  # fmt: skip
@click.option("--transactions", "split_transactions", type=click.Choice(("refuse", "split")), default="refuse",
              callback=lambda context, parameter, value: value == "split",
              help="What to do with transactions of several operations.")  # fmt: skip
@semantics_options
@click.option("--workers", type=click.IntRange(min=1), help="Processes; default: one a core for large input.")
@scale_options
@memory_option
@telling_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object a history and model.")
def history(files: tuple[str, ...], models: str, as_json: bool, given_witness: str | None, **chosen: Any) -> int:
    """Decides whether each history in the files is consistent with a memory model.

    Formats: axe, our own text, dbcop (JSON and text), PolySI and Plume text, Jepsen EDN, rocket-chip TraceGen logs, gem5
    execution traces. A consistent history gets a witness, an inconsistent one a proof over a minimal part of it.
    """
    names = list(dict.fromkeys(models.split(",")))
    for name in names:
        if name not in HISTORY_MODELS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(HISTORY_MODELS)}", param_hint="--model")
    _refuse_odd_combinations(names, given_witness, chosen)
    workers = chosen.pop("workers")
    explain, seconds = chosen.pop("explain"), chosen["seconds"]
    options = [asked(Options, {**chosen, "model": name}) for name in names]
    if given_witness:
        return _check_given(files, given_witness, options[0])
    printed = Printed(as_json)
    counts = {}
    for file in files:
        try:
            counts[file] = _count(file, options[0])
        except TimeoutError:
            printed.unread(file, options)
        except TeetotalError as error:
            printed.refuse(Refusal.of(error, file, "history"))
    files = tuple(counts)  # those that were read
    total = sum(counts.values()) * len(names)
    explain = explain if explain is not None else as_json or total <= EXPLAINED
    workers = workers or (available_workers() if sum(os.path.getsize(f) for f in files) >= PARALLEL_BYTES else 1)
    questions = [replace(option, explain=explain and as_json) for option in options]
    tasks = []
    for file in files:
        named = [replace(option, late=late(file, as_json, seconds)) for option in questions]
        tasks += _shares(file, counts[file], named, workers)
    what = "histories" if total != 1 else os.path.basename(files[0])
    with helping("history", workers, files, *questions) as scale, advancing(what, total) as advance:
        for answer in examining.examine_all(tasks, scale):
            if isinstance(answer, Refusal):
                printed.refuse(answer)
            else:
                printed.add(answer, options)
            advance()
    return printed.finish(explain, options)


def _refuse_odd_combinations(models: list[str], given_witness: str | None, chosen: dict[str, Any]) -> None:
    """What cannot be done together is refused: an option that is quietly ignored would look like an answer."""
    with_witness = [model for model in models if model in ("sc", "tso", "pso")]
    for option in ("witness", "check_witness"):
        if chosen[option] and not with_witness:
            raise click.UsageError(
                f"--{option.replace('_', '-')}: there are witnesses of sc, tso and pso, not of {' and '.join(models)}"
            )
    if chosen["kernel"] and "sc" not in models:
        raise click.UsageError("--kernel is about SC; it needs --model sc")
    if chosen["engine"] == "ccm+enum" and {"tso", "pso"} & set(models):
        raise click.UsageError("the engine ccm+enum is about SC: CCM is no approximation of TSO or PSO")
    if given_witness:
        source = click.get_current_context().get_parameter_source
        odd = (
            "models", "engine", "seconds", "kernel", "check_witness", "witness", "explain", "use_order", "unwritten",
            "workers", "as_json",
        )  # fmt: skip
        names = {"models": "model", "seconds": "time", "as_json": "json", "use_order": "order"}
        for option in odd:
            if source(option) is ParameterSource.COMMANDLINE:
                shown = names.get(option, option.replace("_", "-"))
                raise click.UsageError(f"--given-witness runs no engine: --{shown} has no meaning beside it")


def late(what: str, as_json: bool, seconds: float | None) -> str:
    """What is said of a history that has to be ended by force."""
    return told(Undecided(input=what, command="history", notes=[TIME_IS_OVER], seconds=seconds), as_json)


def _count(file: str, options: Options) -> int:
    histories, _ = examining.read_once(file, options, bounded=True)
    if not histories:
        raise TeetotalError(f"{file}: there is no history in it")
    return len(histories)


def _shares(file: str, count: int, options: list[Any], workers: int) -> list[Any]:
    """Each model's histories of a file in shares, at least four for each worker so that all are busy to the end, and small
    enough to lose little to Ctrl-C; where each has its time, one by one."""
    size = max(1, min(-(-count // (4 * workers)), 100)) if options[0].seconds == math.inf else 1
    return [(file, at, min(at + size, count), option) for option in options for at in range(0, count, size)]


class Printed:
    """Prints verdicts as they come, then the summary, then the proofs: a proof never delays a verdict."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.tally: Counter[tuple[str, Verdict]] = Counter()
        self.violations: list[HistoryAnswer] = []
        self.refused = False

    def refuse(self, refusal: Refusal) -> None:
        self.refused = True
        outputs.refuse(refusal, self.as_json)

    def add(self, answer: HistoryAnswer, options: list[Options]) -> None:
        self.tally[answer.model, answer.verdict] += 1
        if self.as_json or answer.verdict is not Verdict.VIOLATION:
            outputs.note(answer)
        if self.as_json:
            click.echo(to_json(answer))
            return
        say([next(report.lines(answer))] if quiet() else report.lines(answer))
        if options[0].witness and answer.witness is not None:
            _show_witness(answer, options[0])
        if answer.verdict is Verdict.VIOLATION:
            self.violations.append(answer)

    def unread(self, file: str, options: list[Options]) -> None:
        """A file for which the time was over before it was read."""
        for option in options:
            self.add(examining.not_read(file, option), options)

    def finish(self, explain: bool, options: list[Options]) -> int:
        if self.tally.total() > 1 and not self.as_json:
            say(report.table(self.tally))
            if self.violations and not explain:
                say([f"{len(self.violations)} without their proofs; --explain prints them"])
        for answer in self.violations:
            if explain and not self.as_json and (outputs.are_wanted() or not quiet()):
                self._explain(answer, next(option for option in options if option.model == answer.model))
            else:
                outputs.note(answer)
        return 2 if self.refused else sum((verdict for _, verdict in self.tally), Verdict.SAFE).exit_status

    def _explain(self, answer: HistoryAnswer, options: Options) -> None:
        if self.tally.total() > 1 and not quiet():
            say([f"\n{report.name(answer)} and {answer.model}:"])
        sys.stdout.flush()  # the verdict is to be seen while the proof is looked for
        histories, spent = examining.read_once(answer.input, options)
        assert answer.seconds is not None
        left = max(0.0, options.seconds - spent - answer.seconds)
        proved = examining.explained(histories[answer.index], replace(answer, notes=[]), options, left)
        outputs.note(replace(proved, notes=[*answer.notes, *proved.notes]))
        if not quiet():
            say([*report.explanation(proved), *report.models(proved.models), *report.notes(proved.notes)])
        if any(note.startswith(examining.INTERRUPTED) for note in proved.notes):
            raise KeyboardInterrupt


def say(lines: Iterable[str]) -> None:
    """Prints lines of which parts come from files: what could control a terminal is shown as an escape."""
    sheet = page()
    for text in lines:
        escaped = (c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in in_line(text))
        for line in "".join(escaped).split("\n"):
            click.echo("\n".join(sheet.kept(line)))


def _show_witness(answer: HistoryAnswer, options: Options) -> None:
    from teetotal.histories.witness import from_json, narrate

    assert answer.witness is not None
    histories, _ = examining.read_once(answer.input, options)
    lines = narrate(histories[answer.index], from_json(answer.witness), limit=len(answer.witness))
    say("  " + line for line in lines)


def _check_given(files: tuple[str, ...], path: str, options: Options) -> int:
    from teetotal.histories import given

    wrong = False
    for checked in given.check(path, files, options):
        say([str(checked)])
        wrong = wrong or bool(checked.wrong)
    return 1 if wrong else 0
