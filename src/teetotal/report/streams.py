"""Standard input, output and error, as they should be: open, and fit to be read by a person.

What teetotal prints quotes its input: names of files, of threads and of variables, assertions, a compiler's words. In
these a terminal's control sequences may hide, and characters that cannot be encoded. Every text that goes out is
therefore shown with those escaped, ``\\x1b`` for ESC; lines and tabs stay, except the ends of lines in names of files
(``keep_in_line``). Only progress, which is ours alone, may write to the terminal as it likes (``terminal``).
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from pathlib import PurePath
from typing import TextIO

from teetotal.report.style import MARKS

_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_DIRECTIONS = (0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Marks that change the order in which a terminal shows letters, or break lines."""
_SHOWN: dict[int, str] = {
    **{code: f"\\x{code:02x}" for code in _CONTROLS if code < 0x20},  # never found raw in JSON, where they mean nothing
    **{code: f"\\u{code:04x}" for code in (*_CONTROLS, *_DIRECTIONS, *range(0xD800, 0xE000)) if code >= 0x20},
}
_IN_A_TEXT = {code: shown for code, shown in _SHOWN.items() if chr(code) not in "\n\t"}
_IN_COLOURS = {**_IN_A_TEXT, **{ord(mark): sequence for mark, sequence in MARKS.items()}}


def visible(name: str) -> str:
    """A name as it can be shown within a line."""
    return name.translate(_SHOWN)


_broken: set[str] = set()
"""Names of files and folders with the end of a line in them."""


def keep_in_line(path: str) -> None:
    """Wherever this path is told, or a part of it, it is shown within a line. Answers go by the names as they are, so it
    is here that they are changed, and not in all places that tell them."""
    if "\n" in path:
        parts = {part for whole in PurePath(path).parts for part in (whole, PurePath(whole).stem)}
        _broken.update(part for part in parts if "\n" in part and not part.endswith("\n"))  # "}\n" ends lines of JSON


def in_line(text: str) -> str:
    """With these names within a line: for whoever takes a text apart into lines before it is written."""
    for name in _broken:
        text = text.replace(name, visible(name))
    return text


_called: dict[str, str] = {}
"""Files that go by another name than their own: what came from standard input."""


def call(path: str, name: str) -> None:
    """Wherever this path is told, it is called so; in a patch too, which has a letter before it."""
    _called.update({f"a{path}": f"a/{name}", f"b{path}": f"b/{name}", path: name})


def as_called(text: str) -> str:
    for path, name in _called.items():
        text = text.replace(path, name)
    return text


class Shown(io.TextIOWrapper):
    """A text stream that shows control characters instead of sending them, all but our own colours."""

    def write(self, text: str) -> int:
        super().write(in_line(as_called(text)).translate(_IN_COLOURS if colours() else _IN_A_TEXT))
        return len(text)


def colours() -> bool:
    """Whether standard output is in colours: see no-color.org and force-color.org."""
    if not isinstance(sys.stdout, Shown) or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def terminal() -> TextIO:
    """Standard error without the escaping."""
    return sys.__stderr__ if isinstance(sys.stderr, Shown) and sys.__stderr__ is not None else sys.stderr


def prepare() -> bool:
    """Put the standard streams in order, all of which are open. False where they are somebody else's, who called us from
    Python."""
    if not (_is(sys.stdout, 1) and _is(sys.stderr, 2)):
        return False
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - as long as the process
    for path in (*sys.argv[1:], os.getcwd()):
        keep_in_line(path)
    sys.stdout = _shown(1, sys.stdout)
    sys.stderr = _shown(2, sys.stderr)
    return True


def _is(stream: TextIO | None, number: int) -> bool:
    """Whether this is the stream that the process began with; None: it began without."""
    try:
        return stream is None or stream.fileno() == number
    except (OSError, ValueError):
        return False


def _shown(number: int, stream: TextIO | None) -> Shown:
    """Buffered whatever PYTHONUNBUFFERED says: without, Python does not notice that a full disk took only a part."""
    if stream is not None:
        stream.flush()
    encoding = stream.encoding if stream is not None and codecs.lookup(stream.encoding).name != "ascii" else "utf-8"
    raw = io.FileIO(number, "w", closefd=False)
    return Shown(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=number == 2 or raw.isatty()
    )
