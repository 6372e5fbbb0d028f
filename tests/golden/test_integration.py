"""What other tools see of teetotal: pictures in notebooks and pages, matchers for editors, hooks."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

import teetotal
from teetotal.answers.events import Event, Kind
from teetotal.answers.violation import StoryStep, Violation
from teetotal.report import picture

ROOT = Path(__file__).resolve().parents[2]
INTEGRATION = ROOT / "examples" / "integration"
Run = Callable[..., tuple[int, str, str]]


def test_the_front_page_shows_the_example_and_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """In ``examples/``: ``python -c "import teetotal; print(teetotal.check('handover.c')._repr_svg_(), end='')"``"""
    monkeypatch.chdir(ROOT / "examples")
    answer = teetotal.check("handover.c")
    assert picture.svg(answer) == (ROOT / "docs" / "pictures" / "handover.svg").read_text()
    assert f"```c handover.c\n{Path('handover.c').read_text()}```" in (ROOT / "README.md").read_text()
    shown = answer._repr_html_()  # type: ignore[attr-defined]
    assert shown.startswith("<p><b>handover.c: violation</b></p>")
    assert "<svg" in shown
    assert picture.svg(teetotal.check(ROOT / "tests" / "corpus" / "SB+mfences.litmus")) is None


def test_names_in_pictures_are_text() -> None:
    name = "<script>alert(1)</script>&\"'"
    event = Event(0, 0, Kind.ST, name, 1)
    told = Violation(model="tso", kind="assertion", events=[event], steps=[StoryStep(0, "event", 0)], message=name)
    drawn = picture.drawn(told, name)
    assert "script>" not in drawn
    assert [child.tag for child in ET.fromstring(drawn)].count("{http://www.w3.org/2000/svg}text") == 3


@pytest.mark.parametrize("file", ["teetotal-problem-matcher.json", "vscode-tasks.json"])
def test_editors_find_the_place(run: Run, file: str) -> None:
    content = json.loads((INTEGRATION / file).read_text())
    matcher = content["problemMatcher"][0] if "problemMatcher" in content else content["tasks"][0]["problemMatcher"]
    patterns = [re.compile(each["regexp"]) for each in matcher["pattern"]]
    path = ROOT / "tests" / "corpus" / "SB.litmus"
    _, out, _ = run("check", str(path))
    lines = out.splitlines()
    found = [
        [match[1] for match in matches if match is not None]
        for start in range(len(lines) - 2)
        if all(matches := [p.match(line) for p, line in zip(patterns, lines[start:], strict=False)])
    ]
    assert len(found) == 1
    message, named, line = found[0]
    assert message.startswith("Beyond SC under TSO and PSO: ")
    assert (named, line) == (str(path), "10")


def test_hooks_name_commands_that_there_are(run: Run) -> None:
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entries = re.findall(r"^  entry: teetotal (.*)$", hooks, re.MULTILINE)
    assert len(entries) == hooks.count("- id: ") == 2
    Path("fine.litmus").write_text((ROOT / "tests" / "corpus" / "SB+mfences.litmus").read_text())
    for entry in entries:
        assert run(*entry.split(), "fine.litmus")[0] == 0
