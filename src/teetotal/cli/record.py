"""``teetotal record …``: histories from the world. What its commands share: the file, the clients, and how they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from teetotal.cli.options import Seconds
from teetotal.cli.subcommands import Subcommands

if TYPE_CHECKING:
    from teetotal.record import Recorded

Command = TypeVar("Command", bound=Callable[..., Any])
MANY = 10_000_000


@click.group(
    cls=Subcommands,
    summaries={
        "hardware": "random clients, or a litmus test, on this machine's own processors",
        "simulate": "random clients on a simulated multiprocessor, with or without a bug in its coherence protocol",
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
        click.option("--writes", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Share of stores."),
        click.option("--rmws", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Share of rmws."),
        click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True),
    )  # fmt: skip
    share = click.option(
        "--fences", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Share of full fences."
    )
    return _together((*options, share) if fences else options)


def recording_options(command: Command) -> Command:
    """``output``, ``format`` and ``seconds``: see ``recorded``."""
    return _together(
        (
            click.option("--format", "format", type=click.Choice(("axe", "text")), default="axe", show_default=True),
            click.option("--time", "seconds", type=Seconds(), metavar="SECONDS", help="Stop after so long."),
            click.option("--output", type=click.Path(), default="-", help="A file; default: standard output."),
        )
    )(command)


def _together(options: Iterable[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(list(options)):
            command = option(command)
        return command

    return decorate


def recorded(histories: Iterable[Recorded], output: str, format: Any, seconds: float | None) -> int:
    """Writes them as they come, until there are no more or the time is over; what is written is whole, however it ends."""
    from teetotal.record import Recording

    until = None if seconds is None else time.monotonic() + seconds
    operations = 0
    with Recording(output) as file:
        try:
            for one in histories:
                file.add(one.text(format))
                operations += one.client.shape.operations
                if until is not None and time.monotonic() >= until:
                    break
        finally:
            click.echo(f"{file.histories:,} histories of {operations:,} operations recorded", err=True)
    return 0
