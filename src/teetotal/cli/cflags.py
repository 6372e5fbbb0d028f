"""``teetotal cflags``: how to build a library so that a check sees into it, and a program so that it can be recorded."""

from __future__ import annotations

import shlex

import click

import teetotal
from teetotal.cli.options import budget_options


@click.command(short_help="Compiler flags for libraries that a check sees into, and programs that are recorded.")
@click.option("--cc", "compiler", metavar="COMPILER", help="C compiler (default: cc, or $CC).")
@click.option("--record", "to_record", is_flag=True, help="For programs that `record program --native` runs.")
@budget_options
def cflags(compiler: str | None, to_record: bool) -> int:
    """Print the flags with which a library, given to teetotal check after --, is built so that its accesses are seen.
    Whether they are is read from its code when it is linked. With --record: the flags with which a program is compiled and
    linked so that it can be recorded as it runs."""
    click.echo(shlex.join(teetotal.cflags(compiler, record=to_record)))
    return 0
