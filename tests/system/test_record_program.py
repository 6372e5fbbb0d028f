"""Executions of C programs as histories and traces."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import teetotal
from teetotal import cli
from teetotal.answers.errors import TeetotalError
from teetotal.answers.verdict import Verdict
from teetotal.histories.check import check
from teetotal.histories.readers import read_text
from teetotal.programs.c.build import Source
from teetotal.record.programs import executed as program

DEKKER = Path(__file__).parents[2] / "examples" / "dekker.c"
SB = """
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
volatile int x, y; int a, b, both;
static void *p(void *_) { x = 1; a = y; pthread_mutex_lock(&m); ++both; pthread_mutex_unlock(&m); return 0; }
static void *q(void *_) { y = 1; b = x; pthread_mutex_lock(&m); ++both; pthread_mutex_unlock(&m); return 0; }
int main(void) {
  pthread_t s, t;
  pthread_create(&s, 0, p, 0);
  pthread_create(&t, 0, q, 0);
  pthread_join(s, 0);
  pthread_join(t, 0);
  return 0;
}
"""


@pytest.fixture
def sb(tmp_path: Path) -> Source:
    (tmp_path / "sb.c").write_text(SB)
    return Source((str(tmp_path / "sb.c"),))


def test_sc_executions_are_sc_and_what_was_read_back_is_the_same(sb: Source) -> None:
    recorded = list(program(sb, count=20))
    assert len(recorded) == 20
    for one in recorded:
        assert check(one.history).verdict is Verdict.SAFE, one.text()
        (again,) = read_text(one.text(), format="text")
        assert list(map(str, again)) == list(map(str, one.history))


def test_some_tso_executions_are_not_sc(sb: Source) -> None:
    verdicts = {check(one.history).verdict for one in program(sb, count=60, model="tso")}
    assert verdicts == {Verdict.SAFE, Verdict.VIOLATION}
    for one in program(sb, count=10, model="tso"):
        assert check(one.history, "tso").verdict is Verdict.SAFE, one.text()


def test_a_monitor_reads_the_trace(sb: Source) -> None:
    verdicts = {teetotal.monitor(one.trace).verdict for one in program(sb, count=5)}
    assert Verdict.VIOLATION in verdicts


def test_from_the_command_line(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "teetotal", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, cwd=tmp_path)

    done = run("record", "program", str(DEKKER), "--count", "3", "--traces", "traces", "--output", "h.txt")
    assert done.returncode == 0, done.stderr
    assert run("history", "h.txt", "--model", "sc").returncode == 0
    assert sorted(path.name for path in (tmp_path / "traces").iterdir()) == ["0.jsonl", "1.jsonl", "2.jsonl"]
    assert teetotal.monitor(tmp_path / "traces" / "0.jsonl").verdict is Verdict.VIOLATION


def test_the_time_is_kept_though_executions_come_faster_than_they_can_be_written(tmp_path: Path) -> None:
    """The explorer is far ahead of who writes: what it has told by then is not waited for."""
    path = tmp_path / "h.txt"
    began = time.process_time()
    words = ["program", str(DEKKER), "--count", "1000000", "--time", "1", "--output", str(path), "-q"]
    assert cli.teetotal.main(["record", *words], standalone_mode=False) == 0
    assert time.process_time() - began < 5
    assert len(teetotal.read_histories(path)) > 1


def test_what_is_refused() -> None:
    for words in (["x.litmus"], [str(DEKKER), "--model", "tso", "--traces", "t"]):
        with pytest.raises(TeetotalError, match=r"only C|SC execution"):
            cli.teetotal.main(["record", "program", *words], standalone_mode=False)


def test_a_program_that_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text("int main(void) {")
    with pytest.raises(TeetotalError, match="does not compile"):
        list(program(Source((str(tmp_path / "bad.c"),))))
