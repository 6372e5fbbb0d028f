"""Progress and an estimate for long work: on a terminal only, on standard error, gone when the work is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from teetotal.explore.strategies import Strategy


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Yields a function to call after each of ``total`` pieces. Shows nothing when piped, or for a single piece."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def executions_progress(what: str, wanted: bool, strategy: Strategy) -> Iterator[Callable[[int, float], None] | None]:
    """Yields a function to call with the executions so far and the seconds they took; None where nobody watches."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return

    def show(executions: int, seconds: float) -> None:
        rate = executions / seconds if seconds else 0.0
        known = strategy.count if strategy.name in ("random", "pct") else 0
        left = f", {max(known - executions, 0) / rate:.0f} s to go" if known and rate else ""
        sys.stderr.write(f"\r\x1b[K{what}: {executions:,} executions, {rate:,.0f} a second{left}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
