"""The results of ``make portability``, kept in a file after each stage, and the tables of docs/reference/platforms.md."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

from portability.stages import ROOT, Result
from portability.systems import System

PAGE = ROOT / "docs" / "reference" / "platforms.md"


class Record:
    """``kept``: by system and stage. Several runs may write to one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept: dict[str, dict[str, dict[str, object]]] = {}
        self._update({})

    def add(self, system: str, stage: str, result: Result) -> None:
        self._update({system: {stage: {**result._asdict(), "date": date.today().isoformat()}}})

    def add_facts(self, system: str, facts: dict[str, str]) -> None:
        """What a system has: its C library, compilers and Python."""
        self._update({system: {"facts": {**facts}}})

    def take_over(self, other: Path) -> None:
        """The results of another machine (``--here``), where systems cannot be made or are not Debian's."""
        self._update(json.loads(other.read_text()))

    def _update(self, fresh: dict[str, dict[str, dict[str, object]]]) -> None:
        self.kept = json.loads(self.path.read_text()) if self.path.exists() else {}
        for system, stages in fresh.items():
            self.kept.setdefault(system, {}).update(stages)
        if fresh:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.kept, indent=1, sort_keys=True))

    def promote(self, systems: tuple[System, ...]) -> None:
        """Put the tables into the page, in the place of those that are there."""
        page = PAGE.read_text()
        for name, table in (("systems", self._systems(systems)), ("compilers", self._compilers(systems))):
            marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
            page = marked.sub(lambda found, table=table: f"{found[1]}{table}{found[2]}", page)  # type: ignore[misc]
        PAGE.write_text(page)

    def _titles(self, systems: tuple[System, ...]) -> dict[str, str]:
        """Systems that were made, and other machines under the titles that they were given."""
        made = {system.name: system.title for system in systems}
        return {**made, **{name: name for name in sorted(self.kept) if name not in made}}

    def _of(self, system: str, stage: str) -> dict[str, object]:
        return self.kept.get(system, {}).get(stage, {})

    def _systems(self, systems: tuple[System, ...]) -> str:
        lines = [
            "| system | C library, compilers, Python | demo | builds with | tests | wheel | when |",
            "|---|---|---|---|---|---|---|",
        ]
        differs = []
        for system, title in self._titles(systems).items():
            facts = self._of(system, "facts")
            stages = {name: self._of(system, name) for name in ("demo", "builds", "tests", "wheel")}
            if not any(stages.values()):
                continue
            when = max(str(stage.get("date", "")) for stage in stages.values())
            has = ", ".join(str(facts[name]) for name in ("libc", "cc", "clang", "python") if facts.get(name))
            said = [str(stage.get("summary", "–")) for stage in stages.values()]
            lines.append(f"| {title} | {has} | {' | '.join(said)} | {when} |")
            for name, stage in stages.items():
                details = stage.get("details", [])
                assert isinstance(details, list)
                differs += [f"- {title}, {name}: `{detail}`" for detail in details]
        return "\n".join(lines + (["", "What fails:", "", *differs] if differs else [])) + "\n"

    def _compilers(self, systems: tuple[System, ...]) -> str:
        lines = ["| compiler | on | seen | named | robust or safe | wrong |", "|---|---|---|---|---|---|"]
        wrong = []
        for system, title in self._titles(systems).items():
            stage = self._of(system, "battery")
            for row in filter(None, str(stage.get("summary", "")).split("; ")):
                compiler, _, counted = row.partition(" ")
                words = json.loads(counted)
                proved = words.get("robust", 0) + words.get("safe", 0)
                known = sum(words.get(word, 0) for word in ("seen", "named", "robust", "safe", "wrong", "not tried"))
                seen = words.get("seen", 0) + sum(words.values()) - known  # a failure that is there, by its name
                cells = (compiler.replace("-", " "), title, seen, words.get("named", 0), proved)
                lines.append(f"| {' | '.join(str(cell) for cell in cells)} | {words.get('wrong', 0)} |")
            details = stage.get("details", [])
            assert isinstance(details, list)
            wrong += [f"- {title}: `{detail}`" for detail in details]
        return "\n".join(lines + (["", "Wrong:", "", *wrong] if wrong else [])) + "\n"
