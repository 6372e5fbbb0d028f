"""Rows of tables for the HTML report, beside what a benchmark prints: ``TEETOTAL_ROWS=FILE`` says where they are added, and
``teetotal report FILE`` draws them. ``make bench`` does both."""

from __future__ import annotations

import json
import os


def tell(table: str, title: str, cells: dict[str, object]) -> None:
    """What a row is about stands before its numbers; from a column on that begins with ``paper``, they are another's."""
    if file := os.environ.get("TEETOTAL_ROWS"):
        row = {"table": table, "title": title, "columns": list(cells), "row": list(cells.values())}
        with open(file, "a") as rows:
            rows.write(f"{json.dumps(row)}\n")
