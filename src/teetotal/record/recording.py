"""A file that grows by whole histories: whatever ends a recording, Ctrl-C or a full disk, those before are kept.

Where a source may find out that what came before lacks something, it says so (``begin_again``). What somebody reads at the
other end of a pipe cannot be taken back: there such histories wait for the end."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from teetotal.answers.errors import OutputError

_INTERRUPTS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGRTMIN}


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """While a history is written and counted: what the file holds and what is told of it are the same."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:  # since one that came just before is told by the very call that blocks the others
        signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Recording:
    """``-`` is standard output. A file that is there already begins anew with the first history, and not before."""

    def __init__(self, path: str, *, may_begin_again: bool = False) -> None:
        self.path = path
        self.histories = self.operations = 0
        self._size = self._written = 0
        try:
            self._file = 1 if path == "-" else os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
            self._is_file = path != "-" and stat.S_ISREG(os.fstat(self._file).st_mode)
        except OSError as problem:
            raise OutputError(f"cannot write {path}: {problem.strerror}") from problem
        self._held: list[bytes] | None = [] if may_begin_again and not self._is_file else None

    def begin_again(self) -> None:
        """Those before do not count."""
        with _interrupts_wait():
            self.histories = self.operations = 0
            if self._held is not None:
                self._held = []
            elif self._size:
                self._size = self._written = 0
                self._cut()

    def add(self, text: str, operations: int = 0) -> None:
        """One more history, of so many operations, or, if it cannot be written, none."""
        with _interrupts_wait():
            if self._held is None:
                self._write(text.encode())
            else:
                self._held.append(text.encode())
            self.histories += 1
            self.operations += operations

    def _write(self, whole: bytes) -> None:
        try:
            if not self._size:
                self._cut()
            rest = memoryview(whole)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            self._size += len(whole)
            self._written += 1
        except BrokenPipeError:
            raise
        except OSError as problem:
            self._cut()
            raise OutputError(
                f"cannot write {self.path}: {problem.strerror}; the {self._written:,} histories before are whole"
            ) from problem
        except BaseException:
            self._cut()
            raise

    def _cut(self) -> None:
        """Back to the end of the last history that is whole."""
        if self._is_file:
            os.ftruncate(self._file, self._size)
            os.lseek(self._file, self._size, os.SEEK_SET)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for whole in self._held or ():
            with _interrupts_wait():
                self._write(whole)
        if self._file != 1:
            os.close(self._file)
