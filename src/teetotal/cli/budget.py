"""``--time`` and ``--memory``, kept for whole verbs: by the engines as well as they can, and by force where they cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import wraps
from typing import Any

import click

from teetotal.answers.answer import Refusal, Undecided
from teetotal.answers.errors import OutputError, TeetotalError
from teetotal.answers.verdict import Verdict
from teetotal.checking import MEMORY_IS_USED_UP, TIME_IS_OVER
from teetotal.report.json import to_json
from teetotal.report.streams import as_called, visible
from teetotal.scale import supervision


def told(answer: Undecided, as_json: bool) -> str:
    plain = f"{visible(answer.input)}: inconclusive: {'; '.join(answer.notes)}"
    return as_called(to_json(answer) if as_json else plain)


def limited(verb: str, command: click.Command) -> click.Command:
    """The verb, which then ends when its ``--time`` is over, and with status 3 where there is not enough memory. What
    is given stays as it is: commands live as long as the process."""
    assert command.callback is not None
    bounded = copy(command)
    bounded.callback = _limited(verb, command.callback)
    return bounded


def _limited(verb: str, callback: Callable[..., int]) -> Callable[..., int]:
    @wraps(callback)
    def run(**parameters: Any) -> int:
        noted = click.get_current_context().meta
        seconds = parameters.get("seconds", noted.get("teetotal.time"))
        megabytes = parameters.get("max_megabytes", noted.get("teetotal.memory"))
        if verb == "history":  # for each history: see histories/result.py
            seconds = None
        paths: Sequence[str] = parameters.get("paths") or parameters.get("files") or ()
        if seconds is not None and verb == "verify":  # its files are programs of their own
            seconds *= max(1, len(paths))

        name, as_json = " ".join(paths) or verb, bool(parameters.get("as_json"))

        def undecided(why: str) -> str:
            answer = Undecided(input=name, command=verb, notes=[why], seconds=seconds)
            return told(answer, as_json)

        try:
            late, full = undecided(TIME_IS_OVER), undecided(MEMORY_IS_USED_UP)
            with supervision.watching(seconds, megabytes, late=late, full=full):
                return callback(**parameters)
        except MemoryError:
            click.echo(undecided(MEMORY_IS_USED_UP))
            return Verdict.INCONCLUSIVE.exit_status
        except TeetotalError as error:
            if as_json and not isinstance(error, OutputError):  # on standard error, too, by whoever called
                click.echo(to_json(Refusal.of(error, name, verb)))
            raise

    return run
