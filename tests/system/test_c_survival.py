"""Endings that nobody wished for: programs that take down the process they are explored in, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from c_programs import answers, compiled, explore
from interrupts import PATIENCE, hear_interrupts, let_work, members
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.engines.runtime import driver as runtime
from teetotal.engines.runtime.replaying import replay
from teetotal.programs.c import Source

HEAD = """
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
atomic_int x, y;
"""
RUN = """
int main(void) { pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0); }
"""
SOMETIMES = """
void *f(void *p) {
  if (!p) { x = 1; int r = y; (void)r; } else { y = 1; int r = x; if (!r) END; }
  return 0;
}
"""
ENDS = {  # neither is followed by anybody: named, and no proof
    "SIGKILL": "syscall(SYS_kill, getpid(), SIGKILL)",
    "exit status 3": '__asm__ volatile("syscall" : : "a"(231), "D"(3) : "rcx", "r11", "memory")',
}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_a_death_is_told_and_the_rest_explored(how: str, goal: str, tmp_path: Path) -> None:
    file = tmp_path / "death.c"
    file.write_text(HEAD + SOMETIMES.replace("END", ENDS[how]) + RUN)
    result = check(Source((str(file),)), CheckOptions(goal=goal))  # type: ignore[arg-type]
    assert not result.complete
    assert result.executions >= 3
    assert result.verdict is Verdict.VIOLATION
    found = next(violation for violation in result.violations if violation.model == "sc")
    assert found.kind == "crash"
    assert f"takes the process down ({how})" in found.message
    assert "death.c:10" in found.message
    again = replay(found.replay.split()[2], Source((str(file),)))
    assert again is not None
    assert "takes the process down" in again.message
    assert len(again.steps) == len(found.steps)


def test_many_deaths() -> None:
    """Each of 20 of the 70 orders of the steps ends in one: as many executions as without, told once for the place."""
    text = HEAD + "void *f(void *p) { int last = 0; for (int i = 0; i < 4; i++) last = x++; END; return 0; }" + RUN
    with compiled(text.replace("END", "if (last == 6 && y == 0) y = 1")) as program:
        alive, _ = explore(program)
    with compiled(text.replace("END", f"if (last == 6) {ENDS['SIGKILL']}")) as program:
        end, told = explore(program)
    assert alive["executions"] >= end["executions"] == 70
    assert end["complete"]
    assert len([answer for answer in told if answer["type"] == "failure"]) == 1


def test_more_deaths_than_anybody_survives() -> None:
    text = HEAD + "void *f(void *p) { int last = 0; for (int i = 0; i < 5; i++) last = x++; END; return 0; }" + RUN
    with compiled(text.replace("END", f"if (last < 9) {ENDS['SIGKILL']}")) as program:
        told: list[str] = []
        with pytest.raises(runtime.RuntimeDied, match="SIGKILL"):
            told.extend(answer["type"] for answer in answers(program, []))
        assert "failure" in told


def test_death_before_anything_can_be_seen() -> None:
    with (
        compiled(HEAD + f"int main(void) {{ {ENDS['SIGKILL']}; }}") as program,
        pytest.raises(runtime.RuntimeDied, match="SIGKILL"),
    ):
        list(answers(program, []))


def _explorers(leader: int) -> list[int]:
    """The processes of the runtime that were started, by others in between, from this one, oldest first."""
    return sorted(number for number, (name, _) in members(leader).items() if name == "teetotal-runtim")


def test_a_worker_that_somebody_else_kills_is_no_fault_of_the_program() -> None:
    file = Path(__file__).parents[2] / "benchmarks" / "programs" / "dekker.c"
    command = [
        sys.executable,
        "-m",
        "teetotal",
        "check",
        "--json",
        "--model",
        "tso,pso",
        "--executions",
        "100000",
        str(file),
    ]
    command += ["--", "-DROUNDS=5", "-DFENCED"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        while len(explorers := _explorers(process.pid)) < 2:
            time.sleep(0.005)
        let_work(process, 0.05)  # in the midst of the search: before, there is no step to blame
        os.kill(explorers[-1], signal.SIGKILL)
        result = json.loads(process.stdout.read())
    assert not result.get("violations")
    assert result["executions"] == 100_000
    assert result["notes"] == ["the budget ran out; see --time and --executions"]  # nobody needed too much memory


def test_an_interrupt_keeps_what_was_found() -> None:
    programs = Path(__file__).parents[2] / "benchmarks" / "programs"
    command = [sys.executable, "-m", "teetotal", "check", "--json", str(programs / "dekker.c"), "--", "-DROUNDS=9"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=hear_interrupts
    ) as process:
        assert process.stdout is not None
        while not _explorers(process.pid):
            time.sleep(0.05)
        let_work(process, 0.5)  # the first violation is among the first executions
        os.killpg(process.pid, signal.SIGINT)
        result = json.loads(process.stdout.read())
        assert process.wait(timeout=PATIENCE) == 130
    assert result["verdict"] == "violation"
    assert not result["complete"]
    assert "interrupted; what was found until then is told" in result["notes"]


def test_a_search_whose_memory_is_full_says_so(tmp_path: Path) -> None:
    file = tmp_path / "full.c"
    file.write_text(HEAD + SOMETIMES.replace("END", "x = 2") + RUN)
    result = check(Source((str(file),)), CheckOptions(max_megabytes=0))
    assert not result.complete
    assert "what is yet to be explored needs more than 0 MB; see --memory" in result.notes
