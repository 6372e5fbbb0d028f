"""``-`` for standard input, on every verb that reads files: what comes from there is put into a file, and told by the name
that ``--stdin-filename`` gives it, as if it lay here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial, wraps
from pathlib import PurePath
from typing import Any

import click

from teetotal.programs.text_files import LARGEST
from teetotal.report import streams
from teetotal.scale.supervision import scratch_folder, watching

NAMES: dict[str, str | None] = {
    "check": None,
    "fence": None,
    "replay": None,
    "verify": "stdin.pml",
    "history": "stdin",
    "record program": None,
    "record hardware": "stdin.litmus",
}
"""From verb to what standard input is called; None: only the user knows what it holds."""


def accept(verb: str, command: click.Command) -> None:
    """A verb that reads files reads standard input, too. Those that do so by themselves are not here."""
    if verb not in NAMES:
        return
    assert command.callback is not None
    for parameter in command.params:
        if isinstance(parameter, click.Argument) and isinstance(parameter.type, click.Path):
            parameter.type.allow_dash = True
    default = NAMES[verb]
    command.params.append(
        click.Option(
            ["--stdin-filename", "stdin_name"],
            metavar="NAME",
            default=default,
            help="What standard input (-) is called" + ("; its suffix says what it is." if default is None else "."),
        )
    )
    command.callback = _reading(verb, command.callback)


def _reading(verb: str, callback: Callable[..., int]) -> Callable[..., int]:
    @wraps(callback)
    def run(stdin_name: str | None, **parameters: Any) -> int:
        key = next(name for name in ("paths", "files", "test") if name in parameters)
        paths: tuple[str, ...] = parameters[key] if key != "test" else (parameters[key],)
        if "-" not in paths:
            return callback(**parameters)
        if paths.count("-") > 1:
            raise click.UsageError("standard input can be read only once")
        if stdin_name is None:
            raise click.UsageError("what is on standard input? --stdin-filename says, as in --stdin-filename queue.c")
        if parameters.get("write"):
            raise click.UsageError("--write: standard input cannot be patched")
        from teetotal.answers.answer import Undecided
        from teetotal.checking import TIME_IS_OVER
        from teetotal.cli.budget import told

        with scratch_folder() as folder:
            file = os.path.join(folder, _name(stdin_name))
            seconds = parameters.get("seconds")
            late = Undecided(input=stdin_name, command=verb, notes=[TIME_IS_OVER], seconds=seconds)
            with watching(seconds, late=told(late, bool(parameters.get("as_json")))):  # nobody knows how long it takes
                if verb == "history":
                    _keep(file, partial(_refuse_no_history, stdin_name, parameters.get("format")))
                else:
                    _keep(file, lambda kept, piece: kept <= LARGEST)  # one more is too much, as whoever reads it says
            streams.call(file, stdin_name)
            parameters[key] = tuple(file if path == "-" else path for path in paths) if key != "test" else file
            return callback(**parameters)

    return run


def _keep(file: str, goes_on: Callable[[int, bytes], bool]) -> None:
    """What comes may have no end: ``goes_on`` is asked about each piece, with how much there is by then."""
    total = 0
    with open(file, "wb") as kept:
        while piece := sys.stdin.buffer.read(1 << 20):
            kept.write(piece)
            total += len(piece)
            if not goes_on(total, piece):
                return


def _refuse_no_history(name: str, format: str | None, kept: int, piece: bytes) -> bool:
    """By its first bytes, as of a file; and where it is too much for this machine, before the disk is full."""
    from teetotal.histories import readers

    if format is None and kept == len(piece):
        readers.detect(piece[: readers.BEGINNING], name)
    readers.refuse_too_large(name, kept, format)
    return True


def _name(given: str) -> str:
    name = PurePath(given).name
    if not name or name == ".." or "\0" in name:
        raise click.UsageError(f"--stdin-filename {given}: a file cannot be called so")
    return name
