"""What is known of a question is kept in a file: killed at any moment, it is gone on with."""

from __future__ import annotations

import json
import re
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from counting import BUFFERING, COUNTING
from long_questions import history_of_rounds
from teetotal.answers.errors import TeetotalError
from teetotal.histories.generate import random_history, to_axe
from teetotal.scale.checkpoint import Checkpoint
from teetotal.scale.digest import digest

SMALL_PARTS = """
from teetotal.__main__ import main
from teetotal.histories import parts
parts.FEWEST = parts.LARGE = 500
"""
KILLED = """
import os, signal, sys
from teetotal.scale.checkpoint import Checkpoint
write, left = Checkpoint._write, [int(sys.argv.pop(1))]

def killed(self, changes):
    left[0] -= 1
    if left[0] == 0:  # between two transactions, or within one
        if self.file.execute("SELECT count(*) FROM items").fetchone()[0] % 2:
            self.file.execute("BEGIN")
            self.file.execute(*changes[0])
        os.killpg(0, signal.SIGKILL)
    return write(self, changes)

Checkpoint._write = killed
main()
"""


def kept_and_told(code: str, subject: Path, *asked: str, most: int | None = None) -> subprocess.CompletedProcess[str]:
    """A question in a process of its own; ``most``: bytes of a file that it may write."""

    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    command = [sys.executable, "-c", SMALL_PARTS + code, *asked, str(subject)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, start_new_session=True, timeout=120, preexec_fn=limit
    )


def answers(output: str) -> list[str]:
    found = [json.loads(line) for line in output.splitlines()]
    return sorted(re.sub(r'"(seconds|cpu)": [^,}]*', "", json.dumps(answer, sort_keys=True)) for answer in found)


LARGE = ["history", "--json", "--no-order", "--workers", "2"]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history in parts."""
    path = tmp_path_factory.mktemp("large") / "one.axe"
    path.write_text(history_of_rounds(6, 600))
    return path


@pytest.mark.parametrize("what", ["histories", "one history", "fence"])
def test_killed_while_it_keeps_something_and_gone_on_with(what: str, large: Path, tmp_path: Path) -> None:
    """At the second thing that is kept, the next time at the third, and so on: what a search begins with it finds again."""
    asked, subject = LARGE, large
    if what == "histories":
        drawn = (random_history(operations=40, seed=seed) for seed in range(16))
        asked, subject = ["history", "--json", "--workers", "2"], tmp_path / "many.axe"
        subject.write_text("".join(map(to_axe, drawn)))
    elif what == "fence":
        asked, subject = ["fence", "--goal", "safe", "--json", "--workers", "2"], tmp_path / "counting.c"
        checked = BUFFERING.replace("    return 0;", "    assert(r || s);\n    return 0;")
        subject.write_text(f"#include <assert.h>{checked}")
    expected = kept_and_told("main()", subject, *asked)
    assert expected.returncode in (0, 1)
    kept = ["--checkpoint", str(tmp_path / "run.db"), "--resume"]
    deaths = 0
    while (found := kept_and_told(KILLED, subject, str(deaths + 2), *asked, *kept)).returncode == -signal.SIGKILL:
        deaths += 1
    assert (found.returncode, found.stderr) == (expected.returncode, expected.stderr)
    assert answers(found.stdout) == answers(expected.stdout)
    assert deaths > 0


INTERRUPTED = """
import os, signal
from teetotal.scale.checkpoint import Checkpoint
save, left = Checkpoint.save_item, [2]

def interrupted(self, *item):
    save(self, *item)
    left[0] -= 1
    if left[0] == 0:
        os.killpg(0, signal.SIGINT)  # as a terminal does

