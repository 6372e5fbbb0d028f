"""The machines that people run teetotal on, imitated, and what five verbs answer there: a table in
docs/reference/platforms.md.

    python packaging/environments.py [--only WORD] [--python PYTHON] [--write]

Each row starts the commands through tests/machines.py, which imitates the machine, and compares their answers with those
of this machine as it is. ``--python`` is the interpreter whose teetotal is tried, as that of an environment with the
wheel. ``--write`` puts the table into the page; without it the table goes to standard output. Rows that cannot be imitated
here (most need root) say so. The exit status is 1 if any answer is neither the right one nor a refusal that says why.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import virtual_machine  # noqa: E402

import machines  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "platforms.md"
BEGIN, END = "<!-- environments -->", "<!-- /environments -->"
PATIENCE = 300
"""Seconds for a command that takes one or two here."""

PROGRAMS = {
    "handover.c": (ROOT / "examples" / "handover.c").read_text(),
    "test_safe.c": """
#include <assert.h>
#include <pthread.h>
static volatile int x, y;
static int a, b;
static void *left(void *unused) { x = 1; __sync_synchronize(); a = y; return unused; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, left, 0);
  y = 1;
  __sync_synchronize();
  b = x;
  pthread_join(thread, 0);
  assert(a || b);
}
""",
    "writes.c": """
#include <assert.h>
#include <stdio.h>
int main(void) {
  FILE *file = fopen("result.txt", "w");
  assert(file && fprintf(file, "right\\n") == 6 && fclose(file) == 0 && remove("result.txt") == 0);
}
""",
    "sequence.litmus": """X86_64 sequence
{ }
 P0          | P1            ;
 movq $1,(x) | movq $2,(x)   ;
