"""This machine as it is, for systems that cannot be made of packages: in an environment that has been built already."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from portability.record import Record
from portability.stages import ROOT, Result, counted, tallied

_BIN = Path(sys.executable).parent


def facts(python: str) -> dict[str, str]:
    """Commands that say what a system has."""
    return {
        "libc": "ldd --version | sed -n '1s/.* /glibc /p'",
        "cc": "gcc -dumpfullversion | sed 's/^/gcc /'",
        "clang": "clang --version 2>/dev/null | sed -n '1s/.*version \\([0-9.]*\\).*/clang \\1/p'",
        "python": f"{python} --version",
    }


def tried(title: str, record: Record) -> bool:
    """The demo, all tests, and the battery's sample with ``gcc``."""
    record.add_facts(
        title, {name: _output(["sh", "-c", command])[1] for name, command in facts(sys.executable).items()}
    )
    good, text = _output(["sh", "examples/demo.sh"])
    results = {"demo": Result(good, "passes" if good else "**fails**")}
    jobs = str(os.cpu_count())
    good, text = _output([sys.executable, "-m", "pytest", "-n", jobs, "--dist", "worksteal", "-rfE", "--tb=short"])
    results["tests"] = counted(good, text)
    battery = [sys.executable, "-m", "battery", "--sample", "--tally", "--jobs", jobs, "--", "-gcc$"]
    _, text = _output(battery)
    results["battery"] = tallied({"gcc": text})
    for stage, result in results.items():
        record.add(title, stage, result)
        print(f"{title}: {stage}: {result.summary}", *result.details, sep="\n  ", flush=True)
    return all(result.good for result in results.values())


def _output(command: list[str]) -> tuple[bool, str]:
    path = f"{_BIN}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "tests")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode == 0, done.stdout.strip()
