"""Killed at random moments, and gone on with: ``python tests/fuzz_kills.py [KILLS] [--seed S] [--only WORD]``.

Each question is asked once without a checkpoint, and then with one, by two workers; all processes are killed (SIGKILL) at
a moment drawn from the time that it takes, and the same command goes on (``--resume``) until it comes to its end. Then it
must have told what it told at first, counts included; and so again, until so many KILLS (50) have been survived. Slices of
explorations are a tenth of a second instead of four, so that short questions have much to keep on their way.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from long_questions import buffering_after, history_of_rounds
from teetotal.histories.generate import random_history, to_axe

TIMES = ("seconds", "cpu")
TEETOTAL = """
from teetotal.cli import main, scaling
from teetotal.scale.scale import Scale, Slice
scaling.Scale = lambda *given: Scale(*given, slice=Slice(0.1))
main()
"""
PAIRS = """
from teetotal import ld, program, st
def left():
    for _ in range(6):
        r = yield ld("x")
        yield st("x", 1)
def right():
    for _ in range(6):
        r = yield ld("x")
        yield st("x", 2)
pairs = program(left(), right(), x=0, exists="left.r == 1")
"""


def questions(folder: Path) -> dict[str, list[str]]:
    """None takes long, and each has much to keep on the way. Where a time would end a search, no time is given."""
    long, short = folder / "long.c", folder / "short.c"
    long.write_text(buffering_after(5))
    short.write_text(buffering_after(3))
    buffered = folder / "buffered.c"
    buffered.write_text(buffering_after(4))
    litmus = folder / "pairs.litmus"
    rows = "\n".join(" MOV EAX,[x] | MOV EAX,[x] ;\n MOV [x],$1 | MOV [x],$2 ;" for _ in range(6))
    litmus.write_text(f"X86 pairs\n{{ x=0; }}\n P0 | P1 ;\n{rows}\nexists (x=1)\n")
    histories = folder / "histories.axe"
    drawn = (random_history(threads=8, addresses=16, operations=600, seed=seed) for seed in range(600))
    histories.write_text("".join(map(to_axe, drawn)))
    large = folder / "large.axe"
    large.write_text(history_of_rounds(8, 50_000))
    python = folder / "pairs.py"
    python.write_text(PAIRS)
    return {
        "check, C": ["check", "--triage", "0", str(long)],
        "check, C, store buffers": ["check", "--goal", "safe", "--triage", "0", "--model", "pso", str(buffered)],
        "check, C, random walks": ["check", "--triage", "0", "--explore", "random:150000", str(long)],
        "check, litmus": ["check", str(litmus)],
        "check, litmus, random walks": ["check", "--explore", "random:150000", str(litmus)],
        "check, litmus, pct": ["check", "--explore", "pct:150000:3", str(litmus)],
        "check, Python, random walks": ["check", "--explore", "random:150000", str(python)],
        "check, Python, pct": ["check", "--explore", "pct:150000:3", str(python)],
        "history": ["history", "--no-order", "--model", "sc,tso,pso", str(histories)],
        "history, one in parts": ["history", "--no-order", str(large)],
        "fence": ["fence", str(short)],
    }


def told(output: str) -> list[str]:
    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: strip(part) for name, part in value.items() if name not in TIMES}
        return [strip(part) for part in value] if isinstance(value, list) else value

    return sorted(json.dumps(strip(json.loads(line)), sort_keys=True) for line in output.splitlines())


def started(words: list[str], *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", TEETOTAL, words[0], "--json", *options, *words[1:]]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def survived(name: str, words: list[str], kills: int, folder: Path, chance: random.Random) -> bool:
    """Whether all answers were the first one."""
    began = time.monotonic()
    first = started(words, "--workers", "2")
    output, errors = first.communicate()
    seconds = time.monotonic() - began
    if first.returncode not in (0, 1, 3):
        raise SystemExit(f"{name}: {errors}")
    expected = told(output)
    killed = ends = 0
    while killed < kills:
        kept = folder / f"{name.replace(' ', '_')}.{ends}.db"
        while True:
            run = started(words, "--workers", "2", "--checkpoint", str(kept), "--resume")
            try:
                output, errors = run.communicate(timeout=chance.uniform(0, seconds) if killed < kills else None)
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                run.communicate()
                killed += 1
                continue
            break
        ends += 1
        if run.returncode != first.returncode or told(output) != expected:
            print(f"{name}: after {killed} kills, status {run.returncode}: another answer\n{errors}", flush=True)
            return False
    print(f"{name:28}{killed:6} kills{ends:6} ends, all the same", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kills", type=int, nargs="?", default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asked = {name: words for name, words in questions(Path(folder)).items() if given.only in name}
        return int(
            not all(
                survived(name, words, given.kills, Path(folder), random.Random(f"{given.seed} {name}"))
                for name, words in asked.items()
            )
        )


if __name__ == "__main__":
    sys.exit(main())
