"""The list of faults: one TOML file for each area, beside this file.

A fault is a piece of text that occurs exactly once in a file, and what stands there instead. It is kept as text and not
as a diff, so that it survives changes elsewhere in the file; where its own place changes, it is stale and says so.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Mutant:
    """``killed_by`` names tests as pytest does; ``equivalent`` argues why no test can notice this one."""

    area: str
    name: str
    file: str
    old: str
    new: str
    why: str
    killed_by: tuple[str, ...] = ()
    equivalent: str = ""

    @property
    def title(self) -> str:
        return f"{self.area}/{self.name}"

    @property
    def compiled(self) -> bool:
        """It is in effect only once it is built and installed."""
        return self.file.startswith(("core/", "runtime/"))

    @property
    def digest(self) -> str:
        """Changes with the fault and with its tests' names: a kept result is of this text."""
        return hashlib.sha256(repr((self.file, self.old, self.new, self.killed_by)).encode()).hexdigest()[:16]

    def problem(self, root: Path = ROOT) -> str | None:
        """Why it cannot be planted."""
        path = root / self.file
        if not path.is_file():
            return f"there is no file {self.file}"
        count = path.read_text().count(self.old)
        if count != 1:
            return f"its text occurs {count} times in {self.file}"
        if self.old == self.new:
            return "it changes nothing"
        return None


def _read(path: Path) -> list[Mutant]:
    known = {field.name for field in fields(Mutant)}
    found: list[Mutant] = []
    for entry in tomllib.loads(path.read_text())["mutant"]:
        values: dict[str, Any] = {"area": path.stem, **entry}
        if unknown := values.keys() - known:
            raise ValueError(f"{path.name}, {entry.get('name')}: unknown key {min(unknown)}")
        found.append(Mutant(**values | {"killed_by": tuple(entry.get("killed_by", ()))}))
    return found


def mutants() -> list[Mutant]:
    found = [mutant for path in sorted(FOLDER.glob("*.toml")) for mutant in _read(path)]
    (title, count), *_ = Counter(mutant.title for mutant in found).most_common(1)
    if count > 1:
        raise ValueError(f"{title} stands twice in the list")
    return found
