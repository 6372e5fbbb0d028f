"""``teetotal cflags``: how to build a library so that a check sees into it, and a program so that it can be recorded."""

from __future__ import annotations

import shlex

import click

from teetotal.cli.options import budget_options
from teetotal.programs.c.build import Source, library_flags, recording_flags


@click.command(short_help="Compiler flags for libraries that a check sees into, and programs that are recorded.")
@click.option("--cc", "compiler", metavar="COMPILER", help="C compiler (default: cc, or $CC).")
@click.option("--record", "to_record", is_flag=True, help="For programs that `record program --native` runs.")
@budget_options
def cflags(compiler: str | None, to_record: bool) -> int:
    """Print the flags with which a library, given to teetotal check after --, is built so that its accesses are seen.
    Whether they are is read from its code when it is linked. With --record: the flags with which a program is compiled and
    linked so that it can be recorded as it runs."""
    flags = recording_flags if to_record else library_flags
    click.echo(shlex.join(flags(Source(("library.c",), compiler=compiler))))
    return 0
