"""What the pages show is what happens.

Blocks marked ``console`` are transcripts: each line that begins with ``$`` is run, and what follows must be what it
prints, with seconds blotted out. A line with nothing but ``…`` stands for any lines that the page leaves out. The files
that transcripts use are blocks of the same page with a name behind the language (```` ```python dekker.py ````), or lie in
``examples/``. Python blocks that define programs are compiled and explored, those marked ``run`` are run, links lead
somewhere, and the reference pages name every option and every key.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
import pytest

import teetotal
from teetotal import cli, load
from teetotal.answers.answer import Refusal
from teetotal.answers.check import CheckAnswer, ModelAnswer
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Event
from teetotal.answers.fence import FenceAnswer, PlacedFence
from teetotal.answers.history import HistoryAnswer, HistoryViolation
from teetotal.answers.monitor import MonitorAnswer, MonitorModel, MonitorViolation
from teetotal.answers.record import RecordAnswer
from teetotal.answers.replay import ReplayAnswer
from teetotal.answers.verify import FenceRow, VerifyAnswer
from teetotal.answers.violation import Edge, StoryStep, Violation
from teetotal.cli import main
from teetotal.engines.states import outcomes

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "tests" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
TELLING = {"-q", "--quiet", "-v", "--verbose", "--progress", "--no-progress"}
"""Options that are told once for all verbs."""
NOT_RUN = ("git clone", "pip install", "make", "python benchmarks/")
"""Commands that a page may tell its reader to run and that no test runs. They are shown without output."""


class Block(NamedTuple):
    language: str
    label: str
    text: str


def blocks(page: Path) -> list[Block]:
    found = re.findall(r"^```(\w+)[ ]*([^\n]*)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [Block(*block) for block in found]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_TRANSCRIPTS = [page for page in PAGES if any(block.language == "console" for block in blocks(page))]


def commands(transcript: str) -> Iterator[tuple[str, str]]:
    """Each command and the output that the page shows for it."""
    for part in re.split(r"^\$ ", transcript, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


@pytest.mark.parametrize("page", WITH_TRANSCRIPTS, ids=name)
def test_transcripts(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TEETOTAL_COLUMNS", "100")  # as a reader would see it
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    status = 0
    for block in blocks(page):
        if re.fullmatch(r"[\w./+-]+\.\w+", block.label):
            (tmp_path / block.label).write_text(block.text)
        if block.language != "console":
            continue
        for command, expected in commands(block.text):
            if command.startswith(NOT_RUN):
                assert expected.strip() == "", f"{command}: the page shows an output that no test compares"
                continue
            if command == "echo $?":
                assert f"{status}\n" == expected
                continue
            line, _, redirected = command.partition(" > ")
            program, *arguments = shlex.split(line)
            assert program == "teetotal", f"a test cannot run {command}"
            monkeypatch.setattr(sys, "argv", [program, *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
            assert isinstance(ended.value.code, int)
            status = ended.value.code
            captured = capsys.readouterr()
            shown = captured.out + captured.err
            if redirected:
                Path(redirected).write_text(captured.out)
                shown = captured.err
            assert matches(expected, shown), f"$ {command}\n{difference(expected, shown)}"


def matches(expected: str, shown: str) -> bool:
    """Whether the output is what the page says, up to seconds and to what ``…`` leaves out."""
    pattern = "".join(
        "(?:.*\n)*?" if line == "…" else re.escape(f"{blotted(line)}\n") for line in expected.rstrip("\n").split("\n")
    )
    if not expected.strip():
        return not shown.strip()
    return re.fullmatch(pattern, f"{blotted(shown).rstrip()}\n") is not None


def difference(expected: str, shown: str) -> str:
    return "\n".join(unified_diff(expected.splitlines(), shown.splitlines(), "on the page", "now", lineterm=""))


def blotted(text: str) -> str:
    text = re.sub(r"\b\d+\.\d{3} s\b", "0.000 s", text)
    return re.sub(r'"seconds":[\d.e-]+', '"seconds":0', text)


def test_the_comparison_with_thread_sanitizer(tmp_path: Path) -> None:
    """Which is silent about what is no data race."""
    page = blocks(ROOT / "docs" / "comparison.md")
    (program,) = [block for block in page if block.label == "buffering.c"]
    (shown,) = [block for block in page if block.language == "sh"]
    (tmp_path / program.label).write_text(program.text)
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    empty = subprocess.run(
        shown.text.replace("buffering", "empty"), shell=True, cwd=tmp_path, capture_output=True, check=False, timeout=60
    )
    if empty.returncode:
        pytest.skip("ThreadSanitizer does not run here")
    done = subprocess.run(shown.text, shell=True, cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


PYTHON = [
    pytest.param(block, id=f"{name(page)}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page))
    if block.language == "python"
]


@pytest.mark.parametrize("block", PYTHON)
def test_python_code(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.py"
    path.write_text(block.text)
    if block.label == "run":
        monkeypatch.chdir(ROOT)
        exec(compile(block.text, str(path), "exec"), {})
    elif "= program(" not in block.text:
        compile(block.text, str(path), "exec")
    elif block.label.startswith("refused: "):
        with pytest.raises(ProgramError, match=re.escape(block.label.removeprefix("refused: "))):
            load(path)
    else:
        assert all(outcomes(program, "sc").values for program in load(path))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if target.startswith(("https://", "http://")):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        assert path.exists(), f"{name(page)} links to {target}, which is not there"
        assert path.is_relative_to(ROOT)
        if anchor:
            assert anchor in anchors(path), f"{name(page)} links to {target}; {file} has {', '.join(anchors(path))}"


def anchors(page: Path) -> list[str]:
    """As GitHub makes them from headings."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings]


