"""``teetotal reproduce``: the papers' tables, ours beside theirs."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator

import click

from teetotal.answers.errors import TeetotalError
from teetotal.cli import completing, outputs
from teetotal.cli.options import budget_options
from teetotal.cli.telling import telling_options, watching
from teetotal.report import tables as tables_as_text
from teetotal.reproduce import TABLES


@click.command(short_help="The papers' tables, ours beside theirs.")
@click.argument("tables", nargs=-1, metavar="[TABLE…]", shell_complete=completing.one_of(list(TABLES)))
@budget_options
@telling_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row.")
def reproduce(tables: tuple[str, ...], as_json: bool) -> int:
    """Make the papers' tables again. Without a name: which there are."""
    unknown = [name for name in tables if name not in TABLES]
    if unknown:
        raise TeetotalError(f"no table is called {', '.join(unknown)}; there are {', '.join(TABLES)}")
    if not tables:
        for name, what in TABLES.items():
            click.echo(f"{name:<10} {what}")
        return 0
    for name in tables:
        table = importlib.import_module(f"teetotal.reproduce.{name}")
        if not as_json:
            click.echo(f"{name}: {table.TITLE}")
            click.echo(tables_as_text.row(table.COLUMNS, table.COLUMNS))
        for row in _watched(name, table.rows()):
            plain = {"table": name, "title": table.TITLE, "columns": list(table.COLUMNS), "row": list(row)}
            outputs.note_plain(plain)
            if as_json:
                click.echo(json.dumps(plain))
            else:
                click.echo(tables_as_text.row(row, table.COLUMNS))
        for note in () if as_json else getattr(table, "NOTES", ()):
            click.echo(f"- {note}")
    return 0


def _watched(name: str, rows: Iterable[list[object]]) -> Iterator[list[object]]:
    """Each row as it is known, with the time that it takes shown meanwhile."""
    following = iter(rows)
    while True:
        with watching(name):
            row = next(following, None)
        if row is None:
            return
        yield row
