"""For tests of ``teetotal fence``: a file and its patch, and what compilers say of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from teetotal.answers.options import FenceOptions
from teetotal.fences.fencing import Repair, fence

PROGRAMS = Path(__file__).parent.parent / "benchmarks" / "programs"
NEEDS_COMPILER = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
TWO_THREADS = """int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, left, 0);
    pthread_create(&threads[1], 0, right, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
"""


def fenced(directory: Path, name: str, text: str, **options: object) -> Repair:
    path = directory / name
    path.write_bytes(text.encode())
    return fence(str(path), FenceOptions(**options))  # type: ignore[arg-type]


def added(answer: Repair) -> list[str]:
    return _lines(answer, "+")


def taken(answer: Repair) -> list[str]:
    return _lines(answer, "-")


def _lines(answer: Repair, sign: str) -> list[str]:
    return [line[1:] for line in answer.answer.diff.splitlines() if line.startswith(sign) and line[:3] != 3 * sign]


def warnings(path: Path, compiler: str, *flags: str) -> list[str]:
    """What the compiler says, without line numbers; it must compile."""
    command = [compiler, "-Wall", "-Wextra", "-Wpedantic", "-O2", "-fsyntax-only", f"-I{PROGRAMS}", *flags, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "warning:" in line]
    return sorted(line.partition("warning:")[2] for line in lines)


def compiles_without_new_warnings(directory: Path, before: str, after: str, suffix: str, *flags: str) -> None:
    for compiler in COMPILERS:
        said = []
        for text in (before, after):
            path = directory / f"warned{suffix}"
            path.write_text(text)
            said.append(warnings(path, compiler, *flags))
        assert said[0] == said[1]
