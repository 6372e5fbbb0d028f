"""Where the processor's seconds of a run of the tests go: ``pytest --costs``, for any tests and any number of workers.

A profile by test is flat: six thousand of them, few above a second. By kind of work it is not, and a kind is what can be
made cheaper. What a test makes others do is known when it waits for them: the kernel says then what they have used, and
all that they waited for themselves.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

COLLECTED = "starting and collecting, in each process that runs tests"
OWN = "the tests' own processes: the library, the references, Hypothesis"
FORKED = "processes that were forked"
_COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "as", "ld", "ar", "objcopy")
_MOST = 30
_PROPERTY = "costs"


def _kind(words: list[str]) -> str:
    name = Path(words[0]).name
    if name.rstrip("-.0123456789") in _COMPILERS:
        return "compilers"
    if name == "teetotal-runtime":
        return "the explorer of C programs"
    if name == "teetotal" or (name.startswith("python") and "teetotal" in words):
        return "`teetotal` as a command, with all that it starts"
    if name.startswith("python"):
        return "scripts in Python, with all that they start"
    return "other commands"


class Costs:
    """Measured in each process that runs tests, and added up in the one that tells."""

    def __init__(self) -> None:
        self._kinds: defaultdict[str, float] = defaultdict(float)
        self._tests: defaultdict[str, float] = defaultdict(float)
        self._others: defaultdict[str, float] = defaultdict(float)
        self._started: dict[int, str] = {}
        self._own = 0.0

    def watch(self) -> None:
        begin = subprocess.Popen.__init__

        def begun(process: subprocess.Popen[Any], args: Any, *rest: Any, **options: Any) -> None:
            begin(process, args, *rest, **options)
            words = [args] if isinstance(args, str | bytes | os.PathLike) else args
            self._started[process.pid] = _kind([os.fsdecode(word) for word in words])

        def waited(pid: int, flags: int) -> tuple[int, int]:
            ended, status, used = os.wait4(pid, flags)
            if ended:
                self._others[self._started.pop(ended, FORKED)] += used.ru_utime + used.ru_stime
            return ended, status

        subprocess.Popen.__init__ = begun  # type: ignore[method-assign, assignment]
        os.waitpid = waited

    def pytest_collection_finish(self) -> None:
        self._own = time.process_time()
        self._others[COLLECTED] += self._own

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        before, self._own = self._own, time.process_time()
        self._others[OWN] += self._own - before
        report.user_properties = [(_PROPERTY, dict(self._others))]
        self._others.clear()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, used in report.user_properties:
            if name == _PROPERTY:
                for kind, seconds in used.items():
                    self._kinds[kind] += seconds
                    self._tests[report.nodeid] += seconds if kind != COLLECTED else 0

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files: defaultdict[str, float] = defaultdict(float)
        for test, seconds in self._tests.items():
            files[test.partition("::")[0]] += seconds
        whole = sum(self._kinds.values())
        for name, rows in (("what", self._kinds), ("file", files), ("test", self._tests)):
            terminalreporter.write_line(f"\n| {name} | CPU s | share |\n|---|---|---|")
            for what, seconds in sorted(rows.items(), key=lambda row: -row[1])[:_MOST]:
                terminalreporter.write_line(f"| {what} | {seconds:.1f} | {seconds / whole:.1%} |")
