"""``teetotal replay``: the execution behind a token again, step by step."""

from __future__ import annotations

from pathlib import Path

import click

from teetotal.answers.errors import TeetotalError
from teetotal.answers.schedules import TokenError, from_token, with_choices
from teetotal.answers.verdicts import Verdict, Violation, to_json
from teetotal.cli.options import WithCompilerFlags, budget_options, c_options, spurious_option
from teetotal.engines import story
from teetotal.engines.runtime import replaying
from teetotal.programs import c, files, goals
from teetotal.programs.program import Program
from teetotal.report import terminal


@click.command(cls=WithCompilerFlags, short_help="One execution again, step by step.")
@click.argument("token")
@click.argument("paths", metavar="FILE…", nargs=-1, required=True)
@click.option("--goal", type=click.Choice(["robust", "safe"]),
              help="As it was asked: with safe, ~exists and forall of a litmus test must hold; with robust, a Promela "
                   "program runs without its ghost variables.")  # fmt: skip
@click.option("--program", "name", help="Which program of a file that holds several.")
@c_options
@spurious_option
@click.option("--gdb", is_flag=True, help="Run a C program in gdb, and stop before the last step.")
@click.option("--output", is_flag=True, help="Show what a C program prints.")
@budget_options
@click.option("--json", "as_json", is_flag=True, help="As one JSON object: the violation.")
def replay(
    token: str,
    paths: tuple[str, ...],
    goal: str | None,
    name: str | None,
    compiler: str | None,
    arguments: tuple[str, ...],
    spurious: int,
    gdb: bool,
    output: bool,
    as_json: bool,
    flags: tuple[str, ...],
) -> int:
    """Show the execution that TOKEN describes (teetotal check prints tokens), with the buffers after each step, and
    whether it is sequentially consistent and breaks an assertion."""
    if all(Path(path).suffix in c.SUFFIXES for path in paths):
        source = c.Source(paths, flags, compiler, arguments)
        found = replaying.replay(token, source, gdb=gdb, show_output=output, spurious=spurious)
        return 0 if found is None else _show(found, " ".join(paths), " ".join(paths), as_json)
    if len(paths) > 1:
        raise TeetotalError("only C files make one program together")
    (path,) = paths
    if Path(path).suffix == ".pml":
        return _promela(token, path, goal, as_json)
    program = _choose(files.read(path), path, name)
    if goal == "safe":
        program = goals.demanding(program)
    model, schedule, semantics = from_token(token, list(program.memory))
    try:
        told = story.violation(program, model, schedule, semantics, kind="replay")
    except ValueError as error:
        raise TokenError(f"{path}: {error}; the token belongs to another program") from None
    return _show(told, path, program.name, as_json)


def _promela(token: str, path: str, goal: str | None, as_json: bool) -> int:
    from teetotal.cli.verify import print_lines
    from teetotal.engines.symbolic import locality, results, schedules
    from teetotal.programs.promela import load

    program = locality.events_only(load(path)) if goal == "robust" else load(path)
    model, schedule, semantics = with_choices(token, program.addresses)
    try:
        run = schedules.replay_schedule(program, model, schedule, semantics)
    except TokenError as error:
        raise TokenError(f"{path}: {error}") from None
    told = results.told(run, "replay", run.bad() or "")
    if as_json:
        click.echo(to_json(told))
    else:
        click.echo(f"{path}, under {model.upper()}")
        print_lines(run)
        _show_judgement(told, atomic_blocks=any(line.locked for line in run.lines))
    return _status(told)


def _show(told: Violation, path: str, name: str, as_json: bool) -> int:
    if as_json:
        click.echo(to_json(told))
    else:
        click.echo(
            f"{path}: {name}, under {told.model.upper()}" if path != name else f"{path}, under {told.model.upper()}"
        )
        click.echo("\n".join(terminal.steps(told, path)))
        _show_judgement(told)
    return _status(told)


def _show_judgement(told: Violation, *, atomic_blocks: bool = False) -> None:
    if told.message:
        click.echo(f"  Not safe: {told.message}.")
    if atomic_blocks:
        click.echo("  Whether it is sequentially consistent is not judged: it has atomic blocks.")
    else:
        click.echo("\n".join(terminal.proof(told)) or "  A sequentially consistent execution can do that too.")


def _status(told: Violation) -> int:
    return (Verdict.VIOLATION if told.cycle or told.message else Verdict.SAFE).exit_status


def _choose(programs: list[Program], path: str, name: str | None) -> Program:
    if name is None and len(programs) == 1:
        return programs[0]
    for program in programs:
        if program.name == name:
            return program
    known = ", ".join(program.name for program in programs)
    raise TeetotalError(f"{path}: {f'no program {name}' if name else 'several programs'}; --program takes {known}")
