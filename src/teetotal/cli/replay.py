"""``teetotal replay``: the execution behind a token again, step by step."""

from __future__ import annotations

import click

from teetotal import story
from teetotal.errors import TeetotalError
from teetotal.programs import files
from teetotal.programs.program import Program
from teetotal.report import terminal
from teetotal.schedules import TokenError, from_token
from teetotal.verdicts import Verdict, to_json


@click.command(short_help="One execution again, step by step.")
@click.argument("token")
@click.argument("path", metavar="FILE")
@click.option("--program", "name", help="Which program of a file that holds several.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object: the violation.")
def replay(token: str, path: str, name: str | None, as_json: bool) -> int:
    """Show the execution that TOKEN describes (teetotal check prints tokens), with the buffers after each step, and
    whether it is sequentially consistent and breaks an assertion."""
    program = _choose(files.read(path), path, name)
    model, schedule, semantics = from_token(token, list(program.memory))
    try:
        told = story.violation(program, model, schedule, semantics, kind="replay")
    except ValueError as error:
        raise TokenError(f"{path}: {error}; the token belongs to another program") from None
    if as_json:
        click.echo(to_json(told))
    else:
        click.echo(f"{path}: {program.name}, under {model.upper()}")
        click.echo("\n".join(terminal.steps(told, path)))
        if told.message:
            click.echo(f"  Not safe: {told.message}.")
        click.echo("\n".join(terminal.proof(told)) or "  A sequentially consistent execution can do that too.")
    return (Verdict.VIOLATION if told.cycle or told.message else Verdict.SAFE).exit_status


def _choose(programs: list[Program], path: str, name: str | None) -> Program:
    if name is None and len(programs) == 1:
        return programs[0]
    for program in programs:
        if program.name == name:
            return program
    known = ", ".join(program.name for program in programs)
    raise TeetotalError(f"{path}: {f'no program {name}' if name else 'several programs'}; --program takes {known}")
