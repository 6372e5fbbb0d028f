"""Under SC our verdicts are SPIN's: on the programs of benchmarks/promela/ and on random small ones.

SPIN comes from Debian (``apt-get install spin``); without it, or without a C compiler, these tests are skipped.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from amounts import some
from symbolic_programs import NAMES, PROGRAMS, random_program
from teetotal.answers.events import Kind
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.verify import verify
from teetotal.fences.promela import patched
from teetotal.programs.promela import compile_text, load

pytestmark = [
    pytest.mark.skipif(shutil.which("spin") is None, reason="SPIN is not installed (apt-get install spin)"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="SPIN needs a C compiler"),
]


COMPILER = "gcc" if shutil.which("clang") is None else "clang"
"""clang is the faster one where nothing is optimised."""


def spin_finds_an_error(text: str, folder: Path) -> bool:
    """SPIN's exhaustive verdict about assertions and forbidden states; deadlocks do not count."""
    shutil.copy(PROGRAMS / "teetotal.h", folder)
    (folder / "model.pml").write_text(text)

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
        return done.stdout

    run("spin", "-a", "model.pml")
    run(COMPILER, "-DSAFETY", "-DNOREDUCE", "-w", "-O0", "-o", "pan", "pan.c")
    output = run("./pan", "-E", "-m1000000", "-w18")  # a table as large as by default takes longer than the search
    found = re.search(r"errors: (\d+)", output)
    assert found is not None, output
    if int(found[1]) == 0:
        assert "max search depth too small" not in output, "SPIN's search was cut"
    return int(found[1]) > 0


def ours(text: str) -> bool:
    outcome = verify(compile_text(text), "sc", budget=Budget(seconds=30))
    assert outcome.verdict is not Verdict.INCONCLUSIVE
    return outcome.verdict is Verdict.VIOLATION


@pytest.mark.parametrize("name", NAMES)
def test_programs(name: str, tmp_path: Path) -> None:
    program = load(PROGRAMS / f"{name}.pml")
    assert spin_finds_an_error(program.text, tmp_path) is False
    assert verify(program, "sc").verdict is Verdict.SAFE


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("peterson", "turn = other;", "skip;"),
        ("dekker", ":: flag[other] == 0 -> break", ":: flag[other] == 0 || turn == _pid -> break"),
        ("burns", "flag[1] = 1;", "skip;"),
        ("bakery", "mine == his && _pid < other", "mine == his"),
        ("ticket", "fetch_add(mine, ticket, 1)", "mine = ticket; ticket = mine + 1"),
        ("clh", "xchg(before, tail, mine)", "before = tail; tail = mine"),
        ("treiber", "cas(done, top, old, after)", "top = after; done = 1"),
        ("spsc", "(at + 1) % SIZE != taken", "at + 1 != SIZE || taken == 0"),
        ("increasing_sequence", "first <= second", "first < second || first == 0"),
        ("mcs", "locked[me] == 0", "skip"),
    ],
)
def test_broken_programs(name: str, old: str, new: str, tmp_path: Path) -> None:
    text = (PROGRAMS / f"{name}.pml").read_text()
    assert old in text
    broken = text.replace(old, new)
    assert spin_finds_an_error(broken, tmp_path) == ours(broken)


def test_fences_change_nothing_under_sc(tmp_path: Path) -> None:
    program = load(PROGRAMS / "lamport_fast.pml")
    fences = frozenset(i for i, site in enumerate(program.sites) if site.kind in (Kind.MFENCE, Kind.SFENCE))
    assert spin_finds_an_error(patched(program, fences).text, tmp_path) is False


@pytest.mark.parametrize("number", range(some(25, least=12)))
def test_random_programs(number: int, tmp_path: Path) -> None:
    text = random_program(Random(number).randrange(10**6), loops=number % 2 == 0)
    assert spin_finds_an_error(text, tmp_path) == ours(text)


LANGUAGE = {
    "types wrap": "byte x = 255; active proctype P() { byte a; a = x; a++; assert(a == 0) }",
    "short": "active proctype P() { short s = 32767; s = s + 1; assert(s < 0) }",
    "mtype order": "mtype = { a, b, c }; active proctype P() { assert(a > b && b > c && c == 1) }",
    "division": "active proctype P() { int i = 0 - 7; assert(i / 2 == 0 - 3); assert(i % 2 == 0 - 1) }",
    "else": "byte x; active proctype P() { if :: x == 1 -> assert(false) :: else -> skip fi }",
    "choice": "active proctype P() { if :: true -> skip :: true -> assert(false) fi }",
    "for": "byte x; active proctype P() { byte i, s; for (i : 1 .. 3) { s = s + i } assert(s == 6) }",
    "blocks that end with an rmw": """#include "teetotal.h"
        byte x, y, z; active proctype P() { byte r; atomic { r = x; r = z; xchg(r, y, 1) } x = 1; z = 1; atomic { y = 2 } }
        active proctype Q() { byte a, b; a = x; b = z; assert(!(a == 1 && b == 0)) }""",
    "rmws inside blocks": """#include "teetotal.h"
        byte x;
        active [2] proctype P() { byte r, s; d_step { fetch_add(r, x, 1); s = x; cas(r, x, s, 0) } assert(x == 0) }""",
    "a macro in its argument": """#define MAX(a, b) (a > b -> a : b)
        active proctype P() { byte r = 2; assert(MAX(MAX(1, r), MAX(r, 1)) == 2) }""",
    "select": "active proctype P() { byte i; select(i : 2 .. 4); assert(i != 3) }",
    "init": """byte x; proctype P(byte v) { x = x + v; assert(x < 4) }
        init { byte i; x = 3; do :: i < 2 -> run P(i); i++ :: else -> break od }""",
    "pids": "init { atomic { run P(); run P() } } proctype P() { assert(_pid == 1 || _pid == 2) }",
    "inline": "byte x; inline add(v, n) { v = v + n } active proctype P() { byte a; add(a, 2); add(a, 3); assert(a == 5) }",
    "atomic": "byte x; active [2] proctype P() { byte a; atomic { a = x; x = a + 1 } assert(x < 3) }",
    "racy": "byte x; active [2] proctype P() { byte a; a = x; x = a + 1; end: skip }",
    "conditional": "byte x = 2; active proctype P() { byte a; a = (x > 1 -> 5 : 6); assert(a == 5) }",
    "local arrays": "active proctype P() { byte v[3]; byte i = 1; v[i] = 7; assert(v[1] == 7 && v[i] == 7 && v[0] == 0) }",
    "d_step waits": """bit x; byte y; active proctype P() { atomic { x == 1 -> y = 2 } assert(y == 2) }
        active proctype Q() { x = 1 }""",
}


@pytest.mark.parametrize("what", LANGUAGE)
def test_language(what: str, tmp_path: Path) -> None:
    assert spin_finds_an_error(LANGUAGE[what], tmp_path) == ours(LANGUAGE[what])
