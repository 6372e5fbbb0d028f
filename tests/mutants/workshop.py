"""A copy of the tree in which faults are planted, built and tested; the checkout itself is never touched.

The copy has an environment of its own: its ``src`` and the checkout's installed packages, without the checkout's teetotal.
Until a fault has to be compiled, it runs what the checkout has compiled.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import venv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.listing import ROOT, Mutant

CODE = ("core", "runtime", "src", "CMakeLists.txt")
COPIED = (*CODE, "tests", "benchmarks", "examples", "docs", "pyproject.toml")
LEFT_OUT = (".so", ".pyc", "teetotal-runtime")
# Only the plugins that tests need: to look for others takes longer than most of these tests.
PLUGINS = ("--disable-plugin-autoload", "-p", "_hypothesis_pytestplugin", "-p", "teetotal.pytesting")
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGINS)
KILLED, SURVIVED, TIMED_OUT, BROKEN = "killed", "survived", "timed out", "broken"


@dataclass(frozen=True)
class Result:
    """``failed`` is the test that noticed, where pytest lived to name it."""

    status: str
    seconds: float
    detail: str = ""
    failed: str = ""


def files(root: Path, names: Iterable[str] = COPIED) -> Iterable[Path]:
    for name in names:
        path = root / name
        for file in [path] if path.is_file() else path.rglob("*"):
            if file.is_file() and not file.name.endswith(LEFT_OUT):
                yield file.relative_to(root)


_RUNNING: set[int] = set()
_STOPPED = threading.Event()


def stop_all() -> None:
    """Whatever the copies are running; what it tells then is no result."""
    _STOPPED.set()
    for process in list(_RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)


def _run(command: Sequence[str], folder: Path, environment: dict[str, str], seconds: float) -> tuple[int | None, str]:
    """Exit status (None: out of time) and output; on the way out nothing that it started is left running."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,  # and not a session of its own: who runs this may have given it a priority
    )
    _RUNNING.add(process.pid)
    try:
        output, _ = process.communicate(timeout=seconds)
        if _STOPPED.is_set():
            raise SystemExit
        return process.returncode, output
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _RUNNING.discard(process.pid)


def _failed(output: str) -> str:
    told = (line for line in output.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/")))
    return next(told, "").partition(" ")[2].partition(" - ")[0]


def among(name: str, tests: Iterable[str]) -> bool:
    """One of the tests, named as pytest does, is this one or a part of it."""
    return any(test == name or test.startswith((f"{name}[", f"{name}::")) for test in tests)


class Workshop:
    def __init__(self, folder: Path, flags: str) -> None:
        self._flags = flags
        self.tree = folder / "tree"
        self._build = folder / "build"
        self._python = folder / "venv" / "bin" / "python"
        self._environment = dict(os.environ, PYTHONHASHSEED="0", TEETOTAL_PROFILE="mutants", TEETOTAL_PERCENT="100")
        self._environment.pop("PYTHONPATH", None)
        self._environment.setdefault("CCACHE_BASEDIR", str(ROOT))
        self._environment.setdefault("CCACHE_NOHASHDIR", "1")
        self._environment.setdefault("CCACHE_DEPEND", "1")  # a fault is new to it
        self._compiles = False  # the core is the checkout's
        self._dirty = True  # and if not, it is not that of the tree
        self._mirror()
        self._make_environment(folder / "venv")
        shutil.copytree(Path(sysconfig.get_path("platlib"), "teetotal"), self.tree / "src/teetotal", dirs_exist_ok=True)

    def _mirror(self) -> None:
        """Writes what differs only, so that little is compiled again."""
        wanted = set(files(ROOT))
        for file in set(files(self.tree)) - wanted:
            (self.tree / file).unlink()
        for file in wanted:
            content = (ROOT / file).read_bytes()
            target = self.tree / file
            if not target.exists() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                self._write(target, content)
                shutil.copymode(ROOT / file, target)

    def _make_environment(self, folder: Path) -> None:
        if not self._python.exists():
            venv.create(folder, with_pip=False, symlinks=True)
        (packages,) = folder.glob("lib/python*/site-packages")
        (packages / "mutants.pth").write_text(f"{self.tree / 'src'}\n{sysconfig.get_path('purelib')}\n")

    def _write(self, path: Path, content: bytes) -> None:
        """With its bytecode gone: Python compares times in seconds, and a fault may be as long as what it replaces."""
        path.write_bytes(content)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()

    def build(self) -> str | None:
        """What the compiler says where it fails."""
        self._compiles = True
        if not self._dirty:
            return None
        cmake = str(Path(sys.executable).with_name("cmake"))
        if not (self._build / "build.ninja").exists():
            options = [f"-DPython_EXECUTABLE={self._python}", f"-DCMAKE_CXX_FLAGS={self._flags}"]
            # File by file: a fault is in one of them, and to compile its whole room again takes several times as long.
            options += ["-DTEETOTAL_UNITY=OFF", "-DTEETOTAL_FAST_MONITORS=OFF"]
            if shutil.which("ccache"):
                options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
            ninja = str(Path(sys.executable).with_name("ninja"))
            configure = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", "-S", str(self.tree), "-B", str(self._build)]
            status, output = _run([cmake, *configure, *options], self.tree, self._environment, 300)
            if status != 0:
                return output
        for arguments in (["--build"], ["--install"]):
            where = ["--prefix", str(self.tree / "src")] if arguments == ["--install"] else []
            status, output = _run([cmake, *arguments, str(self._build), *where], self.tree, self._environment, 1800)
            if status != 0:
                return output or "out of time"
        self._dirty = False
        return None

    def passing(self, tests: Iterable[str], seconds: float) -> set[str]:
        """Those of the tests that pass here while no fault is planted; a test that is skipped notices nothing."""
        names = sorted(set(tests))
        command = [str(self._python), *PYTEST, "-rA", "--tb=no", "--show-capture=no", *names]
        status, output = _run(command, self.tree, self._environment, seconds)
        if status == 4 and len(names) > 1:  # pytest runs nothing at all where one name is wrong
            return {name for name in names if self.passing([name], seconds)}
        passed = [line.removeprefix("PASSED ") for line in output.splitlines() if line.startswith("PASSED ")]
        return {name for name in names if among(name, passed)}

    def judge(self, mutant: Mutant, seconds: float) -> Result:
        start = time.monotonic()
        path = self.tree / mutant.file
        sound = path.read_text()
        self._write(path, sound.replace(mutant.old, mutant.new).encode())
        self._dirty |= mutant.compiled
        try:
            if (mutant.compiled or self._compiles) and (problem := self.build()):
                return Result(BROKEN, time.monotonic() - start, problem[-2000:])
            command = [str(self._python), *PYTEST, "-x", *mutant.killed_by]
            status, output = _run(command, self.tree, self._environment, seconds)
        finally:
            self._write(path, sound.encode())
            self._dirty |= mutant.compiled
        spent = time.monotonic() - start
        if status is None:
            return Result(TIMED_OUT, spent)
        if status == 0:
            return Result(SURVIVED, spent)
        if status in (1, *range(-64, 0)):
            return Result(KILLED, spent, failed=_failed(output))
        return Result(BROKEN, spent, output[-2000:])  # nothing was collected: no test has noticed anything
