"""What Linux does for those who start processes: children that end with their parent, and orphans that come to us."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar, cast

Kept = TypeVar("Kept", bound="Closing")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ADDR_NO_RANDOMIZE = 0x0040000
_ASK = 0xFFFFFFFF
HURRY = signal.SIGUSR1
"""Somebody waits: what is known by now is to be told."""
_WATCHFUL = "teetotal-runtim"
"""The runtime of C programs keeps to its memory by itself, and tells what it has found when that is used up."""


class Closing(Protocol):
    def close(self) -> None: ...


class Keeping:
    """What a process of ours that is given one item after the other keeps from one to the next, by what it is for. Others
    do not ``stay``: they would leave it behind."""

    def __init__(self) -> None:
        self.stays = False
        self._kept: tuple[object, Closing] | None = None

    def one_for(self, what: object, make: Callable[[], Kept]) -> Kept:
        if self._kept is None or self._kept[0] != what:
            self.let_go()
            self._kept = what, make()
        return cast("Kept", self._kept[1])

    def let_go(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept[1].close()


keeping = Keeping()


def die_with_parent() -> None:
    """When the one who started this process ends, however that may be, nobody waits for our answer."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def age() -> float:
    """Seconds since this process began, to a hundredth; 0 where that is not known."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        ticks = int(Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    return 0.0


@contextlib.contextmanager
def any_size() -> Iterator[None]:
    """For what is started now, which inherits it: it reserves more addresses than it uses, and keeps to its memory by
    itself. (Not in the new process: Python would then have to copy itself to start one.)"""
    ours, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (ours, most))


@contextlib.contextmanager
def fixed_addresses() -> Iterator[None]:
    """For what is started now: its memory lies where it lay the last time. The explorer of C programs would see to that
    by starting itself once more, a quarter of the time that it takes for a small program."""
    personality = ctypes.CDLL(None).personality
    before = personality(_ASK)
    if before != -1:
        personality(before | _ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        if before != -1:
            personality(before)


@contextlib.contextmanager
def hurried_later() -> Iterator[None]:
    """For what is started now: it hears ``HURRY`` once it listens, and is not ended by it before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {HURRY})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def adopt_orphans() -> None:
    """Processes that descend from this one become its own children when their parents end."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children(process: int | str = "self") -> Iterator[int]:
    """The processes that this one has to wait for; none where it has ended meanwhile."""
    tasks: list[str] = []
    with contextlib.suppress(OSError):
        tasks = os.listdir(f"/proc/{process}/task")
    for task in tasks:
        with contextlib.suppress(OSError):
            yield from map(int, _read(f"/proc/{process}/task/{task}/children").split())


def _read(path: str) -> bytes:
    """What is asked for many times a second, without what ``Path`` and decoding cost: more than half."""
    with open(path, "rb", buffering=0) as file:
        return file.read()


def spent(process: int) -> float:
    """Processor seconds of that process so far, as exactly as the kernel tells them: in hundredths."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def largest(process: int) -> int:
    """Bytes in memory of that process, or of the largest that descends from it, without those that are watched already.
    What is a file's, as a library's code, is not counted: it comes into memory as it is used, also in a process that its
    own limit, which counts addresses, has yet to stop, and which then tells what it knows."""
    found = 0
    with contextlib.suppress(OSError, ValueError):
        if _read(f"/proc/{process}/comm").startswith(_WATCHFUL.encode()):
            return 0
        _, resident, shared, *_ = map(int, _read(f"/proc/{process}/statm").split())
        found = (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    return max([found, *map(largest, children(process))])


def bury_orphans(but: int) -> None:
    """Of those whose parents have ended, the ones that have ended too: nobody else asks for them, and a process that is
    not asked for keeps its number. Not ``but``, a child whose end means something."""
    while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None and ended.si_pid != but:
        os.waitpid(ended.si_pid, 0)


def end_children() -> None:
    """Kill them, and those that they leave behind, until none is left."""
    while found := list(children()):
        for child in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)
