"""The battery of ``battery/``: a sample of every class is answered as on record, and the battery itself is in order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from battery import channels, lives, record

SAMPLE = record.sample()
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "seen.md"


def test_there_are_many() -> None:
    unfenced = [program for program in channels.programs() if not program.fenced]
    assert len(channels.channels()) >= 130
    assert len(unfenced) >= 250
    assert len(lives.lives()) >= 60


def test_titles_are_told_apart() -> None:
    titles = Counter(asked.title for asked in record.everything(anywhere=True))
    assert [title for title, count in titles.items() if count > 1] == []


def test_every_answer_on_record_is_about_a_program() -> None:
    titles = {asked.title for asked in record.everything(anywhere=True)}
    assert sorted(record.answers().keys() - titles) == []


def test_the_sample_has_every_class() -> None:
    kinds = {asked.kind for asked in record.everything()}
    assert {asked.kind for asked in SAMPLE} == kinds
    assert len(SAMPLE) <= 2 * len(kinds)


@pytest.mark.parametrize("asked", SAMPLE, ids=lambda asked: asked.title)
def test_answers_are_those_on_record(asked: record.Asked) -> None:
    """A wrong answer that is no longer wrong has to leave the record: ``python -m battery --promote TITLE``."""
    word, text = asked.ask()
    assert record.noted(asked, word) == record.answers()[asked.title], text


@pytest.mark.parametrize("kind", sorted({channel.kind for channel in channels.channels()}))
def test_a_channel_does_what_it_says(kind: str, tmp_path: Path) -> None:
    programs = [p for p in channels.programs() if p.channel.kind == kind and not p.fenced and channels.can_run(p)]
    assert programs[len(programs) // 3].native(tmp_path) == ""


def test_the_documentation_has_the_table() -> None:
    assert record.table() in PAGE.read_text()
