"""``teetotal cflags``: how to build a library so that a check sees into it."""

from __future__ import annotations

import shlex

import click

from teetotal.cli.options import budget_options
from teetotal.programs.c.build import Source, library_flags


@click.command(short_help="Compiler flags for libraries that a check sees into.")
@click.option("--cc", "compiler", metavar="COMPILER", help="C compiler (default: cc, or $CC).")
@budget_options
def cflags(compiler: str | None) -> int:
    """Print the flags with which a library, given to teetotal check after --, is built so that its accesses are seen.
    Whether they are is read from its code when it is linked."""
    click.echo(shlex.join(library_flags(Source(("library.c",), compiler=compiler))))
    return 0
