"""``teetotal completion SHELL``: the script that makes a shell complete verbs, options and their values."""

from __future__ import annotations

import click


@click.command(short_help="The script that makes a shell complete verbs, options and values.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print a script for the shell. In bash: eval "$(teetotal completion bash)", or put that line into ~/.bashrc."""
    from click.shell_completion import get_completion_class

    from teetotal.cli import teetotal

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(teetotal, {}, "teetotal", "_TEETOTAL_COMPLETE").source())
    return 0
