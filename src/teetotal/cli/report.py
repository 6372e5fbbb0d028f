"""``teetotal report``: what ``--json`` printed, as a page."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.events import Location
from teetotal.cli import completing, outputs
from teetotal.cli.options import budget_options
from teetotal.report import found as found_in


@click.command(short_help="What --json printed, as a page.")
@click.argument("paths", nargs=-1, required=True, metavar="RESULT.json…", shell_complete=completing.files)
@budget_options
@click.option("-o", "target", metavar="FILE", help="Where to write the page (default: RESULT.html; - prints it).")
def report(paths: tuple[str, ...], target: str | None) -> int:
    """Make one page of the answers in files (- for standard input) that --json or --output json: wrote. With --html or
    --output, that is written instead."""
    answers = [answer for path in paths for answer in _answers(path)]
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


def _answers(path: str) -> list[dict[str, Any]]:
    """One object a line, or one on many lines, or a list of them."""
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        text = raw.decode()
    except UnicodeDecodeError:
        raise ParseError(f"{path} is not JSON: not even text") from None
    try:
        whole = json.loads(text)
        found = whole if isinstance(whole, list) else [whole]
        places = [1] * len(found)
    except ValueError:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        found, places = [], []
        for number, line in lines:
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise ParseError(f"not JSON: {error}", Location(path, number)) from None
            places.append(number)
    for answer, number in zip(found, places, strict=True):
        if not _is_answer(answer):
            raise ParseError("not an answer of teetotal: --json prints them", Location(path, number))
        if "command" in answer and (wrong := found_in.oddity(answer)):
            raise ParseError(f"not an answer of teetotal: {wrong}", Location(path, number))
    if not found:
        raise ParseError(f"{path}: there is no answer in it")
    return found


def _is_answer(answer: Any) -> bool:
    """As far as a look at it tells."""
    match answer:
        case {"input": str(), "command": str(), "verdict": "safe" | "violation" | "inconclusive"}:
            return True
        case {"table": str(), "columns": list(), "row": list()}:
            return True
        case {"plot": str(), "title": str(), "across": str(), "up": str(), "curves": dict(curves)}:
            return all(_is_curve(curve) for curve in curves.values())
    return False


def _is_curve(curve: Any) -> bool:
    """A list of points."""
    return isinstance(curve, list) and all(
        isinstance(point, list) and len(point) == 2 and all(isinstance(number, int | float) for number in point)
        for point in curve
    )
