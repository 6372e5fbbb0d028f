"""Work in a process of its own, and beside it one that waits, so that every end is one that was meant.

Work that runs past its time is killed, wherever it is: in a reader, an import, an engine, an explanation. A program that
ends the interpreter, or a library that takes it down, must not be taken for a verdict: only the status that the worker
*tells* counts, through a pipe, never the one that it happens to end with. What the worker has started ends with it.

====================  ==========================================================================================
``run``               the one that waits: starts the work, and answers with its status
``watching``          the worker: how much time and memory this piece of work may take, and what to say if it takes more
====================  ==========================================================================================
"""

from __future__ import annotations

import fcntl
import math
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import msgspec

from teetotal.answers.surroundings import old_processor
from teetotal.scale.processes import adopt_orphans, bury_orphans, die_with_parent, end_children, largest

BAD_INPUT, INCONCLUSIVE, FAULT, INTERRUPTED = 2, 3, 70, 130
FAULT_OF_OURS = "this is a fault of teetotal itself; please report it with the lines above"
SLACK_MEGABYTES = 100
"""What the interpreter, reading and telling need beside an engine's own memory."""
LOOK = 0.1
"""Seconds between two looks at the memory of the processes that the worker has started."""
FRESH = 60
"""Seconds for which a scratch folder may be without its lock: it is being made."""
LAST_WORDS = 5
"""Seconds that the worker has to tell what it knows when somebody asks that all end (SIGTERM, SIGHUP)."""


class Watch(msgspec.Struct, frozen=True):
    """``until`` (as of ``time.monotonic``): when to end it, and ``late``, what to print then. ``most``: the bytes in
    memory that no process may exceed, and ``full``, what to print then. ``blame``: what ended the process if it ends
    without a word."""

    until: float | None = None
    late: str = ""
    most: int | None = None
    full: str = ""
    blame: str = ""


class _Told(msgspec.Struct, frozen=True):
    watch: Watch = Watch()
    status: int | None = None


_owner = os.getpid()
"""Whose scratch folders these are: of the process that waits, where there is one, for those that it has started."""
_pipe: int | None = None
_now = Watch()
_last = math.inf
"""When work has to end that looks at the clock itself."""
_began: float | None = None


def patience(seconds: float) -> float:
    """How long work may take that was given so many seconds and ends by itself when they are over."""
    return max(seconds * 1.1, seconds + 1)


def count_from(moment: float) -> None:
    """Whoever waits for our answer has waited since then."""
    global _began
    _began = moment


def left_of(seconds: float) -> float:
    """Without what it took to start; half of it is for the work in any case."""
    return seconds if _began is None else max(seconds / 2, seconds - (time.monotonic() - _began))


@contextmanager
def watching(
    seconds: float | None = None,
    megabytes: float | None = None,
    *,
    late: str = "",
    full: str = "",
    blame: str = "",
) -> Iterator[None]:
    """For a piece of work: its time and memory, or another name for who is to blame. Where nobody waits, only this
    process's own memory is limited."""
    global _now, _last
    before = _now, _last
    if seconds is not None and seconds != math.inf:
        _last = time.monotonic() + patience(seconds)
        _now = msgspec.structs.replace(_now, until=min(_last, time.monotonic() + seconds * 1.1 + 0.1), late=late)
    if megabytes is not None:
        _now = msgspec.structs.replace(_now, most=room(megabytes), full=full)
    if blame:  # a file's name need not be text
        _now = msgspec.structs.replace(_now, blame=blame.encode(errors="backslashreplace").decode())
    _tell(_Told(_now))
    try:
        with nullcontext() if megabytes is None else _less_memory(room(megabytes)):
            yield
    finally:
        _now, _last = before
        _tell(_Told(_now))


def looks_at_the_clock() -> None:
    """From here on the work ends by itself, and then tells what it knows: that is worth a moment."""
    global _now
    if _now.until is not None:
        _now = msgspec.structs.replace(_now, until=_last)
        _tell(_Told(_now))


