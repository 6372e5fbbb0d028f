"""The command line: one file per verb, loaded only when that verb is called.

Exit status: 0 safe, 1 violation, 2 bad usage or input, 3 inconclusive, 70 internal error, 130 interrupted, 141 nobody
reads the output.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
import traceback

import click

from teetotal.cli.options import OWN_FAULT
from teetotal.errors import TeetotalError

VERBS = {
    "check": "robust and safe on TSO and PSO? (C, C++, litmus, Python, Promela)",
    "fence": "the fewest fences, written back into the source",
    "history": "is a recorded history SC, TSO or PSO?",
    "monitor": "the monitors over a recorded SC trace",
    "replay": "one execution again, step by step",
    "generate": "litmus tests from critical cycles, random programs, random and hard histories",
    "verify": "Promela programs with unbounded store buffers; fence insertion",
    "reproduce": "the papers' tables, ours beside theirs",
}
"""Verb → what it is for. The verb ``v`` is the command ``v`` of the module ``teetotal.cli.v``."""


class Verbs(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command = getattr(importlib.import_module(f"teetotal.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, context: click.Context) -> object:
        try:
            status: object = super().invoke(context)
            sys.stdout.flush()
            return status
        except BrokenPipeError:  # caught here, since click would make it exit status 1, which is a violation
            _drop_output()
            return 141
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
                raise
            _drop_output()
            where = f" {error.filename}" if error.filename else ""
            click.echo(f"teetotal: cannot write{where}: {error.strerror}; the answer above is cut off", err=True)
            return 2


def _drop_output() -> None:
    """What is left in the buffer goes nowhere, so that the interpreter does not stumble over it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _buffer_output() -> None:
    """With PYTHONUNBUFFERED, Python does not notice that a full disk took only a part of what it wrote."""
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        old = sys.stdout
        raw = io.FileIO(old.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=old.encoding, errors=old.errors)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="teetotal", prog_name="teetotal")
def teetotal() -> None:
    """Keeps lock-free code sober: sequential consistency on TSO and PSO."""


def main() -> None:
    """The entry point. Verbs return their exit status; everything that can go wrong ends here."""
    _buffer_output()
    try:
        status = teetotal.main(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        status = 130
    except click.ClickException as error:
        error.show()
        status = 2
    except TeetotalError as error:
        click.echo(f"teetotal: {error}", err=True)
        status = 2
    except Exception:
        traceback.print_exc()
        click.echo(OWN_FAULT, err=True)
        status = 70
    sys.exit(status or 0)
