"""A file that grows by whole histories: whatever ends a recording, Ctrl-C or a full disk, those before are kept."""

from __future__ import annotations

import os
import signal
import stat
from types import TracebackType

from teetotal.answers.errors import OutputError

_INTERRUPTS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGRTMIN}
"""They wait while a history is written: what somebody reads at the other end of a pipe cannot be taken back."""


class Recording:
    """``-`` is standard output. A file that is there already begins anew."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.histories = 0
        self._size = 0
        try:
            self._file = 1 if path == "-" else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            self._is_file = path != "-" and stat.S_ISREG(os.fstat(self._file).st_mode)
        except OSError as problem:
            raise OutputError(f"cannot write {path}: {problem.strerror}") from problem

    def add(self, text: str) -> None:
        """One more history or, if it cannot be written, none."""
        whole = text.encode()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        try:
            rest = memoryview(whole)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            self._size += len(whole)
            self.histories += 1
        except BrokenPipeError:
            raise
        except OSError as problem:
            self._cut()
            raise OutputError(
                f"cannot write {self.path}: {problem.strerror}; the {self.histories:,} histories before are whole"
            ) from problem
        except BaseException:
            self._cut()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _cut(self) -> None:
        """Back to the end of the last history that is whole."""
        if self._is_file:
            os.ftruncate(self._file, self._size)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file != 1:
            os.close(self._file)
