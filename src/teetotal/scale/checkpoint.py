"""What is known so far, in a file that survives whoever wrote it: SQLite, so that each change is there whole or not at all.

=============  ========================================================================================================
``items``      finished pieces of work, by name, and their answers
``parts``      of explorations (engines/executions/parts.py): where each stands
``told``       what was told along the way, in its order
=============  ========================================================================================================

Each row has a digest of itself, and that of a part knows how much it has told: SQLite keeps pages as they were written,
and does not notice that a disk has changed them. A file that was damaged is refused.

Answers are JSON: a checkpoint is data, and is never executed. It belongs to one question: the same files, options and
version; for any other it is refused.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from teetotal.answers.errors import TeetotalError
from teetotal.answers.version import VERSION
from teetotal.scale.digest import digest

Value = TypeVar("Value")
_UNREADABLE = (sqlite3.Error, UnicodeError)
"""What Python raises of a file that is not SQLite's, or no longer: messages quote what SQLite stumbles over."""
_FORMAT = 2
_TABLES = """
CREATE TABLE IF NOT EXISTS question (format INTEGER, version TEXT, name TEXT, digest TEXT);
CREATE TABLE IF NOT EXISTS items (name TEXT PRIMARY KEY, answer BLOB, digest TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts (search TEXT, number INTEGER, part BLOB, tells INTEGER, digest TEXT,
                                  PRIMARY KEY (search, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS told (search TEXT, number INTEGER, position INTEGER, told BLOB, digest TEXT,
                                 PRIMARY KEY (search, number, position)) WITHOUT ROWID;
"""


