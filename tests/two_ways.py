"""Checks programs the two ways in which they can be seen, and says where the answers differ.

    python tests/two_ways.py FILE...            what differs, then how many programs of which class, and seconds

The battery compares itself: ``TEETOTAL_SEE=ir python -m battery 'clang$'`` prints what is not as it is on record.

Through the compiler's assembly is the old way, through LLVM's IR the new one (docs/explanation/seeing.md). Classes: the
verdict (the worst), what is named as not seen, the number of executions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

Answer = dict[str, Any]
WAYS = ("assembly", "ir")
EXPLORED = ("robust", "safe", "race_free", "portable")


class Compared(NamedTuple):
    program: str
    difference: str
    details: str
    seconds: tuple[float, float]


def answer(files: Sequence[str], way: str, options: Sequence[str], limit: float) -> tuple[Answer, float]:
    environment = {**os.environ, "TEETOTAL_SEE": way}
    command = [str(Path(sys.executable).parent / "teetotal"), "check", "--json", *options, *files]
    if "--" in options:
        at = command.index("--")
        command = [*command[:at], *files, *command[at : -len(files)]]
    begun = time.monotonic()
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, errors="replace", timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return {"verdict": "timeout"}, limit
    seconds = time.monotonic() - begun
    try:
        return {**json.loads(done.stdout), "status": done.returncode}, seconds
    except ValueError:
        return {"verdict": "error", "said": done.stderr.strip()[-300:], "status": done.returncode}, seconds


def outcome(told: Answer) -> dict[str, Any]:
    """What must be the same."""
    models = told.get("models", {})
    found: dict[str, Any] = {"verdict": told.get("verdict")}
    for model, one in models.items():
        found[model] = {key: one[key] for key in ("verdict", *EXPLORED) if key in one}
    return found


def named(told: Answer) -> list[str]:
    return sorted({str(one.get("what")) for one in told.get("unseen", [])})


def counts(told: Answer) -> dict[str, Any]:
    return {key: told.get(key) for key in ("executions", "blocked") if key in told} | {
        f"{model} {key}": one[key]
        for model, one in told.get("models", {}).items()
        for key in ("executions", "blocked", "states")
        if key in one
    }


def compare(files: Sequence[str], options: Sequence[str], limit: float) -> Compared:
    told, seconds = zip(*(answer(files, way, options, limit) for way in WAYS), strict=True)
    old, new = told
    difference, details = "none", ""
    if outcome(old) != outcome(new):
        difference = f"verdict: {old.get('verdict')}, now {new.get('verdict')}"
        details = f"{outcome(old)}\n  {outcome(new)}\n  {old.get('said', '')}\n  {new.get('said', '')}"
        details += f"\n  was named: {named(old)}\n  is named:  {named(new)}"
    elif named(old) != named(new):
        difference = "named: " + ("more" if set(named(new)) > set(named(old)) else "others")
        details = f"{named(old)}\n  {named(new)}"
    elif counts(old) != counts(new):
        difference = "executions"
        details = f"{counts(old)}\n  {counts(new)}"
    return Compared(" ".join(files), difference, details, (seconds[0], seconds[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--cc", default="clang")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each")
    parser.add_argument("--options", default="", help="for check, in one word")
    asked = parser.parse_args()
    options = ["--cc", asked.cc, *asked.options.split()]
    found: Counter[str] = Counter()
    sums = [0.0, 0.0]
    with ThreadPoolExecutor(asked.jobs) as pool:
        for one in pool.map(lambda file: compare([file], options, asked.limit), asked.files):
            found[one.difference] += 1
            sums = [sum_ + seconds for sum_, seconds in zip(sums, one.seconds, strict=True)]
            if one.difference != "none":
                print(f"{one.program}: {one.difference}\n  {one.details}", flush=True)
    for difference, times in found.most_common():
        print(f"{times:6} {difference}")
    print(f"seconds: {sums[0]:.1f} through assembly, {sums[1]:.1f} through IR")


if __name__ == "__main__":
    main()
