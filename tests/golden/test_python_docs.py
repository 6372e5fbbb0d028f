"""The page that teaches the Python front end says what is so: its code is run, and what it calls refused is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from teetotal import load, models
from teetotal.answers.errors import ProgramError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "python-programs.md"
BLOCKS = re.findall(r"^```python([^\n]*)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_page_has_examples() -> None:
    assert len(BLOCKS) == 5


@pytest.mark.parametrize(("label", "code"), BLOCKS)
def test_the_code_on_the_page_does_what_the_page_says(label: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "page.py"
    path.write_text(code)
    if label.startswith(" refused: "):
        with pytest.raises(ProgramError, match=re.escape(label.removeprefix(" refused: "))):
            load(path)
        return
    for program in load(path):
        for model in ("sc", "tso", "pso"):
            finals = models.final_states(program, model)
            assert finals
            if program.final_assertion is not None:
                outcomes = [program.outcome(states, dict(memory)) for states, memory in finals]
                assert all(program.predicate(program.final_assertion)(outcome) for outcome in outcomes)
