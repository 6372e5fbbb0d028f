"""Edits of a file's text that leave everything else as it is, byte for byte."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from teetotal import writing
from teetotal.answers.errors import TeetotalError
from teetotal.programs import text_files


class Edit(NamedTuple):
    """Replace ``text[start:end]``. ``key`` names it; its line is that of the first character that is no blank."""

    start: int
    end: int
    new: str
    key: object = None


class Patched(NamedTuple):
    """The new text, the line in it of each edit that has a key, and for each line (from 1) the old one that it was or
    came after."""

    text: str
    lines: dict[object, int]
    was: list[int]


def apply(text: str, edits: Iterable[Edit]) -> Patched:
    """Edits at one place keep their order."""
    pieces: list[str] = []
    lines: dict[object, int] = {}
    was = [0, 1]
    position, here = 0, 1  # in the old text, and its line there

    def keep(end: int) -> None:
        kept = text[position:end]
        pieces.append(kept)
        was.extend(range(was[-1] + 1, was[-1] + 1 + kept.count("\n")))

    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < position:
            raise AssertionError("two edits of the same text")
        keep(edit.start)
        if edit.key is not None:
            blank = edit.new[: len(edit.new) - len(edit.new.lstrip())]
            lines[edit.key] = len(was) - 1 + blank.count("\n")
        here += text.count("\n", position, edit.start)
        was.extend([here] * edit.new.count("\n"))
        here += text.count("\n", edit.start, edit.end)
        was[-1] = here
        pieces.append(edit.new)
        position = edit.end
    keep(len(text))
    return Patched("".join(pieces), lines, was)


def newline_of(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def unified_diffs(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """One patch for all files, for ``patch -p1`` where teetotal was called; for ``patch -p1 -d /`` if one lies elsewhere:
    patch refuses names with ``..``."""
    home = os.getcwd()
    names = {path: os.path.abspath(path) for path in old}
    if all(name.startswith(home.rstrip("/") + "/") for name in names.values()):
        names = {path: os.path.relpath(name, home) for path, name in names.items()}
    lines: list[str] = []
    for path, text in old.items():
        name = names[path].lstrip("/")
        lines += difflib.unified_diff(_lines(text), _lines(new[path]), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """As diff and patch count them: only a line feed ends a line."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def write(texts: Mapping[str, str], originals: Mapping[str, str]) -> dict[str, str]:
    """The new texts in the files' places, the old ones beside them; returns the backups' names by the files'. Files whose
    text stays are left alone.

    Everything is written before anything is replaced, and each file is replaced in one step. If a step fails, what was
    replaced gets its old text back and nothing is left behind.
    """
    targets = {
        path: Path(path).resolve() for path, text in texts.items() if text != originals[path]
    }  # links stay links
    for path in targets:
        if text_files.read(path) != originals[path]:
            raise TeetotalError(f"{path} has changed since it was read; nothing was written")
    fresh: dict[str, Path] = {}
    backups: dict[str, Path] = {}
    replaced: list[str] = []
    try:
        for path, target in targets.items():
            fresh[path] = writing.beside(target, texts[path].encode())
        for path, target in targets.items():
            backups[path] = _backup_name(target)
            shutil.copy2(target, backups[path])
        for path, target in targets.items():
            os.replace(fresh[path], target)
            replaced.append(path)
    except BaseException as problem:
        for done in replaced:
            os.replace(backups.pop(done), targets[done])
        for left in (*(fresh[name] for name in fresh if name not in replaced), *backups.values()):
            left.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise TeetotalError(f"{path} cannot be written: {problem.strerror}; nothing was changed") from problem
        raise
    return {name: str(backup) for name, backup in backups.items()}


def _backup_name(target: Path) -> Path:
    """Never an older backup's name."""
    number = 0
    while True:
        backup = target.with_name(f"{target.name}.orig{number or ''}")
        if not backup.exists():
            return backup
        number += 1
