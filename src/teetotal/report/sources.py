"""The lines of source that an answer speaks of, so that it can be shown where the files are not.

Only of answers about programs: those were read, or run, at the user's word. What a recorded trace names is a stranger's
word, and a report that quotes whatever file it names would give that away.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMMANDS = ("check", "fence", "replay", "verify")
WHOLE = 2000
"""A file of at most so many lines is told whole; of a longer one what lies ``AROUND`` the lines that are spoken of."""
AROUND = 60


def sources(plain: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """From file to its pieces: the number of the first ``line``, and the ``text``, a string a line. Of a file that was
    patched: as it was."""
    if plain.get("command") not in COMMANDS or "error" in plain:
        return {}
    backups = {plain["input"]: plain.get("backup"), **plain.get("backups", {})}
    spoken: dict[str, set[int]] = {}
    for file, line in _places(plain):
        spoken.setdefault(file, set()).add(line)
    found = {file: _pieces(backups.get(file) or file, lines) for file, lines in spoken.items()}
    return {file: pieces for file, pieces in found.items() if pieces}


def _places(plain: Any) -> Iterator[tuple[str, int]]:
    if isinstance(plain, list):
        for value in plain:
            yield from _places(value)
    elif isinstance(plain, dict):
        match plain:
            case {"location": [str(file), int(line)]}:
                yield file, line
            case {"file": str(file), "line": int(line)}:
                yield file, line
        for key, value in plain.items():
            if key not in ("steps", "relations", "cycle", "outcomes"):  # long, and nothing new in them
                yield from _places(value)


def _pieces(path: str, spoken: set[int]) -> list[dict[str, Any]]:
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):  # what is read once is gone
            return []
        lines = Path(path).read_bytes().decode(errors="replace").splitlines()
    except OSError:
        return []
    if len(lines) <= WHOLE:
        return [{"line": 1, "text": lines}]
    pieces: list[dict[str, Any]] = []
    end = 0
    for line in sorted(spoken):
        first, last = max(line - AROUND, end + 1), min(line + AROUND, len(lines))
        if first > last:
            continue
        if pieces and first == end + 1:
            pieces[-1]["text"] += lines[first - 1 : last]
        else:
            pieces.append({"line": first, "text": lines[first - 1 : last]})
        end = last
    return pieces
