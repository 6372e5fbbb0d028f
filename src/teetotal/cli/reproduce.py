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
from teetotal.reproduce import SAMPLED, TABLES


@click.command(short_help="The papers' tables, ours beside theirs.")
@click.argument("tables", nargs=-1, metavar="[TABLE…]", shell_complete=completing.one_of(list(TABLES)))
@budget_options
@click.option("--histories", type=click.IntRange(1), metavar="N", help="Histories a point (default: as the paper).")
@click.option("--plots", type=click.Path(file_okay=False), metavar="DIR", help="Draw figures, as SVG, into a folder.")
@telling_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row.")
def reproduce(tables: tuple[str, ...], histories: int | None, plots: str | None, as_json: bool) -> int:
    """Make the papers' tables again, or `all` of them. Without a name: which there are."""
    if "all" in tables:
        tables = tuple(TABLES)
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
        rows = []
        for row in _watched(name, table.rows(histories) if name in SAMPLED else table.rows()):
            rows.append(row)
            plain = {"table": name, "title": table.TITLE, "columns": list(table.COLUMNS), "row": list(row)}
            outputs.note_plain(plain)
            if as_json:
                click.echo(json.dumps(plain))
            else:
                click.echo(tables_as_text.row(row, table.COLUMNS))
        for note in () if as_json else getattr(table, "NOTES", ()):
            click.echo(f"- {note}")
        if hasattr(table, "plots"):
            figures = table.plots(rows)
            for figure in figures:
                outputs.note_plain({"plot": figure.name, **figure._asdict()})
            if plots is not None:
                from teetotal.reproduce.plots import draw

                for path in draw(figures, plots):
                    click.echo(f"{path} drawn", err=True)
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
