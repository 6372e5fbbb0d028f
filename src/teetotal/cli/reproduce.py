"""``teetotal reproduce [TABLE]``: the papers' tables, ours beside theirs. One function for each table."""

from __future__ import annotations

import importlib

import click

TABLES = {
    "tacas13": ("teetotal.symbolic.tacas13", "Linden, Wolper, TACAS 2013, Table 1: fences for PSO, unbounded buffers"),
}
"""Table → the module whose ``reproduce(as_json)`` prints it, and what it is."""


@click.command()
@click.argument("tables", nargs=-1, metavar="[TABLE]…")
@click.option("--json", "as_json", is_flag=True, help="one JSON object for each table")
def reproduce(tables: tuple[str, ...], as_json: bool) -> int:
    """The papers' tables, ours beside theirs."""
    for table in tables or tuple(TABLES):
        if table not in TABLES:
            raise click.BadParameter(f"no table {table!r}: {', '.join(TABLES)}")
        importlib.import_module(TABLES[table][0]).reproduce(as_json)
    return 0
