"""What progress looks like on a terminal, for each verb that may take long: tmux has the terminal, and what it shows is
captured. ``python tests/captures.py`` writes docs/pictures/progress.txt."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE = 120
"""Seconds after which nothing will be shown any more, on however busy a machine."""
LOOPS = """bit x, y, z;
active proctype P() { do :: x = 1; x = 0 od }
active proctype Q() { do :: y = 1; y = 0 od }
active proctype R() { do :: z = 1; z = 0 od }
"""

COMMANDS = {
    "check": "check msn.c --model tso -- -DLONG=3 -DROUNDS=2",
    "fence": "fence msn.c --model tso -- -DLONG=3 -DROUNDS=2",
    "verify": "verify loops.pml --engine bounded:200",
    "history": "history hard.axe --model sc",
    "monitor": "monitor long.jsonl",
    "record hardware": "record hardware --rounds 100000000 --output recorded",
    "record simulate": "record simulate --count 10000000 --output recorded",
    "record program": "record program msn.c --count 1000000 --output recorded",
    "reproduce": "reproduce netys20",
}
"""Each takes minutes, if nobody ends it."""
SHOWN = re.compile(r"^\S.*?: (\d[\d,]* \S.*|\d+ (s|min) so far)$", re.MULTILINE)
"""A line with a name and a count, or the time that has passed."""


def prepare(folder: Path) -> None:
    """The files that the commands read."""
    from teetotal.histories.generate import to_axe
    from teetotal.histories.hard import formula, random_formula

    for name in ("msn.c", "bench.h"):
        shutil.copy(ROOT / "benchmarks" / "programs" / name, folder)
    (folder / "loops.pml").write_text(LOOPS)
    (folder / "hard.axe").write_text(to_axe(formula(random_formula(120, 511, 1), "hard")))
    lines = [f'{{"thread":{i % 3},"kind":"st","address":"x{i % 7}","value":{i}}}\n' for i in range(3000)]
    with (folder / "long.jsonl").open("w") as file:
        file.write('{"format":"teetotal-trace","version":1}\n')
        for _ in range(1500):
            file.writelines(lines)


def captured(verb: str, folder: Path, *, columns: int = 80, later: float = 0.0) -> str:
    """The first screen with progress on it that is there so many seconds after the first word."""
    server = ["tmux", "-L", f"teetotal-{os.getpid()}-{verb.replace(' ', '-')}"]
    command = f"cd {shlex.quote(str(folder))} && exec {shlex.quote(sys.executable)} -m teetotal {COMMANDS[verb]}"
    subprocess.run(
        [*server, "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", "24", command], check=True
    )
    try:
        end = time.monotonic() + PATIENCE
        screen = ""
        while time.monotonic() < end:
            shown = subprocess.run([*server, "capture-pane", "-p"], capture_output=True, text=True, check=False)
            if shown.returncode:  # it has ended
                break
            screen = shown.stdout
            if SHOWN.search(screen):
                if later <= 0:
                    return screen
                time.sleep(later)
                later = 0
            time.sleep(0.1)
        raise AssertionError(f"{verb} shows nothing of what it does:\n{screen}")
    finally:
        subprocess.run([*server, "kill-server"], capture_output=True, check=False)


def main() -> None:
    target = ROOT / "docs" / "pictures" / "progress.txt"
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        told = []
        for verb, command in COMMANDS.items():
            (line, *_) = SHOWN.finditer(captured(verb, Path(folder), later=4.0))
            told.append(f"$ teetotal {command}\n{line[0]}\n")
    target.write_text("\n".join(told))


if __name__ == "__main__":
    main()
