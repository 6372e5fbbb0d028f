"""``--time`` and ``--memory``, kept for whole verbs: by the engines as well as they can, and by force where they cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click
import msgspec

from teetotal.answers.verdicts import Verdict, to_json
from teetotal.cli.streams import visible
from teetotal.scale import supervision

TIME_IS_OVER = "the time given by --time is over"
MEMORY_IS_USED_UP = "the memory is used up"


class Undecided(msgspec.Struct, frozen=True):
    """The answer about an input that was given up before anything else could be said about it."""

    input: str
    command: str
    notes: list[str]
    verdict: Verdict = Verdict.INCONCLUSIVE
    complete: bool = False
    seconds: float | None = None


def told(answer: Undecided, as_json: bool) -> str:
    return to_json(answer) if as_json else f"{visible(answer.input)}: inconclusive: {'; '.join(answer.notes)}"


def limited(verb: str, command: click.Command) -> click.Command:
    """A verb that ends when its ``--time`` is over, and with status 3 where there is not enough memory."""
    callback = command.callback
    assert callback is not None
    if not hasattr(callback, "__wrapped__"):  # commands live as long as the process
        command.callback = _limited(verb, callback)
    return command


def _limited(verb: str, callback: Callable[..., int]) -> Callable[..., int]:
    @wraps(callback)
    def run(**parameters: Any) -> int:
        noted = click.get_current_context().meta
        seconds = parameters.get("seconds", noted.get("teetotal.time"))
        megabytes = parameters.get("megabytes", noted.get("teetotal.memory"))
        if verb == "history":  # for each history: see histories/result.py
            seconds = None
        paths: Sequence[str] = parameters.get("paths") or parameters.get("files") or ()
        if seconds is not None and verb == "verify":  # its files are programs of their own
            seconds *= max(1, len(paths))

        def undecided(why: str) -> str:
            answer = Undecided(" ".join(paths) or verb, verb, [why], seconds=seconds)
            return told(answer, bool(parameters.get("as_json")))

        try:
            late, full = undecided(TIME_IS_OVER), undecided(MEMORY_IS_USED_UP)
            with supervision.watching(seconds, megabytes, late=late, full=full):
                return callback(**parameters)
        except MemoryError:
            click.echo(undecided(MEMORY_IS_USED_UP))
            return Verdict.INCONCLUSIVE.exit_status

    return run
