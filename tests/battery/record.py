"""``answers.txt``: what was said last about each program that was tried, and which of that is wrong.

One line for each: title, word, and ``WRONG`` where it may not be said. ``make test`` asks about a sample and compares, so a
wrong answer that has been put right must leave the list, and a new one cannot enter it unseen.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from battery import channels, judge, lives

FILE = Path(__file__).parent / "answers.txt"
COLUMNS = ("seen", "named", "robust with fences", "wrong", "not tried")


class Asked(NamedTuple):
    """A program of the battery, whichever part it is of. ``ask`` gives a word and a text; ``right`` judges the word."""

    title: str
    ask: Callable[[], tuple[str, str]]
    right: Callable[[str], bool]

    @property
    def kind(self) -> str:
        return self.title.partition("/")[0]


def everything(*, anywhere: bool = False) -> list[Asked]:
    """All that can be asked on this machine, or on any."""
    return [
        *(
            Asked(program.title, partial(judge.answer, program), partial(judge.is_right, program))
            for program in channels.programs()
            if anywhere or channels.can_run(program)
        ),
        *(
            Asked(question.title, partial(lives.answer, question), partial(lives.is_right, question))
            for question in lives.questions()
            if anywhere or shutil.which("cc")
        ),
    ]


def answers() -> dict[str, str]:
    """The words by title, and ``WRONG`` after those that are."""
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    return {title: word for title, _, word in (line.partition(" ") for line in lines)}


def noted(asked: Asked, word: str) -> str:
    return word.replace(" ", "-") + ("" if asked.right(word) else " WRONG")


def keep(known: dict[str, str]) -> None:
    FILE.write_text("".join(f"{title} {known[title]}\n" for title in sorted(known)))


def sample(each: int = 2) -> list[Asked]:
    """A few programs of every class, the same ones in every run: spread evenly over those that were tried."""
    known, possible = answers(), everything()
    chosen = []
    for kind in sorted({asked.kind for asked in possible}):
        tried = [asked for asked in possible if asked.kind == kind and asked.title in known]
        chosen += [tried[(2 * number + 1) * len(tried) // (2 * each)] for number in range(min(each, len(tried)))]
    return chosen


def table() -> str:
    """Markdown: class by class, how many programs were seen, named, proved as they should be, wrong, and not tried."""
    known = answers()
    rows: dict[str, Counter[str]] = {}
    for asked in everything(anywhere=True):
        word = known.get(asked.title, "not tried")
        column = "wrong" if word.endswith("WRONG") else "robust with fences" if word in ("robust", "safe") else word
        column = column if column in COLUMNS else "named" if word == "inconclusive" else "seen"
        rows.setdefault(asked.kind, Counter())[column] += 1
    rows["**all**"] = sum(rows.values(), Counter())
    lines = [f"| class | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    lines += [f"| {kind} | {' | '.join(str(count[column]) for column in COLUMNS)} |" for kind, count in rows.items()]
    return "\n".join(lines)
