"""``teetotal replay``: the execution behind a token again, step by step."""

from __future__ import annotations

from typing import Any

import click

from teetotal import checking
from teetotal.answers.options import CheckOptions, asked
from teetotal.answers.verdict import Goal
from teetotal.cli import completing, outputs
from teetotal.cli.options import WithCompilerFlags, budget_options, c_options, spurious_option
from teetotal.report import replay as report
from teetotal.report import style
from teetotal.report.json import to_json


class _Replay(WithCompilerFlags):
    """``--output`` without a format and a file is what it was before there were any: ``--show-output``."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        ours = args.index("--") if "--" in args else len(args)
        named = [outputs.names_a_file(after) for after in (*args[1:ours], "")]
        before = [
            "--show-output" if arg == "--output" and not file else arg for arg, file in zip(args, named, strict=False)
        ]
        return super().parse_args(context, before + args[ours:])


@click.command(cls=_Replay, short_help="One execution again, step by step.")
@click.argument("token")
@click.argument("paths", metavar="FILE…", nargs=-1, required=True, shell_complete=completing.files)
@click.option("--goal", type=click.Choice(["robust", "safe"]),
              help="As it was asked: with safe, ~exists and forall of a litmus test must hold; with robust, a Promela "
                   "program runs without its ghost variables.")  # fmt: skip
@click.option("--program", help="Which program of a file that holds several.")
@c_options
@spurious_option
@click.option("--gdb", is_flag=True, help="Run a C program in gdb, and stop before the last step.")
@click.option("--show-output", "output", is_flag=True, help="Show what a C program prints.")
@budget_options
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def replay(
    token: str, paths: tuple[str, ...], goal: Goal | None, gdb: bool, output: bool, as_json: bool, **settings: Any
) -> int:
    """Show the execution that TOKEN describes (teetotal check prints tokens), with the buffers after each step, and
    whether it is sequentially consistent and breaks an assertion."""
    options = asked(CheckOptions, settings)
    answer = checking.replay(token, paths, options, goal=goal, gdb=gdb, show_output=output)
    if answer is None:
        return 0
    outputs.note(answer)
    click.echo(to_json(answer) if as_json else report.render(answer, style.page()))
    return answer.verdict.exit_status
