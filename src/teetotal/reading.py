"""Files that are read whole, where somebody may name one that has no end: a device, or a pipe.

A regular file ends. A pipe may, and is read up to a bound; a device is not read at all.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from typing import BinaryIO

from teetotal.answers.errors import ParseError

MOST = 1 << 30
"""Bytes of a pipe that are read: more than any page shows, or any list of answers that was not written to a file has."""

GRACE = 1.0
"""Seconds that a pipe waits for somebody who writes."""


def read(path: str) -> bytes:
    """A text; ``-`` is standard input."""
    try:
        return _text("standard input", sys.stdin.buffer) if path == "-" else _of_file(path)
    except OSError as problem:
        raise ParseError(f"{path}: {problem.strerror}") from problem
    except ValueError as problem:  # a name with a NUL
        raise ParseError(f"{path}: {problem}") from problem


def _of_file(path: str) -> bytes:
    with open(path, "rb", opener=_without_waiting) as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISREG(mode):
            return file.read()
        if not stat.S_ISFIFO(mode):
            raise ParseError(f"{path}: not a regular file")
        select.select([file], [], [], GRACE)  # whoever is to write may be about to open it
        os.set_blocking(file.fileno(), True)
        if not (content := _text(path, file)):
            raise ParseError(f"{path}: a pipe that nobody writes to")
        return content


def _without_waiting(path: str, flags: int) -> int:
    """For somebody who opens the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _text(name: str, file: BinaryIO) -> bytes:
    content = bytearray()
    while piece := file.read(min(1 << 20, MOST + 1 - len(content))):
        if b"\0" in piece:
            raise ParseError(f"{name}: not a text")
        content += piece
        if len(content) > MOST:
            raise ParseError(
                f"{name}: more than {MOST >> 20} MB, the most that is read of a pipe; is there an end to it?"
            )
    return bytes(content)