def documented() -> Iterator[tuple[str, click.Command, str]]:
    """Each command that has a section in the reference, and the section."""
    text = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        found = re.match(r"`teetotal ((?:[a-z]+ ?)+)", part)
        if found is None:
            continue
        command: click.Command | None = cli.teetotal
        for word in found[1].split():
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), word)
        assert command is not None, f"the reference describes {found[1]}, which is not there"
        yield found[1], command, part


def test_the_reference_describes_verbs() -> None:
    assert {verb.split()[0] for verb, _, _ in documented()} >= {"check", "replay", "monitor", "generate"}


@pytest.mark.parametrize(("command", "section"), [pytest.param(c, s, id=v) for v, c, s in documented()])
def test_the_reference_has_every_option(command: click.Command, section: str) -> None:
    options = {o for p in command.params if isinstance(p, click.Option) for o in (*p.opts, *p.secondary_opts)}
    assert set(re.findall(r"^\| `(--?[\w-]+)", section, re.MULTILINE)) == options - TELLING | {"--help"}


def test_the_reference_has_what_every_verb_has() -> None:
    text = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    (section,) = re.findall(r"^## How much is told\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    assert set(re.findall(r"`(--?[\w-]+)`", "".join(re.findall(r"^\| (`-.*?) \|", section, re.MULTILINE)))) == TELLING


def test_the_reference_has_every_key() -> None:
    page = (ROOT / "docs" / "reference" / "json.md").read_text()
    structs: list[type[msgspec.Struct]] = [
        *(CheckAnswer, ModelAnswer, Violation, Edge, StoryStep, Event),
        *(MonitorAnswer, MonitorModel, MonitorViolation, HistoryAnswer, HistoryViolation, FenceAnswer, PlacedFence),
        *(VerifyAnswer, FenceRow, ReplayAnswer, RecordAnswer, Refusal),
    ]
    for struct in structs:
        for field in msgspec.structs.fields(struct):
            row = rf"^\| [^|]*`{field.encode_name}`[^|]* \|"
            assert re.search(row, page, re.MULTILINE), f"{struct.__name__} has {field.encode_name}"


def test_the_reference_has_every_public_name() -> None:
    pages = [ROOT / "docs" / "reference" / "python.md", ROOT / "docs" / "how-to" / "python-programs.md"]
    text = "".join(page.read_text() for page in pages)
    for public in teetotal.__all__:
        assert re.search(rf"`[^`\n]*\b{public}\b", text), public


def test_every_page_can_be_found() -> None:
    """From the map of the documentation, by following links."""
    found, waiting = set(), [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in found or page.suffix != ".md":
            continue
        found.add(page)
        waiting += [(page.parent / link).resolve() for link in re.findall(r"\]\(([^)\s#:]+)", page.read_text())]
    lost = {name(page) for page in (ROOT / "docs").rglob("*.md")} - {name(page) for page in found}
    assert not lost, "pages that nothing links to"
    index = (ROOT / "docs" / "index.md").read_text()
    unlisted = [page for page in (ROOT / "docs").rglob("*.md") if f"({page.relative_to(ROOT / 'docs')})" not in index]
    assert [name(page) for page in unlisted] == ["docs/index.md"], "pages that the map does not have"
