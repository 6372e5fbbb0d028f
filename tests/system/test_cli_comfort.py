"""What makes the command line pleasant: options from files, guesses, completion, a manual page, progress."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from teetotal.answers.version import VERSION
from teetotal.cli import VERBS
from teetotal.report import progress
from terminals import on_a_terminal

ROOT = Path(__file__).resolve().parents[2]
SB = (ROOT / "tests" / "corpus" / "SB.litmus").read_text()
Run = Callable[..., tuple[int, str, str]]


# -- options from files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("teetotal.toml", 'model = ["tso"]\n[check]\ngoal = "both"\n'),
        ("pyproject.toml", '[tool.teetotal]\nmodel = "tso"\nkernel = true\n[tool.teetotal.check]\ngoal = "both"\n'),
        ("pyproject.toml", '[ tool . teetotal ]\nmodel = "tso"\ncheck = {goal = "both"}\n'),
    ],
)
def test_a_file_has_options_and_the_command_line_the_last_word(run: Run, file: str, text: str) -> None:
    Path("SB.litmus").write_text(SB)
    Path(file).write_text(text)
    _, out, _ = run("check", "SB.litmus")
    assert "PSO" not in out
    assert "(--goal both: " in out
    _, out, _ = run("check", "--model", "pso", "--goal", "robust", "SB.litmus")
    assert "TSO" not in out
    assert "(--goal robust: " in out


def test_what_is_nearer_has_the_last_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verb's table over what is said for all verbs, and the file of this folder over those above."""
    Path("teetotal.toml").write_text('goal = "both"\n')
    Path("below").mkdir()
    monkeypatch.chdir("below")
    Path("SB.litmus").write_text(SB)
    assert "(--goal both: " in run("check", "SB.litmus")[1]
    Path("teetotal.toml").write_text('model = "tso"\n[check]\nmodel = "pso"\n')
    _, out, _ = run("check", "SB.litmus")
    assert ("PSO" in out, "TSO" in out, "(--goal both: " in out) == (True, False, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[check]\ngaol = "safe"\n', "teetotal check has no option --gaol; did you mean goal?"),
        ('gaol = "safe"\n', "no verb has an option --gaol; did you mean goal?"),
        ("[chek]\n", "no verb is called chek; did you mean check?"),
        ("goal = [\n", "Invalid value"),
        ('goal = "sfae"\n', "'sfae' is not one of 'robust', 'safe', 'both'"),
        ("time = -1\n", "-1.0 is not in the range"),
        ("loop-bound = 1.5\n", "'1.5' is not a valid integer range"),
        ("workers = true\n", "'true' is not a valid integer range"),
        ("[check]\nquiet = 7\n", "'7' is not a valid boolean"),
        ("check = 3\n", "check is a verb; its options stand in a table, [check]"),
        ("[check]\nnondet = 3\n", "Invalid value for '--nondet'"),
    ],
)
def test_what_is_no_option_is_refused(run: Run, text: str, said: str) -> None:
    Path("SB.litmus").write_text(SB)
    Path("teetotal.toml").write_text(text)
    status, out, err = run("check", "SB.litmus")
    assert (status, out) == (2, "")
    assert said in err


def test_who_gives_a_wrong_value_is_told(run: Run) -> None:
    Path("SB.litmus").write_text(SB)
    Path("teetotal.toml").write_text('[check]\ntime = "soon"\n')
    err = run("check", "SB.litmus")[2]
    assert f"'soon' is not a valid float range. {Path.cwd() / 'teetotal.toml'} says so." in err
    assert "says so" not in run("check", "--time", "later", "SB.litmus")[2]


@pytest.mark.parametrize("option", ["--executions", "--seed", "--states", "--memory", "--loop-bound", "--spurious"])
def test_the_greatest_value_that_an_option_says_it_takes_is_taken(run: Run, option: str) -> None:
    """Of two the range was wider than what was behind it, which refused in words of its own."""
    Path("SB.litmus").write_text(SB)
    status, _, err = run("check", "SB.litmus", "--explore", "random:1", option, str(10**30))
    greatest = re.search(r"<=x<=(\d+)", err)
    assert status == 2
    assert greatest is not None
    status, _, err = run("check", "SB.litmus", "--explore", "random:1", option, greatest[1])
    assert (status, err) == (1, "")


def test_a_list_of_what_may_be_given_more_than_once(run: Run) -> None:
    Path("SB.litmus").write_text(SB)
    Path("teetotal.toml").write_text(
        'model = ["tso", "pso"]\n[check]\noutput = ["json:a.json", "sarif:b.sarif"]\nhtml = "c.html"\nnondet = [0, 2]\n'
    )
    assert run("check", "-q", "SB.litmus")[0] == 1
    assert Path("a.json").exists()
    assert Path("b.sarif").exists()
    assert Path("c.html").exists()