def room(megabytes: float) -> int:
    """Bytes that a process may have for this much of an engine's own memory."""
    return int(megabytes * 1.1 + SLACK_MEGABYTES) << 20


def affordable(megabytes: int) -> int:
    """No more than this machine, or the container that this runs in, can still give to one process: with all of that in use
    the system would end it, and with it what it has found."""
    from teetotal import _core  # large, and not needed by whoever only waits

    spare = _core.spare_memory()
    if spare is None:
        return megabytes
    there = (spare / 2**20 * 0.9 - SLACK_MEGABYTES) / 1.1  # as room() counts
    return min(megabytes, max(1, int(there)))


@contextmanager
def _less_memory(size: int) -> Iterator[None]:
    """MemoryError beyond that, where what is mapped now and not in memory, as most of a library is not, stays so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        mapped, resident = map(int, Path("/proc/self/statm").read_text().split()[:2])
        most = (mapped - resident) * resource.getpagesize() + size
        limits = [bound for bound in (most, soft, hard) if bound != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    except (OSError, ValueError, OverflowError):  # no /proc, or larger than can be said
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def scratch_folder() -> Iterator[str]:
    """A folder for as long as it is needed, and no longer, even if the process is ended by force. It is locked, so that
    another one can see that somebody needs it."""
    with tempfile.TemporaryDirectory(prefix=f"teetotal-{_owner}-{os.getpid()}-") as folder:
        held = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # not every file system has locks
                fcntl.flock(held, fcntl.LOCK_SH)
            yield folder
        finally:
            os.close(held)


def _scratch(names: str) -> list[Path]:
    """Scratch folders; none where nobody can write any, on a disk that is full."""
    try:
        return list(Path(tempfile.gettempdir()).glob(names))
    except OSError:
        return []


def _sweep() -> None:
    for left in _scratch(f"teetotal-{_owner}-*"):
        shutil.rmtree(left, ignore_errors=True)


def sweep_after(process: int | None) -> None:
    """What a process that we started, and that has ended, could not remove."""
    for left in _scratch(f"teetotal-{_owner}-{process}-*"):
        shutil.rmtree(left, ignore_errors=True)


def _sweep_what_others_left() -> None:
    """Folders of ours that nobody holds any more: all their processes were killed at once."""
    for left in _scratch("teetotal-[0-9]*-*"):
        with suppress(OSError):
            found = left.lstat()
            if found.st_uid != os.geteuid() or time.time() - found.st_mtime < FRESH:
                continue
            folder = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(folder)


def leave() -> None:
    """A process that the worker has started is somebody else's to watch, and to end."""
    global _pipe
    _pipe = None
    for end in _ENDS:
        signal.signal(end, signal.SIG_DFL)


def _tell(told: _Told) -> None:
    if _pipe is not None:
        os.write(_pipe, msgspec.json.encode(told) + b"\n")


def run(work: Callable[[], int]) -> int:
    """The status that the work returns in a process of its own, or one that fits its end."""
    if sys.platform != "linux":
        return work()
    global _owner
    _owner = os.getpid()
    adopt_orphans()
    _sweep_what_others_left()
    reader, writer = os.pipe()
    parent = os.getpid()
    interrupts = {signal.SIGINT, signal.SIGRTMIN, *_ENDS}
    signal.pthread_sigmask(signal.SIG_BLOCK, interrupts)  # until both know what to do about them
    try:
        heard = [number for number in (signal.SIGINT, *_ENDS) if signal.getsignal(number) is not signal.SIG_IGN]
        child = os.fork()
        _hear(child, signal.SIGINT in heard, [end for end in _ENDS if end in heard])
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, interrupts)
    if child == 0:
        os.close(reader)
        _work(work, writer, parent)
    os.close(writer)
    return _wait(child, reader)


def _work(work: Callable[[], int], writer: int, parent: int) -> None:
    global _pipe
    die_with_parent()
    if os.getppid() != parent:
        os._exit(FAULT)
    _pipe = writer
    status = work()
    _tell(_Told(status=status))
    os._exit(status)  # whatever the program has left running


