"""Work on what a stranger wrote, in a process of its own that has no network and can write nothing that others see: only
bytes come back (``core/isolation`` does the same for C programs, inside the runtime).

Limits on files, processes and core dumps hold always; the rest where the kernel lets users make namespaces.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from teetotal import _core
from teetotal.scale import supervision
from teetotal.scale.processes import die_with_parent

OWN_MEGABYTES = 256
_LIMITS = {resource.RLIMIT_FSIZE: 64 << 20, resource.RLIMIT_CORE: 0}
_PROCESSES = 64


class Ended(Exception):
    """The process ended without an answer; ``code`` as that of ``os.waitstatus_to_exitcode``."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def apart(work: Callable[[], bytes]) -> bytes:
    """What ``work`` returns, done there."""
    sys.stdout.flush()
    sys.stderr.flush()
    with supervision.scratch_folder() as own:
        reader, writer = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _work(work, writer, own, parent)
        os.close(writer)
        try:
            with os.fdopen(reader, "rb") as answers:
                told = answers.read()
        except BaseException:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 0:
        raise Ended(code)
    return told


def _work(work: Callable[[], bytes], writer: int, own: str, parent: int) -> None:
    """Never returns. Interrupts are for the one that waits."""
    status = supervision.FAULT
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        die_with_parent()
        supervision.leave()
        if os.getppid() == parent:
            confine(own, _PROCESSES)
            told = work()
            with os.fdopen(writer, "wb") as answers:
                answers.write(told)
            status = 0
    finally:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(status)


def confine(own: str, processes: int | None = None) -> None:
    """This process, from here on: ``own`` is the folder for what it writes."""
    if _core.isolate(own, OWN_MEGABYTES) and processes is not None:
        _limit(resource.RLIMIT_NPROC, processes)
    for what, most in _LIMITS.items():
        _limit(what, most)


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    with suppress(OSError, ValueError):
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
