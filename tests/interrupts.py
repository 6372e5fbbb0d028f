"""For tests that press Ctrl-C on a process of their own."""

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


def hear_interrupts() -> None:
    """To be run in the child: who runs the tests in the background may have told them, and so it, to ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def pressed(arguments: Sequence[str], folder: Path, *, after: str | float) -> tuple[int, list[str], str]:
    """``teetotal`` with Ctrl-C after a line of output that contains a text, or after some seconds: status, lines,
    errors. As in a terminal, all processes of the group hear it."""
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
        lines: list[str] = []
        if isinstance(after, str):
            while not lines or after not in lines[-1]:
                lines.append(process.stdout.readline())
                assert lines[-1], f"ended without {after}: {lines}"
        time.sleep(0.5 if isinstance(after, str) else after)
        assert process.poll() is None, "it ended before Ctrl-C"
        os.killpg(process.pid, signal.SIGINT)
        patience = threading.Timer(30, os.killpg, (process.pid, signal.SIGKILL))
        patience.start()
        lines += process.stdout.readlines()
        process.wait()
        patience.cancel()
        errors.seek(0)
        return process.returncode, lines, errors.read()
