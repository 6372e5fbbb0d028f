"""``teetotal record simulate``: random clients on a simulated multiprocessor."""

from __future__ import annotations

from typing import Any

import click

from teetotal.cli import completing
from teetotal.cli.record import MANY, client_options, format_option, recorded, recording_options

CACHE = click.IntRange(1, 1 << 16)


@click.command()
@client_options(threads=4, addresses=8)
@click.option("--count", type=click.IntRange(1, MANY), default=100, show_default=True, help="Histories.")
@click.option(
    "--protocol",
    default="mesi",
    show_default=True,
    metavar="NAME",
    help="mi, mesi, hammer or amd.",
    shell_complete=completing.one_of(completing.protocols),
)
@click.option(
    "--bug",
    default="",
    metavar="NAME",
    help="A mistake in the machine; `list` names those of the protocol.",
    shell_complete=completing.one_of(completing.bugs),
)
@click.option(
    "--buffer", type=click.IntRange(0, 1 << 16), default=0, show_default=True, help="Stores in a store buffer."
)
@click.option("--sets", type=CACHE, default=2, show_default=True, help="Sets of a cache.")
@click.option("--ways", type=CACHE, default=1, show_default=True, help="Lines of a set.")
@click.option("--words", type=click.IntRange(1, 8), default=2, show_default=True, help="Addresses of a line.")
@click.option("--home-lines", type=CACHE, default=3, show_default=True, help="Lines of the second level (mesi).")
@click.option("--delay", type=CACHE, default=20, show_default=True, help="Steps that a message takes, at most.")
@format_option
@recording_options
def simulate(
    threads: int, operations: int, addresses: int, writes: float, rmws: float, fences: float, seed: int, count: int,
    output: str, format: str, seconds: float | None, as_json: bool, **machine: Any,
) -> int:  # fmt: skip
    """Histories from a simulated multiprocessor: caches, a coherence protocol, a network that reorders.

    Without store buffers each of them is SC, with them TSO; a --bug makes some that are not.
    """
    from teetotal import record

    if machine["bug"] == "list":
        for name, protocols in record.BUGS.items():
            if machine["protocol"] in protocols:
                click.echo(f"{name}{' (needs --buffer)' if name in record.NEED_BUFFERS else ''}")
        return 0
    shape = record.Shape(
        threads=threads, operations=operations, addresses=addresses, writes=writes, rmws=rmws, fences=fences
    )
    found = record.simulate(record.Machine(**machine), shape, count=count, seed=seed)
    return recorded("simulate", found, output, format, count=count, seconds=seconds, as_json=as_json)
