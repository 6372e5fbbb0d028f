"""Processes that work for another one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_workers_end_with_the_one_who_started_them(tmp_path: Path) -> None:
    code = (
        "import os, time; from teetotal.scale.crew import each; from teetotal.scale.local import Processes\n"
        "def work(number):\n    open(str(os.getpid()), 'w').close(); time.sleep(1000)\n"
        "list(each(Processes(work, 2), [1, 2]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    while len(workers := [file.name for file in tmp_path.iterdir()]) < 2:
        time.sleep(0.02)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while any(_runs(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(_runs(worker) for worker in workers)


def _runs(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
