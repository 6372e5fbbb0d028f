"""``teetotal record redis`` and ``postgres``: the same command for each database."""

from __future__ import annotations

from typing import Any

import click

from teetotal.cli.record import MANY, client_options, format_option, recorded, recording_options


def command(name: str, what: str) -> click.Command:
    @click.command(name=name, help=what)
    @client_options(threads=4, operations=80, fences=False)
    @click.option("--count", type=click.IntRange(1, MANY), default=10, show_default=True, help="Histories.")
    @click.option("--server", metavar="PLACE", help="A server that runs already; default: one of our own.")
    @click.option("--read-from", metavar="PLACE", help="A replica of that server, for reads.")
    @click.option("--replica", is_flag=True, help="Start a replica beside our own server, and read from it.")
    @format_option
    @recording_options
    def run(
        count: int, seed: int, server: str | None, read_from: str | None, replica: bool,
        output: str, format: str, seconds: float | None, as_json: bool, **shape: Any,
    ) -> int:  # fmt: skip
        from teetotal import record

        source = getattr(record, name)
        servers = {"server": server, "read_from": read_from, "replica": replica}
        found = source(record.Shape(**shape), count=count, seed=seed, **servers)
        return recorded(name, found, output, format, count=count, seconds=seconds, as_json=as_json)

    return run
