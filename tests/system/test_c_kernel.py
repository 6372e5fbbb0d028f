"""What the machine may lack or do while C is checked: no filter for system calls, no room on the disk, Ctrl-Z."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from c_programs import compiled
from interrupts import PATIENCE, hear_interrupts
from teetotal.answers.errors import TeetotalError
from teetotal.programs.c.objects import Object
from teetotal.scale.processes import children

ROOT = Path(__file__).parents[2]

PROGRAM = """
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
atomic_int x;
static void *set(void *unused) { (void)unused; x = 1; DOES; return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, set, 0);
  int seen = x;
  pthread_join(t, 0);
  return seen & 0;
}
"""

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SYS_PRCTL, _SYS_SECCOMP = 38, 22, 157, 317


def without_filters() -> None:
    """In the child: the kernel refuses every further filter, as one does that was built without them."""
    load, equal, answer = 0x20, 0x15, 0x06
    refused, allowed = 0x00050001, 0x7FFF0000  # with EPERM
    code = [
        (load, 0, 0, 0),  # the number
        (equal, 4, 0, _SYS_SECCOMP),
        (equal, 0, 2, _SYS_PRCTL),
        (load, 0, 0, 16),  # its first argument
        (equal, 1, 0, _PR_SET_SECCOMP),
        (answer, 0, 0, allowed),
        (answer, 0, 0, refused),
    ]
    packed = b"".join(struct.pack("HBBI", *one) for one in code)
    room = ctypes.create_string_buffer(packed, len(packed))
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(room)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or prctl(_PR_SET_SECCOMP, 2, filter_, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filters")


def checked(file: Path, does: str, prepare: Callable[[], None]) -> dict[str, Any]:
    file.write_text(PROGRAM.replace("DOES", does))
    command = [sys.executable, "-B", "-m", "teetotal", "check", "--json", "--model", "tso", str(file)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, preexec_fn=prepare, timeout=PATIENCE, cwd=file.parent
        )
    except subprocess.SubprocessError as error:
        pytest.skip(f"this kernel has no filters to begin with: {error}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize(
    ("does", "verdict", "note"),
    [
        ("", "safe", "filters no system calls"),
        ("syscall(SYS_fork)", "inconclusive", "the program uses the system call fork"),
        ("syscall(SYS_setsid)", "inconclusive", "the program uses the system call setsid"),
        ('__asm__ volatile("syscall" : : "a"(SYS_getpid) : "rcx", "r11", "memory")', "inconclusive", "syscall"),
    ],
    ids=["nothing", "fork", "setsid", "by hand"],
)
def test_without_a_filter_that_is_said_and_what_the_program_asks_for_is_looked_at(
    does: str, verdict: str, note: str, tmp_path: Path
) -> None:
    answer = checked(tmp_path / "p.c", does, without_filters)
    assert answer["verdict"] == verdict, answer
    assert any(note in told for told in answer["notes"]), answer["notes"]
    assert any("filters no system calls" in told for told in answer["notes"])


@pytest.mark.parametrize("room", [4, 16])
def test_a_full_disk_while_compiling_is_an_error(room: int, tmp_path: Path) -> None:
    """Of the compiler, or of the linker."""

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room << 10, room << 10))

    answer = checked(tmp_path / "p.c", "", full)
    assert answer["verdict"] == "inconclusive", answer
    assert "p.c could not be compiled: raise the limit on the size of files" in answer["error"]


def test_half_an_object_file_is_told(tmp_path: Path) -> None:
    with compiled("int main(void) { return 0; }") as program:
        whole = program.read_bytes()
    for size in (0, 63, 64, len(whole) // 2, len(whole) - 1):
        with pytest.raises(TeetotalError, match="is the disk full"):
            Object(whole[:size])
    assert Object(whole).sections


def _family(process: int) -> Iterator[int]:
    yield process
    for child in children(process):
        yield from _family(child)


def _told_of(process: int) -> tuple[str, list[str]]:
    """What the kernel tells of it: its name, and what follows. One that has ended meanwhile has neither."""
    try:
        name, _, fields = Path(f"/proc/{process}/stat").read_text().partition(" (")[2].rpartition(") ")
    except OSError:
        return "", []
    return name, fields.split()


def _states(process: int) -> dict[int, str]:
    told = {one: _told_of(one)[1] for one in _family(process)}
    return {one: fields[0] for one, fields in told.items() if fields}


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _spent(process: int) -> int:
    _, fields = _told_of(process)
    return int(fields[11]) + int(fields[12]) if fields else 0


def test_ctrl_z_stops_the_explorer_too_and_it_goes_on() -> None:
    file = ROOT / "benchmarks" / "programs" / "dekker.c"
    command = [sys.executable, "-m", "teetotal", "check", "--json", "--workers", "1", str(file)]
    command += ["--", "-DROUNDS=9"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, process_group=0, preexec_fn=hear_interrupts
    ) as process:

        def explorer() -> int:
            named = [one for one in _family(process.pid) if _told_of(one)[0] == "teetotal-runtim"]
            return named[-1] if len(named) > 1 else 0

        try:
            _wait_until(lambda: explorer() != 0 and _spent(explorer()) > 10)
            for _ in range(2):
                os.killpg(process.pid, signal.SIGTSTP)
                _wait_until(lambda: set(_states(process.pid).values()) == {"T"})
                at = {one: _spent(one) for one in _family(process.pid)}
                os.killpg(process.pid, signal.SIGCONT)
                _wait_until(lambda at=at: _spent(explorer()) > at.get(explorer(), 0) + 10)  # type: ignore[misc]
            os.killpg(process.pid, signal.SIGINT)
            told, _ = process.communicate(timeout=PATIENCE)
        except BaseException:  # it would be waited for, and has no end
            os.killpg(process.pid, signal.SIGKILL)
            raise
        assert process.returncode == 130
        assert '"kind":"robustness"' in told
        assert "stops the process" not in told
