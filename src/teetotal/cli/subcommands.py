"""Verbs that are several commands: ``teetotal VERB NAME`` is the command ``NAME`` of ``cli/VERB_NAME.py``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click


class Subcommands(click.Group):
    """``summaries``: name → what it is for."""

    def __init__(self, *, summaries: Mapping[str, str], **parameters: object) -> None:
        super().__init__(**parameters)  # type: ignore[arg-type]
        self.summaries = summaries

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.summaries)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.summaries:
            return None
        command = getattr(importlib.import_module(f"teetotal.cli.{self.name}_{name}"), name)
        assert isinstance(command, click.Command)
        return self.prepared(command)

    def prepared(self, command: click.Command) -> click.Command:
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))
