"""Progress and an estimate for long work: on a terminal only, on standard error, gone when the work is done."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from teetotal.report.streams import terminal, visible


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Yields a function to call after each of ``total`` pieces. Shows nothing when piped, or for a single piece."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=terminal()), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def counting(what: str, wanted: bool, even_in_logs: bool = False) -> Iterator[Callable[[str, int, float], None] | None]:
    """Yields a function to call with what is counted, how many there are, and the fraction done as far as it is known;
    None where nobody watches. ``even_in_logs``: a line now and then, too, where there is no terminal."""
    on_terminal = sys.stderr.isatty()
    if not wanted or not (on_terminal or even_in_logs):
        yield None
        return
    begun: dict[str, tuple[float, int]] = {}
    shown, latest = 0.0, 0

    def show(counted: str, count: int, fraction: float) -> None:
        nonlocal shown, latest
        now = time.monotonic()
        if now < shown + (0.1 if on_terminal else 10):
            return
        shown = now
        if count < latest:  # it has begun again
            begun.pop(counted, None)
        latest = count
        started, count_then = begun.setdefault(counted, (now, count))
        seconds = now - started
        parts = [f"{count:,} {counted}"]
        if seconds > 1:
            parts.append(f"{(count - count_then) / seconds:,.0f} a second")
        if fraction > 0.01:
            parts.append(f"{fraction:.0%} done")
        if fraction > 0.01 and seconds > 1:
            parts.append(f"about {seconds * (1 - fraction) / fraction:.0f} s to go")
        if on_terminal:
            _line(what, ", ".join(parts))
        else:
            print(f"{what}: {', '.join(parts)}", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if on_terminal:
            terminal().write("\r\x1b[K")
            terminal().flush()


def _line(what: str, text: str) -> None:
    """Over the line that is there, and no longer than it: a name gives way first."""
    room = (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - len(text) - 3
    what = visible(what)
    name = what if len(what) <= room else f"…{what[len(what) - room + 1 :]}"
    terminal().write(f"\r\x1b[K{f'{name}: ' if room > 2 else ''}{text[: max(len(text) + room, 0)]}")
    terminal().flush()
