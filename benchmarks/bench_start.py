"""What the first second is spent on: CPU time of a whole command, of the compiler, assembler and linker that it starts, and
of what is left, which is our own: Python's start, imports, the build's rewriting and auditing, the exploration, telling it.

``python benchmarks/bench_start.py`` prints the least of some runs, beside that of Python doing nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rows import tell

ROOT = Path(__file__).resolve().parents[1]
COMMAND = Path(sys.executable).parent / "teetotal"
RUNS = 7
WRAPPER = '#!/bin/bash\n{tool} "$@"\nstatus=$?\ntimes >>"$TOOLS_TIMES"\nexit $status\n'


def cpu(command: list[str], environment: dict[str, str]) -> float:
    """Of a command and of everything that it waited for."""
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=ROOT)
    _, _, used = os.wait4(started.pid, 0)
    return used.ru_utime + used.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times"
        for name in ("cc", "c++", "objcopy"):
            wrapper = Path(folder) / name
            wrapper.write_text(WRAPPER.format(tool=shutil.which(name)))
            wrapper.chmod(0o755)
        environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TOOLS_TIMES": str(times)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's second run finds what the first one compiled
        print(f"{'command':36}{'CPU':>9}{'tools':>9}{'own':>9}")
        for name, command in (
            ("python -c pass", [sys.executable, "-c", "pass"]),
            ("teetotal --version", [str(COMMAND), "--version"]),
            ("teetotal check SB.litmus", [str(COMMAND), "check", "tests/corpus/SB.litmus"]),
            ("teetotal check examples/dekker.c", [str(COMMAND), "check", "examples/dekker.c"]),
        ):
            runs = []
            for _ in range(RUNS):
                times.write_text("")
                whole = cpu(command, environment)
                seconds = re.findall(r"(\d+)m([\d.]+)s", times.read_text())
                tools = sum(60 * int(minutes) + float(rest) for minutes, rest in seconds)
                runs.append((whole - tools, whole, tools))
            own, whole, tools = min(runs)
            print(f"{name:36}{whole:>7.3f} s{tools:>7.3f} s{own:>7.3f} s")
            tell("start", "CPU seconds of a first command", {"command": name, "CPU": whole, "tools": tools, "own": own})


if __name__ == "__main__":
    main()
