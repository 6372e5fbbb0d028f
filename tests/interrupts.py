"""For tests that press Ctrl-C on a process of their own, or wait until it is at work.

What they wait for is time on a processor, not time on a clock: that passes for a process, too, while others keep it from
getting anywhere.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 180
"""Seconds after which a process hangs, on however busy a machine."""


def hear_interrupts() -> None:
    """To be run in the child: who runs the tests in the background may have told them, and so it, to ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def members(session: int) -> dict[int, tuple[str, float]]:
    """The processes begun by one `setsid`: the name, and the seconds on a processor with those of ended children."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = status.read_text().partition(" (")[2].rpartition(") ")
        except OSError:
            continue  # it has ended
        fields = rest.split()
        if int(fields[3]) == session:
            ticks = sum(map(int, fields[11:15]))
            found[int(status.parent.name)] = name, ticks / os.sysconf("SC_CLK_TCK")
    return found


def let_work(process: subprocess.Popen[str], seconds: float) -> None:
    """Returns when the process, the first of its session, has had so many more seconds on a processor, and those that
    it has started."""

    def worked() -> float:
        return sum(spent for _, spent in members(process.pid).values())

    wanted = worked() + seconds
    end = time.monotonic() + PATIENCE
    while worked() < wanted:
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < end, "it does nothing"
        time.sleep(0.02)


def pressed(arguments: Sequence[str], folder: Path, *, after: str | float) -> tuple[int, list[str], str]:
    """``teetotal`` with Ctrl-C a little after a line of output that contains a text, or after some seconds of work:
    status, lines, errors. As in a terminal, all processes of the group hear it."""
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "teetotal", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            preexec_fn=hear_interrupts,
        ) as process,
    ):
        assert process.stdout is not None
        patience = threading.Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
        patience.start()
        try:
            lines: list[str] = []
            if isinstance(after, str):
                while not lines or after not in lines[-1]:
                    lines.append(process.stdout.readline())
                    assert lines[-1], f"ended without {after}: {lines}"
            let_work(process, 0.3 if isinstance(after, str) else after)
            os.killpg(process.pid, signal.SIGINT)
            lines += process.stdout.readlines()
            process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            patience.cancel()
        errors.seek(0)
        return process.returncode, lines, errors.read()