forall (x=1 \\/ x=2)
""",
    "peterson.pml": (ROOT / "benchmarks" / "promela" / "peterson.pml").read_text(),
    "buffering.txt": (ROOT / "examples" / "histories" / "store-buffering.txt").read_text(),
}
T = ("-m", "teetotal")
VERBS: dict[str, tuple[tuple[str, ...], ...]] = {
    "check": tuple(
        (*T, "check", "--json", file) for file in ("handover.c", "test_safe.c", "writes.c", "sequence.litmus")
    ),
    "fence": ((*T, "fence", "--json", "handover.c"),),
    "history": ((*T, "history", "--json", "--model", "sc", "buffering.txt"),),
    "verify": ((*T, "verify", "--json", "peterson.pml"),),
    "pytest": (("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_safe.c", "sequence.litmus"),),
}


# Steps are of tests/machines.py. {here} is the folder of the programs, {runtime} the explorer, {slow} one that runs it on a
# processor whose programs may not set FS.
STEPS = {
    "docker": "capabilities=docker proc=docker seccomp=docker",
    "docker_user": "capabilities=docker proc=docker user=65534 seccomp=docker",
    "user": "user=65534",
    "plain": "variable=LC_ALL:POSIX variable=PYTHONCOERCECLOCALE:0 variable=PYTHONUTF8:0 variable=TERM:dumb"
    " variable=COLUMNS:60",
}
# Virtual machines: arguments of virtual_machine.run.
MACHINES: dict[str, dict[str, Any]] = {
    "overcommit": {"setup": "echo 2 > /proc/sys/vm/overcommit_memory"},
    "old": {"cpu": "qemu64", "processors": 1},
    "second": {"cpu": "Nehalem", "options": "nofsgsbase"},
    "small": {"memory": 600, "processors": 1},
    "fixed": {"setup": "echo 0 > /proc/sys/kernel/randomize_va_space"},
    "half": {"setup": "echo 1 > /proc/sys/kernel/randomize_va_space"},
    "9p": {"shared": True},
}
# What it is, how it is imitated, and the steps.
ENVIRONMENTS = """
container, root | docker's filter, capabilities and `/proc` | {docker}
container, ordinary user | the same, user 65534 | {docker_user}
container, no capabilities | the same filter, none left | capabilities=none proc=docker seccomp=docker
container of docker before 20.10.10 | its filter refuses `clone3` with EPERM | seccomp=old-docker
no user namespaces | `user.max_user_namespaces=0`, user 65534 | namespaces=none {user}
user namespaces without capabilities | Ubuntu 24.04's AppArmor: no `mount`; user 65534 | {user} seccomp=apparmor
gVisor | the system calls that it lacks, and no FSGSBASE | variable=TEETOTAL_RUNTIME:{slow} seccomp=gvisor
Linux before 5.9 | newer system calls are missing | seccomp=old-kernel
no filters for system calls | `seccomp` and `prctl` refuse them | seccomp=no-filters
no FSGSBASE | AT_HWCAP2 without it, for the explorer | variable=TEETOTAL_RUNTIME:{slow}
512 MB of memory | a control group | group=512
memory that is counted | `ulimit -d`, 300 MB (as `vm.overcommit_memory=2`) | limit=data:300
`ulimit -v`, 2 TB | the limit | limit=as:2000000
`ulimit -v`, 100 GB | the limit | limit=as:100000
`ulimit -v`, 1 GB | the limit | limit=as:1000
`ulimit -u 30` | the limit, user 65534 | {user} limit=nproc:30
`ulimit -u 2` | the limit, user 65534 | {user} limit=nproc:2
`ulimit -n 32` | the limit | limit=nofile:32
`ulimit -n 10` | the limit | limit=nofile:10
`ulimit -s unlimited` | the limit | limit=stack:unlimited
`ulimit -l 0` | the limit | limit=memlock:0
`ulimit -f 0` | the limit | limit=fsize:0
processes of others hidden | `hidepid=2`, user 65534 | proc=hidepid {user}
`/proc` with processes alone | `subset=pid` | proc=pids
no `/proc` | an empty folder | proc=none
no `/dev/shm` | `/dev` as small as can be | shm=none
a small `/dev/shm` | 64 KB | shm=64k
no home | `HOME` is not set | variable=HOME
a home that is not there | `HOME=/nonexistent` | variable=HOME:/nonexistent
a home that can only be read | it lies in a file system that can only be read | mount=ro:{here} variable=HOME:{here}
`/tmp` is noexec | a file system | mount=tmpfs:/tmp:noexec
`/tmp` is noexec, in a container | the same, with docker's filter | mount=tmpfs:/tmp:noexec seccomp=docker
the same, with `TMPDIR` | `TMPDIR=/var/tmp` | mount=tmpfs:/tmp:noexec variable=TMPDIR:/var/tmp seccomp=docker
a full disk | `/tmp` has 64 KB | mount=tmpfs:/tmp:size=64k
nothing can be written to | all file systems can only be read | mount=ro:/
something mounted below `/tmp` | a file system | mount=tmpfs:/tmp:mode=1777 mount=new:/tmp/below
something mounted below the working folder | a file system | mount=new:{here}/below
addresses not randomised | `setarch -R` | randomise=off
addresses always randomised | `personality` is refused | seccomp=personality
one processor | `taskset -c 0` | processor=0
no UTF-8, a dumb terminal | `LC_ALL=POSIX`, `TERM=dumb`, `COLUMNS=60` | {plain}
no C compiler | an empty `PATH` | variable=PATH:/nonexistent
`vm.overcommit_memory=2` | a virtual machine with 2 GB | machine:overcommit
x86-64 without SSSE3 (2003), one processor | a virtual machine (`qemu64`) | machine:old
x86-64 of 2008: no AVX, no FSGSBASE | a virtual machine (`Nehalem`, `nofsgsbase`) | machine:second
600 MB of memory, one processor | a virtual machine | machine:small
addresses never randomised | `kernel.randomize_va_space=0` in a virtual machine | machine:fixed
heaps not randomised | `kernel.randomize_va_space=1` in a virtual machine | machine:half
WSL2's `/mnt/c` | the working folder lies on 9p, in a virtual machine | machine:9p
another processor (aarch64) | the explorer, which is not built there, is missing | absent={runtime}
"""


@dataclass
class Answer:
    """What a command answered: its status, what it found, and why if it refused."""

    status: int
    verdict: str | None
    why: str = ""
    lines: int = 0

    def cell(self, expected: Answer) -> str:
        if (self.status, self.verdict) == (expected.status, expected.verdict):
            return ""
        if self.status in (2, 3) and self.lines == 1:
            return self.why
        return f"WRONG: status {self.status}, {self.verdict}, {self.why}"


@dataclass
class Trial:
    python: str
    here: Path
    places: dict[str, str]
    reasons: list[str] = field(default_factory=list)
    wrong: bool = False

    def row(self, environment: str, expected: dict[str, list[Answer]]) -> str:
        name, how, steps_of_it = environment.split(" | ")
        steps = steps_of_it.format(**STEPS, **self.places).split()
        start = f"| {name} | {how} |"
        kind, _, machine = steps_of_it.partition(":")
        virtual = kind == "machine"
        if why := virtual_machine.why_not() if virtual else machines.why_not(steps):
            return f"{start} not imitated here: {why} |{' |' * (len(VERBS) - 1)}"
        answers = self.answers_of_machine(machine) if virtual else self.answers(steps)
        cells = [self.told(answers[verb], expected[verb]) for verb in VERBS]
        return f"{start} {' | '.join(cells)} |"

    def told(self, answers: Sequence[Answer], expected: Sequence[Answer]) -> str:
        found = [answer.cell(right) for answer, right in zip(answers, expected, strict=True)]
        self.wrong = self.wrong or any(cell.startswith("WRONG") for cell in found)
        numbers = dict.fromkeys(self.number(cell) for cell in found if cell)
        if not numbers:
            return "yes"
        some = "in part" if "" in found else "no"
        return f"{some}: {', '.join(f'[{number}]' for number in numbers)}"

    def number(self, reason: str) -> int:
        reason = re.sub(r":? '/[^']*'| in \['/.*", "", reason)  # of this machine
        for file in PROGRAMS:
            reason = re.sub(rf"[^\s:]*\b{re.escape(file)}", "FILE", reason)
        if reason not in self.reasons:
            self.reasons.append(reason)
        return self.reasons.index(reason) + 1

    def answers(self, steps: Sequence[str]) -> dict[str, list[Answer]]:
        return {verb: [self.answer(steps, words) for words in commands] for verb, commands in VERBS.items()}

    def answer(self, steps: Sequence[str], words: Sequence[str]) -> Answer:
        command = machines.command(steps, self.python, *words)
        done = subprocess.run(
            command, cwd=self.here, capture_output=True, text=True, check=False, timeout=PATIENCE, errors="replace"
        )
        return answer_of(words, done.returncode, done.stdout, done.stderr)

    def answers_of_machine(self, how: str) -> dict[str, list[Answer]]:
        """Those of a virtual machine: ``how`` are arguments of its ``run``."""
        commands = [[self.python, *words] for verb in VERBS for words in VERBS[verb]]
        results = iter(virtual_machine.run(commands, self.here, python=self.python, **MACHINES[how]))
        return {verb: [answer_of(words, *next(results)) for words in VERBS[verb]] for verb in VERBS}


def answer_of(words: Sequence[str], status: int, output: str, errors: str) -> Answer:
    verdict, reasons = None, [line for line in errors.splitlines() if line.strip()]
    for line in output.splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            verdict = told.get("verdict")
            reasons = reasons or told.get("notes", [])[:1]
    if "pytest" in words and status != 0:
        found = [line for line in output.splitlines() if line.startswith(("E  ", "FAILED", "ERROR"))]
        reasons = found[:1] or [f"pytest itself: {reasons[-1] if reasons else 'nothing is said'}"]
        status = 2
    return Answer(status, verdict, *_reason(reasons))


def _reason(lines: Sequence[str]) -> tuple[str, int]:
    return (lines[-1].removeprefix("teetotal: ") if lines else "nothing is said", len(lines))


def table(trial: Trial, only: str) -> str:
    expected = trial.answers([])
    if any(answer.status not in (0, 1, 3) for answers in expected.values() for answer in answers):
        raise SystemExit(f"this machine itself does not answer: {expected}")
    rows = [trial.row(one, expected) for one in ENVIRONMENTS.strip().splitlines() if only in one.partition(" | ")[0]]
    head = ["environment", "how imitated", *VERBS]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *rows]
    reasons = [f"{number}. {reason}" for number, reason in enumerate(trial.reasons, 1)]
    here = f"{platform.freedesktop_os_release().get('PRETTY_NAME', 'Linux')}, Linux {platform.release().split('-')[0]}"
    return "\n".join([f"Tried on {date.today()} ({here}).", "", *lines, "", "What is said:", "", *reasons])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose names have this in them")
    parser.add_argument("--python", default=sys.executable, help="the interpreter whose teetotal is tried")
    parser.add_argument("--write", action="store_true", help="into the page")
    options = parser.parse_args()
    found = "from teetotal.programs.c.build import installed as i; print(i('teetotal-runtime'))"
    runtime = subprocess.run([options.python, "-c", found], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="environments-") as name:
        here = Path(name, "here")
        here.mkdir()
        Path(name).chmod(0o755)
        here.chmod(0o777)
        (here / "below").mkdir()
        for file, text in PROGRAMS.items():
            (here / file).write_text(text)
        slow = Path(name, "runtime")
        slow.write_text(f'#!/bin/sh\nexec {" ".join(machines.command(["hwcap2=0"], runtime))} "$@"\n')
        slow.chmod(0o755)
        trial = Trial(options.python, here, {"here": str(here), "runtime": runtime, "slow": str(slow)})
        text = table(trial, options.only)
    if options.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")
    else:
        print(text)
    return 1 if trial.wrong else 0


if __name__ == "__main__":
    assert shutil.which("cc"), "a C compiler is needed"
    sys.exit(main())
