"""The command line: one file per verb, loaded only when that verb is called.

Exit status: 0 safe, 1 violation, 2 bad usage or input, 3 inconclusive, 70 internal error, 130 interrupted, 141 nobody
reads the output.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
import time
from functools import cache

import click

from teetotal.answers.errors import TeetotalError
from teetotal.answers.surroundings import advice
from teetotal.answers.version import VERSION
from teetotal.report import streams
from teetotal.scale import supervision
from teetotal.scale.processes import age

VERBS = {
    "check": "robust and safe on TSO and PSO? (C, C++, litmus, Python, Promela)",
    "fence": "the fewest fences, written back into the source",
    "history": "is a recorded history SC, TSO or PSO?",
    "monitor": "the monitors over a recorded SC trace",
    "replay": "one execution again, step by step",
    "cflags": "compiler flags for libraries that a check of C sees into",
    "record": "histories from this machine's processors, simulated ones, and databases",
    "generate": "litmus tests from critical cycles, random programs, random and hard histories",
    "verify": "Promela programs with unbounded store buffers; fence insertion",
    "reproduce": "the papers' tables, ours beside theirs",
    "completion": "the script that makes a shell complete verbs, options and values",
    "man": "the manual page",
    "report": "what --json printed, as a page",
    "schema": "the JSON schema of every answer",
}
"""Verb → what it is for. The verb ``v`` is the command ``v`` of the module ``teetotal.cli.v``."""

WITHOUT_ANSWERS = ("cflags", "completion", "generate", "man", "record", "schema")


_WITHOUT_BUDGET = ("check", "generate", "record", "completion", "man")
"""Verbs that need none, or have one for each of their inputs."""


class Verbs(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return _command(name) if name in VERBS else None

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name not in VERBS and not name.startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(name, VERBS, n=2, cutoff=0.65)
            files = f"\n  teetotal check {name}" if os.path.exists(name) else ""
            meant = f" Did you mean {' or '.join(close)}?" if close else f" Did you mean:{files}" if files else ""
            context.fail(f"No such verb: {name!r}.{meant}")
        found = super().resolve_command(context, args)
        if found[1] is not None and not context.resilient_parsing:
            from teetotal.cli import configuration

            context.default_map = {name: configuration.defaults(name, found[1], self, context)}
        return found

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except click.BadParameter as error:
            from teetotal.cli import configuration

            raise configuration.blamed(error) from None
        except BrokenPipeError:  # caught here, since click would make it exit status 1, which is a violation
            _drop_output()
            return 141


@cache
def _command(verb: str) -> click.Command:
    """The verb's own command, with what all verbs share around it."""
    command = getattr(importlib.import_module(f"teetotal.cli.{verb}"), verb)
    assert isinstance(command, click.Command)
    if verb not in WITHOUT_ANSWERS:
        from teetotal.cli import outputs, stdin

        stdin.accept(verb, command)
        outputs.offer(verb, command)
    if verb not in _WITHOUT_BUDGET:
        from teetotal.cli.budget import limited

        command = limited(verb, command)
    return command


def _drop_output(stream: int = 1) -> None:
    """What is left in the buffer goes nowhere, so that the interpreter does not stumble over it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "color": True})
@click.version_option(VERSION, prog_name="teetotal")
def teetotal() -> None:
    """Keeps lock-free code sober: sequential consistency on TSO and PSO."""


def main() -> None:
    """The entry point. Verbs return their exit status; everything that can go wrong ends here."""
    try:
        os.getcwd()
    except OSError as error:
        sys.exit(_told(OSError(error.errno, error.strerror, "the working directory")))
    if _is_all_there_is():
        supervision.count_from(time.monotonic() - age())
    if "_TEETOTAL_COMPLETE" in os.environ:  # a shell asks
        teetotal.main(prog_name="teetotal")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's, and memory for threads that nobody needs here
    try:
        status = supervision.run(_verb) if streams.prepare() else _verb()
    except Exception as error:  # of the process that only waits: Python's own status for that is ours for a violation
        status = _told(error)
    sys.exit(status)


def _is_all_there_is() -> bool:
    """Whether the process began for this call: by the command, or by ``python -m teetotal``."""
    began = sys.modules["__main__"]
    names = (getattr(vars(began).get("main"), "__module__", ""), getattr(began.__spec__, "name", ""))
    return "teetotal.__main__" in names


def _verb() -> int:
    try:
        status = int(teetotal.main(standalone_mode=False) or 0)
        sys.stdout.flush()
    except BaseException as error:
        status = _told(error)
    try:
        sys.stderr.flush()
    except ValueError:  # a program may have closed it
        pass
    except OSError:  # nobody reads it
        _drop_output(2)
    return status


def _told(error: BaseException) -> int:
    """What is said about an error that no verb has handled, and the status that fits it: never that of a verdict."""
    match error:
        case click.exceptions.Abort() | KeyboardInterrupt():
            _complain("interrupted")
            return 130
        case BrokenPipeError():
            _drop_output()
            return 141
        case click.ClickException():
            with contextlib.suppress(OSError):
                error.show()
            return 2
        case TeetotalError():
            _complain(f"teetotal: {error}")
            return 2
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG | errno.EROFS):
            _drop_output()
            where = f" {error.filename}" if error.filename else ""
            _complain(f"teetotal: cannot write{where}: {error.strerror}; the answer above is cut off")
            return 2
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            _complain(f"teetotal: {where}{advice(error)}")
            return 2
        case ImportError():
            _complain(f"teetotal: a part of it cannot be loaded: {error}")
            return 2
        case RecursionError():
            _complain("teetotal: the input is nested too deeply")
            return 2
        case MemoryError():
            _complain("teetotal: there is not enough memory")
            return 3
    import traceback

    traceback.print_exception(error)
    _complain(f"teetotal: {supervision.FAULT_OF_OURS}")
    return supervision.FAULT


def _complain(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads it
        click.echo(text, err=True, color=True)
