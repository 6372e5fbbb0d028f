"""``teetotal record redis`` and ``postgres``: the same command for each database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from teetotal.cli.record import MANY, client_options, recorded, recording_options

if TYPE_CHECKING:
    from teetotal.record.databases import Database


def command(name: str, opened: Callable[..., AbstractContextManager[Database]], what: str) -> click.Command:
    @click.command(name=name, help=what)
    @client_options(threads=4, operations=80, fences=False)
    @click.option("--count", type=click.IntRange(1, MANY), default=10, show_default=True, help="Histories.")
    @click.option("--server", metavar="PLACE", help="A server that runs already; default: one of our own.")
    @click.option("--read-from", metavar="PLACE", help="A replica of that server, for reads.")
    @click.option("--replica", is_flag=True, help="Start a replica beside our own server, and read from it.")
    @recording_options
    def run(
        count: int, seed: int, server: str | None, read_from: str | None, replica: bool,
        output: str, format: str, seconds: float | None, **shape: Any,
    ) -> int:  # fmt: skip
        from teetotal.record import Shape
        from teetotal.record.databases import runs

        with opened(server, read_from, replica=replica) as database:
            return recorded(runs(database, Shape(**shape), count=count, seed=seed), output, format, seconds)

    return run
