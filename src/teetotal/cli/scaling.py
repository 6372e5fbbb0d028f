"""Who helps, and what is kept: ``--cluster``, ``--checkpoint``, ``--resume``, ``--stats`` and ``--log``, the same on every
verb that has work for many."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from teetotal.answers.errors import OutputError, TeetotalError
from teetotal.answers.options import Options, ProgramOptions
from teetotal.cli import outputs
from teetotal.cli.telling import noted, said
from teetotal.scale.crew import Log, lines_about
from teetotal.scale.digest import digest
from teetotal.scale.scale import Scale

Command = TypeVar("Command", bound=Callable[..., Any])
_INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"\n]+)"', re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+([\w.]+)", re.MULTILINE)


def scale_options(command: Command) -> Command:
    for option in (
        click.option("--log", metavar="FILE", expose_value=False, callback=noted,
                     help="Tell in a file who does what, and when: one JSON object a line (- : standard error)."),
        click.option("--stats", is_flag=True, expose_value=False, callback=noted,
                     help="Tell on standard error what each worker did, and how long it was idle."),
        click.option("--resume", is_flag=True, expose_value=False, callback=noted,
                     help="Go on with what is in the checkpoint."),
        click.option("--checkpoint", metavar="FILE", expose_value=False, callback=noted,
                     help="Keep what is known so far in a file, to go on with after an accident."),
        click.option("--cluster", metavar="ADDRESS", expose_value=False, callback=noted,
                     help="Workers of a Ray cluster (auto: the one that is found; local: one on this machine)."),
    ):  # fmt: skip
        command = option(command)
    return command


@contextmanager
def helping(verb: str, workers: int, files: Sequence[str], *asked: Options) -> Iterator[Scale]:
    """Who helps with a question about the files. Its checkpoint belongs to it alone."""
    path, resume = said("checkpoint"), bool(said("resume"))
    if resume and path is None:
        raise click.UsageError("--resume goes on with a checkpoint: it needs --checkpoint")
    checkpoint = None
    if path is not None:
        questions = [msgspec.structs.replace(options, **_limits(options)) for options in asked]
        words = [msgspec.json.encode(options, enc_hook=str) for options in questions]
        from teetotal.scale.checkpoint import Checkpoint  # with SQLite

        whole = digest(verb.encode(), *words, *_contents(files), *_as_compiled(files, asked))
        checkpoint = Checkpoint(path, f"teetotal {verb} {' '.join(files)}", whole, resume=resume)
    try:
        log = Log(said("log"))
    except OSError as error:
        raise OutputError(f"cannot write the log {said('log')}: {error.strerror}") from error
    scale = Scale(workers, said("cluster"), checkpoint, log)
    began = time.monotonic()
    scale.look_for_cluster()
    try:
        yield scale
    finally:
        seconds = time.monotonic() - began
        tallies = [msgspec.to_builtins(tally) for tally in scale.tallies]
        scale.log("end", seconds=round(seconds, 3), beside=round(scale.beside, 3), workers=tallies)
        if said("stats"):
            for line in [*lines_about(scale.tallies, seconds), *scale.notes]:
                click.echo(f"teetotal: {line}", err=True)
        log.close()
        if log.trouble:
            outputs.complain_of(OutputError(log.trouble))
        if checkpoint is not None:
            checkpoint.close()


def _limits(options: Options) -> dict[str, Any]:
    """What may be another the next time, since no answer depends on it that is kept."""
    return {"seconds": 0.0} | ({"max_megabytes": 0} if hasattr(options, "max_megabytes") else {})


def _as_compiled(files: Sequence[str], asked: Sequence[Options]) -> Iterator[bytes]:
    """Of C files: what the preprocessor makes of them, wherever that comes from; what the compiler says of itself; and the
    files that its flags name."""
    from teetotal.programs.files import is_c

    found = [file for file in files if is_c(file) and Path(file).is_file()]  # a pipe could be read only once
    for options in (options for options in asked if found and isinstance(options, ProgramOptions)):
        from teetotal.programs.c.build import Source, expanded, preprocessed

        for file in found:
            source = Source((file,), options.flags, options.compiler)
            with suppress(TeetotalError, OSError):  # whoever compiles it will say what is wrong with it
                yield expanded(source, file).encode(errors="surrogateescape")
                yield preprocessed(source, file).macros.encode(errors="surrogateescape")
        for flag in options.flags:
            with suppress(OSError, ValueError):
                if Path(flag).is_file():  # and no device, which has no end
                    yield Path(flag).read_bytes()


def _contents(files: Sequence[str]) -> list[bytes]:
    """Of the files, and of those beside them that they include, or import."""
    seen: dict[Path, bytes] = {}

    def read(path: Path) -> None:
        if path in seen or not path.is_file():  # a pipe could be read only once, and a device has no end
            return
        with suppress(OSError):  # whoever reads the file will say what is wrong with it
            seen[path] = contents = path.read_bytes()
            for name in _INCLUDE.findall(contents):
                read(path.parent / name.decode(errors="surrogateescape"))
            for module in _IMPORT.findall(contents) if path.suffix == ".py" else ():
                beside = path.parent.joinpath(*module.decode().split("."))
                read(beside.with_suffix(".py"))
                read(beside / "__init__.py")

    for file in files:
        read(Path(file))
    return [part for path, contents in sorted(seen.items()) for part in (bytes(path), contents)]
