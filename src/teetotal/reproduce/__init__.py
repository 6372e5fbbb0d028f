"""The papers' tables, made again: one module per table, each with ``TITLE``, ``COLUMNS``, ``rows()`` and
perhaps ``NOTES``, and ``plots(rows)``. Where a table is made of samples, ``rows`` takes how many.

A row is what the paper says beside what we measure now. docs/explanation/c-runtime.md says why they differ.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from teetotal.answers.arguments import checked
from teetotal.answers.errors import TeetotalError

TABLES = {
    "tacas13": "Linden, Wolper (TACAS 2013), Table 1: fences for PSO, unbounded buffers",
    "tacas11": "Burnim, Sen, Stergiou (TACAS 2011), Tables 1 and 2: all interleavings with 1 and 2 preemptions",
    "tr2010": "the same authors' report UCB/EECS-2010-31, Table 1: 1,000 random executions",
    "sober": "Burckhardt, Musuvathi (MSR-TR-2008-12), Fig. 4: borderline executions by bound on preemptions",
    "netys20": "Zennou et al. (NETYS 2020), section 6: kernel coverage, and Figs 6 to 9: seconds by engine",
}
SAMPLED = ("netys20",)
"""Tables that are made of samples."""


@checked
def table(name: str) -> Any:
    """The module of one of ``TABLES``."""
    if name not in TABLES:
        raise TeetotalError(f"no table is called {name}; there are {', '.join(TABLES)}")
    return importlib.import_module(f"teetotal.reproduce.{name}")


@checked
def rows(name: str, histories: int | None = None) -> Iterator[list[object]]:
    """A table row by row, as they are measured, under ``table(name).COLUMNS``. ``histories``: for each point of those that
    are made of samples; by default as many as the paper has."""
    made = table(name)
    yield from made.rows(histories) if name in SAMPLED else made.rows()
