"""``teetotal report``: what ``--json`` printed, as a page."""

from __future__ import annotations

import os
from pathlib import Path

import click

from teetotal.answers.errors import TeetotalError
from teetotal.cli import completing, outputs
from teetotal.cli.options import budget_options
from teetotal.report import results


@click.command(short_help="What --json printed, as a page.")
@click.argument("paths", nargs=-1, required=True, metavar="RESULT.json…", shell_complete=completing.files)
@budget_options
@click.option("-o", "target", metavar="FILE", help="Where to write the page (default: RESULT.html; - prints it).")
def report(paths: tuple[str, ...], target: str | None) -> int:
    """Make one page of the answers in files (- for standard input) that --json or --output json: wrote. With --html or
    --output, that is written instead."""
    answers = [answer for path in paths for answer in results.read(path)]
    if any("table" in answer or "plot" in answer for answer in answers):
        outputs.refuse_judgements("tables")
    for answer in answers:
        outputs.note_plain(answer)
    if target is None and outputs.are_wanted():
        return 0
    where = target or ("report.html" if paths[0] == "-" else str(Path(paths[0]).with_suffix(".html").name))
    if where != "-" and os.path.realpath(where) in map(os.path.realpath, paths):
        raise TeetotalError(f"{where} is read, and would be written over; -o says where the page goes")
    outputs.also("html", where)
    if where != "-":
        click.echo(f"{where}: {len(answers)} answer{'s' * (len(answers) != 1)}", err=True)
    return 0
