"""``teetotal reproduce``: the papers' tables, ours beside theirs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import click

from teetotal.cli import completing, outputs
from teetotal.cli.options import budget_options
from teetotal.cli.telling import telling_options, watching
from teetotal.report import tables as tables_as_text
from teetotal.reproduce import TABLES, table
from teetotal.reproduce import rows as rows_of


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
    made = [table(name) for name in tables]
    if not tables:
        for name, what in TABLES.items():
            click.echo(f"{name:<10} {what}")
        return 0
    for name, table_ in zip(tables, made, strict=True):
        if not as_json:
            click.echo(f"{name}: {table_.TITLE}")
            click.echo(tables_as_text.row(table_.COLUMNS, table_.COLUMNS))
        rows = []
        for row in _watched(name, rows_of(name, histories)):
            rows.append(row)
            plain = {"table": name, "title": table_.TITLE, "columns": list(table_.COLUMNS), "row": list(row)}
            outputs.note_plain(plain)
            if as_json:
                click.echo(json.dumps(plain))
            else:
                click.echo(tables_as_text.row(row, table_.COLUMNS))
        for note in () if as_json else getattr(table_, "NOTES", ()):
            click.echo(f"- {note}")
        if hasattr(table_, "plots"):
            figures = table_.plots(rows)
            for figure in figures:
                outputs.note_plain({"plot": figure.name, **figure._asdict()})
            if plots is not None:
                from teetotal.reproduce.plots import draw

                for path in draw(figures, plots):
                    click.echo(f"{path} drawn", err=True)
    return 0


def _watched(name: str, rows: Iterable[Sequence[object]]) -> Iterator[Sequence[object]]:
    """Each row as it is known, with the time that it takes shown meanwhile."""
    following = iter(rows)
    while True:
        with watching(name):
            row = next(following, None)
        if row is None:
            return
        yield row
