"""``teetotal`` where standard error is a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from interrupts import PATIENCE

ROOT = Path(__file__).parents[1]


def on_a_terminal(*arguments: str) -> str:
    """What standard error shows there."""
    master, slave = os.openpty()
    shown = bytearray()

    def drain() -> None:
        try:
            while block := os.read(master, 4096):
                shown.extend(block)
        except OSError:  # the other end is closed
            return

    reader = threading.Thread(target=drain)
    reader.start()
    command = [sys.executable, "-m", "teetotal", *arguments]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=slave, env={**os.environ, "TERM": "xterm"}, cwd=ROOT)
    os.close(slave)
    reader.join(timeout=PATIENCE)
    os.close(master)
    return shown.decode()
