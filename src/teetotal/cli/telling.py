"""How much is told, the same on every verb: ``-q``, ``-v`` and ``--progress``, kept beside the verb's own parameters."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import click

from teetotal.report import progress, style

Command = TypeVar("Command", bound=Callable[..., Any])


def telling_options(command: Command) -> Command:
    for option in (
        click.option("--progress/--no-progress", "progress", default=None, expose_value=False, callback=noted,
                     help="Show how far it is: on a terminal by default; in a log, a line now and then."),
        click.option("-v", "--verbose", is_flag=True, expose_value=False, callback=noted,
                     help="Tell every step and every line, nothing folded."),
        click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=noted, help="The verdict alone."),
    ):  # fmt: skip
        command = option(command)
    return command


def noted(context: click.Context, parameter: click.Parameter, value: bool | None) -> None:
    context.meta[f"teetotal.{parameter.name}"] = value


def said(name: str) -> Any:
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(f"teetotal.{name}")


def quiet() -> bool:
    return bool(said("quiet"))


def page() -> style.Page:
    return style.page(unfolded=bool(said("verbose")))


def watching(what: str, *, wanted: bool = True) -> AbstractContextManager[progress.Watcher | None]:
    """See ``report.progress.counting``: ``wanted`` unless the user says otherwise."""
    asked = said("progress")
    return progress.counting(what, wanted if asked is None else asked, even_in_logs=bool(asked))


def advancing(what: str, total: int, *, wanted: bool = True) -> AbstractContextManager[Callable[[], None]]:
    """See ``report.progress.progress``; not ``wanted`` where each piece shows its own."""
    asked = said("progress")
    return progress.progress(what, total, wanted=wanted and asked is not False, even_in_logs=bool(asked))
