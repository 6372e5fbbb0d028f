"""The machines that people run teetotal on, imitated: what five verbs answer there, as a table in
docs/reference/platforms.md.

    python packaging/environments.py [--only WORD] [--teetotal COMMAND] [--write]

Each row starts the commands through tests/machines.py, which says how each machine is imitated, and compares answers with
those of this machine as it is. Rows that need root are left out, and named, where it is not to be had. ``--write`` puts the
table into the page; without it the table goes to standard output. The exit status is 1 if any answer is neither the right
one nor a refusal in one line.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import machines  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "platforms.md"
BEGIN, END = "<!-- environments -->", "<!-- /environments -->"
VERBS = ("check", "fence", "history", "verify", "pytest")
PATIENCE = 300
"""Seconds for a command, which takes one or two here."""
WORK = "/tmp/teetotal-environment"

SAFE = """
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
"""
LITMUS = """X86_64 R
{ }
 P0          | P1            ;
 movq $1,(x) | movq $2,(y)   ;
 movq $1,(y) | movq (x),%rax ;
exists (y=2 /\\ 1:rax=0)
"""
PROMELA = """
int x, y, a, b;
active proctype left() { x = 1; a = y; }
active proctype right() { y = 1; b = x; }
"""


@dataclass(frozen=True)
class Environment:
    """``steps`` are of tests/machines.py. ``after`` is done in the folder of the programs."""

    name: str
    how: str
    steps: tuple[str, ...]
    folder: str = WORK
    words: tuple[str, ...] = ()
    """What is put before the command."""


ENVIRONMENTS = (
    Environment("container, root", "docker's seccomp profile, capabilities and masked /proc", ("capabilities=docker", "proc=docker", "seccomp=docker")),
    Environment("container, ordinary user", "the same, user 65534", ("capabilities=docker", "proc=docker", "user=65534", "seccomp=docker")),
)  # fmt: skip


@dataclass
class Answer:
    """What a command answered: its exit status, and its last line of text."""

    status: int
    verdict: str | None
    line: str
    lines: int = 1
    notes: list[str] = field(default_factory=list)

    @property
    def refused(self) -> bool:
        return self.status in (2, 3) and self.lines == 1


def answer_of(done: subprocess.CompletedProcess[str]) -> Answer:
    verdict = None
    notes: list[str] = []
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            verdict = told.get("verdict")
            notes = told.get("notes", [])
    said = [line for line in done.stderr.splitlines() if line.strip()]
    line = (said or notes or done.stdout.splitlines() or [""])[-1]
    return Answer(done.returncode, verdict, line, len(said) or 1, notes)
