"""The text of a program's file, or why it is none: what every front end does first."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location

LARGEST = 16 << 20
"""Bytes of the largest file that is read as a program: far more than any program that can be explored has."""


def read(path: str | Path) -> str:
    """With line ends as they are."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError:
        raise ParseError("not a text file in UTF-8", Location(str(path), 1)) from None


def read_bytes(path: str | Path) -> bytes:
    """Nothing is opened that could block for ever, nor read that has no end."""
    refuse_odd(path)
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise ParseError(f"{path}: cannot be read: {problem.strerror}") from problem


def refuse_odd(path: str | Path) -> None:
    try:
        found = os.stat(path)
    except OSError as problem:
        raise ParseError(f"{path}: cannot be read: {problem.strerror}") from problem
    except ValueError as problem:  # a name with a NUL
        raise ParseError(f"{path}: {problem}") from problem
    if stat.S_ISDIR(found.st_mode):
        raise ParseError(f"{path}: cannot be read: {os.strerror(errno.EISDIR)}")
    if not stat.S_ISREG(found.st_mode):
        raise ParseError(f"{path}: not a regular file")
    if found.st_size > LARGEST:
        raise ParseError(f"{path}: larger than {LARGEST >> 20} MB, the most that is read as a program")
