"""pytest, with programs as tests: the plugin that an installed teetotal brings along.

Items are litmus tests, Promela programs and C and C++ files that are given on the command line or named ``test_*``: each
is checked by ``teetotal check`` in a process of its own, with the ini option ``teetotal_options``, and passes where that
answers 0. In test modules every program (``teetotal.program``) whose name begins with ``test_`` is an item too; the
settings of ``teetotal.check`` are those of the marker ``teetotal``::

    pytestmark = pytest.mark.teetotal(goal="safe", models="tso")
    test_handover = program(sender(), receiver(), message=0, ready=0)
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

SUFFIXES = (".litmus", ".pml", ".c", ".cc", ".cpp", ".cxx", ".C")
"""As ``programs`` has them; written out, since whoever runs pytest loads this file."""
_SAID = {1: "a violation", 2: "it cannot be checked", 3: "inconclusive"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("teetotal_options", "options of teetotal check, for files that are tests", default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "teetotal(**settings): how programs of this module are checked (teetotal.check)")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in SUFFIXES:
        return None
    folder = parent.config.invocation_params.dir
    given = {folder / argument.partition("::")[0] for argument in parent.config.args}
    if not file_path.name.startswith("test_") and file_path not in given:
        return None
    return ProgramFile.from_parent(parent, path=file_path)


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> pytest.Item | None:
    programs = sys.modules.get("teetotal.programs.program")  # who has a program has loaded it
    if programs is None or not isinstance(obj, programs.Program) or not name.startswith("test_"):
        return None
    return ProgramItem.from_parent(collector, name=name, program=obj)


class NotSober(Exception):
    """A program that does not pass, and why."""


class ProgramFile(pytest.File):
    def collect(self) -> Iterable[pytest.Item]:
        yield FileItem.from_parent(self, name="check")


class _Item(pytest.Item):
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, NotSober) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name}: {self.name}"


class FileItem(_Item):
    def runtest(self) -> None:
        options = shlex.split(self.config.getini("teetotal_options"))
        options, flags = (options, []) if "--" not in options else _split(options)
        if {"-h", "--help"} & set(options):
            raise NotSober(f"{_SAID[2]}\nteetotal_options asks for help: nothing would be checked")
        file = os.path.relpath(self.path)
        file = f"./{file}" if file.startswith("-") else file  # no option
        done = subprocess.run(
            [sys.executable, "-m", "teetotal", "check", *options, file, *flags],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            env={"TEETOTAL_COLUMNS": "100", **os.environ, "NO_COLOR": "1"},
        )
        if done.returncode:
            said = _SAID.get(done.returncode, f"teetotal ended with status {done.returncode}")
            raise NotSober(f"{said}\n{done.stdout}{done.stderr}".rstrip())


def _split(options: list[str]) -> tuple[list[str], list[str]]:
    """What comes before the files, and what goes to the compiler."""
    at = options.index("--")
    return options[:at], options[at:]


class ProgramItem(_Item):
    def __init__(self, *, program: Any, **rest: Any) -> None:
        super().__init__(**rest)
        self.program = program

    def runtest(self) -> None:
        import teetotal
        from teetotal.answers.errors import TeetotalError

        settings: dict[str, Any] = {}
        for mark in reversed(list(self.iter_markers("teetotal"))):
            if mark.args:
                raise NotSober(f"{_SAID[2]}\nthe marker teetotal has settings with names alone, not {mark.args[0]!r}")
            settings |= mark.kwargs
        if given := {"what", "options"} & settings.keys():
            raise NotSober(f"{_SAID[2]}\n{given.pop()} is not a setting: the marker teetotal has those of CheckOptions")
        try:
            answer = teetotal.check(self.program, **settings)
        except TeetotalError as error:
            raise NotSober(f"{_SAID[2]}\nteetotal: {error}") from error
        if answer.verdict is not teetotal.Verdict.SAFE:
            from teetotal.report import text
            from teetotal.report.style import Page

            raise NotSober(text(answer, Page(100)))
