"""A program that runs natively, and the window through which it is watched: runtime/native/window.hpp has the other side.

The window is a file in memory that both have mapped, of a size that does not change. The program writes into it, and closes
it when it is full; we take what is there and open it again. Whatever ends the program, what it wrote before is there.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from teetotal.scale.isolation import confine
from teetotal.scale.processes import any_size, die_with_parent
from teetotal.scale.supervision import scratch_folder

RECORD: Any = np.dtype(
    [
        ("address", "<u8"), ("read", "<u8"), ("written", "<u8"), ("place", "<u8"), ("size", "<u8"), ("thread", "<u4"),
        ("kind", "u1"), ("flags", "u1"), ("unused", "<u2"),
    ]
)  # fmt: skip
WROTE, VALUED, SYNCHRONISES, OF_THREAD = 1, 2, 4, 8
BLOCK = 16
"""The kind of a record that is no event: a block of memory begins a new life."""

_MAGIC = 0x3144524F43455254
_HEADER = struct.Struct("<5Q4I")  # magic, capacity, seed, count, repeated, mode, attached, too many threads, goes on
_COUNT, _MODE, _GOES_ON = 24, 40, 52
_HEADER_BYTES, _MAPS_BYTES = 4096, 1 << 18
_DORMANT, _RECORDING = 0, 1
_LOOK = 0.005
"""Seconds between two looks at whether the window is full."""
_LAST_WORDS = 2.0
"""Seconds that a program has to end when it is asked to."""


class Window(NamedTuple):
    """``maps`` as /proc has them. ``repeated``: so many loads were left out, since they repeat."""

    records: NDArray[Any]
    maps: str
    repeated: int


class Run:
    """One run of a program."""

    def __init__(
        self,
        program: Path,
        arguments: Sequence[str] = (),
        *,
        capacity: int,
        every: float = 0.0,
        count: int = 1,
        seed: int = 0,
        seconds: float | None = None,
        trust: bool = False,
    ) -> None:
        self.program, self.arguments, self.trust = program, arguments, trust
        self.capacity, self.every, self.count, self.seed, self.seconds = capacity, every, count, seed, seconds
        self.status: int | None = None  # if it ended by itself
        self.attached = self.too_many_threads = False

    def windows(self) -> Iterator[Window]:
        """Each when it is full, and the last as it is when the program ends, or the time is over. When there were as many
        as wanted, the program goes on without being watched. Ctrl-C ends it, too."""
        size = _HEADER_BYTES + _MAPS_BYTES + self.capacity * RECORD.itemsize
        file = os.memfd_create("teetotal-window", os.MFD_CLOEXEC)
        try:
            os.ftruncate(file, size)
            with mmap.mmap(file, size) as memory, scratch_folder() as own:
                _HEADER.pack_into(memory, 0, _MAGIC, self.capacity, self.seed, 0, 0, _RECORDING, 0, 0, self._goes_on(0))
                process = self._start(file, own)
                try:
                    yield from self._watch(memory, process)
                finally:
                    self._end(process)
        finally:
            os.close(file)

    def _start(self, file: int, own: str) -> subprocess.Popen[bytes]:
        parent = os.getpid()

        def prepare() -> None:
            die_with_parent()
            if os.getppid() != parent:
                os._exit(1)
            if not self.trust:
                confine(own)

        with any_size():
            return subprocess.Popen(
                [str(self.program.resolve()), *self.arguments],
                stdout=2,  # ours is for histories
                pass_fds=[file],
                env={**os.environ, "TEETOTAL_RECORD": str(file)},
                preexec_fn=prepare,
            )

    def _watch(self, memory: mmap.mmap, process: subprocess.Popen[bytes]) -> Iterator[Window]:
        until = None if self.seconds is None else time.monotonic() + self.seconds
        taken, open_again = 0, 0.0
        interrupted: KeyboardInterrupt | None = None
        try:
            while process.poll() is None:
                now = time.monotonic()
                if until is not None and now >= until:
                    break
                closed = _word(memory, _MODE) == _DORMANT
                recorded = _long(memory, _COUNT)
                if taken < self.count and (recorded == self.capacity or (closed and recorded)):
                    taken += 1
                    yield self._taken(memory, process, self._goes_on(taken))
                    open_again = time.monotonic() + self.every
                elif taken < self.count and closed and now >= open_again and not self.too_many_threads:
                    memory[_MODE : _MODE + 4] = _RECORDING.to_bytes(4, "little")
                time.sleep(_LOOK)
            self.status = process.poll()
        except KeyboardInterrupt as pressed:
            interrupted = pressed
        self._end(process)
        if taken < self.count and _long(memory, _COUNT):
            yield self._taken(memory)
        self._look_at_header(memory)
        if interrupted is not None:
            raise interrupted

    def _goes_on(self, taken: int) -> int:
        """Whether the window that is now filled is followed by another at once."""
        return int(self.every == 0 and taken + 1 < self.count)

    def _taken(self, memory: mmap.mmap, process: subprocess.Popen[bytes] | None = None, goes_on: int = 0) -> Window:
        self._look_at_header(memory)
        count, repeated = struct.unpack_from("<2Q", memory, _COUNT)
        begin = _HEADER_BYTES + _MAPS_BYTES
        records = np.frombuffer(memory[begin : begin + count * RECORD.itemsize], RECORD)
        maps = memory[_HEADER_BYTES:begin].rstrip(b"\0")
        if process is not None:
            with suppress(OSError):  # what has been loaded since then
                maps += Path(f"/proc/{process.pid}/maps").read_bytes()
        memory[_GOES_ON : _GOES_ON + 4] = goes_on.to_bytes(4, "little")
        struct.pack_into("<2Q", memory, _COUNT, 0, 0)
        return Window(records, maps.decode(errors="surrogateescape"), repeated)

    def _look_at_header(self, memory: mmap.mmap) -> None:
        *_, attached, too_many, _ = _HEADER.unpack_from(memory, 0)
        self.attached, self.too_many_threads = bool(attached), bool(too_many)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_LAST_WORDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @property
    def end(self) -> str:
        """How the program ended by itself, where that is worth a word."""
        if not self.status:
            return ""
        if self.status > 0:
            return f"the program ended with status {self.status}"
        return f"the program ended by signal {signal.Signals(-self.status).name}"


def _word(memory: mmap.mmap, offset: int) -> int:
    return int.from_bytes(memory[offset : offset + 4], "little")


def _long(memory: mmap.mmap, offset: int) -> int:
    return int.from_bytes(memory[offset : offset + 8], "little")
