"""``teetotal record …``: histories from the world. What its commands share: the file, the clients, and how they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import click

from teetotal.cli import outputs, stdin
from teetotal.cli.options import Number, Seconds
from teetotal.cli.subcommands import Subcommands
from teetotal.cli.telling import quiet, telling_options, watching

if TYPE_CHECKING:
    from teetotal.record import Recorded, Recording
    from teetotal.record.programs import RecordedExecution

Command = TypeVar("Command", bound=Callable[..., Any])
MANY = 10_000_000
SHOWN = 10_000
"""Operations of the first history that the answer tells, at most."""


class Records(Subcommands):
    """Their answers can be written like those of any verb; ``--output FILE`` is where the histories go."""

    def prepared(self, command: click.Command) -> click.Command:
        if any(parameter.name == "html_target" for parameter in command.params):
            return command
        assert command.callback is not None
        stdin.accept(f"record {command.name}", command)
        command.params += outputs.options(own_file="the histories")
        command.callback = outputs.written(f"record {command.name}", command.callback)
        return command


@click.group(
    cls=Records,
    summaries={
        "hardware": "random clients, or a litmus test, on this machine's own processors",
        "simulate": "random clients on a simulated multiprocessor, with or without a bug in its coherence protocol",
        "program": "random executions of a C or C++ program, also as SC traces",
        "redis": "random clients of a Redis server",
        "postgres": "random clients of a PostgreSQL server",
    },
)
def record() -> None:
    """Records histories for `teetotal history`."""


def client_options(
    *, threads: int | None, operations: int = 100, addresses: int = 4, fences: bool = True
) -> Callable[[Command], Command]:
    """Of a random client, as the parameters of ``Shape``; and ``seed``."""
    usual = True if threads is not None else "the processors, at most 4"
    options = (
        click.option("--threads", type=click.IntRange(1, 4096), default=threads, show_default=usual),
        click.option("--operations", type=click.IntRange(0, MANY), default=operations, show_default=True,
                     help="Of all threads together."),
        click.option("--addresses", type=click.IntRange(1, MANY), default=addresses, show_default=True),
        click.option("--writes", type=Number(0, 1), default=0.5, show_default=True, help="Share of stores."),
        click.option("--rmws", type=Number(0, 1), default=0.0, show_default=True, help="Share of rmws."),
        click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True),
    )  # fmt: skip
    share = click.option("--fences", type=Number(0, 1), default=0.0, show_default=True, help="Share of full fences.")
    return _together((*options, share) if fences else options)


def format_option(command: Command) -> Command:
    choice = click.Choice(("axe", "text"))
    return click.option("--format", "format", type=choice, default="axe", show_default=True)(command)


def recording_options(command: Command) -> Command:
    """``seconds`` and ``as_json``: see ``recorded``."""
    return _together(
        (
            click.option("--time", "seconds", type=Seconds(), metavar="SECONDS", help="Stop after so long."),
            telling_options,
            click.option("--json", "as_json", is_flag=True, help="What was recorded, as one JSON object."),
        )
    )(command)


def _together(options: Iterable[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        return reduce(lambda made, option: option(made), reversed(list(options)), command)

    return decorate


def recorded(
    verb: str,
    histories: Iterable[Recorded | RecordedExecution | None],
    output: str,
    format: Any,
    *,
    count: int,
    seconds: float | None = None,
    as_json: bool = False,
    input: str = "",
    notes: Sequence[str] = (),
) -> int:
    """Writes them as they come, until there are no more or the time is over; what is written is whole, however it ends.
    None among them: those before do not count. ``notes`` may grow until the last has come."""
    from teetotal.record import Recording

    if as_json and output == "-":
        raise click.UsageError("--json: standard output is for the histories, unless --output FILE says where they go")
    outputs.refuse_judgements("recordings")
    begun = time.monotonic()
    first: Recorded | RecordedExecution | None = None
    with Recording(output, may_begin_again=verb == "program") as file, watching(f"record {verb}") as show:
        try:
            for one in histories:
                if one is None:
                    file.begin_again()
                    first = None
                    continue
                file.add(one.text(format), one.operations)
                first = first or one
                if show is not None:
                    show("histories", file.histories, file.histories / count)
                if seconds is not None and time.monotonic() >= begun + seconds:
                    break
        finally:
            _tell(verb, file, first, count, time.monotonic() - begun, as_json, input, notes)
    return 0


def _tell(
    verb: str,
    file: Recording,
    first: Recorded | RecordedExecution | None,
    count: int,
    seconds: float,
    as_json: bool,
    input: str,
    others: Sequence[str],
) -> None:
    """How many there are. The first is part of the answer, where somebody wants to see it."""
    from teetotal.answers.record import RecordAnswer, Shown
    from teetotal.histories.explain import event
    from teetotal.report.json import to_json

    what = "history" if file.histories == 1 else "histories"
    told = f"{file.histories:,} {what} of {file.operations:,} operations recorded"
    if file.histories and not quiet():
        click.echo(told, err=True)
    if not (as_json or outputs.are_wanted()):
        return
    notes = [f"{told}, not judged: teetotal history does that", *others]
    drawn: Shown | None = None
    if first is not None:
        history = first.history
        shown = range(min(len(history), SHOWN))
        threads = [history[op].thread for op in shown]
        drawn = Shown(name=history.name, threads=threads, events=[event(history, op, None) for op in shown])
        if len(shown) < len(history):
            notes.append(f"of the first history, {len(shown):,} operations are told")
    answer = RecordAnswer(
        input=input or verb,
        command=f"record {verb}",
        complete=file.histories >= count,
        seconds=round(seconds, 6),
        notes=notes,
        histories=file.histories,
        operations=file.operations,
        file=None if file.path == "-" else file.path,
        first=drawn,
    )
    outputs.note(answer)
    if as_json:
        click.echo(to_json(answer))
