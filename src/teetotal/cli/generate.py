"""``teetotal generate …``: inputs for the other verbs."""

from __future__ import annotations

import click

from teetotal.cli.budget import limited
from teetotal.cli.subcommands import Subcommands


class Generators(Subcommands):
    def prepared(self, command: click.Command) -> click.Command:
        return limited(f"generate {command.name}", command)


@click.group(
    cls=Generators,
    summaries={
        "history": "random and hard histories",
        "litmus": "litmus tests from critical cycles, with predicted verdicts",
        "program": "random programs",
    },
)
def generate() -> None:
    """Makes inputs for the other verbs."""