Checkpoint.save_item = interrupted
main()
"""


def test_ctrl_c_within_one_history_keeps_its_parts(large: Path, tmp_path: Path) -> None:
    kept = tmp_path / "run.db"
    ended = kept_and_told(INTERRUPTED, large, *LARGE, "--checkpoint", str(kept))
    assert (ended.returncode, "interrupted" in ended.stderr) == (130, True)
    with sqlite3.connect(kept) as known:
        (parts,) = known.execute("SELECT count(*) FROM items").fetchone()
    assert 2 <= parts < 6
    found = kept_and_told("main()", large, *LARGE, "--checkpoint", str(kept), "--resume")
    assert answers(found.stdout) == answers(kept_and_told("main()", large, *LARGE).stdout)


def test_a_full_disk_costs_no_answer_about_one_history(large: Path, tmp_path: Path) -> None:
    """The answer is told; what could be kept until then is gone on with once there is room."""
    kept = ["--checkpoint", str(tmp_path / "run.db"), "--resume"]
    expected = kept_and_told("main()", large, *LARGE)
    found = kept_and_told("main()", large, *LARGE, *kept, most=40_000)
    assert (found.returncode, answers(found.stdout)) == (expected.returncode, answers(expected.stdout))
    assert "what is found now is not in it yet" in found.stderr
    again = kept_and_told("main()", large, *LARGE, *kept)
    assert (again.returncode, again.stderr, answers(again.stdout)) == (0, "", answers(expected.stdout))


@pytest.mark.parametrize("asks_to_end", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_what_asks_to_end_keeps_what_is_known(tmp_path: Path, asks_to_end: signal.Signals) -> None:
    program, kept = tmp_path / "counting.c", tmp_path / "run.db"
    program.write_text(COUNTING.replace("ROUNDS", "7"))
    command = [sys.executable, "-m", "teetotal", "check", "--triage", "0", "--checkpoint", str(kept), "--log", "-"]
    run = subprocess.Popen([*command, str(program)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stderr is not None
    first = json.loads(run.stderr.readline())
    assert first["event"] == "explored"
    run.send_signal(asks_to_end)
    said, _ = run.communicate()
    assert run.returncode not in (0, 70)
    assert "interrupted" in said
    with sqlite3.connect(kept) as known:
        (slices,) = known.execute("SELECT count(*) FROM told").fetchone()
    assert slices > 0


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    kept = str(tmp_path / "run.db")
    Checkpoint(kept, "teetotal check a.c", "one", resume=False).close()
    with pytest.raises(TeetotalError, match="is there already"):
        Checkpoint(kept, "teetotal check a.c", "one", resume=False)
    with pytest.raises(TeetotalError, match="with other options"):
        Checkpoint(kept, "teetotal check a.c", "other", resume=True)
    held = Checkpoint(kept, "teetotal check a.c", "one", resume=True)
    held.save_item("x", 1)
    with pytest.raises(TeetotalError, match="locked"):
        Checkpoint(kept, "teetotal check a.c", "one", resume=True)
    held.file.execute("UPDATE question SET version = '0.0'")
    held.close()
    with pytest.raises(TeetotalError, match=r"of teetotal 0\.0"):
        Checkpoint(kept, "teetotal check a.c", "one", resume=True)
    text = tmp_path / "text.db"
    text.write_text("no checkpoint")
    with pytest.raises(TeetotalError, match="not a database"):
        Checkpoint(str(text), "", "", resume=True)


HEADERS = {
    "a macro": "#include <assert.h>\n#define HOLDS {holds}\n",
    "a name": "#include <assert.h>\nenum {{ HOLDS = {holds} }};\n",
}
INCLUDES = """
#include <shared.h>
int main(void) { assert(HOLDS); }
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("defines", HEADERS)
def test_a_header_that_has_changed_makes_it_another_question(defines: str, tmp_path: Path, run: Run) -> None:
    """It does not lie beside the file, and the answer was known."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    program, kept = tmp_path / "program.c", str(tmp_path / "run.db")
    program.write_text(INCLUDES)
    asked = ["check", str(program), "--checkpoint", kept, "--resume"]
    (folder / "shared.h").write_text(HEADERS[defines].format(holds=1))
    assert [run(*asked, "--", f"-I{folder}")[0] for _ in range(2)] == [0, 0]
    (folder / "shared.h").write_text(HEADERS[defines].format(holds=0))
    status, _, said = run(*asked, "--", f"-I{folder}")
    assert (status, "as it was before a change" in said) == (2, True)


def test_a_module_that_has_changed_makes_it_another_question(tmp_path: Path, run: Run) -> None:
    program, kept = tmp_path / "program.py", str(tmp_path / "run.db")
    example = Path(__file__).parents[2] / "examples" / "store_buffering.py"
    program.write_text(example.read_text() + "\nimport helper\n")
    (tmp_path / "helper.py").write_text("N = 1\n")
    asked = ["check", str(program), "--checkpoint", kept, "--resume"]
    assert [run(*asked)[0] for _ in range(2)] == [1, 1]
    (tmp_path / "helper.py").write_text("N = 2\n")
    assert run(*asked)[0] == 2


def test_questions_are_told_apart_by_where_their_parts_end() -> None:
    assert digest(b"ab", b"c") != digest(b"a", b"bc") != digest(b"a", b"b", b"c")


@pytest.mark.parametrize("resume", [False, True])
def test_what_can_be_no_checkpoint(tmp_path: Path, resume: bool) -> None:
    with pytest.raises(TeetotalError, match="no checkpoint can be kept there: it is a directory"):
        Checkpoint(str(tmp_path), "", "", resume=resume)
    with pytest.raises(TeetotalError, match="no checkpoint can be kept there: it is no regular file"):
        Checkpoint("/dev/full", "", "", resume=resume)


def test_damage_that_is_no_text_is_damage(tmp_path: Path) -> None:
    """SQLite quotes the name of a table that has changed, and Python's module fails to decode what it says."""
    path = tmp_path / "kept"
    Checkpoint(str(path), "", "", resume=False).close()
    path.write_bytes(path.read_bytes().replace(b"tablequestion", b"table\xd7uestion"))
    with pytest.raises(TeetotalError, match="no checkpoint can be kept there"):
        Checkpoint(str(path), "", "", resume=True)


