"""``teetotal schema``: the JSON schema of every answer."""

from __future__ import annotations

import json

import click

from teetotal.report.schema import schema as made


@click.command(short_help="The JSON schema of every answer.")
def schema() -> int:
    """Print the JSON schema (2020-12) of an object that --json prints."""
    click.echo(json.dumps(made(), indent=1))
    return 0
