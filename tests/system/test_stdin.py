"""``-`` is standard input on every verb that reads files, and what comes from there goes by the name it is given."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SB = """X86_64 SB
{
}
 P0            | P1            ;
 movq $1,(x)   | movq $1,(y)   ;
 movq (y),%rax | movq (x),%rax ;
exists (0:rax=0 /\\ 1:rax=0)
"""


def piped(text: str, *arguments: str, folder: Path) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "teetotal", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def without_seconds(out: str) -> object:
    return json.loads(re.sub(r'"(seconds|cpu)":[\d.e-]+', r'"\1":0', out))


@pytest.mark.parametrize(
    ("verb", "name", "text"),
    [
        (["fence"], "SB.litmus", SB),
        (["verify"], "p.pml", "byte x;\nactive proctype P() { x = 1; assert(x == 0) }\n"),
        (["history"], "h.axe", "# comment\n0: M[0] := 1\n1: M[0] == 1\n"),
        (["replay", "1t:0x2.1.1c.1.0c"], "SB.litmus", SB),
    ],
)
def test_the_answer_is_that_of_a_file(verb: list[str], name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    status, expected, _ = piped("", *verb, name, "--json", folder=tmp_path)
    again, out, _ = piped(text, *verb, "-", "--stdin-filename", name, "--json", "--output", "sarif:s", folder=tmp_path)
    assert again == status
    assert status in (0, 1)
    assert without_seconds(out) == without_seconds(expected)
    assert "teetotal-" not in (tmp_path / "s").read_text()


def test_c(tmp_path: Path) -> None:
    text = "#include <assert.h>\nint main() { assert(1 == 2); }\n"
    status, out, _ = piped(text, "check", "-", "--stdin-filename", "odd.c", folder=tmp_path)
    assert status == 1
    assert "odd.c:2" in out or "line 2" in out
    status, out, err = piped("int main() { return x; }\n", "check", "-", "--stdin-filename", "odd.c", folder=tmp_path)
    assert status == 2
    assert "odd.c:1" in out + err
    assert "/teetotal-" not in out + err


def test_what_cannot_be_is_refused(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    for arguments, why in (
        (["check", "-"], "--stdin-filename"),
        (["check", "-", "-", "--stdin-filename", "a.c"], "only once"),
        (["fence", "-", "--stdin-filename", "a.litmus", "--write"], "cannot be patched"),
        (["check", "-", "--stdin-filename", ".."], "cannot be called so"),
        (["check", "-", "--stdin-filename", ""], "cannot be called so"),
    ):
        status, _, err = run(*arguments)
        assert status == 2
        assert why in err
    assert not list(tmp_path.iterdir())


def test_a_report_from_a_pipe(tmp_path: Path) -> None:
    _, out, _ = piped(SB, "check", "-", "--stdin-filename", "SB.litmus", "--json", folder=tmp_path)
    status, page, _ = piped(out, "report", "-", "-o", "-", folder=tmp_path)
    assert status == 0
    assert page.startswith("<!doctype html>")
    assert "SB.litmus" in page


@pytest.mark.parametrize("verb", [["check"], ["fence"], ["verify"], ["replay", "1t:0"]])
def test_what_has_no_end_is_refused(verb: list[str], tmp_path: Path) -> None:
    """As a file is that is too large for a program; nobody waits for the rest of it."""
    command = [sys.executable, "-m", "teetotal", *verb, "-", "--stdin-filename", "p.pml"]
    with open("/dev/zero", "rb") as endless:
        done = subprocess.run(command, stdin=endless, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 2
    assert "p.pml: larger than 16 MB" in done.stderr


@pytest.mark.parametrize("verb", ["check", "fence", "verify", "history"])
def test_time_is_kept_while_nothing_comes(verb: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "teetotal", verb, "-", "--stdin-filename", "p.pml", "--time", "0.5", "--json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as waiting:
        assert waiting.stdout is not None
        answer = json.loads(waiting.stdout.read())  # ends before its input does
        assert waiting.wait(30) == 3
    assert (answer["input"], answer["command"], answer["verdict"]) == ("p.pml", verb, "inconclusive")
    assert answer["notes"] == ["the time given by --time is over"]
