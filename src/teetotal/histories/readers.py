"""Histories from files: which format, and faults with their place. The reading itself is the core's."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from teetotal import _core
from teetotal.answers.arguments import checked
from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.histories import formats
from teetotal.histories.history import History

_MEMORY = {"axe": 2.0, "text": 2.0}
_LITTLE = 0.4
"""Bytes of memory for a byte of a file of that format, at least: 39 for an operation, and lines of 13 to 19; or of 100."""
BEGINNING = 1 << 16
"""Bytes in which a format must show itself."""


@checked
def read(
    path: str | Path, *, format: str | None = None, split_transactions: bool = False, seconds: float | None = None
) -> list[History]:
    """Every history in a file. The format is told from its content unless given. TimeoutError if it takes longer than
    ``seconds``."""
    path = str(path)
    if format is not None and format not in formats.FORMATS:
        raise ParseError(f"format: {format!r} is none of {', '.join(formats.FORMATS)}")
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe could be read only once, and a device has no end
            raise ParseError(f"{path}: not a regular file")
        if format is None:
            with open(path, "rb") as file:
                format = detect(file.read(BEGINNING), path)
        refuse_too_large(path, os.stat(path).st_size, format)
        columns = _core.read_history_file(path, format, split_transactions, seconds)
    except TimeoutError:
        raise
    except OSError as error:
        raise ParseError(f"{path}: {error.strerror}") from error
    except _core.HistoryFault as fault:
        raise _parse_error(fault, path) from fault
    except ValueError as error:  # a name with a NUL
        raise ParseError(f"{path}: {error}") from error
    except MemoryError as error:
        raise _too_large(path, error) from error
    return _named(columns)


read_histories = read


def refuse_too_large(name: str, size: int, format: str | None = None) -> None:
    """A history of so many bytes that this machine has not the memory for it, whatever it holds."""
    try:
        _core.affordable(int(size * _MEMORY.get(format or "", _LITTLE)))
    except MemoryError as error:
        raise _too_large(name, error) from error


def _too_large(name: str, error: MemoryError) -> ParseError:
    return ParseError(f"{name}: too large for this machine's memory" + (f": {error}" if str(error) else ""))


def read_text(text: str | bytes, *, format: str | None = None, split_transactions: bool = False) -> list[History]:
    """The same from a text in memory."""
    data = text.encode() if isinstance(text, str) else text
    try:
        return _named(_core.read_history_text(data, format or detect(data[:BEGINNING], "<text>"), split_transactions))
    except _core.HistoryFault as fault:
        raise _parse_error(fault, "<text>") from fault


def detect(beginning: bytes, name: str) -> str:
    format = formats.detect(beginning)
    if format is None:
        if beginning[:1] == b"S" and b"\0" in beginning:
            raise ParseError(f"{name}: this looks like one of Cobra's logs, which are binary and not read here")
        if all(line.strip()[:1] in (b"", b"#", b";") for line in beginning.splitlines()):
            raise ParseError(f"{name}: there is no history in it")
        raise ParseError(
            f"{name}: this looks like no history; --format says which it is ({', '.join(formats.FORMATS)})"
        )
    return format


def _named(columns: list[Any]) -> list[History]:
    histories = [History(one) for one in columns]
    for number, history in enumerate(histories, start=1):
        if not history.name and len(histories) > 1:
            history.name = str(number)
    return histories


def _parse_error(fault: Exception, path: str) -> ParseError:
    line, message = fault.args
    return ParseError(message, Location(path, line)) if line else ParseError(f"{path}: {message}")