class Checkpoint:
    """``name``: what is asked, in words; ``asked``: everything that the answer depends on. An old file is gone on with
    where that is wanted (``resume``), and is never overwritten."""

    def __init__(self, path: str, name: str, asked: str, *, resume: bool) -> None:
        self.path = path
        self.search = ""
        self.resume = resume
        self._saved: dict[int, tuple[bytes, int]] = {}
        self._unsaved: list[tuple[str, tuple[Any, ...]]] = []
        self._warned = False
        if Path(path).exists() and not Path(path).is_file():
            kind = "a directory" if Path(path).is_dir() else "no regular file"
            raise TeetotalError(f"{path}: no checkpoint can be kept there: it is {kind}")
        if Path(path).exists() and not resume:
            raise TeetotalError(f"{path} is there already: --resume goes on with it")
        try:
            self.file = sqlite3.connect(path, timeout=0, isolation_level=None)
        except sqlite3.Error as error:
            raise TeetotalError(f"{path}: no checkpoint can be kept there: {error}") from error
        try:
            self._begin(name, asked)
        except _UNREADABLE as error:
            self.close()
            raise TeetotalError(f"{path}: no checkpoint can be kept there: {error}") from error
        except TeetotalError:
            self.close()
            raise

    def _begin(self, name: str, asked: str) -> None:
        self.file.execute("PRAGMA locking_mode = EXCLUSIVE")  # from here on nobody else has it
        self.file.execute("PRAGMA synchronous = FULL")
        self.file.execute("BEGIN EXCLUSIVE")
        for statement in _TABLES.split(";"):
            self.file.execute(statement)
        if self.resume and (found := self.file.execute("PRAGMA integrity_check(1)").fetchone()) != ("ok",):
            raise self._damaged(str(found[0]))
        known = self.file.execute("SELECT format, version, name, digest FROM question").fetchone()
        if known is None and any(
            self.file.execute(f"SELECT 1 FROM {table}").fetchone() for table in ("items", "parts")
        ):
            raise self._damaged("what it is about is not there")
        if known is None:
            self.file.execute("INSERT INTO question VALUES (?, ?, ?, ?)", (_FORMAT, VERSION, name, asked))
        self.file.execute("COMMIT")
        if known is not None and known[:2] != (_FORMAT, VERSION):
            raise TeetotalError(f"{self.path} is a checkpoint of teetotal {known[1]}, and this is {VERSION}")
        if known is not None and known[3] != asked:
            raise TeetotalError(
                f"{self.path} is a checkpoint of {known[2]}, with other options or as it was before a change"
            )

    def close(self) -> None:
        self.file.close()

    # -- items ----------------------------------------------------------------------------------------------------------

    def item(self, name: str, kind: type[Value]) -> Value | None:
        """The answer to a piece of work that was finished."""
        found = self._rows("SELECT answer, digest FROM items WHERE name = ?", (name,))
        for answer, sealed in found:
            self._expect(sealed, name, answer)
            return self._decoded(answer, kind)
        return None

    def save_item(self, name: str, answer: Any) -> None:
        encoded = msgspec.json.encode(answer)
        row = (name, encoded, _seal(name, encoded))
        self._unsaved.append(("INSERT OR REPLACE INTO items VALUES (?, ?, ?)", row))
        if self._write(self._unsaved):
            self._unsaved = []

    # -- explorations ---------------------------------------------------------------------------------------------------

    def parts(self, search: str, kind: type[Value], telling: type[Any]) -> dict[int, tuple[Value, list[Any]]]:
        """From here on it is about this exploration: what is known of its parts, and what they told."""
        self.search, self._saved = search, {}
        found: dict[int, tuple[Value, list[Any]]] = {}
        rows = self._rows("SELECT number, part, tells, digest FROM parts WHERE search = ?", (search,))
        for number, part, tells, sealed in rows:
            self._expect(sealed, search, number, part, tells)
            told = []
            for position in range(tells):
                place = (search, number, position)
                lines = self._rows(
                    "SELECT told, digest FROM told WHERE search = ? AND number = ? AND position = ?", place
                )
                for line, sealed in lines:
                    self._expect(sealed, *place, line)
                    told.append(self._decoded(line, telling))
            if len(told) != tells:
                raise self._damaged("something that was told is not there")
            self._saved[number] = (part, tells)
            found[number] = (self._decoded(part, kind), told)
        return found

    def save_parts(self, parts: Mapping[int, tuple[Any, Sequence[Any]]]) -> None:
        """All that there are now: what is not among them is gone."""
        changes: list[tuple[str, tuple[Any, ...]]] = []
        now: dict[int, tuple[bytes, int]] = {}
        for number, (part, told) in parts.items():
            encoded = msgspec.json.encode(part)
            before, count = self._saved.get(number, (b"", 0))
            now[number] = (encoded, len(told))
            if (encoded, len(told)) != (before, count):
                row: tuple[Any, ...] = (self.search, number, encoded, len(told))
                changes.append(("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?)", (*row, _seal(*row))))
            for position in range(count, len(told)):
                row = (self.search, number, position, msgspec.json.encode(told[position]))
                changes.append(("INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?, ?)", (*row, _seal(*row))))
        for number in self._saved.keys() - parts.keys():
            for table in ("parts", "told"):
                changes.append((f"DELETE FROM {table} WHERE search = ? AND number = ?", (self.search, number)))
        if self._write(changes):
            self._saved = now

    def _write(self, changes: Sequence[tuple[str, tuple[Any, ...]]]) -> bool:
        """All or nothing; where there is no room, nothing, with a warning: what is in the file stays as it is, and the
        next change brings it up to date."""
        try:
            self.file.execute("BEGIN")
            for statement, values in changes:
                self.file.execute(statement, values)
            self.file.execute("COMMIT")
        except _UNREADABLE as error:
            if self.file.in_transaction:
                self.file.execute("ROLLBACK")
            if not self._warned:
                print(
                    f"teetotal: {self.path}: {error}; what is found now is not in it yet", file=sys.stderr, flush=True
                )
            self._warned = True
            return False
        return True

    def _decoded(self, told: bytes, kind: type[Value]) -> Value:
        try:
            return msgspec.json.decode(told, type=kind)
        except msgspec.DecodeError as error:
            raise TeetotalError(f"{self.path}: not what a checkpoint has: {error}") from error

    def _rows(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        try:
            return self.file.execute(statement, values).fetchall()
        except _UNREADABLE as error:
            raise self._damaged(str(error)) from error

    def _expect(self, sealed: object, *row: object) -> None:
        if sealed != _seal(*row):
            raise self._damaged("a row is not what was written")

    def _damaged(self, why: str) -> TeetotalError:
        return TeetotalError(f"{self.path}: the file is damaged: {why}")


def _seal(*row: object) -> str:
    return digest(*(value if isinstance(value, bytes) else repr(value).encode() for value in row))
