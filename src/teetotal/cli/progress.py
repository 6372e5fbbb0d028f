"""Progress and an estimate for long work: on a terminal only, on standard error, gone when the work is done."""

from __future__ import annotations

import sys
import time
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
        _line(f"{what}: {executions:,} executions, {rate:,.0f} a second{left}")

    try:
        yield show
    finally:
        _line("")


@contextmanager
def counting(what: str, wanted: bool) -> Iterator[Callable[[str, int, float], None] | None]:
    """Yields a function to call with what is counted, how many there are, and the fraction done as far as it is known;
    None where nobody watches."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    started: dict[str, float] = {}
    shown = 0.0

    def show(counted: str, count: int, fraction: float) -> None:
        nonlocal shown
        now = time.monotonic()
        if now < shown + 0.1:
            return
        shown = now
        seconds = now - started.setdefault(counted, now)
        left = f", about {seconds * (1 - fraction) / fraction:.0f} s to go" if fraction > 0.01 and seconds > 1 else ""
        _line(f"{what}: {count:,} {counted}{left}")

    try:
        yield show
    finally:
        _line("")


def _line(text: str) -> None:
    """Over the line that is there."""
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()
