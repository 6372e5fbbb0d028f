"""Long scripts that go on after an interrupt: ``--state FILE`` keeps how far one has come, and the same command goes on.

A script asks ``begin`` what is known, and tells ``done`` after each piece. The file appears whole or not at all, at most a
second behind, and is gone when the script has come to its end. What a script found wrong is told again by going on: the
piece that was wrong is not done. The seed is the file's, so that ``--seed $(date +%s)`` goes on too; all else must be as
it was.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

EVERY = 1.0
"""Seconds between two looks at the disk."""


def add_state(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", metavar="FILE", help="keep there how far it is, and go on with what is there")


def _read(path: Path) -> dict[str, Any]:
    """What an earlier run has kept there, and nothing else: it would be written over."""
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        sys.exit(f"{path}: no state of a script: {error}")
    match kept:
        case {"asked": dict(), "seed": _, "known": dict()} if len(kept) == 3:
            return kept
    sys.exit(f"{path}: no state of a script")


class State:
    """Of a script with these arguments; without a ``--state`` nothing is kept."""

    def __init__(self, given: argparse.Namespace, free: tuple[str, ...] = ("seconds", "jobs")) -> None:
        self.path = None if given.state is None else Path(given.state)
        asked = {name: value for name, value in vars(given).items() if name not in ("state", "seed", *free)}
        self.kept: dict[str, Any] = {"asked": json.loads(json.dumps(asked)), "seed": getattr(given, "seed", None)}
        self.known: dict[str, Any] = {}
        self.written = -EVERY
        if self.path is not None and self.path.exists():
            kept = _read(self.path)
            if kept["asked"] != self.kept["asked"]:
                sys.exit(f"{self.path} is of another question: {kept['asked']}")
            self.kept, self.known = kept, kept["known"]
            print(f"{self.path}: goes on", file=sys.stderr, flush=True)
        self.seed = self.kept["seed"]

    def done(self, **known: Any) -> None:
        self.known = known
        if time.monotonic() - self.written >= EVERY:
            self.write()

    def write(self) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_name(f"{self.path.name}.{os.getpid()}")
            beside.write_text(json.dumps({**self.kept, "known": self.known}))
            beside.replace(self.path)
            self.written = time.monotonic()

    def __enter__(self) -> State:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """An interrupt, or something that went wrong, keeps the latest."""
        if kind is not None and self.known:
            self.write()

    def end(self) -> None:
        """All is done: the next time is a new one."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
