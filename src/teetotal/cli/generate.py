"""``teetotal generate``: a group; each kind of input is the command of its own module, loaded when it is called."""

from __future__ import annotations

import importlib

import click

KINDS = {
    "litmus": "litmus tests from critical cycles",
    "program": "random programs",
}
"""Kind → what it is. The kind ``k`` is the command ``k`` of the module ``teetotal.cli.generate_k``."""


class Kinds(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return list(KINDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in KINDS:
            return None
        command = getattr(importlib.import_module(f"teetotal.cli.generate_{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Kinds"):
            formatter.write_dl(list(KINDS.items()))


@click.group(cls=Kinds, short_help="Litmus tests, programs.")
def generate() -> None:
    """Make inputs for the other verbs."""
