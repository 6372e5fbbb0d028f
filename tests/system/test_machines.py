"""The machines that people run it on (``machines.py`` imitates them): a C program is answered there as here, or it is
said in one line what to change."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import machines
from large_programs import DEKKER
from teetotal import _core
from teetotal.answers.errors import TeetotalError
from teetotal.programs.c import build
from teetotal.scale import supervision

EXAMPLE = Path(__file__).parents[2] / "examples" / "handover.c"
TEETOTAL = (sys.executable, "-m", "teetotal")


def run(steps: list[str], *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    if any(step.startswith("mount=tmpfs:/tmp") for step in steps) and sys.prefix.startswith("/tmp/"):
        pytest.skip("what is run lies below /tmp itself")
    if why := machines.why_not(steps):
        pytest.skip(f"such a machine cannot be imitated here: {why}")
    return subprocess.run(
        machines.command(steps, *TEETOTAL, *words), cwd=folder, capture_output=True, text=True, check=False
    )


AS_HERE = [
    "seccomp=docker",
    "capabilities=docker proc=docker seccomp=docker",
    "capabilities=none seccomp=docker limit=nofile:64",
    "seccomp=gvisor",
    "seccomp=old-kernel",
    "seccomp=no-memfd",
    "seccomp=apparmor",
    "namespaces=none",
    "randomise=off",
    "seccomp=personality",
    "proc=hidepid",
    "proc=pids",
    "shm=none",
    "mount=tmpfs:/dev/shm:size=64k",
    "group=512",
    "limit=data:300",
    "limit=stack:unlimited",
    "limit=memlock:0",
    "limit=as:2000000",
    "processor=0",
    "variable=HOME variable=TERM:dumb variable=LC_ALL:POSIX variable=COLUMNS:60",
]


@pytest.mark.parametrize("steps", AS_HERE)
def test_a_c_program_is_answered_as_elsewhere(steps: str) -> None:
    done = run(steps.split(), "check", "--json", str(EXAMPLE))
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["verdict"], answer["triage"], answer["complete"]) == ("violation", "breaks", True)
    assert [answer["models"][model]["safe"] for model in ("sc", "tso", "pso")] == [True, True, False]
    assert done.stderr == ""


def test_a_heap_that_grows_is_opened_as_it_is_needed(tmp_path: Path) -> None:
    """Where what can be written to is counted, it is by what is in use: of 200 MB here 100, and 300 are too much."""
    program = tmp_path / "grows.c"
    program.write_text(
        "#include <assert.h>\n#include <stdlib.h>\nint main(int count, char **words) {\n"
        "  for (int part = 0; part < atoi(words[1]); ++part) {\n    char *block = malloc(1 << 20);\n"
        "    assert(block);\n    block[0] = block[(1 << 20) - 1] = 1;\n  }\n}\n"
    )
    command = ["check", "--json", "--model", "sc", "--args", "{}", str(program)]
    done = run(["limit=data:250"], *[word.format("100") for word in command])
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "safe"), done.stderr
    done = run(["limit=data:250"], *[word.format("300") for word in command])
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["verdict"]) == (3, "inconclusive"), done.stderr
    assert any("needs more memory than there is" in note for note in answer["notes"])


def test_no_more_memory_is_taken_than_a_container_has(tmp_path: Path) -> None:
    """The kernel ended the process, and what it had found was lost."""
    (tmp_path / "dekker.py").write_text(DEKKER)
    done = run(["group=150"], "check", "--json", "--model", "pso", "--goal", "safe", "dekker.py", folder=tmp_path)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["verdict"], answer["complete"]) == (1, "violation", False), done.stderr
    assert any("MB go; see --memory" in note for note in answer["notes"])


@pytest.mark.parametrize(("spare", "most"), [(None, 4096), (100 << 30, 4096), (1 << 30, 746), (100 << 20, 1), (0, 1)])
def test_memory_is_asked_for_as_far_as_it_is_there(
    spare: int | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "spare_memory", lambda: spare)
    assert supervision.affordable(4096) == most
    assert supervision.affordable(1) == 1


REFUSED = {
    "limit=as:100000": "addresses, of which little is used, and this process may have 105 GB: raise the limit (ulimit -v"
    " unlimited)",
    "limit=as:1000": "and this process may have 1.05 GB: raise the limit (ulimit -v unlimited)",
    "seccomp=old-docker": "its filter refuses the system call clone3, as that of docker before 20.10.10",
    "proc=none": "a C program is watched through /proc, which is not there: mount it",
    "limit=nofile:10": "Too many open files: raise the limit on open files (ulimit -n)",
    "limit=fsize:0": "no room for temporary files: raise the limit on the size of files (ulimit -f)",
    "mount=tmpfs:/tmp:size=4k": "could not be compiled: no room for temporary files: set TMPDIR to a folder with more room",
    "mount=tmpfs:/tmp:noexec seccomp=docker": "it was built in /tmp, from where nothing may be run (noexec): set TMPDIR",
    "mount=ro:/": "no room for temporary files: nothing can be written to /tmp; set TMPDIR to a folder that can be",
    "user=65534 limit=nproc:4": "the system starts no more processes: raise the limit on processes (ulimit -u",
    "user=65534 limit=nproc:1": "raise the limit on processes (ulimit -u, or pids.max of the container)",
}


@pytest.mark.parametrize("steps", REFUSED)
def test_what_a_machine_lacks_is_said_in_a_line(steps: str) -> None:
    alone = steps.replace("65534", str(100_000 + os.getpid()))  # the limit counts all processes of a user
    done = run(["variable=TMPDIR", *alone.split()], "check", str(EXAMPLE), folder=EXAMPLE.parent)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert REFUSED[steps] in done.stderr
    assert done.stdout == ""


def test_variables_that_no_file_can_hold_are_named(tmp_path: Path) -> None:
    program = tmp_path / "large.c"
    program.write_text("static char volatile data[3 << 20] = {1};\nint main(void) { data[1] = data[0]; }\n")
    done = run(["seccomp=no-memfd"], "check", str(program))
    said = "3 MB of variables cannot be kept in a file in memory: Function not implemented"
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_temporary_files_go_where_they_are_told_to() -> None:
    """The way out that the refusal names."""
    steps = ["variable=TMPDIR:/var/tmp", "mount=tmpfs:/tmp:noexec", "seccomp=docker"]
    assert run(steps, "check", str(EXAMPLE), folder=EXAMPLE.parent).returncode == 1


def test_engines_that_run_nothing_need_no_proc() -> None:
    model = EXAMPLE.parents[1] / "benchmarks" / "promela" / "peterson.pml"
    assert run(["proc=none"], "verify", "-q", str(model)).returncode == 1
    history = EXAMPLE.parent / "histories" / "store-buffering.txt"
    assert run(["proc=none"], "history", "--model", "tso", str(history)).returncode == 0


def test_a_processor_whose_programs_may_not_set_fs(tmp_path: Path) -> None:
    """As gVisor, and kernels before 5.9, have it: the kernel is asked for each switch of thread-local variables."""
    look = "import ctypes; print(ctypes.CDLL(None).getauxval(26))"
    steps = ["hwcap2=0"]
    if why := machines.why_not(steps):
        pytest.skip(f"processes cannot be traced here: {why}")
    told = subprocess.run(
        machines.command(steps, sys.executable, "-c", look), capture_output=True, text=True, check=True
    )
    assert int(told.stdout) == 0
    wrapper = tmp_path / "runtime"
    words = machines.command(steps, str(build.installed("teetotal-runtime")))
    wrapper.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    wrapper.chmod(0o755)
    program = tmp_path / "own.c"
    program.write_text(
        "#include <assert.h>\n#include <errno.h>\n#include <pthread.h>\n"
        "static _Thread_local int mine = 1;\nstatic int volatile x;\n"
        "static void *other(void *unused) { mine = 7; errno = 7; x = 1; assert(mine == 7 && errno == 7); return unused; }\n"
        "int main(void) {\n  pthread_t thread;\n  pthread_create(&thread, 0, other, 0);\n  errno = 3;\n  x = 2;\n"
        "  assert(mine == 1 && errno == 3);\n  pthread_join(thread, 0);\n}\n"
    )
    environment = {**os.environ, "TEETOTAL_RUNTIME": str(wrapper)}
    done = subprocess.run(
        [*TEETOTAL, "check", "--json", str(program)], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "safe"), done.stderr


def test_without_the_runtime_c_is_refused_before_it_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on processors that it is not made for: no compiler's error comes before."""
    monkeypatch.setattr(_core, "__file__", str(tmp_path / "_core.so"))
    monkeypatch.delenv("TEETOTAL_RUNTIME", raising=False)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    said = (
        "this installation cannot run C programs: that needs Linux on x86-64, and this is Linux on aarch64; litmus tests,"
        " Python and Promela programs, histories and traces need neither"
    )
    with pytest.raises(TeetotalError) as refused:
        build.build(build.Source((str(EXAMPLE),), compiler="/bin/false"), tmp_path)
    assert str(refused.value) == said