_presses = {"heard": 0, "passed on": 0}
"""How often Ctrl-C was pressed. A terminal tells both processes, and the one that waits passes it on, however much later,
since others tell it alone: one press is both, so that the larger number counts."""


_ENDS = (signal.SIGTERM, signal.SIGHUP)
"""What asks us to end: as Ctrl-C, but it is not left to the worker when."""
_end_by: float | None = None


def _hear(child: int, interrupts: bool, ends: list[signal.Signals]) -> None:
    """From now on: Ctrl-C, and what asks us to end; ``child`` is 0 in the worker."""
    if child:
        if interrupts:
            signal.signal(signal.SIGINT, lambda *_: _pass_on(child))
        for end in ends:
            signal.signal(end, lambda *_: _ask_to_end(child))
    else:
        if interrupts:
            signal.signal(signal.SIGINT, lambda *_: _interrupt("heard"))
        for end in ends:
            signal.signal(end, lambda *_: _interrupt("heard"))
        if interrupts or ends:
            signal.signal(signal.SIGRTMIN, lambda *_: _interrupt("passed on"))


def _ask_to_end(child: int) -> None:
    global _end_by
    _end_by = _end_by or time.monotonic() + LAST_WORDS
    _pass_on(child)


def _interrupt(how: str) -> None:
    before = max(_presses.values())
    _presses[how] += 1
    if _presses[how] > before:
        raise KeyboardInterrupt


@contextmanager
def heard_by_a_library() -> Iterator[None]:
    """Around a call that hears Ctrl-C itself and raises KeyboardInterrupt: the press that is passed on waits, and counts
    as the same one."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
    try:
        yield
    except KeyboardInterrupt:
        _presses["heard"] += 1
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGRTMIN})


def was_interrupted() -> bool:
    """Whether a KeyboardInterrupt is the user's: a program can raise one, too."""
    handler = signal.getsignal(signal.SIGINT)
    return max(_presses.values()) > 0 if _pipe is not None else handler is not signal.SIG_IGN


def _pass_on(child: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGRTMIN)


def _wait(child: int, reader: int) -> int:
    """Listens until the worker has ended, or has to be ended."""
    told, rest = _Told(), b""
    while True:
        watch = told.watch
        left = None if watch.until is None else max(0.0, watch.until - time.monotonic())
        look = LOOK if watch.most is not None else 1.0
        ready, _, _ = select.select([reader], [], [], look if left is None else min(left, look))
        bury_orphans(child)
        if not ready:
            late = watch.until is not None and time.monotonic() >= watch.until
            if _end_by is not None and time.monotonic() >= _end_by:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                end_children()
                _sweep()
                return INTERRUPTED
            if late or (watch.most is not None and largest(child) > watch.most):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                end_children()
                _sweep()
                print(watch.late if late else watch.full, flush=True)
                return INCONCLUSIVE
            continue
        heard = os.read(reader, 1 << 16)
        *lines, rest = (rest + heard).split(b"\n")
        for line in lines:
            told = msgspec.json.decode(line, type=_Told)
        if not heard:
            break
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    end_children()
    _sweep()
    if told.status is not None:
        return told.status
    status, why = death(code)
    if told.watch.blame:
        status, why = BAD_INPUT, f"{told.watch.blame} {why}"
    print(f"teetotal: {why}", file=sys.stderr, flush=True)
    return status


def _flags() -> str:
    """What this processor can do; as the newest can, where that is not known."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                return line
    return "sse4_2"


def death(code: int) -> tuple[int, str]:
    """A status and a reason for the end of a process that told none, by its exit code (minus a signal's number)."""
    if code == -signal.SIGKILL:
        return INCONCLUSIVE, "its process ended by signal SIGKILL, perhaps for want of memory"
    if code == -signal.SIGILL and (why := old_processor(_flags())) is not None:
        return BAD_INPUT, why
    if code < 0:
        return FAULT, f"its process ended by signal {signal.Signals(-code).name}"
    return BAD_INPUT, f"its process ended with status {code}, before it had an answer"