def test_another_file_or_none(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("SB.litmus").write_text(SB)
    Path("teetotal.toml").write_text("nonsense = 1\n")
    monkeypatch.setenv("TEETOTAL_CONFIG", "")
    assert run("check", "-q", "SB.litmus")[0] == 1
    monkeypatch.setenv("TEETOTAL_CONFIG", "nowhere.toml")
    status, _, err = run("check", "-q", "SB.litmus")
    assert (status, "nowhere.toml" in err) == (2, True)


# -- guesses, completion, manual -------------------------------------------------------------------------------------------


def test_what_was_meant(run: Run) -> None:
    Path("a.c").write_text("")
    assert "No such verb: 'chek'. Did you mean check?" in run("chek", "a.c")[2]
    assert "teetotal check a.c" in run("a.c")[2]
    assert "--model" in run("check", "--modle", "tso", "a.c")[2]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("teetotal fe", ["fence"]),
        ("teetotal check --model t", ["tso"]),
        ("teetotal check --model tso,", ["tso,sc", "tso,pso", "tso,c11"]),
        ("teetotal check --goal ", ["robust", "safe", "both"]),
        ("teetotal check --explore pre", ["preemptions:2", "preemptions:0..3"]),
        ("teetotal monitor --monitor sober,exact-t", ["sober,exact-tso"]),
        ("teetotal check --output s", ["sarif:"]),
        ("teetotal generate litmus --family IRI", ["IRIW"]),
        ("teetotal record simulate --protocol m", ["mi", "mesi"]),
        ("teetotal record simulate --bug lost-i", ["lost-invalidation"]),
    ],
)
def test_shells_complete_values(words: str, offered: list[str]) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_TEETOTAL_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "teetotal"], env={**os.environ, **asked}, capture_output=True, text=True
    )
    assert [line.partition(",")[2] for line in done.stdout.split()] == offered
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(run: Run, shell: str) -> None:
    status, out, _ = run("completion", shell)
    assert (status, "_TEETOTAL_COMPLETE" in out) == (0, True)


def test_the_manual_has_every_verb_and_option(run: Run) -> None:
    status, out, _ = run("man")
    assert status == 0
    assert {name.lower() for name in re.findall(r"^\.SH TEETOTAL (\w+)$", out, re.MULTILINE)} >= set(VERBS) - {"man"}
    assert r"\fB\-\-triage SECONDS\fR" in out


def test_the_version_needs_nothing(run: Run) -> None:
    loaded = "import sys; sys.argv = ['teetotal', '--version']; from teetotal.__main__ import main; main()"
    script = f"{loaded}; print('click' in sys.modules, 'numpy' in sys.modules, 'msgspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == f"teetotal, version {VERSION}\nFalse False False\n"
    assert run("--version", "--help")[1].startswith(f"teetotal, version {VERSION}")


def test_a_short_story_needs_no_numpy() -> None:
    script = "import sys, teetotal; teetotal.check('tests/corpus/SB.litmus'); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "False\n"


# -- progress --------------------------------------------------------------------------------------------------------------


ENDLESS = """X86_64 endless
{ }
 P0 | P1 | P2 | P3 ;
""" + "".join(f" movq $1,({x}) | movq $1,({y}) | movq $1,({z}) | movq $1,(w) ;\n movq (y),%rax | movq (z),%rax | "
              "movq (w),%rax | movq (x),%rax ;\n" for x, y, z in ["xyz", "yzx", "zxy"] * 4) + "exists (x=2)\n"  # fmt: skip


def test_progress_is_for_terminals_and_those_who_ask(tmp_path: Path) -> None:
    (tmp_path / "endless.litmus").write_text(ENDLESS)
    long = ("check", "--time", "1", "--model", "tso", str(tmp_path / "endless.litmus"))
    assert re.search(r"\d SC states", on_a_terminal(*long))
    assert on_a_terminal(*long, "--no-progress") == ""
    command = [sys.executable, "-m", "teetotal", *long]
    assert subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stderr == ""


def test_progress_says_what_is_known(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "IN_LOGS", 0.0)
    clock = iter(float(second) for second in range(100))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.counting("queue.c", True, even_in_logs=True) as show:
        assert show is not None
        show("SC executions", 10, 0.0)
        show("SC executions", 2_000, 0.5)
    first, second = capsys.readouterr().err.splitlines()[:2]
    assert first == "queue.c: 10 SC executions"
    assert re.fullmatch(r"queue.c: 2,000 SC executions, [\d,]+ a second, 50% done, about \d+ s to go", second)
    with progress.counting("queue.c", True) as nobody:
        assert nobody is None
