"""Progress and an estimate for long work: on standard error, on a terminal only, and gone when the work is done. In logs,
where they are asked for, a line now and then.

The estimate is honest: it comes from the fraction done, as whoever does the work knows it; where nobody does, what is
done is counted, and nothing is said about the rest.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from teetotal.report.streams import terminal, visible

Watcher = Callable[[str, int, float], None]
"""Called with what is counted, how many there are, and the fraction done as far as it is known (0: it is not)."""
ON_TERMINALS, IN_LOGS = 0.1, 10.0
"""Seconds from one word to the next."""
SILENCE = 1.0
"""Seconds without a word from whoever works, after which the time that has passed is told."""


@contextmanager
def progress(what: str, total: int, *, wanted: bool = True, even_in_logs: bool = False) -> Iterator[Callable[[], None]]:
    """Yields a function to call after each of ``total`` pieces. Of a single piece only the time is told."""
    with counting(what, wanted, even_in_logs) as show:
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            if show is not None:
                show(f"of {total:,}", done, done / total)

        yield advance


@contextmanager
def counting(what: str, wanted: bool, even_in_logs: bool = False) -> Iterator[Watcher | None]:
    """Yields the function to call, None where nobody watches. ``even_in_logs``: also where there is no terminal."""
    on_terminal = sys.stderr.isatty()
    if not wanted or not (on_terminal or even_in_logs):
        yield None
        return
    show = _Show(what, on_terminal)
    clock = threading.Thread(target=show.tick, daemon=True)
    clock.start()
    try:
        yield show
    finally:
        show.over.set()
        clock.join()
        if on_terminal:
            terminal().write("\r\x1b[K")
            terminal().flush()


class _Show:
    def __init__(self, what: str, on_terminal: bool) -> None:
        self.what, self.on_terminal = what, on_terminal
        self.pause = ON_TERMINALS if on_terminal else IN_LOGS
        self.started = time.monotonic()
        self.shown = self.started - (self.pause if on_terminal else 0)  # a log is not told of what ends soon
        self.begun: dict[str, tuple[float, int]] = {}
        self.latest = 0
        self.over = threading.Event()
        self.lock = threading.Lock()

    def __call__(self, counted: str, count: int, fraction: float) -> None:
        now = time.monotonic()
        if count < self.latest:  # it has begun again
            self.begun.pop(counted, None)
        self.latest = count
        since, count_then = self.begun.setdefault(counted, (now, count))
        if now >= self.shown + self.pause:
            self._line(", ".join(_parts(counted, count, fraction, now - since, count - count_then)))

    def tick(self) -> None:
        """While nobody counts anything (a compiler runs, a file is read), at least the time passes."""
        while not self.over.wait(SILENCE):
            now = time.monotonic()
            if now >= max(self.shown, self.started) + max(self.pause, SILENCE):
                self._line(f"{duration(now - self.started)} so far")

    def _line(self, text: str) -> None:
        with self.lock:
            self.shown = time.monotonic()
            if self.on_terminal:
                _line(self.what, text)
            else:
                print(f"{self.what}: {text}", file=sys.stderr, flush=True)


def _parts(counted: str, count: int, fraction: float, seconds: float, more: int) -> Iterator[str]:
    yield f"{count:,} {counted}"
    if seconds > 1 and not counted.startswith("of "):
        yield f"{more / seconds:,.0f} a second"
    if fraction > 0.01:
        yield f"{min(fraction, 1):.0%} done"
        if seconds > 1:
            yield f"about {duration(seconds * (1 - fraction) / fraction)} to go"


def duration(seconds: float) -> str:
    """As a person would say it."""
    if seconds < 100:
        return f"{max(seconds, 0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


def _line(what: str, text: str) -> None:
    """Over the line that is there, and no longer than it: a name gives way first."""
    room = (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - len(text) - 3
    what = visible(what)
    name = what if len(what) <= room else f"…{what[len(what) - room + 1 :]}"
    terminal().write(f"\r\x1b[K{f'{name}: ' if room > 2 else ''}{text[: max(len(text) + room, 0)]}")
    terminal().flush()