def test_a_full_disk_loses_nothing_that_was_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept = str(tmp_path / "run.db")
    checkpoint = Checkpoint(kept, "", "", resume=False)
    checkpoint.save_item("first", "a")
    (pages,) = checkpoint.file.execute("PRAGMA page_count").fetchone()
    checkpoint.file.execute(f"PRAGMA max_page_count = {pages}")
    checkpoint.save_item("large", "b" * 100_000)
    assert "full" in capfd.readouterr().err
    checkpoint.save_item("second", "c")
    checkpoint.file.execute("PRAGMA max_page_count = 1000000")  # somebody made room
    checkpoint.save_item("third", "d")
    checkpoint.close()
    again = Checkpoint(kept, "", "", resume=True)
    assert [again.item(name, str) for name in ("first", "second", "third")] == ["a", "c", "d"]
    assert again.item("large", str) == "b" * 100_000
    again.close()


def test_what_could_not_be_written_is_written_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that was full has room again: nothing of what was found in between is missing."""
    path, parts = str(tmp_path / "kept.db"), {0: ("left", ["first", "second"]), 3: ("open", [])}
    checkpoint = Checkpoint(path, "a test", "", resume=False)
    assert checkpoint.parts("search", str, str) == {}
    with monkeypatch.context() as full:
        full.setattr(checkpoint, "_write", lambda changes: False)
        checkpoint.save_parts(parts)
        checkpoint.save_item("item", "answer")
    checkpoint.save_parts(parts)
    checkpoint.save_item("other", "answer too")
    checkpoint.close()
    again = Checkpoint(path, "a test", "", resume=True)
    assert again.parts("search", str, str) == parts
    assert (again.item("item", str), again.item("other", str)) == ("answer", "answer too")
    again.close()