def test_a_library_is_not_built_for_a_processor_without_a_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "__file__", str(tmp_path / "_core.so"))
    monkeypatch.delenv("TEETOTAL_RUNTIME", raising=False)
    with pytest.raises(TeetotalError, match="this installation cannot run C programs"):
        build.library_flags(build.Source(("library.c",)))


@pytest.mark.parametrize(("flags", "status"), [("sse sse2 ssse3 sse4_1 sse4_2 avx", 70), ("sse sse2 pni", 2)])
def test_a_processor_that_is_too_old_for_a_library_is_named(
    flags: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: f"processor : 0\nflags\t\t: {flags}\n")
    told, why = supervision.death(-signal.SIGILL)
    assert told == status
    assert ("--no-binary numpy" in why) is (status == 2)


def test_a_filter_refuses_what_it_says() -> None:
    """Of the imitation itself: under docker's profile a process makes no name spaces and keeps its addresses as they
    are, and threads start."""
    look = (
        "import ctypes, os, threading\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "told = [libc.unshare(0x10000000), ctypes.get_errno(), libc.personality(0xFFFFFFFF) != -1]\n"
        "told += [libc.personality(0x40000), ctypes.get_errno()]\n"
        "thread = threading.Thread(target=lambda: told.append('ran'))\nthread.start()\nthread.join()\nprint(*told)\n"
    )
    done = subprocess.run(
        machines.command(["seccomp=docker"], sys.executable, "-c", look), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["-1", "1", "True", "-1", "1", "ran"]
    assert ctypes.CDLL(None).personality(0xFFFFFFFF) != -1
