"""``teetotal generate …``: inputs for the other verbs. Each subcommand lives in a file of its own."""

from __future__ import annotations

import importlib

import click

from teetotal.cli.budget import limited

SUBCOMMANDS = {
    "history": "random and hard histories",
    "litmus": "litmus tests from critical cycles, with predicted verdicts",
    "program": "random programs",
}
"""Name → what it is for. ``x`` is the command ``x`` of the module ``teetotal.cli.generate_x``."""


class Subcommands(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in SUBCOMMANDS:
            return None
        command = getattr(importlib.import_module(f"teetotal.cli.generate_{name}"), name)
        assert isinstance(command, click.Command)
        return limited(f"generate {name}", command)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.group(cls=Subcommands)
def generate() -> None:
    """Makes inputs for the other verbs."""
