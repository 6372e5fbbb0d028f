"""``teetotal generate program``: random small programs as litmus tests, the same ones for the same seed."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from teetotal.cli.options import budget_options
from teetotal.generate import files, programs
from teetotal.programs import litmus
from teetotal.programs.expressions import Final
from teetotal.programs.program import Program

SHAPES = [name for name in programs.SHAPES if name not in ("peeked", "wild")]  # these use a mutex as data


@click.command(short_help="Random programs.")
@click.option("--shape", type=click.Choice(SHAPES), default="mixed", show_default=True, help="What may occur.")
@click.option("--count", type=click.IntRange(min=1), default=1, show_default=True, help="How many.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--dialect", type=click.Choice(["X86_64", "C"]), default="C", show_default=True, help="Mutexes need C.")
@budget_options
@click.option("--output", default="-", show_default=True, metavar="DIR|-", help="Where the files go, or -: print them.")
@click.option("--force", is_flag=True, help="Overwrite files.")
def program(shape: str, count: int, seed: int, dialect: litmus.Dialect, output: str, force: bool) -> int:
    """Make random small programs: two to four threads, a few operations each. Every register and location is part of
    an outcome. Program number n of a seed is the same whatever --count says."""
    made = programs.seeded(seed, count, programs.SHAPES[shape])
    texts = {
        f"{shape}-{seed}-{number}": litmus.write(_observed(one, f"{shape}-{seed}-{number}"), dialect)
        for number, one in enumerate(made)
    }
    if output == "-":
        click.echo("\n".join(texts.values()), nl=False)
        return 0
    files.write_files(Path(output), {f"{name}.litmus": text for name, text in texts.items()}, force=force)
    click.echo(f"{count} programs in {output}")
    return 0


def _observed(one: Program, name: str) -> Program:
    registers = [Final(number, register) for number, thread in enumerate(one.threads) for register in thread.registers]
    return msgspec.structs.replace(one, name=name, observed=(*registers, *(Final(None, place) for place in one.memory)))
