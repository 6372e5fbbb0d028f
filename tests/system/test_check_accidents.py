"""``teetotal check`` when something goes wrong around it: workers that die, readers that leave, full disks, interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from interrupts import PATIENCE, hear_interrupts, let_work
from teetotal import checking
from teetotal.answers.options import CheckOptions
from teetotal.scale.scale import Scale

FENCED = """X86_64 SB+mfences
{
}
 P0            | P1            ;
 movq $1,(x)   | movq $1,(y)   ;
 mfence        | mfence        ;
 movq (y),%rax | movq (x),%rax ;
exists (0:rax=0 /\\ 1:rax=0)
"""


def test_a_killed_worker_costs_its_file_only(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.litmus").write_text(FENCED)
    (tmp_path / "deadly.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    command = [sys.executable, "-m", "teetotal", "check", "--json", "--workers", "2"]
    files = ["0.litmus", "1.litmus", "deadly.py", "2.litmus", "3.litmus"]
    done = subprocess.run([*command, *files], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["input"] for answer in answers] == files
    assert [answer["input"] for answer in answers if "error" in answer] == ["deadly.py"]
    assert "deadly.py:1: ends Python by itself: its process ended by signal SIGKILL" in done.stderr


class Deadly(checking.Job, frozen=True):
    """Its process ends before it has an answer, in the way that its name says."""

    def run(self, scale: Scale | None = None) -> checking.Done:
        how = self.paths[0]
        if how == "exit":
            os._exit(0)
        if how != "lives":
            os.kill(os.getpid(), signal.Signals[how])
        return checking.Done()


def test_how_a_worker_died_is_what_is_known_of_its_file() -> None:
    names = ["lives", "SIGKILL", "SIGSYS", "exit"]
    jobs = [Deadly((name,), CheckOptions()) for name in names]
    lives, killed, crashed, left = checking.check_all(jobs, Scale(2), lambda: None)
    assert lives == checking.Done()
    assert killed.undecided is not None
    assert "SIGKILL" in killed.undecided.notes[0]
    assert crashed.fault == "SIGSYS: its process ended by signal SIGSYS"
    assert [refusal.error for refusal in left.refusals] == [
        "exit: its process ended with status 0, before it had an answer"
    ]
    assert not any(done.is_final for done in (killed, crashed))


def test_output_that_nobody_reads_is_no_violation(tmp_path: Path) -> None:
    for number in range(100):  # more than a pipe holds
        (tmp_path / f"{number}.litmus").write_text(FENCED)
    command = [sys.executable, "-m", "teetotal", "check", "--json", "."]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=PATIENCE) == 141


@pytest.mark.parametrize("words", [["check", "--time", "-1", "x.litmus"], ["bogus"]])
def test_a_complaint_that_nobody_reads_is_one_all_the_same(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert subprocess.run([sys.executable, "-m", "teetotal", *words], stderr=writer, check=False).returncode == 2
    finally:
        os.close(writer)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_is_said_plainly(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "0.litmus").write_text(FENCED)
    command = [sys.executable, "-m", "teetotal", "check", *options, "0.litmus"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("teetotal: cannot write: No space left on device")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupt_keeps_what_was_found(tmp_path: Path, workers: str) -> None:
    (tmp_path / "0.litmus").write_text(FENCED)
    (tmp_path / "endless.py").write_text(
        "from teetotal import program, st\n\ndef t():\n    while True:\n        yield st('x', 1)\n\np = program(t(), x=0)\n"
    )
    command = [sys.executable, "-m", "teetotal", "check", "--json", "--workers", workers, "--states", "4000000000"]
    with subprocess.Popen(
        [*command, "0.litmus", "endless.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_interrupts,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        let_work(process, 0.3)
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(timeout=PATIENCE) == 130
    assert json.loads(first)["input"] == "0.litmus"
    for line in rest.splitlines():
        assert json.loads(line)["verdict"] == "inconclusive"
